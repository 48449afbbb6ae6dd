"""Types of arrays, read-only arrays, arrays from callers, and slices of rows."""

from collections.abc import Iterator
from decimal import Decimal
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse

from mmopt.errors import OptionError
from mmopt.limits import require_memory

Array = npt.NDArray[np.float64]  # of any shape
Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.int64 | np.object_]  # or Python integers
AnyArray = TypeVar("AnyArray", bound=np.ndarray[tuple[int, ...], np.dtype[np.generic]])

EPS = float(np.finfo(np.float64).eps)

# Cells up to which a workload or strategy is computed as a matrix, where no other way is cheaper.
MOST_CELLS = 8192


def frozen(array: AnyArray) -> AnyArray:
    """The array, made read-only."""
    array.setflags(write=False)
    return array


def owned(array: npt.ArrayLike) -> Array:
    """The array as read-only floats that no caller can change: itself where it is so already, else a copy."""
    if isinstance(array, np.ndarray) and array.flags.owndata and not array.flags.writeable:
        return array if array.dtype == np.float64 else frozen(array.astype(np.float64))
    return frozen(np.array(array, dtype=np.float64))


def numbers(what: str, value: Any) -> Array:
    """A caller's value as floats; ``what`` names it in the OptionError for anything but real numbers.

    A sparse array is filled with its zeros. Fractions, decimals and whole numbers of any size are rounded to
    the nearest double.
    """
    if np.ma.is_masked(value):  # numpy would forget which entries are not to be used
        raise OptionError(f"{what} is a masked array", hint="fill it: numpy.ma.filled")
    if scipy.sparse.issparse(value):
        require_memory(value.shape, what.removeprefix("the "))
        value = value.toarray()
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # rows of unequal length
        array = np.asarray("")
    if array.dtype.kind == "O":
        array = _rounded(what, array)
    if array.dtype.kind in "biuf":
        return owned(array)  # not copied where no caller can change it, such as an array of the workload
    if array.dtype.kind != "c":
        raise OptionError(f"{what} is neither a number nor an array of numbers")
    name = what.rpartition(" ")[2].strip("'")
    parts = f"pass Re = {name}.real and Im = {name}.imag, and write its real form [[Re, -Im], [Im, Re]]"
    has_parts = array.imag.any()
    raise OptionError(
        f"{what} is complex{'' if has_parts else ' with an imaginary part of zeros'}, expected real numbers",
        hint=parts if has_parts else f"pass {name}.real",
    )


def _rounded(what: str, array: npt.NDArray[Any]) -> Array:
    """Python's numbers, each as the nearest double; OptionError for another object, with its place."""
    out = np.empty(array.shape)
    for at in np.ndindex(array.shape):
        entry: Any = array[at]
        place = f": entry {', '.join(map(str, at))}" if at else ""
        if not isinstance(entry, Real | Decimal | np.bool_):
            kind = f"{place} is of type {type(entry).__name__}" if at else ""
            raise OptionError(f"{what} is neither a number nor an array of numbers{kind}")
        try:
            out[at] = float(entry)
        except OverflowError:
            raise OptionError(f"{what} has a number beyond the largest double{place}") from None
    return out


def asymmetry(matrix: Array, within: float) -> str:
    """How a square matrix is asymmetric, in words: "" where it is not, to ``within`` of its largest entry."""
    if np.array_equal(matrix, matrix.T):
        return ""
    with np.errstate(over="ignore"):
        off = np.abs(matrix - matrix.T)
    i, j = (int(at) for at in np.unravel_index(int(np.argmax(off)), off.shape))
    if off[i, j] <= within * np.abs(matrix).max():
        return ""
    return (
        f"is not symmetric: entry {i}, {j} is {matrix[i, j]:.10g} and entry {j}, {i} is {matrix[j, i]:.10g}"
    )


def columns_of(matrix: Array, which: Ints) -> Array:
    """The columns ``which``, ascending: the matrix itself where they are all."""
    return matrix if len(which) == matrix.shape[1] else np.take(matrix, which, axis=1)


def panels(count: int, width: int = 512) -> Iterator[slice]:
    """Slices of rows or columns, so many at a time."""
    return (slice(start, min(start + width, count)) for start in range(0, count, width))
