"""Noise that targets and wishes set: every one held, by as much noise as that allows, at the cost claimed.

Guards release_plan.py.
"""

import itertools
import math
import re

import numpy as np
import pytest
from random_workloads import domain_of, random_factor

from mmopt import Privacy, PrivacyError, Strategy, Workload, WorkloadError, plan, solve
from mmopt.driver.templates import templates
from mmopt.mechanism import Plan
from mmopt.mechanism.release_plan import excess_over_wishes, scale_for_targets
from mmopt.privacy.noise import LAPLACE, cost
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import StrategyForm
from mmopt.workloads import Product, Wish, factors_and_products as f
from mmopt.workloads.factors_and_products import wishes


def check(found: Plan) -> None:
    """Each interval and variance is as asked, and the claim is what the noise drawn costs."""
    w = found.workload
    assert found.absolute and (np.square(found.standard_errors) <= w.targets).all()
    for rows, wish in wishes(w.blocks):
        widths = found.intervals(wish.confidence).widths[rows]
        assert (widths <= wish.half_width * (1 + 2e-9)).all()
    claimed = found.epsilon if found.rho is None else found.rho
    assert claimed == cost(found.law, found.integer.parts, found.scale)
    assert claimed == pytest.approx(cost(found.law, found.parts, found.scale), rel=1e-12)


def forms(w: Workload, norm: int) -> list[StrategyForm]:
    """A strategy over the cells and one in factors of each kind, scaled to meet targets at unit noise."""
    found: list[StrategyForm] = [Strategy(np.eye(w.n), norm), Strategy(np.eye(w.n) * 0.37, norm)]
    each = [templates(w, norm, (name,)).best.strategy for name in ("product", "union", "marginals")]
    found += [strategy for strategy in each if strategy is not None]
    scaled = []
    for strategy in found:
        ratio = float(np.max(strategy.variances(w) / w.targets))
        # Norm 2: targets refer to unit noise, which the strategy has to meet them with.
        scaled.append(strategy.divided(1 / math.sqrt(ratio * 1.0000001)) if norm == 2 else strategy)
    return scaled


def test_the_first_scale_of_other_noise_is_the_largest_that_targets_allow() -> None:
    w = Workload.from_matrix(np.eye(3), targets=[2.0, 5.0, 9.0])
    strategy = Strategy(np.eye(3), 1)
    integer = round_any(strategy, w, strategy.neighbours)
    scale = scale_for_targets(w, strategy, integer, LAPLACE)
    unit = math.ldexp(scale, -integer.bits) ** 2 * LAPLACE.continuous.variance * integer.variances
    assert float(np.max(unit / w.targets)) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("norm", [1, 2])
def test_wishes_hold_for_every_form_of_strategy(rng: np.random.Generator, norm: int) -> None:
    sizes = [int(size) for size in rng.integers(2, 4, size=2)]
    products = []
    for _ in range(2):
        width, confidence = 10.0 ** rng.uniform(-0.5, 2), float(rng.choice([0.5, 0.8, 0.95, 0.999]))
        factors = tuple(random_factor(rng, size) for size in sizes)
        products.append(Product(factors, within=Wish(float(width), confidence)))
    w = Workload.from_products(domain_of(*sizes), products)
    checked = 0
    for strategy in forms(w, norm):
        try:
            found = plan(w, strategy, None, absolute=True)
        except WorkloadError as error:  # a search may end at marginals of next to no weight
            assert "the weights of the marginals" in error.message
            continue
        except PrivacyError as error:  # what rounding to 27 bits may bias 2^31 rows by: some 3 counts
            assert "rounding the strategy alone makes intervals wider" in error.message
            assert min(wish.half_width for _, wish in wishes(w.blocks)) < 5
            continue
        check(found)
        checked += 1
    assert checked >= 2


@pytest.mark.quick
def test_tiny_and_huge_wishes(subtests: pytest.Subtests) -> None:
    for norm, half_width in itertools.product([1, 2], [0.3, 0.4, 1.0, 2.0, 9.99, 1e9]):
        with subtests.test(f"{norm}, {half_width}"):
            w = Workload.from_products(domain_of(2), [Product((f.identity(2),), within=Wish(half_width))])
            strategy = Strategy(np.eye(2), norm)
            found = plan(w, strategy.divided(math.sqrt(w.targets[0])), None, absolute=True)
            check(found)
            # With a millionth more noise an interval is too wide, or a variance is at its target.
            variance = found.law.continuous.variance * found.scale**2 * found.parts[0].relative ** 2
            is_at_target = variance >= w.targets[0] * (1 - 1e-5)
            widths = plan(w, strategy, larger(found)).intervals(0.95).widths
            assert is_at_target or widths[0] > half_width


