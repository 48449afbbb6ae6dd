"""The derivatives of the nuclear norm against finite differences, and the steps made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tolerances
from solvers.nuclear.problems import by_parts, mixed, plain

from mmopt.solvers.nuclear import newton
from mmopt.solvers.nuclear.exponentials import many_exponentials
from mmopt.solvers.nuclear.problem import Problem
from mmopt.solvers.nuclear.spectrum import Iterate, iterate

STEP = 1e-4


def problem_of(kind: str, rng: np.random.Generator) -> Problem:
    make: dict[str, Callable[[], Problem]] = {
        "total error": lambda: plain(rng, targets=False),
        "targets": lambda: plain(rng, targets=True),
        "low rank": lambda: plain(rng, targets=True, rank=3),
        "parts": lambda: by_parts(rng, targets=False),
        "parts with targets": lambda: by_parts(rng, targets=True),
        "hybrid": lambda: mixed(plain(rng, targets=True), rng),
        "hybrid by parts": lambda: mixed(by_parts(rng, targets=True), rng),
    }
    return make[kind]()


KINDS = ["total error", "targets", "low rank", "parts", "parts with targets", "hybrid", "hybrid by parts"]


def at(problem: Problem, x: np.ndarray) -> Iterate:
    """The iterate at shares exp(x), queries before cells, not scaled to sum 1."""
    t = 0 if problem.targets is None else len(problem.targets)
    ranks = [None] * len(problem.parts)
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
    lower = newton.curvature(problem, found, np.arange(len(x)), many_exponentials)
    q = np.tril(lower) + np.tril(lower, -1).T
    hessian = np.diag(gradient(found)) - found.norm * q
    differences = np.array(
        [
            (gradient(at(problem, x + STEP * e)) - gradient(at(problem, x - STEP * e))) / (2 * STEP)
            for e in np.eye(len(x))
        ]
    )
    assert np.allclose(hessian, differences, rtol=0, atol=tolerances.DIFFERENCES * np.abs(hessian).max())


@pytest.mark.parametrize("kind", KINDS)
def test_the_curvature_is_positive(kind: str, rng: np.random.Generator) -> None:
    """N is concave in the weights: in their logarithms Q is positive semidefinite."""
    problem = problem_of(kind, rng)
    x = drawn(problem, rng)
    lower = newton.curvature(problem, at(problem, x), np.arange(len(x)))
    values = np.linalg.eigvalsh(np.tril(lower) + np.tril(lower, -1).T)
    assert values[0] >= -tolerances.ROUNDING * values[-1]


def test_a_block_of_rows_at_a_time_is_the_same(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    count = len(found.cells) + len(found.queries)
    together = newton.curvature(problem, found, np.arange(count))
    monkeypatch.setattr(newton, "ROWS", 3)
    apart = newton.curvature(problem, found, np.arange(count))
    assert np.allclose(np.tril(together), np.tril(apart), rtol=tolerances.ROUNDING)


def test_shares_sum_to_one_and_stay_positive(rng: np.random.Generator) -> None:
    problem = plain(rng, targets=True)
    found = at(problem, drawn(problem, rng))
    shares = iterate(problem, [None], found.cells / found.cells.sum(), found.queries / found.queries.sum())
    cells, queries = newton.step(problem, shares, 1e-3)
    assert queries is not None
    for y in (cells, queries):
        assert y.min() > 0 and y.sum() == pytest.approx(1.0, rel=tolerances.ROUNDING)
