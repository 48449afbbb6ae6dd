"""The largest sum of tables is not below that of any cell, in exact arithmetic, however it is found.

Guards largest_of_tables.py.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tolerances import ROUNDING

from mmopt.numerics.arrays import Array
from mmopt.sectors.largest_of_tables import (
    Axes,
    TableSum,
    climbed_by_attribute,
    elimination,
    fixed,
    largest_by_elimination,
    largest_of_tables,
    scattered,
    separators,
    shifted,
    spread,
    tables_of,
    uppers,
    values_of,
)

Given = dict[Axes, Array]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], *, most: int = 4, count: int = 12) -> Given:
    """Tables of random sets of attributes, of sizes from 1e-3 to 1e3: sums that round."""
    found: Given = {(): np.array(rng.normal())}
    for _ in range(count):
        chosen = rng.choice(len(shape), size=int(rng.integers(1, min(most, len(shape)) + 1)), replace=False)
        axes = tuple(sorted(chosen.tolist()))
        found[axes] = rng.normal(size=[shape[axis] for axis in axes]) * 10.0 ** rng.integers(-3, 4)
    return found


def shape_of(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(size) for size in rng.integers(1, 5, size=int(rng.integers(2, 6))))


def exact_values(shape: tuple[int, ...], tables: Given) -> dict[tuple[int, ...], Fraction]:
    """f at every cell in fractions."""
    return {
        cell: sum(
            (Fraction(float(t[tuple(cell[a] for a in axes)])) for axes, t in tables.items()), Fraction(0)
        )
        for cell in itertools.product(*map(range, shape))
    }


@pytest.mark.quick
def test_no_cell_is_larger_and_one_is_as_large(
    subtests: pytest.Subtests, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By elimination at once, by branching down to few cells, and by branching alone."""
    for easy in [2e6, 12.0, 0.0]:
        monkeypatch.setattr("mmopt.sectors.largest_of_tables.EASY", easy)
        with subtests.test(easy=easy):
            for _ in range(8):
                shape = shape_of(rng)
                tables = drawn(rng, shape)
                truth = max(exact_values(shape, tables).values())
                size = sum(float(np.abs(t).max()) for t in tables.values())
                found = largest_of_tables(shape, tables, 0.0, 60.0)
                assert Fraction(found.upper) >= truth
                assert found.upper <= float(truth) + 2e-9 * abs(float(truth)) + ROUNDING * size
                assert abs(found.lower - float(truth)) <= 2e-9 * abs(float(truth)) + ROUNDING * size
                at = sum(float(t[tuple(found.cell[list(axes)])]) for axes, t in tables.items())
                assert abs(at - found.lower) <= ROUNDING * size


@pytest.mark.quick
def test_without_time_the_bound_is_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.sectors.largest_of_tables.EASY", 0.0)
    for _ in range(10):
        shape = (3, 4, 2, 3)
        tables = drawn(rng, shape, most=2)
        found = largest_of_tables(shape, tables, 0.0, -1.0)
        assert Fraction(found.upper) >= max(exact_values(shape, tables).values())
        assert found.lower <= found.upper < np.inf
    # Further tables of which nothing can be decided without time.
    many = {axes: rng.normal(size=(6, 6)) for axes in itertools.combinations(range(8), 2)}
    late = largest_of_tables((6,) * 8, many, 0.0, -1.0)
    assert late.upper > largest_of_tables((6,) * 8, many, 0.0, 60.0).upper > late.lower - 1e-9


@pytest.mark.quick
def test_the_rounding_of_the_tables_is_charged() -> None:
    tables = {(0,): np.array([0.25, 0.5]), (1,): np.array([0.0, 0.25])}
    exact, wide = (largest_of_tables((2, 2), tables, off, 60.0) for off in (0.0, 0.125))
    assert 0.75 <= exact.upper <= 0.75 + 1e-12
    assert 0.875 <= wide.upper <= 0.875 + 1e-9
    assert exact.cell.tolist() == [1, 1]


def test_a_chain_of_many_attributes_is_eliminated(rng: np.random.Generator) -> None:
    """5^60 cells: the best way through a chain, by its own recursion."""
    shape = (5,) * 60
    tables: Given = {(at, at + 1): rng.normal(size=(5, 5)) for at in range(59)}
    best = np.zeros(5)
    for at in range(59):
        best = (best[:, None] + tables[at, at + 1]).max(axis=0)
    found = largest_of_tables(shape, tables, 0.0, 60.0)
    assert found.upper == pytest.approx(best.max(), rel=ROUNDING)
    assert found.lower == pytest.approx(best.max(), rel=ROUNDING)


def test_no_table_no_attribute_and_no_number() -> None:
    constant = largest_of_tables((3, 1), {(): np.array(1.5), (1,): np.array([0.25])}, 0.0, 60.0)
    assert 1.75 <= constant.upper <= 1.75 + 1e-12
    assert constant.lower == 1.75
    assert constant.cell.shape == (2,)
    unknown = largest_of_tables((2, 2), {(0, 1): np.array([[0.0, np.nan], [1.0, 2.0]])}, 0.0, 60.0)
    assert unknown.upper == np.inf


