"""Numbers with a proved error bound: a midpoint and a radius for every entry.

An objective is rounded up and a bound rounded down by the radius of their evaluation, so that
bound <= objective holds in floating point. Givens and the (repaired) solution count as exact, lets
have the bounds of their evaluation (``BOUNDS``); every operation after them adds its rounding error by
the standard model |fl(a op b) - (a op b)| <= u |a op b| and gamma_k = k u / (1 - k u) for sums of k terms
(Higham, Accuracy and Stability, chapter 3), and passes on the radius of its arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from mmopt.numerics import float_functions
from mmopt.numerics.arrays import EPS, Array, panels

# Under this name, which no program can use, values may hold a function from a name to its ball, or to None
# where the name counts as exact.
BOUNDS = "error bounds"
U = EPS / 2
ROWS_AT_A_TIME = 128  # rows of a product of matrices, entry by entry, that are computed at a time
TERMS_AT_A_TIME = 512  # terms of a product of matrices whose errors are added up at a time
GROW = 1.0 + 1e-9  # radii are themselves rounded; this covers it
TINY = 1e-300  # covers what a last operation loses below the smallest float; none after it may enlarge that
LEAST_PRODUCT = 1e-280  # a product that is at least this is not lost, nor its rounding error
SMALLEST_ROOT = 1e-153  # covers numbers whose square is too small for a float
POWER = 16 * U  # no libm in use has a larger error in pow


def gamma(k: int) -> float:
    """The error of a sum of k terms, relative to the sum of their absolute values."""
    return k * U / (1.0 - k * U)


@dataclass(frozen=True)
class Ball:
    """Every array within ``rad`` of ``mid``, entry by entry."""

    mid: Array
    rad: Array

    def __getitem__(self, index: Any) -> "Ball":
        return Ball(np.asarray(self.mid[index]), np.asarray(self.rad[index]))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mid.shape

    @property
    def is_exact(self) -> bool:
        """Whether every radius is zero."""
        return not self.rad.any()

    @property
    def upper(self) -> Array:
        """The largest number of each entry, rounded up; infinity where nothing is proved."""
        with np.errstate(invalid="ignore"):  # -inf + inf, which the condition leaves out
            return np.where(np.isinf(self.rad), np.inf, np.nextafter(self.mid + self.rad, np.inf))

    @property
    def lower(self) -> Array:
        """The smallest number of each entry, rounded down; minus infinity where nothing is proved."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(self.rad), -np.inf, np.nextafter(self.mid - self.rad, -np.inf))


def ends(a: Ball) -> tuple[Array, Array]:
    """The smallest and the largest number of the ball, rounded outward."""
    moved = a.rad > 0
    return np.where(moved, a.lower, a.mid), np.where(moved, a.upper, a.mid)


def exact(value: Array | float) -> Ball:
    """A value that is known exactly; its radius takes no memory and cannot be written to."""
    mid = np.asarray(value, dtype=float)
    return Ball(mid, np.broadcast_to(0.0, mid.shape))


def around(mid: Any, ball: Ball) -> Ball:
    """A ball around another centre that holds a ball."""
    off = np.abs(mid - ball.mid)
    return Ball(np.asarray(mid), (ball.rad + off) * GROW) if off.any() else ball


def named(name: str, env: Mapping[str, Any]) -> Any:
    """The value of a name: a ball where there is one, else the plain value."""
    ball = env[BOUNDS](name) if BOUNDS in env else None
    return env[name] if ball is None else ball


def rounded(mid: Array | float, rad: Array | float, terms: int | None = None) -> Ball:
    """A result of one operation: its rounding error is added to the radius.

    ``terms``: the number of terms in the sum of the radius, where it is small; the radius is then widened by
    less than ``GROW``, so that a wide one is still of use.
    """
    mid = np.asarray(mid, dtype=float)
    grow = GROW if terms is None else min(GROW, 1.0 + 8 * (terms + 4) * U)
    out = np.asarray(np.abs(mid))
    out *= U * grow  # a little more: a sum of radii is rounded, and may lose the smaller one
    out += TINY
    out += np.asarray(rad, dtype=float) * grow
    # An infinite radius times zero, or a value that overflowed: nothing is known.
    is_finite = np.isfinite(out)
    return Ball(mid, out if is_finite.all() else np.where(is_finite, out, np.inf))


