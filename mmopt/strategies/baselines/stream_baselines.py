"""Noise filters for streams: lower-triangular Toeplitz rows, made for prefix sums over one attribute.

Row i has c_i, …, c_0 at the steps 0 to i. The first column is the longest. With the series c(x) of its
entries, prefix sums are answered by b(x) = 1 / ((1 - x) c(x)) from the measurements, so that the total
variance of n of them is Σ (n - i) b_i².
"""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize

from mmopt.numerics.arrays import Array, require_memory
from mmopt.numerics.matrix_functions import toeplitz
from mmopt.strategies.baselines.catalogue_row import Design
from mmopt.workloads import Dense, Workload

__all__ = ["buffered", "buffered_column", "root_column", "square_root"]

LARGEST_LOGIT = 25.0  # of a decay, and logarithm of a weight, up or down
LARGEST = 1e3  # stands for the logarithm of an error that is not finite


def square_root(workload: Workload, norm: int) -> Design:
    """The square root of the matrix of prefix sums: c(x) = (1 - x)^(-1/2)."""
    return _filter(root_column(workload.n))


def _filter(column: Array, detail: str = "") -> Design:
    require_memory((len(column), len(column)), "Toeplitz matrix")
    return Design(Dense(toeplitz(column)), detail)


def root_column(n: int) -> Array:
    """The first n coefficients of (1 - x)^(-1/2): c_k = c_{k-1} (1 - 1 / 2k)."""
    return np.cumprod(np.concatenate([[1.0], 1.0 - 0.5 / np.arange(1, n)]))


def buffered(workload: Workload, norm: int, buffers: int = 3) -> Design:
    """c_k = Σ ω_j θ_j^(k-1) for k >= 1: noise that needs one number of memory for each buffer (BLT).

    Dvijotham, McMahan, Pillutla, Steinke, Thakurta: FOCS 2024. The decays θ and weights ω are those of the
    least total error of n prefix sums that a quasi-Newton search finds from the decays of a geometric series.
    """
    column = buffered_column(workload.n, buffers)
    return _filter(column, f"{buffers} buffer{'s' * (buffers > 1)}")


def buffered_column(n: int, buffers: int) -> Array:
    """The first column (n,), as ``buffered``.

    The search starts near the square root, of which c_k is the integral of θ^(k-1) (θ / (1 - θ))^½ / π over
    θ in (0, 1): buffers evenly spread over log(1 - θ).
    """
    if n == 1:
        return np.ones(1)
    spacing = math.log(2.0 * n) / buffers
    rests = 0.9 * np.exp(-spacing * (np.arange(buffers) + 0.5))  # 1 - θ
    weights = spacing * np.sqrt(rests * (1.0 - rests)) / math.pi

    def spread(point: Array) -> float:
        column, answers = _series(point, n)
        with np.errstate(over="ignore", invalid="ignore"):
            worth = float(np.square(column).sum() * (np.arange(n, 0, -1) @ np.square(answers)))
        return min(math.log(worth), LARGEST) if worth < math.inf else LARGEST

    start = np.concatenate([np.log((1.0 - rests) / rests), np.log(weights)])
    found = scipy.optimize.minimize(
        spread,
        start,
        jac="3-point",
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(-LARGEST_LOGIT, LARGEST_LOGIT),
        options={"maxiter": 1000, "maxfun": 100_000, "ftol": 1e-13},
    )
    return _series(found.x, n)[0]


def _series(point: Array, n: int) -> tuple[Array, Array]:
    """c and b (n,) of logits of θ and logarithms of ω: both series are quotients of polynomials."""
    from scipy.signal import lfilter  # takes a second to load, and only streams filter

    logits, logarithms = np.split(point, 2)
    decays = 1.0 / (1.0 + np.exp(-logits))
    weights = np.exp(logarithms)
    below = np.poly(decays)
    above = below.copy()
    for j, weight in enumerate(weights):
        above[1:] += weight * np.poly(np.delete(decays, j))
    impulse = np.concatenate([[1.0], np.zeros(n - 1)])
    column = lfilter(above, below, impulse)
    answers = lfilter(below, np.convolve(above, [1.0, -1.0]), impulse)
    return np.asarray(column), np.asarray(answers)
