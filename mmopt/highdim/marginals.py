"""The best weights of marginals for a union of products.

Total error at sensitivity 1 is ‖θ‖² Σ g_κ / x_κ(θ²) (``queries.marginals_strategy``), with the L1 norm for
Laplace and the L2 norm for Gaussian noise: 2^d numbers for d attributes, whatever the number of cells.
Quasi-Newton steps go down from several starts (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018, OPT_M).
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from mmopt.errors import OptionError, TooLargeError
from mmopt.highdim.terms import Terms
from mmopt.queries import MarginalsStrategy, Workload
from mmopt.queries.marginals_strategy import component_traces, component_values

__all__ = ["marginals"]

Array = NDArray[np.float64]

STARTS = 10
MOST = 16  # attributes
LEAST = 1e-8  # weight of what has to be measured, of a sum of about one
USED = 1e-7  # a weight below this part of the sum is dropped where it may be


def marginals(workload: Workload, *, norm: int = 1, starts: int = STARTS, seed: int = 0) -> MarginalsStrategy:
    """The best weights of marginals found, of sensitivity at most 1, for total error.

    Parameters
    ----------
    workload : a union of products.
    norm : 1 for Laplace noise, 2 for Gaussian noise.
    starts : how often the search begins anew; the best end is kept.
    seed : of the random numbers.

    Raises
    ------
    OptionError : no start, or another norm.
    TooLargeError : more than ``MOST`` attributes that queries tell apart.
    UnsuitableError : a workload that is no union of products.
    """
    if starts < 1:
        raise OptionError(f"'starts' is at least 1, not {starts}")
    if norm not in (1, 2):
        raise OptionError(f"the strategy's norm is {norm!r}, expected 1 (Laplace) or 2 (Gaussian)")
    classes = tuple(side.classes for side in Terms.of(workload).sides)
    if len(classes) > MOST:
        raise TooLargeError(
            f"marginals over {len(classes)} attributes are 2^{len(classes)} weights; the limit is 2^{MOST}",
            hint="ask for fewer attributes",
        )
    products = workload.products or ()
    found = zip(products, component_traces(workload, classes), strict=True)
    traces = np.asarray(sum(p.weight * g for p, g in found))
    sizes = tuple(int(c.max()) + 1 for c in classes)
    best = min(
        (_descend(traces, sizes, norm, np.random.default_rng([seed, i]), i == 0) for i in range(starts)),
        key=lambda pair: pair[1],
    )[0]
    lean = np.where(best > USED * best.sum(), best, 0.0)
    kept = lean if _value(traces, sizes, norm, lean) <= _value(traces, sizes, norm, best) else best
    whole = MarginalsStrategy(classes, kept, norm)
    while whole.sensitivity > 1.0:
        whole = MarginalsStrategy(classes, whole.weights / whole.sensitivity, norm)
    return whole


def _value(traces: Array, sizes: tuple[int, ...], norm: int, theta: Array) -> float:
    """Total error; infinity where a component that counts is not measured."""
    x = component_values(np.square(theta), sizes)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.linalg.norm(theta.ravel(), norm) ** 2 * np.where(traces > 0, traces / x, 0.0).sum())


def _descend(
    traces: Array, sizes: tuple[int, ...], norm: int, rng: np.random.Generator, even: bool
) -> tuple[Array, float]:
    """Weights and error at the end of one search, from even or random weights."""
    counts = traces > 0
    start = np.full(traces.shape, 1.0) if even else rng.exponential(size=traces.shape)
    least = np.where(_largest(counts), LEAST, 0.0)
    theta = np.maximum(start / start.sum(), least)
    scale = _value(traces, sizes, norm, theta)

    def scaled(flat: Array) -> tuple[float, Array]:
        theta = flat.reshape(traces.shape)
        x = np.where(counts, component_values(np.square(theta), sizes), 1.0)
        error, length = float((traces / x).sum()), float(np.linalg.norm(flat, norm))
        slope = 2.0 * theta * _pulled(traces / np.square(x), sizes)
        longer = 2.0 * (length if norm == 1 else theta)  # the derivative of the squared norm
        gradient = longer * error - length**2 * slope
        return length**2 * error / scale, gradient.ravel() / scale

    found = scipy.optimize.minimize(
        scaled,
        theta.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(least.ravel(), np.inf),
        options={"maxiter": 3000, "maxfun": 10000, "ftol": 1e-12, "gtol": 1e-10},
    )
    theta = np.asarray(found.x).reshape(traces.shape)
    return theta, _value(traces, sizes, norm, theta)


def _pulled(values: Array, sizes: tuple[int, ...]) -> Array:
    """The transpose of ``component_values``."""
    for axis, n in enumerate(sizes):
        flat, rest = np.split(values, 2, axis=axis)
        values = np.concatenate([n * flat, flat + rest], axis=axis)
    return values


def _largest(counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which components that count lie in no other that does: their marginals have to be measured."""
    above = counts.astype(float)
    for axis in range(counts.ndim):
        out, kept = np.split(above, 2, axis=axis)
        above = np.concatenate([out + kept, kept], axis=axis)
    return np.asarray(counts & (above < 1.5))