def unknown(mid: Array | float) -> Ball:
    """A value without any proved bound."""
    mid = np.asarray(mid, dtype=float)
    return Ball(mid, np.full(mid.shape, np.inf))


def add(a: Ball, b: Ball) -> Ball:
    """Sums; one of exact numbers that is 0 as a float is 0, as a difference then is."""
    out = rounded(a.mid + b.mid, rad := a.rad + b.rad, 2)
    return Ball(out.mid, np.where((out.mid == 0.0) & (rad == 0.0), 0.0, out.rad))


def sub(a: Ball, b: Ball) -> Ball:
    return add(a, neg(b))


def neg(a: Ball) -> Ball:
    return Ball(-a.mid, a.rad)


def mul(a: Ball, b: Ball) -> Ball:
    """Products entry by entry, some rows at a time: memory."""
    shape = np.broadcast_shapes(a.mid.shape, b.mid.shape)
    if len(shape) < 2 or shape[0] <= ROWS_AT_A_TIME:
        return _mul(a, b)
    mid, rad = np.empty(shape), np.empty(shape)
    for here in panels(shape[0], ROWS_AT_A_TIME):
        product = _mul(*(c[here] if c.mid.shape[:-1] == shape[:-1] else c for c in (a, b)))
        mid[here], rad[here] = product.mid, product.rad
    return Ball(mid, rad)


def _mul(a: Ball, b: Ball) -> Ball:
    """``mul`` of all rows at once."""
    if a.is_exact:
        rad = 0.0 if b.is_exact else np.abs(a.mid) * b.rad
    else:
        rad = a.rad * np.abs(b.mid) if b.is_exact else np.abs(a.mid) * b.rad + a.rad * (np.abs(b.mid) + b.rad)
    return _zeros_kept(rounded(a.mid * b.mid, rad, 1 if a.is_exact or b.is_exact else 4), rad, a, b)


def _zeros_kept(out: Ball, rad: Array | float, *factors: Ball) -> Ball:
    """Sums of products; those of zeros alone are 0, unless numbers are so small that a product may be lost.

    ``rad``: the radius before the rounding of the last operation.
    """
    is_zero = (out.mid == 0.0) & (rad == 0.0) & (out.rad > 0.0)
    if not is_zero.any():
        return out
    parts = [[np.abs(part[part != 0.0]).min(initial=np.inf) for part in (f.mid, f.rad)] for f in factors]
    is_kept = np.prod([min(part) for part in parts]) > LEAST_PRODUCT
    return Ball(out.mid, np.where(is_zero, 0.0, out.rad)) if is_kept else out


def scaled(matrix: Array, rows: Ball | None, columns: Ball | None, radii: Array | None = None) -> Ball:
    """A matrix, exact or within a radius for each row, with rows, columns or both multiplied by numbers.

    The radius is that of the widest entry of each row, which takes no memory in addition to the product. A
    matrix that is not exact is used by no other code: it is overwritten.
    """
    a, b = (exact(np.ones(n)) if c is None else c for c, n in zip((rows, columns), matrix.shape, strict=True))
    sizes, widths = np.empty(len(matrix)), np.zeros(len(matrix))
    for here in panels(len(matrix), ROWS_AT_A_TIME):
        magnitudes = np.abs(matrix[here])
        sizes[here] = (magnitudes * (np.abs(b.mid) + b.rad)).max(axis=1, initial=0.0)
        if not b.is_exact:
            widths[here] = (magnitudes * b.rad).max(axis=1, initial=0.0)
    if radii is not None:
        more = radii * float((np.abs(b.mid) + b.rad).max(initial=0.0)) * GROW
        sizes, widths = sizes + more, widths + more
    rad = (a.rad * sizes + np.abs(a.mid) * (4 * U * sizes + widths)) * GROW
    rad += TINY * (1.0 + np.abs(a.mid) + a.rad)
    mid = matrix * b.mid if radii is None else np.multiply(matrix, b.mid, out=matrix)
    mid *= a.mid[:, None]
    rad = np.where(np.isfinite(rad) & np.isfinite(mid).all(axis=1), rad, np.inf)
    return Ball(mid, np.broadcast_to(rad[:, None], mid.shape))


