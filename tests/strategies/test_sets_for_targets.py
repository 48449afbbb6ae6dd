"""Rows and weights of sets for the largest variance: better than for the sum, never worse than the start.

Guards the choice of them in compiler/reductions/symmetry_and_row_space.py, too.

Guards set_strategy_and_cells.py.
"""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import tolerances
from dense_row_space import ways
from few_attributes import few_ways

from mmopt import Workload
from mmopt.compiler.reductions.symmetry_and_row_space import by_sets, on_sets
from mmopt.driver.judge.score_and_meaning import bound_of, candidate
from mmopt.language import shipped
from mmopt.limits import deadline
from mmopt.solvers import Clock, Options, sector_kernel
from mmopt.strategies import set_strategy_and_cells
from mmopt.strategies.set_strategy_and_cells import SetCells, _WeightedQueries, best_by_sets, best_for_targets
from mmopt.workloads.factors_and_products import identity, prefix


def mixed() -> Workload:
    """Prefixes of one and two attributes with few and many values."""
    return ways((2, 3, 8))


def solved(workload: Workload, cells: SetCells) -> tuple[float, float]:
    """The largest variance and the bound on it."""
    instance, _ = on_sets(shipped("minimax_variance"), workload, {}, cells)
    (point,) = sector_kernel.points("minimax_variance", instance.env, Options(), Clock(math.inf))
    bound = bound_of(instance, point.multipliers)
    assert bound is not None
    return candidate(instance, point.variables).objective, bound


ROUNDS = (1, 3, 6)


@pytest.fixture(scope="module")
def found() -> Iterator[list[SetCells]]:
    """After so many rounds."""
    with pytest.MonkeyPatch.context() as patch:

        def after(rounds: int) -> SetCells:
            patch.setattr(set_strategy_and_cells, "ROUNDS", rounds)
            return best_for_targets(mixed())

        yield list(map(after, ROUNDS))


@pytest.mark.quick
def test_the_largest_variance_falls_and_the_bound_rises(found: list[SetCells]) -> None:
    workload = mixed()
    even = solved(workload, best_by_sets(workload))
    each = [solved(workload, cells) for cells in found]
    assert each[0][0] < even[0] * (1 + tolerances.RECOMPUTED)
    assert each[0][0] > each[1][0] > each[2][0]
    assert even[1] < each[1][1] < each[2][1] <= each[2][0] < 1.1 * each[2][1]


def test_the_best_round_is_kept(found: list[SetCells], monkeypatch: pytest.MonkeyPatch) -> None:
    """A last round that is worse is not the strategy: its weights are moved the wrong way here."""
    monkeypatch.setattr(set_strategy_and_cells, "ROUNDS", 2)
    moved = _WeightedQueries.moved
    monkeypatch.setattr(
        _WeightedQueries, "moved", lambda own, variances: moved(own, [1 / v for v in variances])
    )
    kept = best_for_targets(mixed())
    for one, other in zip(kept.unit.matrices, found[0].unit.matrices, strict=True):
        np.testing.assert_array_equal(one, other)


def test_weights_of_queries_are_products_of_sum_1(rng: np.random.Generator) -> None:
    """And weighted Gram matrices are those of the weighted queries."""
    workload = few_ways((2, 3, 4), (0, 1, 2), (prefix, prefix, identity))
    weighed = _WeightedQueries.evenly(workload)
    products = workload.products or ()
    for _ in range(2):
        weights = list(weighed.weights)
        assert sum(own.sum() for own in weights) == pytest.approx(1, rel=tolerances.ROUNDING)
        for own, product, few in zip(weights, products, weighed.products(), strict=True):
            rows = product.queries.matrix()
            total = product.weight * (rows.T * own.ravel()) @ rows
            whole = np.ones((1, 1))
            grams = dict(zip(few.attributes, few.grams, strict=True))
            for i, size in enumerate(workload.domain.shape):
                whole = np.kron(whole, grams.get(i, np.ones((size, size))))
            np.testing.assert_allclose(few.weight * whole, total, atol=tolerances.SHAPE)
        variances = [np.ones(own.shape) for own in weights]
        variances[-1][0] = 4.0  # and more weight is where the variance is
        before, weighed = weights[-1], weighed.moved(variances)
        after = list(weighed.weights)[-1]
        assert (after[0] / after[1:] > 1.5 * before[0] / before[1:]).all()


def test_no_time_is_a_start(found: list[SetCells], monkeypatch: pytest.MonkeyPatch) -> None:
    """One round, whose strategy and bound hold."""
    workload, searches = mixed(), []
    search = set_strategy_and_cells.with_best_bases
    monkeypatch.setattr(
        set_strategy_and_cells, "with_best_bases", lambda *asked: searches.append(asked) or search(*asked)
    )
    with deadline(0.0):
        cells = best_for_targets(workload)
    assert len(searches) == 1
    worst, bound = solved(workload, cells)
    best, better = solved(workload, found[-1])
    assert 0 < bound < better <= best < worst


def test_the_way_is_chosen_by_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dearer search is for programs of each query's variance alone."""
    monkeypatch.setattr("mmopt.sectors.row_space_cells_and_targets.MOST_FUNCTIONS_PER_CELL", 1.0)
    monkeypatch.setattr(set_strategy_and_cells, "ROUNDS", 1)
    workload = ways((2, 3), target=1.0)
    for program, is_dear in (("l2_strategy", False), ("minimax_variance", True), ("fitness_for_use", True)):
        for is_quick in (True, False):
            found = by_sets(shipped(program), workload, {}, is_quick=is_quick)
            assert not isinstance(found, str)
            cells = found[0].env["B" if program == "fitness_for_use" else "W"].columns
            assert bool(len(cells.weights)) == (is_dear and not is_quick)


def test_what_comes_with_it(found: list[SetCells]) -> None:
    for cells in found:
        assert cells.weights.shape == (mixed().m,)
        assert cells.weights.sum() == pytest.approx(1, rel=tolerances.ROUNDING)
        assert [own.shape for own in cells.measures] == [(2,), (3,), (8,)]
