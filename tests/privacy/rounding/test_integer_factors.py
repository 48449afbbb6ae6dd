"""Strategies in factors, rounded factor by factor: against the same matrices written out.

Guards integer_factors.py.
"""

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from mmopt.errors import UnsuitableError, WorkloadError
from mmopt.mechanism import measure, plan
from mmopt.mechanism.standard_errors_and_intervals import deviations
from mmopt.privacy import Privacy
from mmopt.privacy.rounding.integer_dense import WORTH_SAYING
from mmopt.privacy.rounding.integer_factors import IntegerFactors, best_choice, rounded_choices
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS, largest_entry
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.report import privacy_rows
from mmopt.strategies import SetStrategy, Strategy
from mmopt.strategies.factor_strategies import MarginalStrategy, ProductStrategy, UnionStrategy
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import all_range, identity, prefix, total
from tests.privacy.rounding.test_integer_dense import UNSUPPORTED

SIZES = (2, 3, 5)
DATA = np.random.default_rng(5).poisson(20, 30)
FORMS = ("product", "union", "marginals")


def workload() -> Workload:
    """A marginal, ranges of the last attribute by the first, and prefixes."""
    return Workload.from_products(
        domain_of(*SIZES),
        [
            Product((identity(2), total(3), all_range(5)), "ranges"),
            Product((total(2), identity(3), total(5)), "middle"),
            Product((identity(2), total(3), prefix(5)), "prefixes"),
        ],
    )


def columns_normalised(matrix: np.ndarray, norm: int) -> Strategy:
    lengths = np.abs(matrix).sum(axis=0) if norm == 1 else np.sqrt((matrix**2).sum(axis=0))
    return Strategy(matrix / lengths, norm)


def parts(norm: int) -> tuple[ProductStrategy, ProductStrategy, ProductStrategy]:
    """One that supports all, one for the ranges, one for the middle."""
    rng = np.random.default_rng(8)

    def own(n: int) -> Strategy:
        return columns_normalised(np.vstack([np.eye(n), rng.uniform(0, 0.7, (2, n))]), norm)

    sums = {n: Strategy(np.ones((1, n)), norm) for n in SIZES}
    return (
        ProductStrategy((own(2), own(3), own(5))),
        ProductStrategy((own(2), sums[3], own(5))),
        ProductStrategy((sums[2], own(3), sums[5])),
    )


def strategy_of(form: str, norm: int) -> ProductStrategy | UnionStrategy | MarginalStrategy:
    if form == "marginals":
        weights = np.zeros(8)
        weights[[0b101, 0b010, 0b000]] = [0.6, 0.3, 0.1]
        return MarginalStrategy(SIZES, weights, norm)
    if form == "product":
        return parts(norm)[0]
    return UnionStrategy(parts(norm)[1:], (0.7, 0.3))


def privacy_of(norm: int, epsilon: float = 0.5) -> Privacy:
    return Privacy(epsilon=epsilon, delta=None if norm == 1 else 1e-6)


def dense_parts(integer: object, cells: int = 30) -> list[np.ndarray]:
    """The integer rows of each part, from answers on single cells."""
    rows = np.column_stack([integer.answers(unit) for unit in np.eye(cells, dtype=np.int64)])
    return np.split(rows, np.cumsum([part.rows for part in integer.parts])[:-1])


