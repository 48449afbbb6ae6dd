"""Helpers for arrays: read-only results, stacked QR, threads.

Small array helpers: read-only results, singular values, stacked QR.

How many threads the linear algebra takes: one where every matrix is small.
"""

from __future__ import annotations

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
_PANEL_COLUMNS = (
    256  # columns after which the time is looked at, where there are more than four times as many
)

MOST_CELLS = 8192
"""Cells up to which a workload or strategy is worked on as a matrix, where nothing else is cheaper."""


def frozen(array: AnyArray) -> AnyArray:
    """The same array, read-only."""
    array.setflags(write=False)
    return array


def owned(array: npt.ArrayLike) -> Array:
    """The array as floats, read-only and nobody else's: itself where it is that already, else a copy."""
    if isinstance(array, np.ndarray) and array.flags.owndata and not array.flags.writeable:
        return array if array.dtype == np.float64 else frozen(array.astype(np.float64))
    return frozen(np.array(array, dtype=np.float64))


def numbers(what: str, value: Any) -> Array:
    """What a caller passes, as floats; ``what`` names it. OptionError where it is no real numbers."""
    if np.ma.isMaskedArray(value):  # numpy would forget which entries are not to be used
        raise OptionError(f"{what} is a masked array", hint="fill it: numpy.ma.filled")
    try:
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return owned(array)  # not copied where nobody can change it, such as the workload's own
    except (TypeError, ValueError):  # rows of unequal length
        pass
    raise OptionError(f"{what} is neither a number nor an array of numbers")


def asymmetry(matrix: Array, within: float) -> str:
    """How a square matrix is not symmetric, in words: "" where it is, to ``within`` of its largest entry."""
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
    """These columns, which ascend: the matrix itself where they are all."""
    return matrix if len(which) == matrix.shape[1] else np.take(matrix, which, axis=1)


def panels(count: int, width: int = 512) -> Iterator[slice]:
    """Rows or columns, so many at a time."""
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
    """The triangle R (min(p, n), n) of a QR factorisation; of a square triangle itself.

    With ``overwrite`` a matrix in order of columns is not copied. TimeLimitError as ``require_time``.
    """
    if matrix.shape[0] == matrix.shape[1] and not scipy.linalg.bandwidth(matrix)[0]:
        return matrix  # nothing stands below the diagonal
    most = min(matrix.shape)
    if not most:
        return np.zeros((most, matrix.shape[1]))
    # LAPACK listens to nobody: what takes long is done by panels, and the time looked at after each.
    step = _PANEL_COLUMNS if most > 4 * _PANEL_COLUMNS else matrix.shape[1]
    found = np.array(matrix, dtype=np.float64, order="F", copy=None if overwrite else True)
    for i in range(0, most, step):
        panel = found[i:, i : i + step]
        # A third faster than what ``numpy.linalg.qr`` calls.
        panel[:], t, _ = scipy.linalg.lapack.dgeqrt(min(QR_BLOCK, *panel.shape), panel, overwrite_a=True)
        for j in range(i + step, found.shape[1], step):
            require_time()
            found[i:, j : j + step] = scipy.linalg.lapack.dgemqrt(
                panel[:, : t.shape[1]], t, found[i:, j : j + step], trans="T"
            )[0]
    return np.asarray(np.triu(found[:most]))


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
    Theorem 19.4: c m n u, u = ε / 2. One reflection of m entries is off by at most some 4 m u: twice in its
    vector, twice in what it takes off; c = 8 leaves as much for blocks of reflections. With more than
    2 n rows those before take part again with every n that come.
    """
    return 0.0 if m <= n else rounding_of_qr(m, n) * (1 if m <= 2 * n else 2)


def rounding_of_qr(m: int, n: int) -> float:
    """γ of ``rounding_of_root`` for one ``qr`` of B (m, n), of more rows than columns or fewer."""
    return 4.0 * EPS * m * min(m, n)


def _stacked(blocks: list[Array]) -> Array:
    """The blocks one below the other, in order of columns; the list is emptied on the way."""
    found = np.empty((sum(len(block) for block in blocks), blocks[0].shape[1]), order="F")
    end = len(found)
    while blocks:
        block = blocks.pop()
        found[end - len(block) : end] = block
        end -= len(block)
        del block
    return found


# Threads for smaller matrices cost more than they give: on a busy machine each product waits for them.
COLUMNS_OF_ONE_THREAD = 512


def blas_threads(largest: int, asked: int | None = None) -> AbstractContextManager[Any]:
    """As many threads as asked for; one where even the largest matrix is small; else what the library takes.

    ``largest``: the number of its columns.
    """
    if asked is None and largest < COLUMNS_OF_ONE_THREAD:
        return one_thread()
    return nullcontext() if asked is None else _limited(asked)


def one_thread() -> AbstractContextManager[Any]:
    """One thread for the linear algebra."""
    return _limited(1)


def _limited(threads: int) -> AbstractContextManager[Any]:
    running = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    if max(running, default=0) == threads:  # setting it again takes memory, which may be limited
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="blas")
    return limits
