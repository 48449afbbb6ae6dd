"""Types of arrays, arrays from callers, slices of rows; factorisations of matrices; sums rounded outward.

QR, singular values and eigenvectors, rank and pseudo-inverse by them; their threads.

Pseudo-inverse and rank need no singular value decomposition where there is a cheaper proof of full rank:
orthogonal rows (eigen-queries, wavelets), then a well-conditioned triangle.

**Graded matrices.** Singular vectors, the small ones too, come from the eigenvectors of a Gram matrix; its
spectrum from its root. Squaring costs half of the digits, so that of K V with V the eigenvectors of KᵀK only
the columns that are not short relative to the longest are near singular vectors times singular values. From
the short ones their parts along the others are removed, and they are decomposed once more, among themselves,
and so on: where sizes spread over many decades, small singular values are right relative to themselves, not
only to the largest.

**Outward.** Sums, products, roots and column norms are proved to be at least the exact value. Printed figures
are rounded to one side.

The rounding error of one sum or product is itself a float and is computed exactly (Knuth's two-sum, Dekker's
product; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §4.3): a result that was rounded
down goes one float up, an exact one stays. Near overflow and underflow every result goes up.

Floating-point summation of p nonnegative terms, in any order, has relative error at most
γ_p = p u / (1 - p u), u = 2⁻⁵³, roundings of the terms included when p counts them (Higham, §3.1 and §4.2).
A computed sum is therefore multiplied by 1 + 4 p u, which exceeds 1 / (1 - γ_p) for p u < 1/8, and every
rounded operation after that is followed by a step to the next float.
"""

import math
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
import scipy.spatial.distance
from array_api_compat import array_namespace as namespace
from threadpoolctl import threadpool_info, threadpool_limits

from mmopt.errors import OptionError
from mmopt.limits import require_memory, require_time

Array = npt.NDArray[np.float64]  # of any shape
Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.int64 | np.object_]  # or Python integers
AnyArray = TypeVar("AnyArray", bound=np.ndarray[tuple[int, ...], np.dtype[np.generic]])
GroupKey = TypeVar("GroupKey", bound=Hashable)
Member = TypeVar("Member")

EPS = float(np.finfo(np.float64).eps)

# Cells up to which a workload or strategy is computed as a matrix, where no other way is cheaper.
MOST_CELLS = 8192


def grouped(pairs: Iterable[tuple[GroupKey, Member]]) -> dict[GroupKey, list[Member]]:
    """The second entries of pairs by their first, both in order."""
    groups: dict[GroupKey, list[Member]] = {}
    for key, member in pairs:
        groups.setdefault(key, []).append(member)
    return groups


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


LibraryArray = Any  # of any library that follows the array API standard
_POWER_STEPS = 30  # of a power iteration
QR_BLOCK = 32  # columns that a QR factorisation takes at a time
_PANEL_COLUMNS = 256  # columns after which the time is checked, where there are more than four times as many


def svd(matrix: Array, full: bool = False) -> tuple[Array, Array]:
    """Singular values, descending, and right singular vectors as rows ((min(p, n), n), or (n, n) if full)."""
    if matrix.shape[0] > matrix.shape[1]:
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
    if not (most := min(matrix.shape)):
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
    stack: list[Array] = []
    count = 0
    for block in blocks:
        require_time()
        stack.append(block)
        count += block.shape[0]
        del block
        if count > 2 * n:
            stack = [qr(_stacked(stack), overwrite=True)]
            count = stack[0].shape[0]
    if count > (n if most is None else most):
        return qr(stack[0]) if len(stack) == 1 else qr(_stacked(stack), overwrite=True)
    return stack[0] if len(stack) == 1 else np.vstack(stack)


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


# Columns that are shorter than the longest by this factor have lost too many digits to the squares.
SHORT_COLUMN = 1e-4
GRADING_ROUNDS = 4  # in these nothing above rounding is left
# From so many columns on the Gram matrix is formed: a third of the time and of the memory.
COLUMNS_FOR_GRAM = 1024

# If an eigenvalue is below this part of the largest, the Gram matrix, whose rounding errors are at some
# 1e-16 of the largest, is not good enough.
FAINT_EIGENVALUE = 1e-9


