"""Each mechanism of the table: its error on data that are known, and what privacy its steps would have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import dawa
import efpa
import grids
import mwem
import numpy as np
import numpy.typing as npt

from mmopt import Domain, Privacy, Workload, baseline, plan, solve

__all__ = [
    "ALL_MECHANISMS",
    "DELTA",
    "MECHANISMS",
    "RATIO",
    "SQUARE_MECHANISMS",
    "Mechanism",
    "agrid_error",
    "laplace_error",
    "ugrid_error",
    "uniform_error",
]

Array = npt.NDArray[np.float64]
Noisy = Callable[[dawa.Costs, float, float, np.random.Generator], dawa.Costs]
RATIO = 0.25
"""Share of ε that DAWA spends on its partition, as in its paper."""
DELTA = 1e-9
SECOND_STAGE = 1e-3  # relative gap at which the search of a second stage ends


@dataclass(frozen=True)
class Mechanism:
    """name, and accounting: what it spends.

    error : of queries W (m, n), counts (n,), ε and a generator, the mean over the queries of the expected
        squared error. Expected over the noise of the answers, in closed form; a partition is a draw, and
        so are a grid, the first level of two, and all of MWEM.
    adaptive : whether what it does, or its bias, depends on the data.
    proved : whether it is known to be ε-private, at δ = 0, with noise in real numbers.
    """

    name: str
    accounting: str
    adaptive: bool
    error: Callable[[Array, Array, float, np.random.Generator], float]
    proved: bool = True


def laplace_error(W: Array, how: str) -> float:
    """The mean variance of the answers to W (m, n) by a baseline or a program, at ε = 1; it goes as 1/ε²."""
    workload = Workload.from_matrix(W)
    if how == "p_identity":
        strategy = solve(workload, how, tolerance=SECOND_STAGE).strategy
    else:
        strategy = baseline(how, workload, 1)
    # Of Laplace noise of scale s the variance is 2 s².
    return float(2.0 * strategy.sensitivity**2 * strategy.variances(workload).mean())


@functools.cache
def kept_error(W: bytes, m: int, how: str) -> float:
    """``laplace_error`` of a matrix of m rows in bytes: the same workload is asked at every ε."""
    return laplace_error(np.frombuffer(W).reshape(m, -1), how)


@functools.cache
def gaussian_error(W: bytes, m: int, epsilon: float) -> float:
    """The error of the best strategy for Gaussian noise, at (ε, DELTA), as mmopt plans a release."""
    workload = Workload.from_matrix(np.frombuffer(W).reshape(m, -1))
    planned = plan(workload, solve(workload, "l2_strategy"), Privacy(epsilon=epsilon, delta=DELTA))
    return float(np.square(planned.standard_errors).mean())


def agnostic(name: str, how: str, error: Callable[[bytes, int, str], float] = kept_error) -> Mechanism:
    """Laplace noise on a strategy chosen before any data."""
    return Mechanism(
        name,
        "ε, all on the strategy",
        False,
        lambda W, x, epsilon, rng: error(W.tobytes(), len(W), how) / epsilon**2,
    )


def uniform_error(W: Array, x: Array, epsilon: float, _: np.random.Generator) -> float:
    """A noisy total, spread evenly: bias of the shape, and the noise of one number."""
    shares = W.mean(axis=1)
    return float(np.square(W @ x - shares * x.sum()).mean() + 2.0 / epsilon**2 * np.square(shares).mean())


def mwem_error(W: Array, x: Array, epsilon: float, rng: np.random.Generator) -> float:
    """The error of one run."""
    return float(np.square(W @ (mwem.estimate(W, x, epsilon, rng) - x)).mean())


def adaptive(name: str, noisy: Noisy, how: str) -> Mechanism:
    """DAWA's partition at RATIO of ε, then a strategy for what W asks of the buckets at the rest."""

    def error(W: Array, x: Array, epsilon: float, rng: np.random.Generator) -> float:
        first, second = RATIO * epsilon, (1.0 - RATIO) * epsilon
        costs = dawa.deviations(x, dawa.lengths(len(x)))
        edges = dawa.best_partition(noisy(costs, first, second, rng), len(x))
        spread = dawa.bucket_averages(edges)
        asked = np.ascontiguousarray(W @ spread)
        bias = asked @ np.add.reduceat(x, edges[:-1]) - W @ x
        return float(np.square(bias).mean()) + kept_error(asked.tobytes(), len(W), how) / second**2

    proved = noisy is dawa.proved_noise
    spent = f"{RATIO:g} ε on the partition, {1 - RATIO:g} ε on the buckets"
    return Mechanism(
        name, spent if proved else f"{spent} is meant; the partition costs more", True, error, proved
    )


def fourier(name: str, sensitivities: Callable[[int], Array]) -> Mechanism:
    """EFPA with noise by these sensitivities."""
    return Mechanism(
        name,
        f"{efpa.SHARE:g} ε to choose how many coefficients, the rest on them",
        True,
        lambda W, x, epsilon, rng: efpa.expected_error(W, x, epsilon, sensitivities(len(x))),
    )


