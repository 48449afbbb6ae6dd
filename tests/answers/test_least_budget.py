"""The least budget: laws of its cost, bound, shares and savings; kinds of budget; what is refused.

Guards accuracy_budget_and_default_strategy.py.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_workloads import domain_of, random_factor, random_workload

from mmopt import (
    Domain,
    Privacy,
    PrivacyError,
    Program,
    Solution,
    Workload,
    WorkloadError,
    accuracy,
    budget,
    solve,
)
from mmopt.answers.accuracy_budget_and_default_strategy import WIDER
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_delta
from mmopt.workloads import Product, Wish, factors_and_products as f

DELTA = 1e-6
KINDS: dict[str, dict[str, Any]] = {"rho": {}, "epsilon at a delta": {"delta": DELTA}, "pure": {"pure": True}}


def scaled(workload: Workload, factors: np.ndarray) -> Workload:
    """Every product's target times a factor of its own, half widths accordingly."""
    blocks = []
    for product, factor in zip(workload.products or (), factors, strict=True):
        within = product.within and Wish(
            product.within.half_width * math.sqrt(factor), product.within.confidence
        )
        blocks.append(replace(product, target=product.target * factor, within=within))
    return replace(workload, blocks=tuple(blocks))


def wished(rng: np.random.Generator, wishes: float = 0.5) -> Workload:
    """Products with a target or (so many of them) a wish each, of sizes that differ a thousandfold."""
    sizes = [int(size) for size in rng.integers(1, 5, size=int(rng.integers(1, 3)))]
    products = []
    for _ in range(int(rng.integers(1, 4))):
        size, confidence = 10.0 ** rng.uniform(1, 4), float(rng.choice([0.5, 0.9, 0.95, 0.99]))
        is_wish = rng.random() < wishes
        products.append(
            Product(
                tuple(random_factor(rng, n) for n in sizes),
                target=math.inf if is_wish else float(size**2),
                within=Wish(float(size), confidence) if is_wish else None,
            )
        )
    return Workload.from_products(domain_of(*sizes), products)