def graded(y: LibraryArray, vectors: LibraryArray) -> tuple[LibraryArray, int]:
    """Turn Y = K V into directions of its columns, and return their lengths (p,): see **Graded matrices**.

    y : (q, p), K V in any order of memory, overwritten: its columns are then nearly orthonormal. A column
        that is only rounding gets the direction 0.
    vectors : V (p, p), eigenvectors of KᵀK, ascending, overwritten: the first are rotated among themselves.

    Returns the lengths, from the shortest on, and the number of the vectors that were rotated.
    """
    xp = namespace(y)
    sizes = lengths(y)
    count = turned = sizes.shape[0]
    noise = 2.0 * float(xp.finfo(y.dtype).eps) * count**0.5 * float(xp.max(sizes))
    for number in range(GRADING_ROUNDS):
        last = count
        clear = xp.nonzero(sizes[:last] >= max(SHORT_COLUMN * float(xp.max(sizes[:last])), noise))[0]
        count = int(clear[0]) if clear.shape[0] else last
        turned = count if number == 0 else turned
        y[:, count:last] /= xp.clip(sizes[count:last], noise, None)
        if not bool(xp.any(sizes[:count] > noise)):
            break
        y[:, :count] -= y[:, count:] @ (y[:, count:].T @ y[:, :count])
        turn = eigen(y[:, :count].T @ y[:, :count])[1]
        y[:, :count] = y[:, :count] @ turn
        vectors[:, :count] = vectors[:, :count] @ turn
        sizes[:count] = lengths(y[:, :count])
    y[:, :count] = 0.0
    return sizes, turned