def div(a: Ball, b: Ball) -> Ball:
    """Quotients entry by entry; nothing is known where the divisor may be zero.

    Divisions come before products: a small number times a small radius would vanish.
    """
    low = np.abs(b.mid) - b.rad
    safe = np.where(low > 0, low, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mid = a.mid / b.mid
        rad = a.rad / safe + np.abs(mid) * (b.rad / safe)
    return rounded(mid, np.where(low > 0, rad, np.inf), 4)


def power(a: Ball, b: Ball) -> Ball:
    """Powers: whole ones by products, others of nonnegative numbers by their ends; one exponent at a time."""
    if b.mid.ndim:
        shape = np.broadcast_shapes(a.shape, b.shape)
        bases, exponents = (
            Ball(np.broadcast_to(c.mid, shape), np.broadcast_to(c.rad, shape)) for c in (a, b)
        )
        mid, rad = np.empty(shape), np.empty(shape)
        for at in np.ndindex(shape):
            one = power(bases[at], exponents[at])
            mid[at], rad[at] = one.mid, one.rad
        return Ball(mid, rad)
    exponent, is_exact = float(b.mid), not b.rad.any()
    if exponent == 0.5 and is_exact:
        return sqrt(a)
    if exponent == 2.0 and is_exact and a.mid.ndim == 0 and a.rad <= a.mid < np.inf:
        return _squared(a)
    if exponent < 0:
        return div(exact(np.ones(a.mid.shape)), power(a, neg(b)))
    if exponent > 2.0**53:
        return unknown(a.mid)
    if exponent == int(exponent) and is_exact:
        if exponent > 64:
            half = power(a, exact(np.array(exponent // 2)))
            return mul(mul(half, half), power(a, exact(np.array(exponent % 2))))
        out = exact(np.ones(a.mid.shape))
        for _ in range(int(exponent)):
            out = a if out.mid.size and not out.rad.any() and (out.mid == 1.0).all() else mul(out, a)
        return out
    # Powers rise with the base, and rise or fall with an exponent that is itself rounded (1/3).
    (least, most), (low, high) = ends(b), ends(a)
    if least < 0:
        return unknown(a.mid)
    with np.errstate(over="ignore", invalid="ignore"):
        mid, (below, above) = np.clip(a.mid, 0.0, None) ** exponent, np.clip([low, high], 0.0, None)
        below, above = np.minimum(below**least, below**most), np.maximum(above**least, above**most)
        spread = np.maximum(above - mid, mid - below) + POWER * (mid + above)
    # An exponent that may be whole takes negative bases, too.
    is_open = (low < 0) & (np.floor(most) >= least) | (high < 0)
    return rounded(mid, np.where(is_open, np.inf, spread))


def _squared(a: Ball) -> Ball:
    """The square of a number, by its ends: a ball around the square of the midpoint loses the lower end."""
    low, high = max(float(a.lower), 0.0), float(a.upper)
    ends = np.nextafter(low * low, 0.0), np.nextafter(high * high, np.inf)
    return rounded((ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2 + U * ends[1], 4)


def sqrt(a: Ball) -> Ball:
    """The root of nonnegative numbers; an argument that can only be negative has none."""
    high = a.mid + a.rad
    mid = np.sqrt(np.clip(a.mid, 0.0, None))
    ends = np.sqrt(np.clip(a.mid - a.rad, 0.0, None)), np.sqrt(np.clip(high, 0.0, None))
    spread = np.maximum(ends[1] - mid, mid - ends[0]) + 4 * U * ends[1]
    return rounded(mid, np.where(high >= 0, spread, np.inf))


def absolute(a: Ball) -> Ball:
    return Ball(np.abs(a.mid), a.rad)


def matmul(a: Ball, b: Ball) -> Ball:
    """Products of matrices and vectors."""
    terms = a.mid.shape[-1]
    mid = a.mid @ b.mid
    rad = np.zeros(mid.shape)
    for here in panels(terms, TERMS_AT_A_TIME):  # absolute values of some terms at a time: memory
        one, other = np.abs(a.mid[..., here]), np.abs(b.mid[here])
        if not b.is_exact:
            rad += one @ b.rad[here]
            other += b.rad[here]
        if not a.is_exact:
            one += a.rad[..., here] / gamma(terms)
        rad += gamma(terms) * (one @ other)  # in this order: small numbers times γ would vanish
    return _zeros_kept(rounded(mid, rad), rad, a, b)


def product(matrix: Any, x: Ball) -> Ball:
    """The product of an exact matrix, dense or in scipy's sparse rows, with a vector."""
    if not sparse.issparse(matrix):
        return matmul(exact(matrix), x)
    sizes = abs(matrix)
    most = gamma(int(np.diff(matrix.indptr).max(initial=0)))  # of the terms of a row
    return rounded(matrix @ x.mid, sizes @ x.rad + most * (sizes @ (np.abs(x.mid) + x.rad)))


def transpose(a: Ball) -> Ball:
    return Ball(a.mid.T, a.rad.T)


def diag(a: Ball) -> Ball:
    return Ball(float_functions.diag(a.mid), float_functions.diag(a.rad))


def total(a: Ball, axis: int | None = None) -> Ball:
    """Sum of all entries or along an axis."""
    terms = a.mid.size if axis is None else a.mid.shape[axis]
    rad = np.sum(a.rad, axis=axis) + gamma(terms) * np.sum(np.abs(a.mid), axis=axis)
    return _zeros_kept(rounded(np.sum(a.mid, axis=axis), rad, terms), rad, a)


def lengths(a: Array, axis: int) -> Array:
    """Upper bounds on lengths along an axis."""
    squares = np.einsum("i...,i...->..." if axis == 0 else "ij,ij->i", a, a)  # without a second matrix
    return np.asarray(np.sqrt(squares) * GROW + SMALLEST_ROOT * np.sqrt(a.shape[axis]))


def norm(a: Ball) -> float:
    """An upper bound on the Frobenius norm of every matrix in the ball."""
    return frobenius(np.abs(a.mid) + a.rad)


def frobenius(a: Array) -> float:
    """An upper bound on the Frobenius norm, even where squares are too small or too large for floats."""
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(a))
    if length < np.sqrt(SMALLEST_ROOT) or not length < 1.0 / SMALLEST_ROOT:
        top = float(np.abs(a).max(initial=0.0))
        length = float(np.linalg.norm(a / top)) * top if 0 < top < np.inf else top
    return float(np.nextafter(length * GROW, np.inf)) if length else 0.0


def product_radii(a: Array, b: Array) -> Array:
    """A bound on the rounding of A @ B in any entry of each row, for exact matrices."""
    return gamma(a.shape[1]) * lengths(a, 1) * float(lengths(b, 0).max(initial=0.0)) * GROW + TINY


def dots(a: Ball, b: Ball, axis: int) -> Ball:
    """The products of two matrices, entry by entry, summed along an axis.

    Absolute values are bounded by lengths (Cauchy and Schwarz) where ``total(mul(a, b))`` sums them: wider,
    and several times faster.
    """
    sums = "ij,ij->j" if axis == 0 else "ij,ij->i"
    rad = gamma(a.mid.shape[axis] + 1) * lengths(a.mid, axis) * lengths(b.mid, axis)
    if not a.is_exact:
        rad = rad + np.einsum(sums, a.rad, np.abs(b.mid) + b.rad)
    if not b.is_exact:
        rad = rad + np.einsum(sums, np.abs(a.mid), b.rad)
    return rounded(np.einsum(sums, a.mid, b.mid), rad)


def trace(a: Ball) -> Ball:
    return total(diag(a))


def extreme(pick: Callable[..., Array]) -> Callable[[Ball, int | None], Ball]:
    """The ball of ``pick``, the largest or the smallest entry: it moves by at most the largest radius."""

    def rule(a: Ball, axis: int | None = None) -> Ball:
        return Ball(np.asarray(pick(a.mid, axis=axis)), np.asarray(np.max(a.rad, axis=axis)))

    return rule


def larger(a: Ball, b: Ball) -> Ball:
    """The larger one, entry by entry: it moves by at most the larger radius."""
    return Ball(np.maximum(a.mid, b.mid), np.maximum(a.rad, b.rad))


def smaller(a: Ball, b: Ball) -> Ball:
    """The smaller one, entry by entry."""
    return neg(larger(neg(a), neg(b)))


def block(rows: Sequence[Sequence[tuple[Ball, bool]]]) -> Ball:
    """A block matrix; each entry comes with whether it is a row vector."""
    mids = float_functions.block([[(e.mid, r) for e, r in row] for row in rows])
    return Ball(mids, float_functions.block([[(e.rad, r) for e, r in row] for row in rows]))


def joined(parts: Sequence[Ball]) -> Ball:
    """The parts one below the other, or one after the other."""
    return Ball(np.concatenate([part.mid for part in parts]), np.concatenate([part.rad for part in parts]))
