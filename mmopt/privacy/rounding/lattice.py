"""The core of an integer strategy: Σ^(-1/2) rounded to integers, and what must not be lost by it."""

from __future__ import annotations

import math

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints

__all__ = [
    "BIAS_LIMIT",
    "LOSS_LIMIT",
    "check_bias",
    "check_loss",
    "check_rank",
    "choose_bits",
    "common_step",
    "divide_by_gcd",
    "inverse_root",
    "is_one_count",
    "rint",
    "rounded_core",
    "unsupported",
]


BIAS_LIMIT = 1e-6
"""Largest accepted error of a rounded reconstruction, in units of the workload's largest entry."""

LOSS_LIMIT = 1.01
"""Largest accepted factor by which rounding multiplies the variance of a query."""

_SOLVED = 1e-7  # of the largest entry, what a solver may leave of one that is meant to be 0
_COLUMN_BITS = 29  # column norms up to 2^29: squared differences stay below 2^62, answers below 2^60


def inverse_root(covariance: Array) -> Array:
    """The symmetric Sigma^(-1/2); WorkloadError when Sigma is singular to working accuracy."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    if not (np.isfinite(values).all() and values[0] > values[-1] * len(values) * 2.0**-52):
        raise WorkloadError(
            "the covariance of the measured basis is singular: eigenvalues from "
            f"{values[0]:.3g} to {values[-1]:.3g}",
            hint="the strategy measures some queries with next to no noise beside others",
        )
    root = np.asarray((vectors / np.sqrt(values)) @ vectors.T, dtype=np.float64)
    return (root + root.T) / 2


def choose_bits(largest: float) -> int:
    """The most bits that keep column norms, of which this is the largest, about 2^29 or below."""
    return _COLUMN_BITS - math.ceil(math.log2(largest))


def common_step(values: Array, accuracy: float) -> float | None:
    """The largest number that all values are multiples of, to `accuracy` times the largest value; or None.

    The least of the values in 1 to 64 parts is tried; the largest may be 2^20 of them.
    """
    sizes = np.unique(np.abs(values))
    sizes = sizes[sizes > accuracy * sizes[-1]]
    for parts in range(1, 65):
        step = float(sizes[0]) / parts
        counts = sizes / step
        allowed = min(accuracy * counts[-1], 1e-4)  # also for the smallest ones
        if counts[-1] <= 2.0**20 and np.abs(counts - np.rint(counts)).max() <= allowed:
            return step
    return None


def rounded_core(real: Array, length: float) -> tuple[Ints, int, float]:
    """What is measured for a real core, its bits, and the noise on it over 2^bits at unit noise on the real.

    A core that is integers times one number, as far as solvers are accurate, is measured as these integers:
    (integers, 0, one over the number). Any other is rint(2^bits core), bits for columns of this `length`.
    """
    step = common_step(real, _SOLVED)
    if step is not None:
        own = rint(real / step)
        if np.linalg.matrix_rank(own) == own.shape[1]:
            return own, 0, float(np.abs(own).max() / np.abs(real).max())
    bits = choose_bits(length)
    return rint(np.ldexp(real, bits)), bits, 1.0


def is_one_count(matrix: Ints) -> bool:
    """Whether no column has more than one entry that is not 0."""
    return bool(((matrix != 0).sum(axis=0) <= 1).all())


def rint(real: Array) -> Ints:
    rounded = np.rint(real)
    if not np.abs(rounded).max() < 2.0**52:  # beyond, float64 holds no fractions and the cast may overflow
        raise WorkloadError(f"a rounded strategy entry is {np.abs(rounded).max():.3g}, the limit is 2^52")
    return rounded.astype(np.int64)


def check_rank(core: Ints, bits: int) -> None:
    """WorkloadError unless the core has full row rank with a margin far above float error."""
    values = np.linalg.svd(core.astype(float), compute_uv=False)
    if not values[-1] > values[0] * 1e-12:
        raise WorkloadError(
            f"the strategy rounded to {bits} bits loses rank: singular values from "
            f"{values[-1]:.3g} to {values[0]:.3g}",
            hint="the queries differ too much in size for 64-bit integers; scale the large ones down",
        )


_SIZES_DIFFER = "the queries differ too much in size for 64-bit integers; scale the large ones down"


def check_loss(
    rounded: Array, unrounded: Array, bits: int, limit: float = LOSS_LIMIT, hint: str = _SIZES_DIFFER
) -> float:
    """The largest factor by which a variance grew; WorkloadError above the limit."""
    loss = float(np.max(rounded / unrounded))
    if not loss <= limit:
        raise WorkloadError(
            f"rounding the strategy to {bits} bits multiplies a query's variance by {loss:.4g}, "
            f"the limit is {limit}",
            hint=hint,
        )
    return loss


def divide_by_gcd(basis: Ints) -> Ints:
    """Rows over their greatest common divisor: the same row space, more bits left for the core."""
    divisors = np.gcd.reduce(basis, axis=1)
    return np.asarray(basis // np.maximum(divisors, 1)[:, None], dtype=np.int64)


def check_bias(wanted: Array, reached: Array) -> float:
    """Largest difference over the largest wanted entry; WorkloadError above BIAS_LIMIT."""
    bias = float(np.abs(wanted - reached).max() / np.abs(wanted).max())
    if not bias <= BIAS_LIMIT:
        raise WorkloadError(
            f"rounding the strategy to integers biases a query by {bias:.3g} of its largest entry per row of "
            f"data, the limit is {BIAS_LIMIT:g}",
            hint="write the queries with integers (multiply them by a common denominator)",
        )
    return bias


def unsupported() -> WorkloadError:
    """The strategy does not determine all queries."""
    return WorkloadError(
        "the strategy does not support the workload: some query is no combination of its rows",
        hint="solve the strategy for this workload",
    )
