"""Derivatives of the nuclear norm against finite differences, and the steps that the kernel makes with them.

Guards ``interior_point.py``.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import tolerances
from tolerances import ROUNDING

from mmopt.solvers.nuclear import interior_point as module, interior_point as newton
from mmopt.solvers.nuclear.interior_point import (
    LEAST_TERM,
    Triangle,
    by_size,
    curvature,
    exponentials,
    many_exponentials,
    triangle,
)
from mmopt.solvers.nuclear.problem_and_iterates import (
    Iterate,
    NuclearProblem,
    bare,
    iterate,
    spectra_of,
    whole,
    whole_of,
)
from tests.solvers.nuclear.problems import KINDS, at, drawn, gradient, lined, plain


def test_the_hessian(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """It is, with enough exponentials, the derivative of the gradient: N (diag(g) - Q)."""
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = KINDS[kind](rng)
            x = drawn(problem, rng)
            found = at(problem, x)
            q = curvature(problem, found, np.arange(len(x)), many_exponentials).dense()
            hessian = np.diag(gradient(found)) - found.norm * q
            differences = np.array(
                [
                    (gradient(at(problem, x + STEP * e)) - gradient(at(problem, x - STEP * e))) / (2 * STEP)
                    for e in np.eye(len(x))
                ]
            )
            assert np.allclose(
                hessian, differences, rtol=0, atol=tolerances.DIFFERENCES * np.abs(hessian).max()
            )


def test_a_block_of_rows_at_a_time_is_the_same(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    count = len(found.cells) + len(found.queries)
    together = curvature(problem, found, np.arange(count)).dense()
    monkeypatch.setattr(module, "PANEL_ROWS", 3)
    apart = curvature(problem, found, np.arange(count)).dense()
    assert np.allclose(together, apart, rtol=tolerances.ROUNDING)


def test_rows_that_a_term_says_nothing_of(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Left out of it they change Q by little next to its diagonal, in whatever order the shares come."""
    for height, targets in itertools.product([3, 256], [False, True]):
        with subtests.test(height=height, targets=targets), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "PANEL_ROWS", height)
            rows = rng.normal(size=(9, 7)) * 10.0 ** -np.arange(7.0)
            problem = whole(rows, np.ones(9) if targets else None)
            found = at(problem, drawn(problem, rng))
            active = by_size(problem, found, np.arange(16 if targets else 7))
            assert sorted(active) == list(range(len(active)))
            assert not targets or set(active[:9]) == set(range(9))
            exact = curvature(problem, found, active, exponentials).dense()
            some = curvature(problem, found, active, exponentials, careful=False).dense()
            sizes = np.sqrt(np.diagonal(exact))
            terms = 30
            assert (np.diagonal(some) >= (1 - terms * LEAST_TERM) * np.diagonal(exact)).all()
            assert (np.abs(some - exact) <= terms * np.sqrt(LEAST_TERM) * np.outer(sizes, sizes)).all()
            back = np.argsort(active)
            in_order = curvature(problem, found, np.arange(len(active)), exponentials).dense()
            np.testing.assert_allclose(
                exact[np.ix_(back, back)], in_order, atol=tolerances.ROUNDING * in_order.max()
            )


def test_shares_that_live_on_like_singular_values_stand_together() -> None:
    problem = whole(np.diag([1.0, 1e-6, 1e-3, 1e-5]))
    found = at(problem, np.zeros(4))
    assert by_size(problem, found, np.arange(4)).tolist() == [1, 3, 2, 0]
    assert by_size(problem, found, np.array([0, 2, 3])).tolist() == [3, 2, 0]


def test_sums_of_exponentials(subtests: pytest.Subtests) -> None:
    """A Newton step with a Hessian within a quarter of the true one converges all the same."""
    for ratio, low in itertools.product([1.0, 1.5, 30.0, 1e3, 1e6, 1e10], [1e-9, 1.0, 1e5]):
        with subtests.test(ratio=ratio, low=low):
            z = np.geomspace(low, low * ratio, 1000)
            for made, enough in ((exponentials, 0.25), (many_exponentials, ROUNDING)):
                terms = made(low, low * ratio)
                found = sum(w * np.exp(-a * z) for a, w in terms)
                assert np.abs(found * z - 1.0).max() < enough
                assert all(w > 0 for _, w in terms)  # the Hessian of a concave function stays one
            assert len(exponentials(low, low * ratio)) <= 14


HEIGHTS = [1, 3, 4, 50]


def filled(matrix: np.ndarray) -> Triangle:
    found = triangle(matrix, len(matrix))
    found.add(matrix)
    return found


def test_a_triangle_is_the_matrix_and_solves_as_it(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for count, height in itertools.product([1, 4, 11, 12], HEIGHTS):
        with subtests.test(count=count, height=height), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "PANEL_ROWS", height)
            root = rng.normal(size=(count, count + 3))
            matrix = root @ root.T
            assert np.array_equal(filled(matrix).dense(), matrix)
            assert sum(panel.size for _, panel in filled(matrix)) <= count * (count + height) / 2
            for right in (rng.normal(size=count), rng.normal(size=(count, 2))):
                found = filled(matrix).solve(right)
                assert found is not None and found.shape == right.shape
                np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=tolerances.FINE)


