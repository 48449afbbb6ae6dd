"""Checks of query matrices, weights and targets. Every message says what was found and what was expected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, frozen

__all__ = [
    "LARGEST",
    "SMALLEST",
    "check_sizes",
    "no_targets",
    "per_query",
    "positive",
    "query_matrix",
    "undetermined",
]

SMALLEST, LARGEST = 1e-100, 1e100
"""Range of the numbers taken: their squares and products stay far from overflow and underflow."""


def query_matrix(matrix: npt.ArrayLike, names: Sequence[str] = ()) -> Array:
    """A read-only float64 copy (m, n) of a matrix of queries.

    Raises
    ------
    WorkloadError : not numbers, not 2-D, no row, no column, NaN or infinity, or a row of zeros.
    """
    if np.ma.isMaskedArray(matrix):  # numpy would forget which entries are not to be used
        raise WorkloadError("the query matrix is a masked array", hint="fill it: numpy.ma.filled")
    try:
        raw = np.asarray(matrix)
    except ValueError as error:
        raise WorkloadError(f"the query matrix is not rectangular: {error}") from None
    if raw.dtype.kind not in "biuf":
        raise WorkloadError(f"the query matrix holds {raw.dtype.name} values, expected real numbers")
    if raw.ndim != 2:
        raise WorkloadError(
            f"the query matrix has {raw.ndim} dimension{'' if raw.ndim == 1 else 's'}, expected 2",
            hint="one query is a matrix of one row" if raw.ndim == 1 else "",
        )
    m, n = raw.shape
    if m == 0 or n == 0:
        raise WorkloadError(f"the query matrix is {m} × {n}, expected at least one query and one cell")
    dense = np.add(raw, 0.0, dtype=np.float64, order="C")  # a copy, and no minus zeros
    finite = np.isfinite(dense)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise WorkloadError(
            f"query {_name(row, names)} has the entry {dense[row, column]:g} at cell {column}, "
            "expected finite numbers"
        )
    check_sizes(np.maximum(dense.max(axis=1), -dense.min(axis=1)), names)
    return frozen(dense)


def check_sizes(largest: Array, names: Sequence[str] = ()) -> None:
    """WorkloadError for the first query of zeros, or whose squares would leave the range of doubles.

    ``largest`` (m,) is the largest magnitude of each query's entries.
    """
    if not largest.all():
        row = int(np.argmin(largest != 0))
        raise WorkloadError(f"query {_name(row, names)} is all zero", hint="leave it out: its answer is 0")
    extreme = (largest < SMALLEST) | (largest > LARGEST)
    if extreme.any():
        row = int(np.argmax(extreme))
        raise WorkloadError(
            f"query {_name(row, names)} has entries of magnitude {largest[row]:g}, "
            f"expected between {SMALLEST:g} and {LARGEST:g}",
            hint="scale the query",
        )


def _name(row: int, names: Sequence[str]) -> str:
    return f"{row} ('{names[row]}')" if row < len(names) else str(row)


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