def test_a_plan_has_exact_integers_the_allowed_cost_and_the_errors_of_least_squares(
    subtests: pytest.Subtests,
) -> None:
    w = workload()
    for form, norm in product(FORMS, (1, 2)):
        with subtests.test(form=form, norm=norm):
            found = plan(w, strategy_of(form, norm), privacy_of(norm))
            integer, parts = found.integer, dense_parts(found.integer)
            assert integer.rows == sum(map(len, parts))
            assert len(integer.parts) == {"product": 1}.get(form, len(parts))
            costs = []
            for rows, part in zip(parts, integer.parts, strict=True):
                listed = [[int(v) for v in column] for column in rows.T]
                exact = max(sum(abs(v) ** norm for v in c) for c in listed)
                assert part.squared_sensitivity == (exact**2 if norm == 1 else exact)
                assert part.largest_answer == max(map(max, np.abs(rows).tolist())) * MAX_ROWS
                scale = Fraction(part.relative * found.scale)
                costs.append(exact / scale if norm == 1 else exact / scale**2 / 2)
            if isinstance(integer, IntegerFactors):
                for rows, own in zip(parts, integer.factors, strict=True):
                    assert (rows == reduce(np.kron, own)).all()
            np.testing.assert_array_equal(integer.answers(DATA), np.concatenate(parts) @ DATA)
            exact = integer.answers(DATA).astype(float)
            np.testing.assert_allclose(integer.estimate(exact), w.answers(DATA), atol=1e-7)
            assert integer.loss <= WORTH_SAYING and integer.bias == 0.0
            claimed = found.epsilon if norm == 1 else found.rho
            assert sum(costs) <= Fraction(claimed) == pytest.approx(sum(costs), rel=1e-12)
            assert found.epsilon <= found.allowed == pytest.approx(found.epsilon, rel=1e-9)
            words = f"; the costs of {len(costs)} measurements add up (composition)"
            assert found.theorem.endswith(words) == (len(costs) > 1)
            noise = deviations(found.law, integer, found.scale)
            rows = np.vstack([r.astype(float) / d for r, d in zip(parts, noise, strict=True)])
            exact = np.sqrt(Strategy(rows).variances(w))
            rtol = 1e-9 if form != "union" else 1e-6
            np.testing.assert_allclose(found.standard_errors, exact, rtol=rtol)
            # Without coefficients, a union of parts loses what it could tell of their common total.
            bound = integer.standard_errors(noise)
            assert integer.bounds_errors == (form == "union") and not found.why_bounds
            assert (exact <= bound * (1 + 1e-9)).all() and (form != "union" or (bound > 1.05 * exact).any())


def test_much_noise_does_not_disturb_the_least_squares():
    """The shares of the parts are then tiny, and numbers of their squares' size appear."""
    w = workload()
    found = plan(w, strategy_of("union", 1), privacy_of(1, epsilon=1e-8))
    answers = measure(found, DATA, simulate=3)
    assert (np.abs(answers.estimates - w.answers(DATA)) < 20 * answers.standard_errors).all()


def test_a_part_that_answers_nothing_is_not_measured():
    w = workload()
    middle = Workload.from_products(w.domain, w.products[1:2])
    union = strategy_of("union", 2)
    assert len(round_any(union, middle).parts) == 1


def test_bits_go_where_rounding_costs_most():
    cells = Workload.from_matrix(np.eye(4))
    whole = rounded_choices(Strategy(np.eye(4), 1), cells)
    assert [(c.bits, c.loss) for c in whole] == [(0.0, 0.0)]
    dense = rounded_choices(columns_normalised(np.eye(4) + 0.3 * np.tri(4), 2), cells)
    assert all(a.bits < b.bits and a.loss > b.loss for a, b in pairwise(dense))
    chosen = best_choice([whole, dense, whole], 12)
    assert [c.bits for c in chosen][::2] == [0.0, 0.0] and 8 < chosen[1].bits <= 12
    both = best_choice([dense, dense], 12)
    assert both[0].bits + both[1].bits <= 12
    with pytest.raises(WorkloadError) as caught:
        best_choice([dense, []], 12)
    assert str(caught.value) == (
        "the 2 factors of a product do not fit into 12 bits together\n"
        "  choose a template that is rounded less: --templates marginals"
    )


def test_the_loss_of_a_factor_is_that_of_its_worst_query():
    rng = np.random.default_rng(2)
    cells = Workload.from_matrix(np.eye(5))
    strategy = columns_normalised(np.vstack([np.eye(5), rng.uniform(0, 1, (3, 5))]), 2)
    probes = Workload.from_matrix(rng.normal(size=(500, 5)))
    for choice in rounded_choices(strategy, cells):
        rounded = Strategy(choice.matrix, 2)
        after = rounded.variances(probes) * choice.squared
        assert (after / strategy.variances(probes)).max() <= math.exp(choice.loss) * (1 + 1e-9)
        assert choice.squared == int((choice.matrix**2).sum(axis=0).max())


