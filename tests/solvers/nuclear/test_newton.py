"""The gradient of the nuclear norm against finite differences, and the steps of second order."""

from dataclasses import replace

import numpy as np
import pytest
import tolerances
from solvers.nuclear.problems import KINDS, at, drawn, gradient, lined, plain, problem_of

from mmopt.solvers.nuclear import ascent as newton
from mmopt.solvers.nuclear.nuclear_problem import Problem
from mmopt.solvers.nuclear.second_order import Triangle
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, bare, iterate, spectra_of, whole_of

STEP = 1e-4


def test_the_gradient(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for kind in KINDS:
        with subtests.test(kind=kind):
            problem = problem_of(kind, rng)
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
            problem = problem_of(kind, rng)
            first, last = (at(problem, drawn(problem, rng)) for _ in range(2))
            assert whole_of(problem, bare(last), last) is last
            assert all(one.right is None for one in bare(first).spectra) and bare(first).upper == first.upper
            found = whole_of(problem, bare(first), last)
            assert found.upper == pytest.approx(first.upper, rel=tolerances.FINE)
            for one, other in zip(found.spectra, first.spectra, strict=True):
                np.testing.assert_allclose(one.values, other.values, rtol=tolerances.FINE)


def test_lines_are_parts(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """With a second column of zeros they are parts like others, though not of full rank."""
    for targets in [False, True]:
        with subtests.test(targets=targets):
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


def test_shares_sum_to_one_and_stay_positive(rng: np.random.Generator) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    shares = iterate(problem, [None], found.cells / found.cells.sum(), found.queries / found.queries.sum())
    cells, queries = newton.step(problem, shares, 1e-3)
    assert queries is not None
    for y in (cells, queries):
        assert y.min() > 0 and y.sum() == pytest.approx(1.0, rel=tolerances.ROUNDING)


def shares_of(problem: Problem, rng: np.random.Generator) -> Iterate:
    """An iterate at random shares."""
    found = at(problem, drawn(problem, rng))
    queries = found.queries if found.queries is None else found.queries / found.queries.sum()
    return iterate(problem, [None] * len(problem.others), found.cells / found.cells.sum(), queries)


def test_a_step_in_single_precision(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """It goes where the step in double precision goes."""
    for kind in KINDS:
        with subtests.test(kind=kind), pytest.MonkeyPatch.context() as patch:
            problem = problem_of(kind, rng)
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