def eigen(gram: LibraryArray) -> tuple[LibraryArray, LibraryArray]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix, which is overwritten: memory.

    Raises
    ------
    numpy.linalg.LinAlgError : the algorithm does not converge.
    """
    if not isinstance(gram, np.ndarray):
        result = namespace(gram).linalg.eigh(gram)
        return result[0], result[1]
    values, vectors, failed = scipy.linalg.lapack.dsyevd(gram.T, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("eigenvalues did not converge")
    return values, _transposed(vectors.T)  # LAPACK's order of memory is slow for access by rows


def _transposed(square: LibraryArray) -> LibraryArray:
    """The transposed matrix, in the same place."""
    for here in panels(square.shape[0], 64):
        rest = slice(here.start, None)
        rows = square[here, rest].copy()
        square[here, rest] = square[rest, here].T
        square[rest, here] = rows.T
    return square


def lengths(y: LibraryArray) -> LibraryArray:
    """Lengths of the columns, without a second matrix."""
    xp = namespace(y)
    return xp.sqrt(sum(xp.sum(y[here, :] ** 2, axis=0) for here in panels(y.shape[0])))


def spectrum(root: LibraryArray) -> tuple[LibraryArray, LibraryArray]:
    """Eigenvalues (k,), descending, and orthonormal eigenvectors (k, n) as rows, k = min(p, n), of R (p, n).

    By the singular values of R; from ``COLUMNS_FOR_GRAM`` columns on, at a moderate condition, by the
    eigenvectors V of RᵀR. The eigenvalues are then the squared lengths of R V, in which errors of V count
    squared.
    """
    p, n = root.shape
    if n >= COLUMNS_FOR_GRAM and p >= n:
        rows = eigen(root.T @ root)[1][:, ::-1].T
        squares = np.square(root @ rows.T).sum(axis=0)
        if squares.min() >= FAINT_EIGENVALUE * squares.max():
            order = np.argsort(-squares, kind="stable")
            return squares[order], rows[order]
        del rows
    values, rows = svd(root)
    return np.square(values), rows


# Rows of unit length are orthogonal when their Gram matrix is the identity to this, in the Frobenius norm:
# the pseudo-inverse that is used then has no larger relative error.
ORTHOGONAL = 1e-12

# A triangle whose reciprocal condition is estimated above this has full rank: estimates are seldom wrong by
# more than a factor of ten, and the smallest singular value that counts is at some 1e-12 of the largest.
FULL_RANK = 1e-7
WELL_CONDITIONED = 1e-4  # and above this loses nothing by being squared
# With few columns another basis costs little, and solvers gain from it already below this.
EVENLY_CONDITIONED, FEW_COLUMNS = 0.05, 128
MOST_IN_FRACTIONS = 2**9  # entries of a matrix whose rank is computed in fractions


def pinv(matrix: Array) -> Array:
    """The pseudo-inverse; singular values count as zero by the same rule as for strategies and workloads."""
    if matrix.shape[0] > matrix.shape[1]:
        return np.asarray(pinv(matrix.T).T)
    if (squares := _orthogonal(matrix)) is not None:
        return np.asarray((matrix / squares[:, None]).T)
    if not np.isfinite(matrix).all():
        return np.full(matrix.T.shape, np.nan)
    basis, triangle = scipy.linalg.qr(matrix.T, mode="economic", check_finite=False)
    if _is_full(triangle):
        # matrix = triangle.T @ basis.T
        return np.asarray(scipy.linalg.solve_triangular(triangle, basis.T, check_finite=False).T)
    return np.asarray(np.linalg.pinv(matrix, rcond=8 * max(matrix.shape) * EPS))


def counted(values: Array, shape: tuple[int, ...]) -> Any:
    """A mask of the singular values of a matrix (p, n) that count: above 8 max(p, n) ε times the largest."""
    return values > 8 * max(shape) * EPS * values.max(initial=0.0)


def pseudo_factors(matrix: Array) -> tuple[Array, Array]:
    """D (n, k) with D Dᵀ = (AᵀA)⁺, k the rank, and an orthonormal basis (n, n - k) of A's null space.

    From a QR factorisation of A or Aᵀ where that shows full rank beyond doubt: A = Q T gives D = T⁻¹, and
    Aᵀ = Q T gives D = Q T⁻ᵀ. Else from the singular value decomposition: D = V/s, where singular values
    below 8 max(p, n) ε times the largest count as zero. TooLargeError for a basis beyond the memory limit.
    """
    require_memory((matrix.shape[1], matrix.shape[1]), "null space of a matrix")
    if (factors := _factors_by_qr(matrix)) is not None:
        return factors
    values, rows = svd(matrix, full=True)
    k = int(counted(values, matrix.shape).sum())
    return (rows[:k] / values[:k, None]).T, rows[k:].T


def _factors_by_qr(matrix: Array) -> tuple[Array, Array] | None:
    """The ``pseudo_factors`` of a matrix whose rank is full beyond doubt; None for others."""
    p, n = matrix.shape
    if p == n == 1 and matrix[0, 0]:
        return 1.0 / matrix, np.zeros((1, 0))
    if p >= n:
        inverse = _inverse_of_triangle(qr(matrix))
        return None if inverse is None else (inverse, np.zeros((n, 0)))
    columns, triangle = scipy.linalg.qr(matrix.T)
    inverse = _inverse_of_triangle(triangle[:p])
    # The null space is copied: a view would keep all columns in memory.
    return None if inverse is None else (columns[:, :p] @ inverse.T, columns[:, p:].copy())


def _inverse_of_triangle(triangle: Array) -> Array | None:
    """T⁻¹ of an upper triangle whose condition is below ``1 / FULL_RANK``; else None."""
    turned, singular = scipy.linalg.lapack.dtrtri(triangle.T, lower=1)
    with np.errstate(over="ignore"):  # an inverse that overflows is none
        is_clear = np.linalg.norm(triangle) * np.linalg.norm(turned) < 1 / FULL_RANK
    return None if singular or not is_clear else np.asarray(turned.T, dtype=np.float64)


def rank(matrix: Array) -> int:
    """The rank: singular values above ``max(shape)`` machine precisions of the largest."""
    return min(matrix.shape) if has_full_rank(matrix) else int(np.linalg.matrix_rank(matrix))


def gram_rows(gram: Array, least: float) -> Array:
    """Rows (k, n) with this Gram matrix, without directions of at most ``least`` of the largest value."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > least * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def has_full_rank(matrix: Array) -> bool:
    """Whether the rank is clearly ``min(shape)``; False: undecided."""
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    return bool(np.isfinite(wide).all()) and (
        _orthogonal(wide) is not None or _is_full(scipy.linalg.qr(wide.T, mode="r", check_finite=False)[0])
    )


def has_independent_columns(matrix: Array) -> bool:
    """Whether a QR factorisation shows full column rank beyond doubt; False: undecided."""
    return matrix.shape[0] >= matrix.shape[1] and _is_full(qr(matrix))


