"""Inverses of matrices, and products with them or without, with proved error bounds (see ``balls``).

**Products around an inverse.** With Y ~ inv(X) R and Z ~ inv(X)ᵀ Lᵀ of any origin, L inv(X) R = L Y +
Zᵀ (R - X Y) + (L - Zᵀ X) inv(X) (R - X Y): the last term is a product of two residuals over the smallest
eigenvalue (singular value) of X.

The residual has twice the digits of a float (Ozaki, Ogita, Oishi & Rump 2012, Error-free transformations of
matrix multiplication): x and y are cut into slices of so few bits that the products of slices are exact in
floats, in any order in which a library sums them; the rest is 2^-40 times smaller and may be rounded. The
exact products are then added with Knuth's two-sum, which keeps the rounding errors. Matrices that need not be
formed are not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from mmopt.numerics import arrays, balls, float_functions
from mmopt.numerics.arrays import Array, panels
from mmopt.numerics.ball_functions import positive_eigenvalue_bound, symmetric
from mmopt.numerics.balls import (
    Ball,
    U,
    add,
    dots,
    exact,
    frobenius,
    joined,
    lengths,
    matmul,
    norm,
    rounded,
    transpose,
    unknown,
)
from mmopt.numerics.float_functions import Diagonal, is_identity

# A way to compute ``right - x @ y`` from right, x and y: its midpoint and radius.
Residual = Callable[[Array, Array, Array], tuple[Array, Array]]

SLICED_ROWS = 512  # rows of x that are sliced at a time, for memory


def _bits(terms: int) -> int:
    """Bits of a slice such that a sum of so many products of slices is exact."""
    return (51 - math.ceil(math.log2(max(terms, 2)))) // 2


def _slices(a: Array, axis: int, bits: int) -> tuple[Array, Array, Array]:
    """``a`` as an exact sum of two slices of ``bits`` bits (of the axis's largest) and a rest."""
    _, exponent = np.frexp(np.abs(a).max(axis=axis, keepdims=True))
    first = _rounded(a, exponent - bits)
    second = _rounded(a - first, exponent - 2 * bits)
    return first, second, a - first - second


def _rounded(a: Array, exponent: Array) -> Array:
    """``a`` rounded to whole multiples of 2^exponent; the difference to ``a`` is a float."""
    shift = np.ldexp(1.5, exponent + 52)
    return np.asarray((a + shift) - shift)


def residual(right: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Midpoint and radius of ``right - x @ y``, y a matrix or vector, with twice the digits of a float."""
    columns = y.reshape(len(y), -1)
    slices = _slices(columns, 0, _bits(x.shape[1]))
    high = right.reshape(len(x), -1)
    pieces = [_residual(high[here], x[here], columns, slices) for here in panels(max(len(x), 1), SLICED_ROWS)]
    mid, rad = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return mid.reshape(right.shape), rad.reshape(right.shape)


def _residual(right: Array, x: Array, y: Array, slices: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """``residual`` of some rows of right and x; ``slices`` are those of y.

    The exact products of slices are taken off ``high``, by Knuth's two-sum, whose errors ``low`` adds up.
    """
    terms, high = x.shape[1], right
    x1, x2, x3 = _slices(x, 1, _bits(terms))
    y1, y2, y3 = slices
    low = lost = np.zeros(high.shape)
    for product in (x1 @ y1, x1 @ y2, x2 @ y1, x2 @ y2):
        total = high - product
        moved = total - high
        low = low + ((high - (total - moved)) + (-product - moved))
        lost = lost + np.abs(low)
        high = total
    rest = (x1 + x2) @ y3 + x3 @ y
    sizes = np.abs(x1 + x2) @ np.abs(y3) + np.abs(x3) @ np.abs(y)
    mid = high + (low - rest)
    return mid, U * (np.abs(mid) + 4 * (lost + np.abs(rest))) + 2 * (terms + 4) * U * sizes


def short_residual(right: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Midpoint and radius of ``right - x @ y`` for matrices, from three products in place of eight.

    One product of slices is exact, the rest is 2^-20 times smaller (for a thousand terms) and is rounded.
    """
    terms = x.shape[1]
    bits = _bits(terms)
    y1 = _rounded(y, np.frexp(np.abs(y).max(axis=0, keepdims=True))[1] - bits)
    y2 = y - y1
    mid, rad = np.empty(right.shape), np.empty(right.shape)
    for here in panels(max(len(x), 1), SLICED_ROWS):
        x1 = _rounded(x[here], np.frexp(np.abs(x[here]).max(axis=1, keepdims=True))[1] - bits)
        x2 = x[here] - x1
        high = right[here] - x1 @ y1
        mid[here] = high - (x1 @ y2 + x2 @ y)
        # By Cauchy and Schwarz, in place of products of absolute values.
        sizes = np.multiply.outer(lengths(x1, 1), lengths(y2, 0))
        sizes += np.multiply.outer(lengths(x2, 1), lengths(y, 0))
        rad[here] = 2 * U * (np.abs(high) + np.abs(mid[here])) + 2 * (terms + 4) * U * sizes
    return mid, rad


def plain_residual(right: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Midpoint and radius of ``right - x @ y`` for matrices, from the single rounded product."""
    mid = right - x @ y
    # By Cauchy and Schwarz, in place of the product of absolute values.
    sizes = np.multiply.outer(lengths(x, 1), lengths(y, 0))
    return mid, 2 * U * np.abs(mid) + 2 * (x.shape[1] + 4) * U * sizes


# Rows of the left factor taken at a time where only the diagonal of a product is needed.
DIAGONAL_ROWS = 512
# Residuals are summed with more digits where fewer would cost more than this, relatively.
MOST_LOST = 1e-10


@dataclass(frozen=True)
class _Inverse:
    """A matrix that is proved to be invertible.

    lower : its Cholesky factor, or None where it is not symmetric. least : a lower bound on its singular
    values.
    """

    matrix: Ball
    lower: Array | None
    least: float

    def solve(self, right: Array) -> Array:
        """``inv(matrix) @ right``, without a proof."""
        if self.lower is None:
            return np.asarray(np.linalg.solve(self.matrix.mid, right))
        return np.asarray(scipy.linalg.cho_solve((self.lower, True), right, check_finite=False))

    def missing(self, right: Ball, y: Array, products: Residual = residual) -> Ball:
        """``right - matrix @ y``, what ``y`` misses of a solution, by one of the residuals."""
        mid, rad = products(right.mid, self.matrix.mid, y)
        if self.matrix.is_exact and right.is_exact:
            return rounded(mid, rad)
        return rounded(mid, rad + right.rad + self.matrix.rad @ np.abs(y))

    @property
    def transposed(self) -> "_Inverse":
        """The transposed matrix, proved to be invertible by the same bound."""
        return self if self.lower is not None else _Inverse(transpose(self.matrix), None, self.least)


def _invertible(matrix: Ball) -> _Inverse | None:
    """The matrix with its proof that it is invertible; None where nothing is proved."""
    if not (np.isfinite(matrix.mid).all() and np.isfinite(matrix.rad).all()):
        return None
    x = symmetric(matrix)
    lower, failed = scipy.linalg.lapack.dpotrf(x.mid.T, lower=1, clean=0)
    least = 0.0 if failed else positive_eigenvalue_bound(x, lower)
    if least > 0:
        return _Inverse(x, lower, least)
    least = smallest_singular(matrix) if _is_lopsided(matrix) else 0.0
    return _Inverse(matrix, None, least) if least > 0 else None


def sandwich(left: Ball, matrix: Ball, right: Ball) -> Ball:
    """``left @ inv(matrix) @ right`` for a symmetric positive definite matrix, or one that is not symmetric.

    An infinite radius means that the matrix could not be proved positive definite (invertible).
    """
    if not matrix.mid.size:
        return exact(left.mid @ right.mid)
    if (inverse := _invertible(matrix)) is None:
        return unknown(left.mid @ np.nan_to_num(float_functions.solve(matrix.mid, right.mid)))
    y = inverse.solve(right.mid)
    missing = inverse.missing(right, y)
    z, missing_left = _left_side(inverse, transpose(left), right, y, missing)
    out = add(matmul(left, exact(y)), matmul(exact(z.T), missing))
    return rounded(
        out.mid, out.rad + np.multiply.outer(_lengths(missing_left), _lengths(missing)) / inverse.least
    )


def sandwich_diagonal(left: Ball, matrix: Ball, right: Ball) -> Ball:
    """The diagonal (m,) of ``left @ inv(matrix) @ right``, without the product, some columns at a time."""
    if not (matrix.mid.size and len(left.mid)):
        return exact(np.zeros(len(left.mid)))
    if (inverse := _invertible(matrix)) is None:
        y = np.nan_to_num(float_functions.solve(matrix.mid, right.mid))
        return unknown(np.einsum("ij,ji->i", left.mid, y))
    return joined(
        [_diagonal(inverse, left[here], right[:, here]) for here in panels(len(left.mid), DIAGONAL_ROWS)]
    )


def _diagonal(inverse: _Inverse, left: Ball, right: Ball) -> Ball:
    """``sandwich_diagonal`` of some rows of the left side, by the cheapest residual that loses few digits."""
    y = inverse.solve(right.mid)
    first = dots(left, exact(y.T), axis=1)
    for products in (plain_residual, short_residual, residual):
        missing = inverse.missing(right, y, products)
        z, missing_left = _left_side(inverse, transpose(left), right, y, missing, products)
        second = dots(exact(z), missing, axis=0)
        lost = second.rad + _lengths(missing_left) * _lengths(missing) / inverse.least
        if (lost <= MOST_LOST * np.abs(first.mid)).all():
            break
    return rounded(add(first, second).mid, first.rad + lost)


def _left_side(
    inverse: _Inverse, left: Ball, right: Ball, y: Array, missing: Ball, products: Residual = residual
) -> tuple[Array, Ball]:
    """Z of the left side, transposed, ``left``, and its residual (see above).

    They are Y and ``missing``, which are computed already, where it equals the right side.
    """
    is_same = np.array_equal(left.mid, right.mid) and np.array_equal(left.rad, right.rad)
    if inverse.lower is not None and is_same:
        return y, missing
    transposed = inverse.transposed
    z = transposed.solve(left.mid)
    return z, transposed.missing(left, z, products)


def _lengths(a: Ball) -> Array:
    """Upper bounds on the lengths of the columns, or of a vector."""
    return lengths(np.abs(a.mid) + a.rad, 0)


def smallest_singular(a: Ball) -> float:
    """A number proved to be at most every singular value of every matrix in the ball; 0 without a proof.

    With any Y and R = I - A Y of norm r < 1, inv(A) = Y inv(I - R), so its norm is at most ‖Y‖ / (1 - r).
    """
    guess = float_functions.inv(a.mid)
    if not (np.isfinite(guess).all() and np.isfinite(a.rad).all()):
        return 0.0
    off = norm(_Inverse(a, None, 0.0).missing(exact(np.eye(len(guess))), guess))
    return (1.0 - off) / frobenius(guess) if off < 1 else 0.0


def pseudo_inverse(a: Ball) -> Ball:
    """The pseudo-inverse of a matrix whose rows, or columns, are proved to be independent; of zeros, zero.

    Let P be computed, E = I - A P of norm e < 1, so that the rows of A are independent, and S the part of P
    that is not in their space: for any Z it is no longer than P - Aᵀ Z, here with Z = Pᵀ P. A⁺ A P = P - S,
    so A⁺ = (P - S) (I - E)⁻¹, whose rows differ from those of P by at most (‖pᵢ‖ e + ‖S‖) / (1 - e).
    """
    if a.mid.shape[0] > a.mid.shape[1]:
        return transpose(pseudo_inverse(transpose(a)))
    p = arrays.pinv(a.mid)
    if a.is_exact and not a.mid.any():
        return exact(p)
    if not (np.isfinite(p).all() and np.isfinite(a.rad).all()):
        return unknown(p)
    gram = np.asarray(p.T @ p)
    rest = _Inverse(a, None, 0.0).missing(exact(np.eye(len(a.mid))), p, short_residual)
    outside = _Inverse(transpose(a), None, 0.0).missing(exact(p), gram, short_residual)
    e, s = norm(rest), norm(outside)
    if e >= 1:
        return unknown(p)
    rad = (lengths(p, 1) * e + s) / (1.0 - e)
    return rounded(p, np.broadcast_to(rad[:, None], p.shape))


def row_basis(a: Ball) -> Ball:
    """The rows of ``arrays.row_basis``, which drops some by a tolerance: unknown without a proof.

    The identity is a basis for all of the ball where their columns are proved to be independent.
    """
    basis = arrays.row_basis(a.mid)
    is_certain = (
        arrays.is_rank_at_most(a.mid, len(basis))
        if a.is_exact
        else float_functions.is_identity(basis) and np.isfinite(pseudo_inverse(a).rad).all()
    )
    return exact(basis) if is_certain else unknown(basis)


def _is_lopsided(a: Ball) -> bool:
    """Whether no matrix of the ball is symmetric, not even up to rounding."""
    slack = a.rad + a.rad.T + 1e-12 * float(np.abs(a.mid).max(initial=0.0))
    return bool((np.abs(a.mid - a.mid.T) > slack).any())


@dataclass(frozen=True)
class _Scaled:
    """A matrix between diagonal ones, ``rows`` and ``columns``: the product is formed only once.

    It is exact, or within one of the ``radii`` in each row.
    """

    matrix: Array
    rows: Ball | None
    columns: Ball | None
    radii: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix.shape


_Term = Ball | Diagonal | _Scaled  # a factor of a product: see ``float_functions``


def times(left: _Term, right: _Term) -> _Term:
    """The matrix product; see ``float_functions.Diagonal``."""
    match left, right:
        case Diagonal(), Diagonal():
            return Diagonal(balls.mul(left.entries, right.entries))
        case Diagonal(), Ball() if len(right.shape) == 1:
            return balls.mul(left.entries, right)
        case Ball(), Diagonal() if len(left.shape) == 1:
            return balls.mul(left, right.entries)
        case Diagonal(), Ball() if right.is_exact:
            return _Scaled(right.mid, left.entries, None)
        case Ball(), Diagonal() if left.is_exact:
            return _Scaled(left.mid, None, right.entries)
        case Diagonal(), _Scaled(rows=None):
            return replace(right, rows=left.entries)
        case _Scaled(columns=None), Diagonal():
            return replace(left, columns=right.entries)
        case Diagonal(), _:
            return balls.mul(left.entries[:, None], whole(right))
        case _, Diagonal():
            return balls.mul(whole(left), right.entries)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Ball) and one.is_exact and is_identity(one.mid) and len(other.shape) == 2:
            return other
    match left, right:
        case _Scaled(matrix=matrix, columns=None, radii=None), Ball() if (
            right.is_exact and len(right.shape) == 2
        ):
            return _Scaled(matrix @ right.mid, left.rows, None, balls.product_radii(matrix, right.mid))
    return balls.matmul(whole(left), whole(right))


def whole(a: _Term) -> Ball:
    """The matrix itself."""
    if isinstance(a, _Scaled):
        return balls.scaled(a.matrix, a.rows, a.columns, a.radii)
    return balls.diag(a.entries) if isinstance(a, Diagonal) else a


def solved(left: _Term | None, matrix: Ball, right: _Term | None) -> Ball:
    """``left @ inv(matrix) @ right``, where None is no factor."""
    identity = balls.exact(np.eye(len(matrix.mid)))
    left, right = (identity if side is None else whole(side) for side in (left, right))
    return sandwich(left, matrix, right)


def diagonal_of_product(left: _Term, right: _Term) -> Ball | None:
    """The diagonal of the product of two matrices, without the product; None where one is diagonal."""
    if isinstance(left, Diagonal) or isinstance(right, Diagonal):
        return None
    one, other = whole(left), balls.transpose(whole(right))
    rows = panels(len(one.mid), DIAGONAL_ROWS)
    return balls.joined([balls.total(balls.mul(one[here], other[here]), axis=1) for here in rows])


def diagonal_of_solved(left: _Term, matrix: Ball, right: _Term) -> Ball:
    """The diagonal of ``left @ inv(matrix) @ right`` of matrices, without the product."""
    return sandwich_diagonal(whole(left), matrix, whole(right))
