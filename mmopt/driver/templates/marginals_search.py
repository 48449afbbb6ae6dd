"""Weights for marginals (OPT_M of the slides): 2^d numbers, whatever the number of cells.

For Gaussian noise the problem is convex in u = θ²: s Σ_T g_T / λ_T(u) with s = Σ u is least where the
strategy is best, and its optimum is proved by weak duality. For Laplace noise, s = (Σ √u)², it is not, and
several starts are tried.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.strategies.marginals_strategy import MarginalStrategy, energies, subsets, supersets, volumes
from mmopt.workloads import Workload

__all__ = ["MOST_ATTRIBUTES", "marginal_strategy"]

MOST_ATTRIBUTES = 16
STARTS, FEWER = 48, 2**14
STEPS = 2000
TINY = 1e-7  # of the largest weight: a marginal with less is tried without


@dataclass(frozen=True, eq=False)
class _Problem:
    """energy, volume (2^d,): what is asked on each subspace, and the cells of a count of each marginal."""

    energy: Array
    volume: Array
    d: int
    norm: int

    def value(self, theta: Array) -> tuple[float, Array]:
        """The total error of the weights and its gradient; both infinite where a query is not supported."""
        u = np.square(theta)
        eigenvalues = supersets(u * self.volume, self.d)
        asked = self.energy > 0
        if not (eigenvalues[asked] > 0).all():
            return np.inf, np.zeros_like(theta)
        inverse = np.divide(1.0, eigenvalues, where=asked, out=np.zeros_like(eigenvalues))
        error = float(self.energy @ inverse)
        by_u = -self.volume * subsets(self.energy * inverse**2, self.d)
        s, by_theta = (
            (theta.sum() ** 2, np.full_like(theta, 2.0 * theta.sum()))
            if self.norm == 1
            else (u.sum(), 2.0 * theta)
        )
        return float(s * error), by_theta * error + s * by_u * 2.0 * theta


def marginal_strategy(
    workload: Workload, norm: int = 2, *, starts: int | None = None, seed: int = 0
) -> MarginalStrategy:
    """The best weights of marginals found, scaled to sensitivity 1.

    Parameters
    ----------
    workload : from products, of at most ``MOST_ATTRIBUTES`` attributes.
    norm : 1 for Laplace noise, 2 for Gaussian.
    starts : equal weights for the marginals that are asked, then random ones for all (a finer marginal may
        stand for several). By default 48, fewer for more than 8 attributes; under a time limit
        (``limits.deadline``) those that begin before its end.

    Raises
    ------
    TooLargeError : more attributes. OptionError : a workload from a matrix.
    """
    sizes = workload.domain.shape
    if len(sizes) > MOST_ATTRIBUTES:
        raise TooLargeError(
            f"weights for all marginals of {len(sizes)} attributes are {2.0 ** len(sizes):.0e} numbers, "
            f"the limit is {MOST_ATTRIBUTES} attributes",
            hint="solve l2_strategy, which by symmetry takes the marginals that are asked alone",
        )
    problem = _Problem(energies(workload), volumes(sizes), len(sizes), norm)
    asked = supersets((problem.energy > 0).astype(float), problem.d) > 0
    rng = np.random.default_rng(seed)
    count = starts or max(4, min(STARTS, FEWER // len(asked)))
    first = asked.astype(float)
    drawn = (rng.exponential(size=len(asked)) for _ in range(count - 1))
    starts_in_time = itertools.chain([first], itertools.takewhile(lambda _: time_left() > 0, drawn))
    error, theta = min((_descend(problem, start) for start in starts_in_time), key=itemgetter(0))
    if not np.isfinite(error):
        raise WorkloadError("no weights of marginals support the workload at working precision")
    raw = MarginalStrategy(sizes, theta, norm)
    return MarginalStrategy(sizes, theta / raw.sensitivity * (1.0 - 1e-12), norm)


def _descend(problem: _Problem, start: Array) -> tuple[float, Array]:
    """A local minimum from a start, on the marginals that the start weighs; then without the idle ones."""
    kept = start > 0
    value, theta = _minimum(problem, start, kept)
    small = kept & (theta <= TINY * theta.max())
    if small.any():
        pruned = np.where(small, 0.0, theta)
        without = _minimum(problem, pruned, kept & ~small)
        if without[0] <= value:
            return without
    return value, theta


def _minimum(problem: _Problem, start: Array, kept: NDArray[np.bool_]) -> tuple[float, Array]:
    scale = problem.value(start)[0]
    if not np.isfinite(scale):
        return np.inf, start

    def objective(x: Array) -> tuple[float, Array]:
        theta = np.zeros_like(start)
        theta[kept] = x
        value, gradient = problem.value(theta)
        return (value / scale, gradient[kept] / scale) if np.isfinite(value) else (1e300, gradient[kept])

    size = float(np.sqrt(np.square(start).sum()))
    found = scipy.optimize.minimize(
        lambda x: objective(x * size)[0],
        start[kept] / size,
        jac=lambda x: objective(x * size)[1] * size,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * int(kept.sum()),
        options={"maxiter": STEPS, "maxfun": 4 * STEPS, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 30},
    )
    theta = np.zeros_like(start)
    theta[kept] = found.x * size
    return problem.value(theta)[0], theta