def row_basis(matrix: Array) -> Array:
    """Independent rows N (k, n) with the row space of A (p, n): the identity where A is well-conditioned.

    Else the columns of A Nᵀ are orthogonal up to rounding, and as long as A's largest singular value: in
    these coordinates AᵀA is a multiple of the identity, so that small singular values of A are not squared.
    """
    if len(matrix) >= matrix.shape[1]:
        triangle = scipy.linalg.qr(matrix, mode="r", check_finite=False)[0]
        if _is_full(triangle, WELL_CONDITIONED if matrix.shape[1] > FEW_COLUMNS else EVENLY_CONDITIONED):
            return np.eye(matrix.shape[1])
    _, values, rows = np.linalg.svd(matrix, full_matrices=False)
    counts = counted(values, matrix.shape)
    return np.asarray(rows[counts] * (values.max(initial=0.0) / values[counts, None]))


def is_rank_at_most(matrix: Array, most: int) -> bool:
    """Whether the rank is proved to be at most this: by equal columns and zeros, or in fractions if few."""
    distinct = np.unique(matrix[:, matrix.any(axis=0)], axis=1)
    if min(distinct.shape) <= most:
        return True
    if distinct.size > MOST_IN_FRACTIONS or not np.isfinite(distinct).all():
        return False
    rows = [[Fraction(x) for x in row] for row in distinct.tolist()]  # those without a pivot so far
    for column in range(distinct.shape[1]):
        if (pivot := next((row for row in rows if row[column]), None)) is None:
            continue
        rows.remove(pivot)
        most -= 1
        by = [row[column] / pivot[column] for row in rows]
        rows = [[x - f * y for x, y in zip(row, pivot, strict=True)] for row, f in zip(rows, by, strict=True)]
    return most >= 0


def _orthogonal(matrix: Array) -> Array | None:
    """Squared lengths of the rows if they are orthogonal, else None."""
    gram = matrix @ matrix.T
    squares = np.diag(gram).copy()
    least = squares.min(initial=1.0)
    # Whether small rows count as zero relative to the largest is not decided here.
    if not (np.isfinite(squares).all() and least > 0 and least >= FULL_RANK**2 * squares.max(initial=0.0)):
        return None
    norms = np.sqrt(squares)
    gram /= norms
    gram /= norms[:, None]
    np.fill_diagonal(gram, 0.0)
    return squares if np.linalg.norm(gram) <= ORTHOGONAL else None


def _is_full(triangle: Array, least: float = FULL_RANK) -> bool:
    """Whether an upper triangle is clearly not singular (LAPACK's estimate of its condition)."""
    square = triangle[: triangle.shape[1]]
    is_tall = square.shape[0] >= square.shape[1] and 0 not in square.shape
    return is_tall and bool(scipy.linalg.lapack.dtrcon(square)[0] > least)


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
    """So many threads for the linear algebra, while the context lasts."""
    running = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    if max(running, default=0) == threads:  # setting it again takes memory, which may be limited
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="blas")
    return limits


_SPLIT = 2.0**27 + 1  # by Dekker's product, for halves of 26 bits
_TINY, _HUGE = 2.0**-900, 2.0**900  # between these no step of Dekker's product leaves the range of doubles
_MOST_DIRECT = 2**32  # operations up to which differences of columns are taken one by one
_COLUMNS_AT_A_TIME = 256
FEW = 6  # numbers that are shown one by one
_GRID = (1, 2, 3, 4, 6, 8, 12, 16, 25)  # bits tried for an exact sum


def few_numbers(values: npt.ArrayLike) -> str:
    """Numbers to the nearest in six digits, ``[1, 2; 3, 4]``; of more than ``FEW`` count and range.

    >>> few_numbers([[1, 2], [3, -0.0]])
    '[1, 2; 3, 0]'
    """
    rows = np.asarray(values, dtype=np.float64)
    if rows.size > FEW:
        return f"{rows.size} entries from {rows.min():.6g} to {rows.max():.6g}"
    if rows.size == 1:
        return f"{rows.item() + 0.0:.6g}"
    flat = rows.reshape(-1, rows.shape[-1] if rows.ndim else 1)
    return f"[{'; '.join(', '.join(f'{y + 0.0:.6g}' for y in row) for row in flat.tolist())}]"


