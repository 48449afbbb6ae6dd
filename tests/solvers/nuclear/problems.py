"""Problems for the tests of the kernel: plain ones, and ones by component with labels that repeat."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mmopt.solvers.nuclear.problem_and_iterates import Iterate, NuclearProblem, QueryComponent, iterate, whole


def plain(rng: np.random.Generator, *, targets: bool, rank: int | None = None) -> NuclearProblem:
    """A random matrix of 4 to 9 queries over 4 to 9 cells, of a lower rank where one is asked for."""
    m, n = (int(size) for size in rng.integers(4, 10, size=2))
    rows = rng.normal(size=(m, n))
    if rank is not None:
        rows = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    return whole(rows, rng.uniform(1.0, 5.0, size=m) if targets else None)


def by_parts(rng: np.random.Generator, *, targets: bool) -> NuclearProblem:
    """Three components over shared orbits, with multiplicities; every orbit occurs."""
    parts = []
    for often in (1.0, 2.0, 5.0):
        rows = rng.normal(size=(6, 4))
        cells = rng.permutation(4)
        queries = rng.integers(0, 3, size=6) if targets else None
        parts.append(QueryComponent(rows, often, cells, queries))
    sizes = np.array([3.0, 8.0, 8.0, 16.0])
    return NuclearProblem(tuple(parts), sizes, rng.uniform(2.0, 9.0, size=3) if targets else None)


def lined(rng: np.random.Generator, *, targets: bool, wide: bool = False) -> NuclearProblem:
    """Components of one column, several to an orbit; with ``wide`` those of ``by_parts`` between them."""
    others = by_parts(rng, targets=targets)
    parts = list(others.parts) if wide else []
    for number in range(7):
        count = int(rng.integers(1, 4))
        queries = rng.permutation(3)[:count] if targets else None
        cells = np.array([number % 4])
        part = QueryComponent(rng.normal(size=(count, 1)), float(1 + number), cells, queries)
        parts.insert(int(rng.integers(len(parts) + 1)), part)
    return NuclearProblem(tuple(parts), others.cells, others.targets)


def mixed(problem: NuclearProblem, rng: np.random.Generator) -> NuclearProblem:
    """The problem with something added to the shares of the queries, to some of them nothing."""
    floors = rng.uniform(0.0, 2.0, size=len(problem.targets))
    floors[0] = 0.0
    return replace(problem, floors=floors)


KINDS: dict[str, Callable[[np.random.Generator], NuclearProblem]] = {
    "total error": lambda rng: plain(rng, targets=False),
    "targets": lambda rng: plain(rng, targets=True),
    "low rank": lambda rng: plain(rng, targets=True, rank=3),
    "parts": lambda rng: by_parts(rng, targets=False),
    "parts with targets": lambda rng: by_parts(rng, targets=True),
    "lines": lambda rng: lined(rng, targets=False),
    "lines with targets": lambda rng: lined(rng, targets=True),
    "lines and parts": lambda rng: lined(rng, targets=True, wide=True),
    "hybrid": lambda rng: mixed(plain(rng, targets=True), rng),
    "hybrid of lines": lambda rng: mixed(lined(rng, targets=True), rng),
    "hybrid by parts": lambda rng: mixed(by_parts(rng, targets=True), rng),
}


def at(problem: NuclearProblem, x: np.ndarray) -> Iterate:
    """The iterate at shares exp(x), queries before cells, not scaled to sum 1."""
    t = 0 if problem.targets is None else len(problem.targets)
    ranks = [None] * len(problem.others)
    return iterate(problem, ranks, np.exp(x[t:]), np.exp(x[:t]) if t else None)


def drawn(problem: NuclearProblem, rng: np.random.Generator) -> np.ndarray:
    t = 0 if problem.targets is None else len(problem.targets)
    return rng.normal(scale=0.5, size=t + len(problem.cells))


def gradient(found: Iterate) -> np.ndarray:
    """Gradient of 2 N by the logarithms of the shares."""
    parts = [found.cost]
    if found.variance is not None:
        parts = [found.variance * found.queries / found.weights, found.cost]
    return found.norm * np.concatenate(parts)
