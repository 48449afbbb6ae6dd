"""The registry: problems by name, for conformance checks and for benchmarks. All queries have targets.

A problem is a workload of about so many cells; most programs can be asked on every one of them. What is
known of its optimum stands in ``known_optima.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from mmopt.errors import OptionError, suggest
from mmopt.numerics.split_arrays import Array
from mmopt.testing import query_matrices
from mmopt.workloads import Attribute, Domain, Factor, Product, Workload
from mmopt.workloads.blocks import factor_blocks as factors

__all__ = ["PROBLEMS", "Problem", "problem", "problems_named", "varied_targets"]

Random = np.random.Generator


@dataclass(frozen=True)
class Problem:
    """One workload of every size, or a fixed one.

    name : as ``--problems`` takes it.
    about : one line.
    build : from a number of cells n >= 2 and random numbers; what comes back has about n cells (a square or
        a cube has a whole side), and ``size`` cells when the problem is fixed.
    size : cells at which conic solvers take about a second: that of conformance checks.
    tags : what is special about it ("1-D", "rank deficient", …).
    fixed : whether there is one size only.
    """

    name: str
    about: str
    build: Callable[[int, Random], Workload]
    size: int
    tags: frozenset[str]
    fixed: bool = False

    def workload(self, n: int | None = None, seed: int = 0) -> Workload:
        """The workload of about n cells (of ``size`` by default); the same seed gives the same one.

        Raises
        ------
        OptionError : fewer than two cells.
        """
        n = self.size if n is None else n
        if n < 2 and not self.fixed:
            raise OptionError(f"problem '{self.name}' has at least 2 cells, not {n}")
        return self.build(n, np.random.default_rng([seed, n]))


def problem(name: str) -> Problem:
    """The problem of this name; OptionError for another."""
    found = next((p for p in PROBLEMS if p.name == name), None)
    if found is None:
        raise OptionError(f"there is no problem '{name}'", hint=suggest(name, [p.name for p in PROBLEMS]))
    return found


def problems_named(names: Sequence[str] | None) -> tuple[Problem, ...]:
    """The problems of these names, all by default."""
    return PROBLEMS if names is None else tuple(problem(name) for name in names)


def varied_targets(rows: ArrayLike) -> Workload:
    """The rows with targets that differ: 1, 2, 3, 1, 2, 3, … times their squared norms."""
    matrix = np.asarray(rows, dtype=float)
    return Workload.from_matrix(matrix, targets=(1.0 + np.arange(len(matrix)) % 3) * (matrix**2).sum(axis=1))


def _products(*products: Sequence[Factor]) -> Workload:
    """Products over attributes a, b, …, every target 1."""
    attributes = [Attribute("abcdefgh"[i], tuple(map(str, range(f.size)))) for i, f in enumerate(products[0])]
    return Workload.from_products(
        Domain(tuple(attributes)), [Product(tuple(each), target=1.0) for each in products]
    )


def _root(n: int, power: int) -> int:
    """The side of a square or cube of about n cells, at least 2."""
    side: float = n ** (1 / power)
    return max(2, round(side))


def _cube(n: int, rng: Random) -> Workload:
    side = _root(n, 3)
    make = (factors.total, factors.identity)
    return _products(*([make[kept](side) for kept in kind] for kind in query_matrices.ONE_AND_TWO_WAY))


def _product(n: int, rng: Random) -> Workload:
    side = _root(n, 2)
    return _products([factors.prefix(side), factors.all_range(max(2, n // side))])


def _random_targets(rows: Array, rng: Random) -> Workload:
    """Targets uniform in [1, 10], as in the experiments of PVLDB 2021."""
    return Workload.from_matrix(rows, targets=rng.uniform(1, 10, size=len(rows)))


def _predicates(n: int, rng: Random) -> Workload:
    rows = (rng.random((n, n)) < 0.5).astype(float)
    rows[~rows.any(axis=1), 0] = 1.0
    return _random_targets(rows, rng)


def _rectangles(n: int, rng: Random) -> Workload:
    side = _root(n, 2)
    return _random_targets(query_matrices.rectangles(side, 2 * side**2, rng), rng)


def _blocks(n: int, rng: Random) -> Workload:
    half = n // 2
    return varied_targets(
        scipy.linalg.block_diag(np.tri(half), query_matrices.windows(n - half, min(2, n - half)))
    )


def _repeated_cells(n: int, rng: Random) -> Workload:
    values = max(1, n // 4)
    return varied_targets(np.tri(values)[:, np.arange(n) * values // n])


def _problem(
    name: str, about: str, size: int, tags: str, build: Callable[[int, Random], Workload]
) -> Problem:
    return Problem(name, about, build, size, frozenset(tags.split(", ")))


def _small(name: str, about: str, tags: str, rows: Callable[[], ArrayLike]) -> Problem:
    size = int(np.shape(rows())[1])
    return replace(_problem(name, about, size, tags, lambda n, rng: varied_targets(rows())), fixed=True)


LINE, RANDOM = "1-D, structured, equal targets", "random, targets"

PROBLEMS: tuple[Problem, ...] = (
    _problem("prefix", "prefix sums", 8, LINE, lambda n, rng: _products([factors.prefix(n)])),
    _problem("all-ranges", "every range of cells", 5, LINE, lambda n, rng: _products([factors.all_range(n)])),
    _problem(
        "identity-and-total",
        "cells and total",
        6,
        "structured, equal targets",
        lambda n, rng: _products([factors.identity(n)], [factors.total(n)]),
    ),
    _problem("cube", "its one- and two-way marginals", 8, "marginals, structured, equal targets", _cube),
    _problem("product", "prefix sums times all ranges", 6, "2-D, Kronecker, equal targets", _product),
    _problem(
        "windows",
        "ranges of n / 8 cells",
        8,
        "1-D, rank deficient, targets",
        lambda n, rng: varied_targets(query_matrices.windows(n, max(2, n // 8))),
    ),
    _problem("predicates", "n random subsets of the cells", 7, RANDOM, _predicates),
    _problem(
        "random-ranges",
        "2n random ranges",
        6,
        f"1-D, {RANDOM}",
        lambda n, rng: _random_targets(query_matrices.random_ranges(n, 2 * n, rng), rng),
    ),
    _problem(
        "permuted-ranges",
        "the same, cells shuffled",
        6,
        RANDOM,
        lambda n, rng: varied_targets(query_matrices.random_ranges(n, 2 * n, rng)[:, rng.permutation(n)]),
    ),
    _problem("rectangles", "2n random rectangles", 9, f"2-D, {RANDOM}", _rectangles),
    _problem("blocks", "two disjoint groups of cells", 8, "blocks, targets", _blocks),
    _problem("repeated-cells", "prefix sums, four cells a value", 16, "duplicated cells", _repeated_cells),
    _problem(
        "weighted",
        "prefix sums of unequal weight",
        6,
        "1-D, weights, equal targets",
        lambda n, rng: Workload.from_matrix(np.tri(n), targets=1.0, weights=np.geomspace(0.1, 10.0, n)),
    ),
    _problem(
        "large-and-small",
        "prefix sums of unequal size",
        5,
        "badly scaled, targets",
        lambda n, rng: varied_targets(query_matrices.large_and_small(n)),
    ),
    _small("example-4", "PVLDB 2012, Example 4", "rank deficient", lambda: query_matrices.EXAMPLE_4),
    _small("marginals", "margins and cells of a 3 × 3 table", "marginals", query_matrices.table_margins),
    _small("rank-deficient", "rank 3 over 7 cells", "rank deficient", query_matrices.low_rank),
    _small("duplicated-rows", "queries asked again", "duplicated queries", query_matrices.duplicated_rows),
    _small(
        "duplicated-columns", "cells written again", "duplicated cells", query_matrices.duplicated_columns
    ),
    _small("signed", "differences", "signed", query_matrices.signed),
    _small("zero-columns", "three cells that no query touches", "zero columns", query_matrices.zero_columns),
    _small("single-total", "one query of 12 cells", "rank deficient", lambda: np.ones((1, 12))),
    _small("single-cell", "one query of one cell", "one cell", lambda: [[3.0]]),
    _small("two-queries-of-one-cell", "rank 1", "one cell, duplicated queries", lambda: [[1.0], [2.0]]),
)