def larger(found: Plan) -> Privacy:
    """The privacy of noise whose scale is a hundred thousandth larger."""
    if found.rho is None:
        assert found.epsilon is not None
        return Privacy(epsilon=found.epsilon / 1.00001)
    return Privacy(rho=found.rho / 1.00002)


def test_laplace_noise_by_targets_is_the_most_that_meets_them(subtests: pytest.Subtests) -> None:
    """On integers its variance is 1 / (2 sinh²(epsilon / 2)), less than that of continuous noise."""
    for target in [0.01, 0.2, 1.0, 50.0, 1e7]:
        with subtests.test(str(target)):
            w = Workload.from_matrix(np.eye(2), targets=[target, 4 * target])
            found = plan(w, Strategy(np.eye(2), 1), None, absolute=True)
            check(found)
            least = 2 * math.asinh(1 / math.sqrt(2 * target))
            assert least * (1 - 1e-12) <= found.epsilon <= least * (1 + 2e-6)
            assert (found.rho, found.delta, found.set_by) == (None, 0.0, "targets")


def test_a_wish_below_what_rounding_biases_is_refused_in_finite_time(rng: np.random.Generator) -> None:
    """Real queries without an integer basis: over 2^31 rows the rounded row space is off by some counts."""
    rows = rng.normal(size=(3, 2)) @ rng.normal(size=(2, 4))

    def wished(half_width: float) -> Plan:
        w = Workload.from_products(domain_of(4), [Product((f.predicates(rows),), within=Wish(half_width))])
        assert w.integer_basis is None
        strategy = Strategy(w.basis)
        unit = math.sqrt(float(np.max(strategy.variances(w) / w.targets)) * 1.0000001)
        return plan(w, strategy.divided(1 / unit), None, absolute=True)

    check(wished(1e3))
    with pytest.raises(PrivacyError) as caught:
        wished(1e-8)
    assert str(caught.value) == (
        "no noise is small enough for the requested half widths: rounding the strategy "
        "alone makes intervals wider\n  ask for wider ones"
    )


def test_excess_is_over_what_is_asked() -> None:
    w = Workload.from_products(
        domain_of(2), [Product((f.identity(2),), within=Wish(20.0)), Product((f.total(2),), target=40.0)]
    )
    for norm in (1, 2):
        found = plan(w, Strategy(np.eye(2), norm), Privacy(epsilon=0.1) if norm == 1 else Privacy(rho=0.002))
        width = float(found.intervals(0.95).widths[0])
        ratios = [width / 20.0] + [float(found.standard_errors[2]) / math.sqrt(40.0)] * (norm == 1)
        assert excess_over_wishes(found) == pytest.approx(max(ratios), rel=1e-8) and width > 20.0
    assert (
        excess_over_wishes(plan(Workload.from_matrix(np.eye(2)), Strategy(np.eye(2)), Privacy(rho=1.0))) == 0
    )


ADVICE = re.compile(
    r"multiply (?:every max_variance by ([\d.]+))?(?: and )?(?:every within by ([\d.]+))?, or"
)


@pytest.mark.quick
@pytest.mark.draws(1)
def test_what_costs_too_much_is_refused_with_advice_that_suffices(rng: np.random.Generator) -> None:
    width, variance = float(rng.uniform(5.0, 50.0)), float(rng.uniform(5.0, 5000.0))
    both = rng.random() < 0.5

    def wished(by_width: float, by_variance: float) -> Workload:
        target = variance * by_variance if both else math.inf
        factors = (f.prefix(3),)
        return Workload.from_products(
            domain_of(3),
            [
                Product(factors, within=Wish(width * by_width), target=target),
                Product((f.all_range(3),), target=100.0 * by_variance),
            ],
        )

    first = wished(1.0, 1.0)
    solution = solve(first, "fitness_for_use")
    needed = plan(first, solution, None, absolute=True).rho
    assert needed is not None
    with pytest.raises(PrivacyError) as caught:
        plan(first, solution, Privacy(rho=needed / 3), absolute=True)
    message, hint = str(caught.value).split("\n  ")
    assert re.fullmatch(r"the targets cost rho [\d.e-]+, privacy allows rho [\d.e-]+", message)
    factors = ADVICE.match(hint)
    assert factors is not None
    eased = wished(float(factors[2]), float(factors[1]))
    plan(eased, solve(eased, "fitness_for_use"), Privacy(rho=needed / 3 * (1 + 1e-6)), absolute=True)