def squared(x: Array) -> Array:
    """Counts (n,) of a square of cells, row by row, as (√n, √n)."""
    side = math.isqrt(len(x))
    return x.reshape(side, side)


def of_groups(W: Array, group: npt.NDArray[np.int64]) -> Array:
    """Queries W (m, n) on totals of groups of cells, each spread evenly over its cells: (m, groups)."""
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.asarray(np.add.reduceat(W[:, order], starts, axis=1) / sizes)


def ugrid_error(W: Array, x: Array, epsilon: float, rng: np.random.Generator) -> float:
    """Given the grid, in closed form."""
    block = grids.uniform_grid(squared(x), epsilon, rng)
    asked = of_groups(W, block)
    bias = asked @ np.bincount(block, x) - W @ x
    rest = (1.0 - grids.ROWS_SHARE) * epsilon
    return float(np.square(bias).mean() + 2.0 / rest**2 * np.square(asked).sum(axis=1).mean())


def agrid_error(W: Array, x: Array, epsilon: float, rng: np.random.Generator) -> float:
    """Given the grids and the first level's noise, which is a bias then, in closed form."""
    levels = grids.adaptive_grid(squared(x), epsilon, rng)
    asked, parts = of_groups(W, levels.part), np.bincount(levels.part, x)
    parent = np.zeros(len(parts), dtype=np.int64)
    parent[levels.part] = levels.block
    number = np.bincount(parent)
    # A part moves by this times what its block's total is more than the sum of the block's parts.
    moved = (grids.first_weights(number) / number)[parent]
    apart = levels.totals - np.bincount(levels.block, x)
    bias = asked @ (parts + moved * apart[parent]) - W @ x
    together = np.stack([np.bincount(parent, row) for row in asked])
    noise = asked - moved * together[:, parent]
    rest = (1.0 - grids.ALPHA) * (1.0 - grids.ROWS_SHARE) * epsilon
    return float(np.square(bias).mean() + 2.0 / rest**2 * np.square(noise).sum(axis=1).mean())


@functools.cache
def each_way_error(W: bytes, m: int, how: str) -> float:
    """The mean variance at ε = 1 of the answers to W (m, n) by a strategy for all corners of the square.

    ``how`` is a baseline, or p_identity: then that of the prefix sums of one side, each way.
    """
    queries = np.frombuffer(W).reshape(m, -1)
    side = math.isqrt(queries.shape[1])
    if how == "p_identity":
        A = solve(Workload.from_matrix(np.tri(side)), how, tolerance=SECOND_STAGE).strategy.matrix
        largest = np.abs(A).sum(axis=0).max()  # its square is that of the product
        inverse = np.linalg.inv(A.T @ A)
        asked = queries.reshape(m, side, side)
        variances = np.einsum("mij,mij->m", inverse @ asked @ inverse, asked)
        return float(2.0 * largest**4 * variances.mean())
    domain = Domain.of({name: list(range(side)) for name in ("row", "column")})
    strategy = baseline(how, domain.product({"row": "prefix", "column": "prefix"}), 1)
    return float(2.0 * strategy.sensitivity**2 * strategy.variances(Workload.from_matrix(queries)).mean())


EVERYWHERE = (
    Mechanism("uniform", "ε on the total", True, uniform_error),
    Mechanism(
        "MWEM",
        f"{mwem.TOTAL_SHARE:g} ε on the total, the rest in {mwem.ROUNDS} rounds, half to choose",
        True,
        mwem_error,
    ),
)
MECHANISMS = (
    agnostic("noise on answers", "workload"),
    agnostic("identity", "identity"),
    agnostic("hierarchical", "hierarchical"),
    agnostic("p_identity", "p_identity"),
    Mechanism(
        "l2_strategy, Gaussian",
        f"(ε, δ = {DELTA:g}), all on the strategy",
        False,
        lambda W, x, epsilon, rng: gaussian_error(W.tobytes(), len(W), epsilon),
        proved=False,
    ),
    *EVERYWHERE,
    fourier("EFPA", efpa.paper_sensitivities),
    fourier("EFPA, exact sensitivity", efpa.exact_sensitivities),
    adaptive("partition + identity", dawa.proved_noise, "identity"),
    adaptive("partition + p_identity", dawa.proved_noise, "p_identity"),
    adaptive("authors' partition + greedy_h (DAWA)", dawa.authors_noise, "greedy_h"),
    adaptive("authors' partition + p_identity", dawa.authors_noise, "p_identity"),
)
"""On a line of cells."""

SQUARE_MECHANISMS = (
    agnostic("identity", "identity"),
    agnostic("quadtree", "quadtree", each_way_error),
    agnostic("p_identity each way", "p_identity", each_way_error),
    *EVERYWHERE,
    Mechanism("UGrid", f"{grids.ROWS_SHARE:g} ε on the total, the rest on the blocks", True, ugrid_error),
    Mechanism(
        "AGrid",
        f"{grids.ROWS_SHARE:g} ε on the total, {grids.ALPHA:g} of the rest on blocks, then on their parts",
        True,
        agrid_error,
    ),
)
"""On a square of cells."""

ALL_MECHANISMS = {m.name: m for m in (*MECHANISMS, *SQUARE_MECHANISMS)}