def test_every_wish_holds_at_a_cost_that_is_claimed(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for kind in KINDS:
        with subtests.test(kind):
            w = wished(rng)
            least = budget(w, **KINDS[kind])
            plan, columns = least.plan, least.errors.to_dict()
            assert columns["meets"] == [True] * w.m
            assert (np.square(plan.standard_errors) <= w.targets).all()
            assert least.cost == (plan.rho if kind == "rho" else plan.epsilon)
            assert kind != "pure" or (plan.delta == 0 and plan.law.name == "Laplace")
            # The claim is that of the noise that is drawn.
            part = plan.parts[0]
            scale = part.relative * plan.scale
            if plan.law.name == "Laplace":
                drawn = math.sqrt(part.squared_sensitivity) / scale
                assert len(plan.parts) > 1 or least.cost >= drawn * (1 - 1e-12)
            else:
                drawn = part.squared_sensitivity / (2 * scale**2)
                assert plan.rho is not None and plan.rho >= drawn * (1 - 1e-12)
            if least.bound is not None:
                assert least.bound <= least.cost and least.gap == least.cost / least.bound - 1
            assert math.fsum(least.shares) == pytest.approx(1.0, rel=1e-9) and (least.shares >= 0).all()


@pytest.mark.some(1)
@pytest.mark.parametrize("delta", [None, 1e-2])
def test_gaussian_budgets_are_least_to_a_millionth(rng: np.random.Generator, delta: float | None) -> None:
    """Whole answers within 50.9 are within 50; at a delta the budget is least to a hundredth only."""
    checked = 0
    for _ in range(1 if delta is None else 8):
        w = wished(rng, wishes=0.0)
        if delta is not None:  # noise so small that it costs some epsilon
            w = scaled(w, np.full(len(w.blocks), 1e-3))
        least = budget(w, delta=delta)
        if least.plan.law.name == "Laplace":
            assert delta is not None and (least.bound is None or least.cost <= 2 * least.bound * w.m)
        elif delta is None or (least.cost > 0.01 and least.bound is not None):  # of large noise it is known
            room = 2e-6 if delta is None else 1e-2  # the delta of noise on integers is not the continuous one
            assert least.gap is not None and -1e-15 <= least.gap <= room + least.plan.integer.loss - 1
            assert float(least.fitness.gap or 0.0) <= 1e-6
            checked += 1
            break
    assert checked > 0


def test_variances_four_times_as_large_cost_a_quarter(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for kind in ("rho", "pure"):
        with subtests.test(kind):
            w = wished(rng, wishes=0.0)
            one, four = (budget(v, **KINDS[kind]) for v in (w, scaled(w, np.full(len(w.blocks), 4.0))))
            power = 1.0 if kind == "rho" else 0.5
            # A search ends elsewhere for other weights, and rounding to integers is not scaled.
            assert four.cost * 4**power == pytest.approx(one.cost, rel=1e-4 if kind == "rho" else 0.05)


@pytest.mark.some(1)
@pytest.mark.parametrize("delta", [None, DELTA])
def test_loosening_a_wish_never_costs_more_and_saves_what_is_stated_at_most(
    rng: np.random.Generator, delta: float | None
) -> None:
    w = wished(rng)
    which = int(rng.integers(len(w.blocks)))
    factors = np.ones(len(w.blocks))
    factors[which] = (1 + WIDER) ** 2
    one, wider = budget(w, delta=delta), budget(scaled(w, factors), delta=delta)
    groups = [rows for _, rows in w.groups()]
    stated = one.savings([float(one.shares[rows].sum()) for rows in groups])[which]
    costs = [float(b.fitness.objective) / 2 for b in (one, wider)]
    if delta is not None:
        costs = [epsilon_of(2 * rho, delta) for rho in costs]
    assert costs[1] <= costs[0] * (1 + 1e-5)
    assert 1 - costs[1] / costs[0] <= stated + 1e-5
    assert wider.cost <= one.cost * (1 + 1e-4) or wider.plan.law.name != one.plan.law.name


def epsilon_of(squared: float, delta: float) -> float:
    """By halving, an upper end."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        is_enough = continuous_gaussian_delta(middle, math.sqrt(squared)) <= delta
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def test_savings_are_of_the_cost_in_its_own_unit() -> None:
    w = Workload.from_matrix(np.eye(2), targets=[100.0, 400.0])
    rho, epsilon = budget(w), budget(w, delta=DELTA)
    assert rho.savings([1.0, 0.5]) == pytest.approx([1 - 1 / 1.21, 1 - 1 / 1.105], abs=1e-6)
    whole = epsilon_of(0.01, DELTA)
    assert epsilon.savings([1.0])[0] == pytest.approx(1 - epsilon_of(0.01 / 1.21, DELTA) / whole, rel=1e-6)
    assert 0 <= rho.savings([0.0]) <= 1e-6 and 0 <= epsilon.savings([0.0]) <= 1e-6


def test_shares_are_what_a_relaxed_target_changes() -> None:
    """By central differences of the logarithm of the least cost."""
    targets = np.array([10.0, 25.0, 20.0])
    shares = budget(Workload.from_matrix(np.tri(3), targets=targets)).shares
    step = 1e-2
    for j, share in enumerate(shares):
        ends = []
        for sign in (1, -1):
            changed = targets * np.exp(sign * step * (np.arange(3) == j))
            solution = solve(Workload.from_matrix(np.tri(3), targets=changed), "fitness_for_use")
            ends.append(math.log(solution.objective))
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(share, abs=2e-3)
    assert np.sum(shares > 0.05) >= 2, "more than one query binds"


def test_the_tightest_of_like_queries_has_the_whole_share() -> None:
    w = Workload.from_matrix(np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]), targets=[9.0, 5.0, 40.0])
    least = budget(w)
    assert least.shares == pytest.approx([0.0, 1.0, 0.0], abs=1e-4)
    assert least.cost == pytest.approx(0.1, rel=1e-6)


def test_queries_without_wishes_are_left_out() -> None:
    domain = domain_of(4)
    asked = Product((f.prefix(4),), name="asked", within=Wish(20.0))
    w = Workload.from_products(domain, [Product((f.identity(4),)), asked])
    least = budget(w)
    assert (
        least.plan.workload.m == 4 == len(least.shares) and least.errors.to_dict()["query"] == ["asked"] * 4
    )
    assert least.cost == budget(Workload.from_products(domain, [asked])).cost
    assert least.left_out == least.summary()["left_out"] == 4
    assert dict(least.rows())["left out"] == (
        "4 queries without a target: a release of all spends on them too, and may miss targets at this "
        "budget; to include them, give each a target, however loose"
    )
    rows = Workload.from_matrix(np.vstack([np.eye(2), np.ones((1, 2))]), targets=[4.0, np.inf, 5.0])
    only = budget(rows).plan.workload
    assert budget(rows).left_out == 1 and "left out" not in dict(budget(only).rows())
    np.testing.assert_array_equal(only.queries, [[1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(only.targets, [4.0, 5.0])


def test_no_wish_at_all_is_refused() -> None:
    with pytest.raises(WorkloadError) as caught:
        budget(Workload.from_matrix(np.eye(2)))
    assert str(caught.value) == (
        "no query says how accurate its answer must be, so there is nothing to find a budget for\n"
        "  add 'within: 50' (counts, at 95 %) or 'max_variance: 600' to the queries"
    )


def test_the_total_of_a_table_by_hand() -> None:
    """One count within 50 at 95 %: σ = 50 / 1.96, rho = 1 / 2σ²; Laplace by its own quantile."""
    w = Workload.from_products(Domain(domain_of(3).attributes), [Product((f.total(3),), within=Wish(50.0))])
    sigma = 50 / 1.959963984540054
    assert budget(w).cost == pytest.approx(1 / (2 * sigma**2), rel=1e-9)
    pure = budget(w, pure=True)
    # P(|z| > 50) of a discrete Laplace: 2 a^51 / (1 + a), a = exp(-epsilon); and a little more would do.
    missed = [2 * a**51 / (1 + a) for a in np.exp(-pure.cost * np.array([1.0, 1 - 1e-5]))]
    assert missed[0] <= 0.05 < missed[1]
    assert pure.bound is None and pure.gap is None


def test_whole_answers_have_the_most_noise_that_is_within() -> None:
    """An interval of whole numbers ends on one: within 0.999 it is the truth alone, within 1 it is not."""
    w = Workload.from_products(domain_of(2), [Product((f.identity(2),), within=Wish(0.999))])
    for pure in (False, True):
        least = budget(w, pure=pure)
        assert least.errors.to_dict()["half_width"] == [0.0] * 2
        scale = least.plan.parts[0].relative * least.plan.scale
        a = math.exp(-1 / scale)
        chance = (1 - a) / (1 + a)
        if least.plan.law.name == "Gaussian":
            chance = 1 / sum(math.exp(-(k**2) / (2 * scale**2)) for k in range(-9, 10))
        assert chance == pytest.approx(0.95, abs=1e-5) and chance >= 0.95
    one = budget(replace(w, blocks=(replace(w.blocks[0], target=np.inf, within=Wish(1.0)),)))
    assert one.errors.to_dict()["meets"] == [True] * 2 and one.cost == pytest.approx(1.96**2 / 2, rel=1e-3)


def test_tiny_and_huge_wishes(subtests: pytest.Subtests) -> None:
    for half_width, block, kind in (
        *((0.4, f.prefix, kind) for kind in KINDS),
        *((1e9, f.identity, kind) for kind in KINDS),
        (1e7, f.prefix, "rho"),
    ):
        with subtests.test(f"{half_width:g}, {block.__name__}, {kind}"):
            w = Workload.from_products(domain_of(3), [Product((block(3),), within=Wish(half_width))])
            least = budget(w, **KINDS[kind])
            assert least.errors.to_dict()["meets"] == [True] * 3
            assert least.gap is None or -1e-12 <= least.gap < 1e-4


def test_a_wish_for_more_noise_than_integers_have_is_refused() -> None:
    with pytest.raises(PrivacyError, match="may exceed 2\\^62, the limit of 64-bit integers"):
        budget(Workload.from_products(domain_of(3), [Product((f.prefix(3),), within=Wish(1e12))]))


def test_replaced_rows_cost_more_and_have_no_bound() -> None:
    w = Workload.from_matrix(np.tri(3), targets=np.full(3, 100.0))
    one, other = budget(w), budget(w, neighbours="replace-one")
    assert other.cost > one.cost and other.bound is None and other.gap is None
    shown = dict(other.rows())
    assert shown["bound"] == "none (only known for variances, continuous noise, and rows added or removed)"
    assert "gap" not in shown


def test_a_bound_beyond_the_cost_is_none() -> None:
    """At a large delta noise on integers proves less than continuous noise could."""
    w = Workload.from_matrix(np.eye(2), targets=[1.5, 1.5])  # noise on integers has no less
    least = budget(w, delta=0.2)
    assert least.cost < 0.35 and least.bound is None


def test_a_bound_holds_of_noise_on_integers() -> None:
    """Its variance may be far below that of continuous noise: a release of less than √2 Δ holds the wish."""
    w = Workload.from_matrix(np.eye(2), targets=[0.2, 0.2])
    pure = budget(w, pure=True)
    assert pure.bound is not None and pure.bound <= pure.cost < 2.48 < math.sqrt(2 / 0.2)
    assert accuracy(w, {"epsilon": pure.cost}).plan.standard_errors ** 2 == pytest.approx(
        [0.2, 0.2], rel=1e-5
    )
    # Gaussian noise of scale √0.2 has three quarters of the variance: less of rho would do.
    assert budget(w).bound is None
    assert budget(Workload.from_matrix(np.eye(2), targets=[9.0, 9.0])).bound == pytest.approx(1 / 18)


def test_a_delta_that_allows_all_of_it_leaves_nothing_to_save() -> None:
    least = budget(Workload.from_matrix(np.eye(2), targets=[1e8, 1e8]), delta=0.01)
    assert least.cost == 0.0 == least.bound
    assert least.savings(least.shares).tolist() == [0.0, 0.0]


def test_pure_epsilon_is_at_least_the_bound_and_near_it_for_counts() -> None:
    w = Workload.from_matrix(np.eye(3), targets=[50.0, 60.0, 70.0])
    least = budget(w, pure=True)
    # p_identity weighs no cell above another: all have the least of the variances.
    assert least.bound is not None and least.bound <= least.cost
    assert [least.bound, least.cost] == pytest.approx([2 * math.asinh(0.1)] * 2, rel=1e-5)
    loose = budget(Workload.from_matrix(np.tri(3), targets=np.full(3, 50.0)), pure=True)
    assert loose.bound is not None and loose.bound < loose.cost


def interrupted(names: tuple[str, ...]) -> Callable[[Workload, Program], Solution]:
    def solved(workload: Workload, program: Program) -> Solution:
        limit = {"time_limit": 1e-3} if program.name in names else {}
        return solve(workload, program, **limit)  # type: ignore[arg-type]

    return solved


def test_a_point_of_a_limited_time_is_a_budget_with_a_larger_gap(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(np.tri(40), targets=rng.uniform(10.0, 1000.0, 40))
    least = budget(w, solved=interrupted(("fitness_for_use",)))
    assert least.errors.to_dict()["meets"] == [True] * 40
    assert least.bound is None or least.bound <= least.cost


def test_the_summary_says_all_of_it() -> None:
    w = Workload.from_matrix(np.eye(2), targets=[100.0, 400.0])
    least = budget(w, delta=DELTA)
    found = least.summary()
    assert found["cost"] == least.cost == found["epsilon"] and found["unit"] == "epsilon"
    assert found["queries"]["share_of_cost"] == least.shares.tolist()
    assert found["queries"]["max_variance"] == [100.0, 400.0]
    assert dict(least.rows())["least found"].startswith("epsilon = 0.141303")  # 2 asinh(0.1 / √2)
    assert repr(least) == f"Budget({least.words})"
    assert Privacy(epsilon=found["cost"], delta=DELTA).epsilon == least.plan.epsilon


def test_random_targets_of_any_form(rng: np.random.Generator) -> None:
    """Those that are left out, repeated and combined, as drawn elsewhere."""
    drawn = [w for w in (random_workload(rng) for _ in range(20)) if np.isfinite(w.targets).any()]
    assert len(drawn) >= 3
    for w in drawn[:3]:
        least = budget(w)
        kept = w.queries[np.isfinite(w.targets)]
        np.testing.assert_array_equal(least.plan.workload.queries, kept)
        assert set(least.errors.to_dict()["meets"]) == {True} and least.cost >= (least.bound or 0.0)
