"""Strategies on a row space in integers: exact answers, proved sensitivity, covariances as of the matrix.

Guards integer_components_and_sectors.py, sectors/sector_layout_and_variances.py.
"""

import itertools
from contextlib import suppress

import numpy as np
import pytest
import tolerances
from sector_strategies import layout, near_identity, pairs, prefixes, strategy_of, with_rests

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy.rounding import integer_components_and_sectors as integer_sectors
from mmopt.privacy.rounding.integer_components_and_sectors import IntegerSectors, round_sectors
from mmopt.sectors.row_space_cells_and_targets import RestComponent
from mmopt.strategies import ADD_REMOVE, Neighbours, RowSpaceStrategy
from mmopt.workloads import Workload

LOOSE = 1e-9  # of a proved largest square, relative: what rounding may add to it


def dense(integer: IntegerSectors) -> np.ndarray:
    """The integers on all cells, as Python's."""
    units = np.eye(integer.workload.n, dtype=np.int64)
    return np.column_stack([integer.answers(unit) for unit in units]).astype(object)


def check(strategy: RowSpaceStrategy, workload: Workload, rng: np.random.Generator) -> IntegerSectors:
    """Everything that a release rests on, against the integers as a matrix."""
    integer = round_sectors(strategy, workload, ADD_REMOVE)
    k = dense(integer)
    exact = max((k**2).sum(axis=0))
    assert exact <= integer.squared_sensitivity <= exact * (1 + LOOSE) + 1
    assert integer.squared_sensitivities() == [integer.squared_sensitivity]
    assert max(abs(k).ravel()) <= integer.parts[0].largest_answer
    x = rng.integers(0, 1000, workload.n)
    assert integer.answers(x).tolist() == (k @ x.astype(object)).tolist()
    real = np.ldexp(k.astype(float), -integer.bits)
    np.testing.assert_allclose(real, strategy.implicit().matrix(), atol=2.0**-integer.bits * workload.n)
    inverse = workload.queries @ np.linalg.pinv(real)
    np.testing.assert_allclose(integer.variances, np.square(inverse).sum(axis=1), rtol=tolerances.RECOMPUTED)
    coefficients = np.column_stack([integer.estimate(unit) for unit in np.eye(integer.rows)])
    covariance = np.ldexp(coefficients, integer.bits) @ np.ldexp(coefficients, integer.bits).T
    size = float(np.abs(covariance).max())
    np.testing.assert_allclose(covariance, inverse @ inverse.T, atol=tolerances.RECOMPUTED * size)
    # Without noise the truth: no bias.
    np.testing.assert_allclose(
        integer.estimate(integer.answers(x)), workload.queries @ x, rtol=tolerances.RECOMPUTED, atol=1e-6
    )
    return integer


@pytest.mark.parametrize(("k", "d"), [(2, 4), (3, 3)])
def test_of_equal_attributes(rng: np.random.Generator, k: int, d: int) -> None:
    own = pairs(rng, k, d)
    check(strategy_of(own, near_identity(rng, own.size)), prefixes((d,) * k), rng)


def test_of_other_attributes(rng: np.random.Generator) -> None:
    sizes, sets = (2, 3, 4, 2), [(0, 1), (1, 2), (2, 3)]
    own = layout(rng, sizes, sets)
    check(strategy_of(own, near_identity(rng, own.size)), prefixes(sizes, sets), rng)