def test_a_triangle_that_is_not_definite_is_not_solved(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for height in HEIGHTS:
        with subtests.test(height=height), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "PANEL_ROWS", height)
            matrix = np.eye(7)
            matrix[5, 5] = -1.0
            assert filled(matrix).solve(rng.normal(size=7)) is None


STEP = 1e-4


def test_the_gradient(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = KINDS[kind](rng)
            x = drawn(problem, rng)
            differences = [
                (2 * at(problem, x + STEP * e).norm - 2 * at(problem, x - STEP * e).norm) / (2 * STEP)
                for e in np.eye(len(x))
            ]
            found = gradient(at(problem, x))
            assert np.allclose(found, differences, rtol=0, atol=tolerances.DIFFERENCES * np.abs(found).max())


def test_an_iterate_without_its_decompositions_gets_them_again(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = KINDS[kind](rng)
            first, last = (at(problem, drawn(problem, rng)) for _ in range(2))
            assert whole_of(problem, bare(last), last) is last
            assert all(one.right is None for one in bare(first).spectra) and bare(first).upper == first.upper
            found = whole_of(problem, bare(first), last)
            assert found.upper == pytest.approx(first.upper, rel=tolerances.FINE)
            for one, other in zip(found.spectra, first.spectra, strict=True):
                np.testing.assert_allclose(one.values, other.values, rtol=tolerances.FINE)


def test_lines_are_parts(rng: np.random.Generator) -> None:
    """Lines with a second column of zeros are parts like others, though not of full rank."""
    for targets in [False, True]:
        problem = lined(rng, targets=targets, wide=True)
        x = drawn(problem, rng)
        parts = []
        for part in problem.parts:
            if part.rows.shape[1] == 1:
                cells = np.concatenate([part.cells, part.cells])
                part = replace(part, rows=np.hstack([part.rows, np.zeros_like(part.rows)]), cells=cells)
            parts.append(part)
        other = replace(problem, parts=tuple(parts))
        assert problem.lines is not None and problem.lines.count == 7 and other.lines is None
        one, two = at(problem, x), at(other, x)
        assert one.norm == pytest.approx(two.norm, rel=tolerances.ROUNDING)
        assert not targets or one.upper == pytest.approx(two.upper, rel=tolerances.FINE)
        np.testing.assert_allclose(gradient(one), gradient(two), rtol=tolerances.FINE)
        for a, b in zip(spectra_of(problem, one), spectra_of(other, two), strict=True):
            np.testing.assert_allclose(a.values, b.values, rtol=tolerances.FINE)
            if targets:
                np.testing.assert_allclose(
                    (a.left * a.values) @ a.left.T, (b.left * b.values) @ b.left.T, atol=tolerances.FINE
                )


def shares_of(problem: NuclearProblem, rng: np.random.Generator) -> Iterate:
    """An iterate at random shares."""
    found = at(problem, drawn(problem, rng))
    queries = found.queries if found.queries is None else found.queries / found.queries.sum()
    return iterate(problem, [None] * len(problem.others), found.cells / found.cells.sum(), queries)


def test_a_step_in_single_precision(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """It goes where the step in double precision goes."""
    for kind in KINDS:
        with subtests.test(kind=kind), pytest.MonkeyPatch.context() as patch:
            problem = KINDS[kind](rng)
            found = shares_of(problem, rng)
            single = newton.step(problem, found, 1e-3, careful=False)
            patch.setattr(newton, "SINGLE", np.inf)
            double = newton.step(problem, found, 1e-3, careful=False)
            assert [one is None for one in single] == [False, found.queries is None]
            for one, other in zip(single, double, strict=True):
                if one is not None:
                    assert other is not None and one.dtype == float
                    np.testing.assert_allclose(one, other, rtol=tolerances.SINGLE_STEP)


def test_where_single_precision_does_not_do_double_does(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = plain(rng, targets=True)
    found = shares_of(problem, rng)
    kept, tried = Triangle.solve, []

    def solve(self: Triangle, right: np.ndarray) -> np.ndarray | None:
        tried.append(self.panels[0].dtype)
        return None if tried[-1] == np.float32 else kept(self, right)

    monkeypatch.setattr(Triangle, "solve", solve)
    cells, queries = newton.step(problem, found, 1e-3, careful=False)
    assert tried == [np.float32, np.float64]
    newton.step(problem, found, 0.5 * newton.SINGLE / 20, careful=False)
    assert tried[2:] == [np.float64]
    monkeypatch.setattr(newton, "SINGLE", np.inf)
    expected = newton.step(problem, found, 1e-3, careful=False)
    np.testing.assert_array_equal(cells, expected[0])
    np.testing.assert_array_equal(queries, expected[1])
