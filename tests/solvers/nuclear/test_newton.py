"""The derivatives of the nuclear norm against finite differences, and the steps made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import tolerances
from solvers.nuclear.problems import by_parts, lined, mixed, plain

from mmopt.solvers.nuclear import newton, triangle
from mmopt.solvers.nuclear.exponentials import many_exponentials
from mmopt.solvers.nuclear.problem import Problem
from mmopt.solvers.nuclear.spectrum import Iterate, bare, iterate, spectra_of, whole_of

STEP = 1e-4


def problem_of(kind: str, rng: np.random.Generator) -> Problem:
    make: dict[str, Callable[[], Problem]] = {
        "total error": lambda: plain(rng, targets=False),
        "targets": lambda: plain(rng, targets=True),
        "low rank": lambda: plain(rng, targets=True, rank=3),
        "parts": lambda: by_parts(rng, targets=False),
        "parts with targets": lambda: by_parts(rng, targets=True),
        "lines": lambda: lined(rng, targets=False),
        "lines with targets": lambda: lined(rng, targets=True),
        "lines and parts": lambda: lined(rng, targets=True, wide=True),
        "hybrid": lambda: mixed(plain(rng, targets=True), rng),
        "hybrid of lines": lambda: mixed(lined(rng, targets=True), rng),
        "hybrid by parts": lambda: mixed(by_parts(rng, targets=True), rng),
    }
    return make[kind]()


KINDS = [
    "total error",
    "targets",
    "low rank",
    "parts",
    "parts with targets",
    "lines",
    "lines with targets",
    "lines and parts",
    "hybrid",
    "hybrid of lines",
    "hybrid by parts",
]


def at(problem: Problem, x: np.ndarray) -> Iterate:
    """The iterate at shares exp(x), queries before cells, not scaled to sum 1."""
    t = 0 if problem.targets is None else len(problem.targets)
    ranks = [None] * len(problem.others)
    return iterate(problem, ranks, np.exp(x[t:]), np.exp(x[:t]) if t else None)


def drawn(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    t = 0 if problem.targets is None else len(problem.targets)
    return rng.normal(scale=0.5, size=t + len(problem.cells))


def gradient(found: Iterate) -> np.ndarray:
    """Of 2 N by the logarithms of the shares."""
    parts = [found.cost]
    if found.variance is not None:
        parts = [found.variance * found.queries / found.weights, found.cost]
    return found.norm * np.concatenate(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient(kind: str, rng: np.random.Generator) -> None:
    problem = problem_of(kind, rng)
    x = drawn(problem, rng)
    differences = [
        (2 * at(problem, x + STEP * e).norm - 2 * at(problem, x - STEP * e).norm) / (2 * STEP)
        for e in np.eye(len(x))
    ]
    found = gradient(at(problem, x))
    assert np.allclose(found, differences, rtol=0, atol=tolerances.DIFFERENCES * np.abs(found).max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_hessian(kind: str, rng: np.random.Generator) -> None:
    """With enough exponentials it is the derivative of the gradient: N (diag(g) - Q)."""
    problem = problem_of(kind, rng)
    x = drawn(problem, rng)
    found = at(problem, x)
    q = newton.curvature(problem, found, np.arange(len(x)), many_exponentials).dense()
    hessian = np.diag(gradient(found)) - found.norm * q
    differences = np.array(
        [
            (gradient(at(problem, x + STEP * e)) - gradient(at(problem, x - STEP * e))) / (2 * STEP)
            for e in np.eye(len(x))
        ]
    )
    assert np.allclose(hessian, differences, rtol=0, atol=tolerances.DIFFERENCES * np.abs(hessian).max())


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterate_without_its_decompositions_gets_them_again(kind: str, rng: np.random.Generator) -> None:
    problem = problem_of(kind, rng)
    first, last = (at(problem, drawn(problem, rng)) for _ in range(2))
    assert whole_of(problem, bare(last), last) is last
    assert bare(first).spectra == () and bare(first).upper == first.upper
    found = whole_of(problem, bare(first), last)
    assert found.upper == pytest.approx(first.upper, rel=tolerances.FINE)
    for one, other in zip(found.spectra, first.spectra, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=tolerances.FINE)


@pytest.mark.parametrize("kind", KINDS)
def test_the_curvature_is_positive(kind: str, rng: np.random.Generator) -> None:
    """N is concave in the weights: in their logarithms Q is positive semidefinite."""
    problem = problem_of(kind, rng)
    x = drawn(problem, rng)
    values = np.linalg.eigvalsh(newton.curvature(problem, at(problem, x), np.arange(len(x))).dense())
    assert values[0] >= -tolerances.ROUNDING * values[-1]


@pytest.mark.parametrize("targets", [False, True])
def test_lines_are_parts(targets: bool, rng: np.random.Generator) -> None:
    """With a second column of zeros they are parts like others, though not of full rank."""
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


def test_a_block_of_rows_at_a_time_is_the_same(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    count = len(found.cells) + len(found.queries)
    together = newton.curvature(problem, found, np.arange(count)).dense()
    monkeypatch.setattr(triangle, "HEIGHT", 3)
    apart = newton.curvature(problem, found, np.arange(count)).dense()
    assert np.allclose(together, apart, rtol=tolerances.ROUNDING)


def test_shares_sum_to_one_and_stay_positive(rng: np.random.Generator) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    shares = iterate(problem, [None], found.cells / found.cells.sum(), found.queries / found.queries.sum())
    cells, queries = newton.step(problem, shares, 1e-3)
    assert queries is not None
    for y in (cells, queries):
        assert y.min() > 0 and y.sum() == pytest.approx(1.0, rel=tolerances.ROUNDING)
