"""Workloads that have gone wrong in solvers before, by name, and random ones. All have targets.

Their queries are those of the registry of ``mmopt.testing``; here every one has targets that differ.
"""

from __future__ import annotations

import numpy as np

from mmopt.testing import problem_registry
from mmopt.testing.problem_registry import problem, varied_targets
from mmopt.workloads import Workload
from mmopt.workloads.factors_and_products import all_range
from tests.examples.scripts import script

NAMED = (
    "prefix",
    "all ranges",
    "marginals",
    "rank deficient",
    "duplicated rows",
    "duplicated columns",
    "signed",
    "zero columns",
    "single total",
    "single cell",
    "two queries of one cell",
    "identity and total",
    "large and small",
)

census = script("peers/census_queries.py").census
EXAMPLE_4 = Workload.from_matrix(problem_registry.EXAMPLE_4)

with_targets = varied_targets


def all_ranges(n: int) -> np.ndarray:
    """Every interval of n cells, (n (n + 1) / 2, n)."""
    return all_range(n).matrix()


def matrix_of(name: str) -> np.ndarray:
    return problem(name.replace(" ", "-")).workload().queries


def named(name: str) -> Workload:
    return with_targets(matrix_of(name))


def random_workload(rng: np.random.Generator) -> Workload:
    """Integers or real numbers over 5 to 10 cells, of full or low rank, with random targets."""
    n, m = int(rng.integers(5, 11)), int(rng.integers(3, 11))
    kind = rng.integers(3)
    if kind == 0:
        rows = rng.integers(-1, 2, size=(m, n)).astype(float)
    elif kind == 1:
        rows = rng.normal(size=(m, n))
    else:
        rows = rng.integers(0, 3, size=(m, 3)) @ rng.integers(0, 2, size=(3, n)).astype(float)
    rows[~rows.any(axis=1), int(rng.integers(n))] = 1.0
    return Workload.from_matrix(rows, targets=rng.uniform(0.5, 5.0, size=m))


# A program of ones own without anything to solve.
CLOSED = """\
program total_by_cells
title "The cells themselves"
class closed form
given
    W: matrix[r, n] = workload.root
let
    A = eye(n)
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
bound
    l2_strategy
"""