def test_many_dense_factors_say_what_they_lose():
    rng = np.random.default_rng(4)
    w = Workload.from_products(domain_of(*[3] * 9), [Product(tuple(identity(3) for _ in range(9)))])
    dense = columns_normalised(rng.normal(size=(3, 3)), 2)
    found = plan(w, ProductStrategy((dense,) * 9), privacy_of(2))
    more = f"{100 * (found.integer.loss - 1):.2g} %"
    assert 1.001 < found.integer.loss < 1.2
    assert found.rounding == (
        f"a variance is larger by up to {more}, as integers are measured; all figures include it"
    )
    assert ("rounding", found.rounding) in privacy_rows(found)
    four = Workload.from_products(domain_of(*[3] * 4), [Product(tuple(identity(3) for _ in range(4)))])
    assert 1.0 < round_any(ProductStrategy((dense,) * 4), four).loss <= WORTH_SAYING


def test_refusals(subtests: pytest.Subtests) -> None:
    w = workload()
    totals = ProductStrategy(tuple(Strategy(np.ones((1, n)), 1) for n in SIZES))
    one_too_many = ProductStrategy(tuple(Strategy(np.eye(n), 1) for n in (*SIZES, 4)))
    total_alone, uneven = np.eye(8)[0], np.array([1e-160, *np.zeros(6), 1.0])
    for strategy, message in (
        (totals, UNSUPPORTED),
        (MarginalStrategy(SIZES, total_alone, 1), UNSUPPORTED),
        (
            MarginalStrategy((3, 2, 5), np.ones(8), 1),
            "the strategy has cells (3, 2, 5), the workload (2, 3, 5)",
        ),
        (
            MarginalStrategy(SIZES, uneven, 1),
            "the weights of the marginals go from 1e-160 to 1, the least may be 1e-08 of the largest\n"
            "  leave out marginals of next to no weight",
        ),
        (one_too_many, "the strategy has cells (2, 3, 5, 4), the workload (2, 3, 5)"),
    ):
        with subtests.test(message):
            with pytest.raises(WorkloadError) as caught:
                round_any(strategy, w)
            assert str(caught.value) == message
    with pytest.raises(UnsuitableError) as unsuitable:
        round_any(strategy_of("product", 1), Workload.from_matrix(np.tri(30)))
    assert str(unsuitable.value) == (
        "the workload is a matrix, and strategies by attribute need a union of products\n"
        "  write it as products over attributes, or solve it over all cells"
    )


def test_bits_of_a_set_go_where_rounding_costs_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of three matrices has no integers; rows of another are of next to no size."""
    rng = np.random.default_rng(5)
    dense, whole = rng.normal(size=(4, 5)), np.eye(3)[:2]
    tiny = np.diag([1.0, 1e-6]) @ np.eye(3)[:2]
    w = Workload.from_products(domain_of(5, 3, 3), [Product((identity(5), identity(3), identity(3)))])
    sets = tuple(s for k in range(4) for s in combinations(range(3), k))
    for second, loss in ((whole, 1 + 1e-6), (tiny, WORTH_SAYING)):
        strategy = SetStrategy((dense, whole, second), sets, np.linspace(1, 2, len(sets)))
        found = round_any(strategy, w)
        assert found.loss <= loss and largest_entry(found.matrices[1]) == 1
        assert largest_entry(found.matrices[0]) > 2**10
        x = rng.integers(0, 100, size=45)
        exact = found.answers(x).astype(float)
        np.testing.assert_allclose(found.estimate(exact), w.answers(x), atol=1e-5)
    monkeypatch.setattr("mmopt.privacy.rounding.integer_factors.BITS", (2,))
    with pytest.raises(WorkloadError, match="the 3 factors of a product do not fit into 2 bits together"):
        round_any(strategy, w)
