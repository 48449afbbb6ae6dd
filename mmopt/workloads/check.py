"""Checks of weights and targets. Every message says what was found and what was expected."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, frozen

__all__ = [
    "LARGEST",
    "SMALLEST",
    "no_targets",
    "per_query",
    "positive",
    "undetermined",
]

SMALLEST, LARGEST = 1e-100, 1e100
"""Range of the numbers taken: their squares and products stay far from overflow and underflow."""


def positive(value: float, what: str, infinite: bool = False) -> float:
    """The number as a float; WorkloadError unless it is positive (and finite, unless ``infinite``)."""
    wanted = "a positive number" + ("" if infinite else ", not infinite")
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise WorkloadError(f"{what} is {value!r}, expected {wanted}")
    if not value > 0 or (math.isinf(value) and not infinite):
        raise WorkloadError(f"{what} is {value:g}, expected {wanted}")
    if not SMALLEST <= value <= LARGEST and not math.isinf(value):
        raise WorkloadError(f"{what} is {value:g}, expected between {SMALLEST:g} and {LARGEST:g}")
    return float(value)


def per_query(values: npt.ArrayLike | None, m: int, what: str, default: float) -> Array:
    """One positive number per query, (m,), from an array, one number for all, or None for the default.

    A default of infinity allows infinity.
    """
    if values is None:
        return frozen(np.full(m, default))
    if np.ma.isMaskedArray(values):
        raise WorkloadError(f"the {what}s are a masked array", hint="fill it: numpy.ma.filled")
    raw = np.asarray(values)
    if raw.dtype.kind not in "iuf":
        raise WorkloadError(f"the {what}s hold {raw.dtype.name} values, expected real numbers")
    if raw.ndim == 0:
        raw = np.full(m, raw)
    if raw.shape != (m,):
        found = len(raw) if raw.ndim == 1 else f"an array of shape {raw.shape}"
        raise WorkloadError(f"the workload has {m} queries but {found} {what}s were given")
    numbers = np.array(raw, dtype=np.float64)
    infinite = math.isinf(default)
    fine = ((numbers >= SMALLEST) & (numbers <= LARGEST)) | (infinite & (numbers == np.inf))
    if not fine.all():
        i = int(np.argmin(fine))
        positive(float(numbers[i]), f"the {what} of query {i}", infinite)
    return frozen(numbers)


def no_targets() -> WorkloadError:
    """For a program that asks for accuracy targets."""
    return WorkloadError(
        "the program asks for accuracy targets and no query of the workload has one",
        hint="write max_variance beside the queries, or pass targets= to Workload.from_matrix",
    )


def undetermined(without: int, m: int) -> WorkloadError:
    """For queries without a target that those with one do not determine: ``without`` of m have none."""
    return WorkloadError(
        "some queries have no target and cannot be derived from those that have one, so their "
        f"variance would have no limit ({without} of {m} queries have none)",
        hint="give them a target (max_variance), or leave them out",
    )