@pytest.mark.quick
def test_tables_of_columns_have_the_largest_one(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checked as over more cells than are looked at one by one; also of entries that need the whole of 64
    bits."""
    for _ in range(3):
        sizes, sets = (2, 3, 4, 2), [(0, 1, 2), (2, 3)]
        own = layout(rng, sizes, sets)
        strategy = strategy_of(own, near_identity(rng, own.size))
        exact = round_sectors(strategy, prefixes(sizes, sets), ADD_REMOVE).squared_sensitivity
        with monkeypatch.context() as patch:
            patch.setattr(integer_sectors, "_MOST_ENTRIES", 0)
            found = round_sectors(strategy, prefixes(sizes, sets), ADD_REMOVE).squared_sensitivity
        assert exact <= found <= exact * (1 + LOOSE)


@pytest.mark.quick
def test_values_that_are_alike(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured by one row a value: the same Gram matrix as of an orthonormal basis."""
    strategy, workload = with_rests(rng)
    exact = check(strategy, workload, rng)
    assert exact.tables == ((0, 1), (0, 2), (1, 2))
    monkeypatch.setattr(integer_sectors, "_MOST_ENTRIES", 0)
    found = round_sectors(strategy, workload, ADD_REMOVE)
    assert exact.squared_sensitivity <= found.squared_sensitivity <= exact.squared_sensitivity * (1 + LOOSE)


@pytest.mark.quick
def test_other_neighbours(rng: np.random.Generator) -> None:
    strategy, workload = (
        strategy_of(own := pairs(rng, 3, 2), near_identity(rng, own.size)),
        prefixes((2,) * 3),
    )
    one = round_sectors(strategy, workload, ADD_REMOVE)
    replaced = round_sectors(strategy, workload, Neighbours.of("replace-one"))
    k = dense(one)
    moved = max(sum((a - b) ** 2) for a, b in itertools.combinations(k.T, 2))
    assert moved <= replaced.squared_sensitivity == 4 * one.squared_sensitivity
    assert round_sectors(strategy, workload, Neighbours("rows", 3)).squared_sensitivity == (
        9 * one.squared_sensitivity
    )
    with pytest.raises(PrivacyError, match="its columns are not compared"):
        round_sectors(strategy, workload, Neighbours("participation", 2, 2))


def test_not_supported(rng: np.random.Generator) -> None:
    strategy = strategy_of(layout(rng, (2, 2), [(0,)]), np.eye(2))
    with pytest.raises(WorkloadError) as error:
        round_sectors(strategy, prefixes((2, 2)), ADD_REMOVE)
    assert error.value.message == (
        "the strategy does not support the workload: some query is no combination of its rows"
    )


class Tables:
    """Counts of rows by at most two of their attributes."""

    def __init__(self, rows: np.ndarray, size: int) -> None:
        self.rows, self.sizes = rows, (size,) * rows.shape[1]

    def of(self, attributes: tuple[int, ...]) -> np.ndarray:
        found = np.zeros([self.sizes[i] for i in attributes], dtype=np.int64)
        for row in self.rows:
            found[tuple(row[list(attributes)])] += 1
        return found


@pytest.mark.quick
def test_over_cells_that_cannot_be_counted(rng: np.random.Generator) -> None:
    """10^12: answers from tables; their estimates are the counts, whatever the cells hold."""
    k, d = 12, 10
    workload = prefixes((d,) * k, [(0,), (3, 7), (10, 11)])
    own = layout(rng, (d,) * k, [*((i,) for i in range(k)), (3, 7), (10, 11)])
    for _ in range(10):  # one draw in twenty is refused: a query's variance grows by more than the limit
        strategy = RowSpaceStrategy((RestComponent((), own, near_identity(rng, own.size)),), 500.0)
        with suppress(WorkloadError):
            integer = round_sectors(strategy, workload, ADD_REMOVE)
            break
    rows = rng.integers(0, d, (200, k))
    answers = integer.answers_of(Tables(rows, d))
    assert len(answers) == integer.rows == 1 + 12 * 9 + 2 * 81
    below = [(rows[:, i][:, None] <= np.arange(d)).astype(int) for i in range(k)]
    truth = [below[0].sum(axis=0), *((below[i].T @ below[j]).ravel() for i, j in ((3, 7), (10, 11)))]
    np.testing.assert_allclose(integer.estimate(answers), np.concatenate(truth), atol=1e-6)
    # A column is as long as the proof says at most.
    for cell in rng.integers(0, d, (20, k)):
        column = integer.answers_of(Tables(cell[None], d)).astype(object)
        assert (column**2).sum() <= integer.squared_sensitivity
