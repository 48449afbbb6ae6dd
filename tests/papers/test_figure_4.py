"""PVLDB 2012, Figure 4: what the two quick ways to an eigen-design lose, in root mean squared error.

The paper has 8192 cells; here fewer, since the loss of principal vectors falls with the number of cells.
"""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.solvers import Clock, Options
from mmopt.solvers.weighting_kernel import points
from mmopt.workloads import Domain
from mmopt.workloads.factors_and_products import Product, all_range

PENALTY = 0.12  # the largest of the figure


def all_ranges(n: int) -> Workload:
    return Workload.from_products(Domain.anonymous(n), [Product((all_range(n),))])


def random_ranges(n: int) -> Workload:
    ends = np.sort(np.random.default_rng(4).integers(0, n, size=(2 * n, 2)), axis=1)
    cells = np.arange(n)
    return Workload.from_matrix(((ends[:, :1] <= cells) & (cells <= ends[:, 1:])).astype(float))


def weights(program: str, name: str, w: Workload, **givens: Any) -> np.ndarray:
    """The kernel's weights at a gap of 1e-6."""
    instance = bind(Program.load(program), w, {"Q": w.eigenqueries, **givens})
    with Clock(60.0) as clock:
        found = points(program, instance.env, Options(), clock)
        return np.asarray(next(point for point in found if point.variables).variables[name])


def error(w: Workload, u: np.ndarray) -> float:
    """RMSE, but for a constant factor, of diag(sqrt(u)) Q with its columns completed."""
    gram = (w.eigenqueries.T * u) @ w.eigenqueries
    gram /= gram.diagonal().max()
    np.fill_diagonal(gram, 1.0)
    solved = scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), w.gram)
    return float(np.sqrt(np.trace(solved)))


def separation(w: Workload, size: int) -> np.ndarray:
    """The squared weights of eigen_separation."""
    groups = (np.arange(w.rank) // size == np.arange(-(-w.rank // size))[:, None]).astype(float)
    inside = weights("separate_weighting", "u", w, size=size)
    between = weights("group_weighting", "t", w, M=groups, u0=inside)
    return (groups.T @ between) * inside


def principal(w: Workload, part: float) -> np.ndarray:
    """The squared weights of principal_vectors with this part of the eigen-queries."""
    count = round(part * w.n)
    groups = (np.minimum(np.arange(w.rank), count) == np.arange(count + 1)[:, None]).astype(float)
    return groups.T @ weights("group_weighting", "t", w, M=groups, u0=np.ones(w.rank))


def losses(w: Workload) -> tuple[float, float]:
    """Losses of groups of 16, and of 6 % principal vectors, against the eigen-design."""
    best = error(w, weights("query_weighting", "u", w))
    return error(w, separation(w, 16)) / best - 1, error(w, principal(w, 0.06)) / best - 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workload", "groups", "vectors"), [(all_ranges, 0.01, PENALTY), (random_ranges, 0.04, PENALTY + 0.01)]
)
def test_losses(workload: Any, groups: float, vectors: float) -> None:
    separate, principal_ = losses(workload(512))
    assert 0 < separate < groups
    assert 0 < principal_ < vectors


@pytest.mark.nightly
@pytest.mark.parametrize("workload", [all_ranges, random_ranges])
def test_principal_vectors_lose_less_on_more_cells(workload: Any) -> None:
    smaller, larger = (losses(workload(n))[1] for n in (512, 1024))
    assert larger < smaller
    assert larger < PENALTY