def plus_up(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """a + b, elementwise, rounded upwards; a, b >= 0."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        of_b = total - a
        error = (a - (total - of_b)) + (b - of_b)
        return np.asarray(np.where(error > 0, np.nextafter(total, np.inf), total))


def times_up(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """a b, elementwise, rounded upwards; a, b >= 0."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        product = a * b
        error = _lost(a, b, product)
        certain = (a < _HUGE) & (b < _HUGE) & (product > _TINY) & (product < _HUGE)
        exact = np.where(certain, error <= 0, (a == 0) | (b == 0))
        return np.asarray(np.where(exact, product, np.nextafter(product, np.inf)))


def times_down(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """a b, elementwise, rounded downwards; a, b >= 0."""
    return np.maximum(-times_up(-np.asarray(a, dtype=np.float64), b), 0.0)


def root_up(a: npt.ArrayLike) -> Array:
    """√a, elementwise, rounded upwards; a >= 0."""
    a = np.asarray(a, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        root = np.sqrt(a)
        square = root * root
        short = (square - a) + _lost(root, root, square)  # root² - a; the difference is exact (Sterbenz)
        certain = (a > _TINY) & (a < _HUGE)
        exact = np.where(certain, short >= 0, a == 0)
        return np.asarray(np.where(exact, root, np.nextafter(root, np.inf)))


def _lost(a: Array, b: Array, product: Array) -> Array:
    """a b minus its rounded value."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return np.asarray(((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)


def _halves(a: Array) -> tuple[Array, Array]:
    """The upper and the lower half of the digits, of which products are exact."""
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def check_norm(norm: int, what: str = "the norm of columns") -> None:
    """OptionError unless the norm is 1 or 2."""
    if norm not in (1, 2):
        raise OptionError(f"{what} is {norm!r}, expected 1 (Laplace) or 2 (Gaussian)")


def column_norms(matrix: Array, norm: int) -> Array:
    """Upward-rounded L1 (norm 1) or L2 (norm 2) norm of each column of a finite matrix (p, n), (n,).

    When the entries are small integers times one power of two (hierarchies, wavelets) the L1 norm is exact,
    and the L2 norm is exact where it is a float, else the next float above.
    """
    parts = panels(matrix.shape[1], _COLUMNS_AT_A_TIME)
    return np.concatenate([_column_norms(matrix[:, here], norm) for here in parts])


def column_powers(matrix: Array | scipy.sparse.csr_array, norm: int) -> Array:
    """Upward-rounded Σᵢ |aᵢⱼ|^norm of each column of a finite matrix (p, n), dense or sparse, (n,).

    Norm 1 or 2: sums of magnitudes or of squares, exact on small integers as ``column_norms``.
    """
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    scaled, exponent = _scaled(values)
    size = np.abs(scaled) if norm == 1 else np.square(scaled)
    if isinstance(matrix, np.ndarray):
        sums, most = size.sum(axis=0), matrix.shape[0]
        touched = matrix.any(axis=0)
    else:
        counts = np.bincount(matrix.indices[values != 0], minlength=matrix.shape[1])
        sums = np.bincount(matrix.indices, weights=size, minlength=matrix.shape[1])
        most, touched = int(counts.max(initial=0)), counts > 0
    sums = _not_below(np.asarray(sums), most + 1, _grid(np.abs(scaled), values, exponent), norm)
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(sums, norm * exponent)
    result = np.where(result < 2.0**-1020, np.nextafter(result, np.inf), result)  # rounded by ldexp
    return np.where(touched, result, 0.0)


def not_below(sums: Array, terms: int | Array) -> Array:
    """Floats not below the exact sums of ``terms`` nonnegative terms whose computed values these are."""
    sums = np.nextafter(sums * (1.0 + 2.0 * terms * EPS), np.inf)
    # Each term may have lost 2⁻¹⁰⁷⁴ by underflow; 2⁻¹⁰⁰⁰ is far more.
    return np.nextafter(sums + terms * 2.0**-1000, np.inf)


def rounded(value: float | str | None, digits: int, *, up: bool, layout: str = "g") -> str:
    """A figure to so many significant digits, never below its value; never above, if not ``up``.

    The layout is that of ``:.6g`` (or, with layout "e", of ``:.1e`` for two digits), and digits that are
    exact are kept; ``-`` for None. A double means all its digits, so that 0.1 is a little more than that; a
    text means the number that it states. At most 15 digits, which a double returns.
    """
    if value is None:
        return "-"
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return f"{float(context.plus(Decimal(value))):.{digits - (layout == 'e')}{layout}}"


def _column_norms(matrix: Array, norm: int) -> Array:
    """``column_norms`` of some columns."""
    scaled, exponent = _scaled(matrix)
    size = np.abs(scaled)
    sums = np.asarray(size.sum(axis=0) if norm == 1 else np.square(size).sum(axis=0))
    norms = _upward(sums, matrix.shape[0] + 1, _grid(size, matrix, exponent), norm, exponent)
    return np.where(matrix.any(axis=0), norms, 0.0)


def largest_column_distance(matrix: Array, norm: int) -> float:
    """At least the largest L1 or L2 distance (``norm``) of two columns of a finite matrix (p, n).

    Exactly 0 when all columns are equal; exact on small integers as ``column_norms``. For norm 2 and a large
    matrix the differences come from the Gram matrix when its error bound is below 1e-10 of the result.
    """
    columns = np.unique(matrix.T + 0.0, axis=0)  # equal columns have no difference
    rows, exponent = _scaled(columns)
    n, p = rows.shape
    if n == 1:
        return 0.0
    rows, exponent = np.ldexp(rows, -1), exponent + 1  # so that differences are at most 1
    if norm == 2 and p * n * n > _MOST_DIRECT and (bound := _difference_by_gram(rows)) is not None:
        with np.errstate(over="ignore"):
            return float(np.nextafter(np.ldexp(bound, exponent), np.inf))
    metric = "cityblock" if norm == 1 else "sqeuclidean"
    largest, step = 0.0, max(1, 2**24 // n)
    for start in range(0, n - 1, step):
        distances = scipy.spatial.distance.cdist(rows[start : start + step], rows[start + 1 :], metric)
        largest = max(largest, float(distances.max()))
    # Each entry of a difference is rounded once, which its square doubles: two more terms.
    return float(
        _upward(np.array([largest]), p + 3, _grid(np.abs(rows), columns, exponent), norm, exponent)[0]
    )


def _scaled(matrix: Array) -> tuple[Array, int]:
    """(M / 2ᵉ, e) with entries of at most 1 in magnitude, against overflow.

    Exact but for entries that end below 2⁻¹⁰²², which ``_upward`` covers.
    """
    exponent = int(np.frexp(np.abs(matrix).max(initial=0.0))[1])
    return np.ldexp(matrix, -exponent), exponent


def _grid(size: Array, matrix: Array, exponent: int) -> int | None:
    """Bits b, few if possible, with all of 2ᵇ × size integer; None also where ``_scaled`` lost an entry."""

    def is_whole(bits: int) -> bool:
        """Whether all of 2ᵇ × size is integer for these bits."""
        grid = size * 2.0**bits
        return bool((grid == np.rint(grid)).all())

    if (np.ldexp(size, exponent) != np.abs(matrix)).any() or not is_whole(_GRID[-1]):
        return None  # where the last fails, all fail
    return next(filter(is_whole, _GRID))


def _upward(sums: Array, terms: int, grid: int | None, norm: int, exponent: int) -> Array:
    """2ᵉ × sums, or their square roots for norm 2, rounded upwards; 0 stays 0 only on a grid."""
    sums = _not_below(sums, terms, grid, norm)
    sums = root_up(sums) if norm == 2 else sums
    with np.errstate(over="ignore"):  # infinity is a bound too
        result = np.ldexp(sums, exponent)
    tiny = (result < 2.0**-1020) & (sums > 0)  # rounded by ldexp
    return np.where(tiny, np.nextafter(result, np.inf), result)


def _not_below(sums: Array, terms: int, grid: int | None, norm: int) -> Array:
    """The sums, rounded upwards unless the ``grid`` of ``_grid`` shows that they are exact."""
    # On the grid all terms are integers; below 2⁵³ in all, every partial sum is exact.
    is_exact = grid is not None and sums.max(initial=0.0) * 2.0 ** (grid * norm) < 2.0**53
    return sums if is_exact else not_below(sums, terms)


def _difference_by_gram(rows: Array) -> float | None:
    """Largest ‖a - b‖₂ of rows (n, p) from ‖a‖² + ‖b‖² - 2 a·b plus its error; None if that is too loose."""
    gram = rows @ rows.T
    squares = np.diag(gram)
    largest = float((squares[:, None] + squares[None, :] - 2.0 * gram).max())
    # Each of four inner products errs by at most γ_p times the largest square; two more roundings.
    error = 8.0 * (rows.shape[1] + 4) * EPS * float(squares.max()) + 2.0**-900
    return None if error > 1e-10 * largest else float(root_up(np.nextafter(largest + error, np.inf)))
