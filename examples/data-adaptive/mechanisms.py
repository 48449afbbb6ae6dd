"""Each mechanism of the table: its error on data that are known, and what privacy its steps would have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import dawa
import mwem
import numpy as np
import numpy.typing as npt

from mmopt import Privacy, Workload, baseline, plan, solve

__all__ = ["DELTA", "MECHANISMS", "RATIO", "Mechanism", "laplace_error", "uniform_error"]

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
        so is all of MWEM.
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


def agnostic(name: str, how: str) -> Mechanism:
    """Laplace noise on a strategy chosen before any data."""
    return Mechanism(
        name,
        "ε, all on the strategy",
        False,
        lambda W, x, epsilon, rng: kept_error(W.tobytes(), len(W), how) / epsilon**2,
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
    Mechanism("uniform", "ε on the total", True, uniform_error),
    Mechanism(
        "MWEM",
        f"{mwem.TOTAL_SHARE:g} ε on the total, the rest in {mwem.ROUNDS} rounds, half to choose",
        True,
        mwem_error,
    ),
    adaptive("partition + identity", dawa.proved_noise, "identity"),
    adaptive("partition + p_identity", dawa.proved_noise, "p_identity"),
    adaptive("authors' partition + greedy_h (DAWA)", dawa.authors_noise, "greedy_h"),
    adaptive("authors' partition + p_identity", dawa.authors_noise, "p_identity"),
)
