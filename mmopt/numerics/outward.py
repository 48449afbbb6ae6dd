"""Sums, products, roots and column norms that are proved to be at least the exact value.

Printed figures are rounded to one side.

The rounding error of one sum or product is itself a float and is computed exactly (Knuth's two-sum, Dekker's
product; Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §4.3): a result that was rounded
down goes one float up, an exact one stays. Near overflow and underflow every result goes up.

Floating-point summation of p nonnegative terms, in any order, has relative error at most
γ_p = p u / (1 - p u), u = 2⁻⁵³, roundings of the terms included when p counts them (Higham, §3.1 and §4.2).
A computed sum is therefore multiplied by 1 + 4 p u, which exceeds 1 / (1 - γ_p) for p u < 1/8, and every
rounded operation after that is followed by a step to the next float.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.spatial.distance

from mmopt.errors import OptionError
from mmopt.numerics.arrays import EPS, Array, panels

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