def test_what_is_done_to_tables_leaves_their_sum_but_for_what_is_counted(rng: np.random.Generator) -> None:
    for _ in range(10):
        shape = shape_of(rng)
        given = drawn(rng, shape)
        truth = exact_values(shape, given)
        whole = tables_of(shape, given, 0.0)
        moved = shifted(whole, separators(whole.arrays), 3, 0.0)
        assert moved.upper <= whole.upper + whole.slack
        for tables in (whole, moved):
            assert_is(truth, tables)
        axis = int(np.argmax(shape))
        value = int(rng.integers(shape[axis]))
        part = {cell: f for cell, f in truth.items() if cell[axis] == value}
        least = {v: max(f for cell, f in truth.items() if cell[axis] == v) for v in range(shape[axis])}
        if shape[axis] > 1:
            assert all(
                Fraction(float(b)) + Fraction(moved.slack) >= least[v]
                for v, b in enumerate(uppers(moved, axis))
            )
            assert_is({(*c[:axis], 0, *c[axis + 1 :]): f for c, f in part.items()}, fixed(moved, axis, value))


def assert_is(truth: dict[tuple[int, ...], Fraction], tables: TableSum) -> None:
    exact = exact_values(tables.sizes, {(): np.array(tables.constant), **tables.arrays})
    assert all(abs(exact[cell] - f) <= Fraction(tables.lost) for cell, f in truth.items())


def test_the_rounding_that_is_counted_is_not_all_there_could_be(rng: np.random.Generator) -> None:
    """Small beside the tables, or a bound would say little."""
    tables = tables_of((3, 3, 3, 3), drawn(rng, (3, 3, 3, 3)), 0.0)
    moved = shifted(tables, separators(tables.arrays), 20, 0.0)
    assert moved.slack <= 1e-11 * sum(float(np.abs(a).max()) for a in tables.arrays.values())


def test_moving_makes_the_bound_exact_on_a_tree() -> None:
    """On tables that form a tree the bound goes to the maximum (Werner 2007)."""
    tables = tables_of(
        (2, 2, 2), {(0, 1): np.array([[0.0, 3], [2, 0]]), (1, 2): np.array([[4.0, 0], [0, 0]])}, 0
    )
    assert tables.upper == 7.0
    assert shifted(tables, separators(tables.arrays), 50, 0.0).upper == pytest.approx(6.0, rel=1e-9)


def test_shared_sets_that_larger_ones_connect_are_left_out() -> None:
    assert separators([(0, 1, 2), (0, 1, 3), (0, 4)]) == {
        (0, 1): [(0, 1, 2), (0, 1, 3)],
        (0,): [(0, 1, 2), (0, 1, 3), (0, 4)],
    }
    assert set(separators(itertools.combinations(range(5), 3))) == set(itertools.combinations(range(5), 2))


def test_tables_within_others_are_spread_over_them() -> None:
    arrays = {(0, 1): np.zeros((2, 2)), (1, 2): np.zeros((2, 2)), (1,): np.array([2.0, 4.0])}
    found = spread(TableSum((2, 2, 2), arrays, 0.0, 0.0)).arrays
    assert {axes: array.tolist() for axes, array in found.items()} == {
        (0, 1): [[1.0, 2.0], [1.0, 2.0]],
        (1, 2): [[1.0, 1.0], [2.0, 2.0]],
    }


def test_elimination_and_a_cell_of_it(rng: np.random.Generator) -> None:
    for _ in range(5):
        shape = shape_of(rng)
        tables = tables_of(shape, drawn(rng, shape), 0.0)
        steps, entries = elimination(tables.arrays, tables.sizes)
        assert entries <= 2 * np.prod(shape, dtype=float) or len(shape) == 1
        value, cell = largest_by_elimination(tables, steps)
        assert abs(value - values_of(tables.arrays, cell[None, :], tables.constant)[0]) <= 2 * tables.slack


def test_climbed_cells_cannot_be_bettered_by_one_change_and_scattered_ones_differ(
    rng: np.random.Generator,
) -> None:
    scattered_cells = scattered((2, 3, 50), 40)
    assert ((scattered_cells >= 0) & (scattered_cells < (2, 3, 50))).all()
    assert len(np.unique(scattered_cells, axis=0)) > 30
    for _ in range(2):
        shape = (3, 4, 2, 5)
        tables = tables_of(shape, drawn(rng, shape), 0.0)
        cells = climbed_by_attribute(tables, scattered(shape, 7))
        assert cells.shape == (7, 4)
        values = values_of(tables.arrays, cells, tables.constant)
        for axis, size in enumerate(shape):
            for value in range(size):
                changed = cells.copy()
                changed[:, axis] = value
                assert (values_of(tables.arrays, changed, tables.constant) <= values + 2 * tables.slack).all()


@pytest.mark.quick
def test_tables_of_all_pairs(rng: np.random.Generator) -> None:
    """Much is moved between them, and an attribute that goes leaves tables that are there already."""
    for _ in range(5):
        shape = (2, 3, 3, 2)
        given = {
            (i, j): rng.normal(size=(shape[i], shape[j]))
            for i, j in itertools.combinations(range(len(shape)), 2)
        }
        truth = exact_values(shape, given)
        whole = tables_of(shape, given, 0.0)
        moved = shifted(whole, separators(whole.arrays), 5, 0.0)
        assert_is(truth, moved)
        assert max(truth.values()) <= Fraction(moved.upper) + Fraction(moved.slack)
        assert moved.upper < whole.upper
        found = largest_of_tables(shape, given, 0.0, 60.0)
        assert float(max(truth.values())) <= found.upper <= float(max(truth.values())) + 1e-12
