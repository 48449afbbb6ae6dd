"""Helpers for arrays: read-only results, singular values, stacked QR; threads, one for small matrices."""

import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

from mmopt.errors import OptionError
from mmopt.limits import require_time

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.int64 | np.object_]  # or Python integers
AnyArray = TypeVar("AnyArray", bound=np.ndarray[tuple[int, ...], np.dtype[np.generic]])

EPS = float(np.finfo(np.float64).eps)
_POWER_STEPS = 30  # of a power iteration
QR_BLOCK = 32  # columns that a QR factorisation takes at a time
_PANEL_COLUMNS = 256  # columns after which the time is checked, where there are more than four times as many

MOST_CELLS = 8192
"""Cells up to which a workload or strategy is computed as a matrix, where no other way is cheaper."""


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
    """A caller's value as floats; ``what`` names it. OptionError where it is not real numbers."""
    if np.ma.isMaskedArray(value):  # numpy would forget which entries are not to be used
        raise OptionError(f"{what} is a masked array", hint="fill it: numpy.ma.filled")
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return owned(array)  # not copied where no caller can change it, such as an array of the workload
    except (TypeError, ValueError):  # rows of unequal length
        pass
    raise OptionError(f"{what} is neither a number nor an array of numbers")


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


def svd(matrix: Array, full: bool = False) -> tuple[Array, Array]:
    """Singular values, descending, and right singular vectors as rows ((min(p, n), n), or (n, n) if full)."""
    p, n = matrix.shape
    if p > n:
        matrix = qr(matrix)  # the same right factors, without the large left one
    try:
        _, values, rows = scipy.linalg.svd(matrix, full_matrices=full)
    except np.linalg.LinAlgError:
        # The fast driver (divide and conquer) may fail to converge where the slow one does not.
        _, values, rows = scipy.linalg.svd(matrix, full_matrices=full, lapack_driver="gesvd")
    return values, rows


def largest_singular_value(matrix: Array) -> float:
    """‖A‖₂ to a few per cent, from below, by a power iteration from the sum of the rows' magnitudes."""
    if min(matrix.shape) <= 1 or not matrix.any():
        return float(np.linalg.norm(matrix))
    v = np.abs(matrix).sum(axis=0)
    for _ in range(_POWER_STEPS):
        v = matrix.T @ (matrix @ (v / np.linalg.norm(v)))
    return float(np.sqrt(np.linalg.norm(v)))


def qr(matrix: Array, overwrite: bool = False) -> Array:
    """The triangle R (min(p, n), n) of a QR factorisation; a square triangle is returned unchanged.

    With ``overwrite`` a matrix in order of columns is not copied. TimeLimitError as ``require_time``.
    """
    if matrix.shape[0] == matrix.shape[1] and not scipy.linalg.bandwidth(matrix)[0]:
        return matrix  # nothing is below the diagonal
    most = min(matrix.shape)
    if not most:
        return np.zeros((most, matrix.shape[1]))
    # LAPACK cannot be interrupted: long work is done by panels, and the time checked after each.
    step = _PANEL_COLUMNS if most > 4 * _PANEL_COLUMNS else matrix.shape[1]
    work = np.array(matrix, dtype=np.float64, order="F", copy=None if overwrite else True)
    for i in range(0, most, step):
        panel = work[i:, i : i + step]
        # A third faster than the routine of ``numpy.linalg.qr``.
        panel[:], t, _ = scipy.linalg.lapack.dgeqrt(min(QR_BLOCK, *panel.shape), panel, overwrite_a=True)
        for j in range(i + step, work.shape[1], step):
            require_time()
            work[i:, j : j + step] = scipy.linalg.lapack.dgemqrt(
                panel[:, : t.shape[1]], t, work[i:, j : j + step], trans="T"
            )[0]
    return np.asarray(np.triu(work[:most]))


def stacked_root(blocks: Iterable[Array], n: int, most: int | None = None) -> Array:
    """R (r, n) with RᵀR = Σ BᵀB over the blocks B (·, n), by QR, never through a Gram matrix.

    At most about 2n rows plus one block are held at a time. With ``most`` rows or less in all (n unless it is
    given, and at most 2n), the rows themselves are returned. The error is that of QR (Householder, backward
    stable): a small multiple of machine precision times ‖R‖.
    """
    if n == 1:
        entries = np.concatenate(list(blocks))[:, 0]
        return entries[:, None] if len(entries) <= 1 else np.array([[math.hypot(*entries.tolist())]])
    held: list[Array] = []
    count = 0
    for block in blocks:
        require_time()
        held.append(block)
        count += block.shape[0]
        del block
        if count > 2 * n:
            held = [qr(_stacked(held), overwrite=True)]
            count = held[0].shape[0]
    if count > (n if most is None else most):
        return qr(held[0]) if len(held) == 1 else qr(_stacked(held), overwrite=True)
    return held[0] if len(held) == 1 else np.vstack(held)


def rounding_of_root(m: int, n: int) -> float:
    """γ: ``stacked_root`` of B (m, n) gives R = Qᵀ (B + E), Q orthonormal, ‖e_j‖ <= γ ‖b_j‖ each column.

    0 where the rows are returned. Else by Higham, Accuracy and Stability of Numerical Algorithms, 2002,
    Theorem 19.4: c m n u, u = ε / 2. The error of one reflection of m entries is at most some 4 m u: twice in
    its vector, twice in the subtraction; c = 8 leaves as much for blocks of reflections. With more than 2 n
    rows the earlier ones take part again with every further n.
    """
    return 0.0 if m <= n else rounding_of_qr(m, n) * (1 if m <= 2 * n else 2)


def rounding_of_qr(m: int, n: int) -> float:
    """γ of ``rounding_of_root`` for one ``qr`` of B (m, n), of more rows than columns or fewer."""
    return 4.0 * EPS * m * min(m, n)


def _stacked(blocks: list[Array]) -> Array:
    """The blocks one below the other, in column-major order; the list is emptied on the way."""
    stacked = np.empty((sum(len(block) for block in blocks), blocks[0].shape[1]), order="F")
    end = len(stacked)
    while blocks:
        block = blocks.pop()
        stacked[end - len(block) : end] = block
        end -= len(block)
        del block
    return stacked


# For smaller matrices threads cost more than they gain: on a busy machine each product waits for them.
COLUMNS_OF_ONE_THREAD = 512


def blas_threads(largest: int, wanted: int | None = None) -> AbstractContextManager[Any]:
    """Limit threads: to ``wanted``; without it to one where even the largest matrix is small, else not.

    ``largest``: the number of its columns.
    """
    is_free = wanted is None and largest >= COLUMNS_OF_ONE_THREAD
    return nullcontext() if is_free else _limited(1 if wanted is None else wanted)


def one_thread() -> AbstractContextManager[Any]:
    """One thread for the linear algebra."""
    return _limited(1)


def _limited(threads: int) -> AbstractContextManager[Any]:
    running = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    if max(running, default=0) == threads:  # setting it again takes memory, which may be limited
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="blas")
    return limits
