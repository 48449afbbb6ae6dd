"""Ranges of variables and expressions: intervals handed through the lines, forwards and backwards, and cuts.

Every node has an interval for each entry, which contains that of every feasible point whose objective is no
worse than a given level. The range of one side of a line narrows the other, that of a value narrows its
arguments (Benhamou, Goualard, Granvilliers & Puget, Revising hull and box consistency, ICLP 1999). For affine
atoms that is interval arithmetic. A convex f with f(x) <= h has p x <= h - c for each of its minorants
c + p x, taken with one slope p at a time; a concave one turns that round. Psd matrices have
|xᵢⱼ|² <= xᵢᵢ xⱼⱼ. For inverses nothing is derived.

The arithmetic is entry by entry: intervals are wider than need be, and finite where they can be. Results of
sums, products and quotients are widened by far more than their rounding; products too small for a float are
widened by ``balls.TINY``, and a product that is too large for one is never an end. Where an end is not a
number nothing is known.

**Ranges by cuts.** A cut is an affine function with a number h that <R, x> does not exceed at the points in
question: a minorant of the objective or of a line, entry by entry, or an affine part, which has a range. For
G x <= h, the rows of G their slopes, and numbers p >= 0 with Gᵀ p = ± eⱼ + r, ± xⱼ <= <p, h> - <r, x>. The p
are those of linear programs; r is what rounding leaves. Let tⱼ be the largest |<p, h>| of both signs, ρ the
largest |xⱼ| / tⱼ at such a point. If Σ |rₖ| tₖ <= q tⱼ for all j, |xⱼ| <= tⱼ + q ρ tⱼ, so ρ <= 1 / (1 - q),
and ± xⱼ <= <p, h> + Σ |rₖ| tₖ / (1 - q).

Where that leaves variables open that are in no cone, cuts come from how the Lagrangian grows around a point:
every reading at another point is one, C + <R, z> <= f <= level for all feasible points up to the level, z the
variables in question and C with all others at their least. The other points are along the eigenvectors of how
R changes, where a strictly convex f needs no others, and then those that the cuts so far leave farthest off
(Kelley, The cutting-plane method for solving convex programs, J. SIAM 8, 1960). Where a matrix F(x) that has
to be psd is not, and v is an eigenvector that shows it, the cut is <v vᵀ, F(x)> >= 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice, product
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse as sp

from mmopt.compiler.duality.lagrangian import (
    AffineBound,
    Multipliers,
    Node,
    Nodes,
    ReadLine,
    affine_bound,
    affine_part,
    nodes_of,
)
from mmopt.language import (
    ATOMS,
    TOGETHER,
    Atom,
    Declaration,
    Near,
)
from mmopt.limits import require_time
from mmopt.numerics import TINY, Array, Ball, balls, exact, panels

NEAR_INVERSE = 0.5  # row sums of I - B M below which B is taken for a left inverse
MAY_BE_LOST = 1e-280  # a smaller product may have lost its digits
LARGEST_FLOAT = float(np.finfo(float).max)
NO_LOW, NO_HIGH = np.asarray(-np.inf), np.asarray(np.inf)  # the ends of a number without a bound
WIDER = 1e-9  # relative, by which an interval is widened: its rounding, many times over


@dataclass(frozen=True)
class Range:
    """The least and the largest value of each entry; infinite where nothing is known."""

    low: Array
    high: Array

    @staticmethod
    def unknown(shape: tuple[int, ...] = ()) -> Range:
        """The range of which nothing is known."""
        return Range(np.full(shape, -np.inf), np.full(shape, np.inf))

    def each(self, change: Callable[[Array], Array]) -> Range:
        """The range with its entries picked or laid out otherwise, both ends alike."""
        low = change(self.low)
        return Range(low, low if self.high is self.low else change(self.high))

    def taken(self, *places: Any) -> Range:
        """The range of the entries at some places, and of these at further ones."""
        return self.each(lambda end: reduce(operator.getitem, places, end))

    @property
    def ends(self) -> tuple[Array, ...]:
        """Both ends, or the numbers themselves where these are known."""
        return (self.low,) if self.high is self.low else (self.low, self.high)

    def intersection(self, low: Array | float, high: Array | float) -> Range:
        """The values that are in both ranges; an end that is not a number says nothing."""
        return Range(np.fmax(self.low, low), np.fmin(self.high, high))

    @property
    def largest(self) -> Array:
        return np.maximum(np.abs(self.low), np.abs(self.high))


def widened(low: Array, high: Array, below: Array | float = 0.0, above: Array | float = 0.0) -> Range:
    """The range between two ends, widened by far more than their rounding.

    below, above : the sizes of the terms that were added up to the lower and to the upper ends.
    """
    with np.errstate(invalid="ignore"):
        # A lower end that overflows is above the true one: the largest number is not. So is an upper one.
        low, high = np.minimum(low, LARGEST_FLOAT), np.maximum(high, -LARGEST_FLOAT)
        ends = low - WIDER * (np.abs(low) + below), high + WIDER * (np.abs(high) + above)
        low, high = (np.where(np.isnan(end), s * np.inf, end) for end, s in zip(ends, (-1, 1), strict=True))
        return Range(np.minimum(low, LARGEST_FLOAT), np.maximum(high, -LARGEST_FLOAT))


def times(a: Range, b: Range) -> Range:
    """Products, where exactly 0 times infinity is 0; what is not a number makes an end infinite."""
    with np.errstate(all="ignore"):
        pairs = [(x, y) for x in a.ends for y in b.ends]
        ends = [np.where((x == 0.0) | (y == 0.0), 0.0, x * y) for x, y in pairs]
        slips = [
            np.where((np.abs(end) < MAY_BE_LOST) & (x != 0.0) & (y != 0.0), TINY, 0.0)
            for end, (x, y) in zip(ends, pairs, strict=True)
        ]
        low, high = (
            reduced([end + side * slip for end, slip in zip(ends, slips, strict=True)])
            for reduced, side in ((np.minimum.reduce, -1.0), (np.maximum.reduce, 1.0))
        )
        return widened(low, high)


def root_of_product(a: Array, c: Array) -> Array:
    """An upper bound on the square root of a c, for a, c >= 0 (others count as 0).

    Roots come first: a product of small numbers would vanish, of large ones overflow.
    """
    with np.errstate(all="ignore"):
        one, other = np.sqrt(np.maximum(a, 0.0)), np.sqrt(np.maximum(c, 0.0))
        most = np.nan_to_num(one * other, nan=np.inf, posinf=np.inf)
        slip = np.where((most < MAY_BE_LOST) & (one != 0.0) & (other != 0.0), TINY, 0.0)
        return np.asarray(most * (1.0 + WIDER) + slip)


def quotient(a: Range, c: Range) -> Range:
    """Quotients by ranges without zero; others are infinite."""
    nonzero = (c.low > 0) | (c.high < 0)
    with np.errstate(all="ignore"):
        inverse = widened(np.where(nonzero, 1.0 / c.high, 0.0), np.where(nonzero, 1.0 / c.low, 0.0))
    quotients = times(a, inverse)
    return Range(np.where(nonzero, quotients.low, -np.inf), np.where(nonzero, quotients.high, np.inf))


def _size(end: Array) -> Array:
    """The magnitudes of one end of ranges, 0 where it is infinite (the other end need not be)."""
    return np.where(np.isfinite(end), np.abs(end), 0.0)


def plus(a: Range, b: Range) -> Range:
    """Sums of two terms."""
    with np.errstate(invalid="ignore"):
        sizes = _size(a.low) + _size(b.low), _size(a.high) + _size(b.high)
        return widened(a.low + b.low, a.high + b.high, *sizes)


def minus(a: Range) -> Range:
    """Values of the opposite sign."""
    return Range(-a.high, -a.low)


def _added(end: Array, sums: Any) -> Array:
    """The sums of terms: along an axis, of all (None), or by a sparse matrix with a 1 in each column."""
    if sums is None or isinstance(sums, int):
        return np.asarray(np.sum(end, axis=sums))
    return np.asarray(sums @ end, dtype=float)


def _repeated(each: Array, sums: Any) -> Array:
    """Each sum at its terms, or along the axis that they lie on."""
    if sums is None or isinstance(sums, int):
        return each if sums is None else np.expand_dims(each, sums)
    return np.asarray(each[sums.indices])


def total(a: Range, axis: Any = None) -> Range:
    """Sums; an end whose terms overflow on the way is infinite, as later terms may bring it back."""
    ends = (a.low, a.high, _size(a.low), _size(a.high))
    with np.errstate(over="ignore", invalid="ignore"):
        low, high, below, above = (_added(end, axis) for end in ends)
    return widened(
        np.where(np.isinf(below), -np.inf, low), np.where(np.isinf(above), np.inf, high), below, above
    )


def others(total: Range, terms: Range, axis: Any) -> Range:
    """Each of the terms of a sum, from the sum and the other terms."""

    def rest(end: Array, sign: float) -> Array:
        """The sum of the others: infinite where one of them is."""
        infinite = np.isinf(end)
        finite = np.where(infinite, 0.0, end)
        others = _repeated(_added(finite, axis), axis) - finite
        count = _repeated(_added(infinite, axis), axis) - infinite
        return np.where((count > 0) | ~np.isfinite(others), sign * np.inf, others)

    with np.errstate(over="ignore", invalid="ignore"):
        below, above = (_repeated(_added(_size(end), axis), axis) for end in (terms.high, terms.low))
        low, high = rest(terms.low, -1.0), rest(terms.high, 1.0)
    whole = total.each(lambda end: _repeated(end, axis))
    with np.errstate(invalid="ignore"):
        return widened(whole.low - high, whole.high - low, below, above)


def left_inverse(matrix: Ball) -> tuple[Array, float]:
    """A matrix B, and at least the largest row sum of I - B M, below ``NEAR_INVERSE`` where that can be."""
    inverse, off = np.zeros(matrix.shape[::-1]), np.inf
    ways: tuple[Callable[[Array], Any], ...] = (lambda m: np.linalg.solve(m.T @ m, m.T), np.linalg.pinv)
    for way in ways:  # by far the slower one where the first is not exact enough
        with suppress(np.linalg.LinAlgError):
            inverse = np.asarray(way(matrix.mid), dtype=np.float64)
            rest = balls.sub(exact(np.eye(len(inverse))), balls.matmul(exact(inverse), matrix))
            off = float((np.abs(rest.mid) + rest.rad).sum(axis=1).max(initial=0.0))
        if off < NEAR_INVERSE:
            break
    return inverse, off


def solved(inverse: Array, off: float, value: Range) -> Range:
    """The range of x, given the range ``value`` of v = M x, by a left inverse B of M, see ``left_inverse``.

    x = B v + (I - B M) x, so the largest |x| is at most that of |B| |v| over 1 - ‖I - B M‖, row sums.
    """
    if not off < NEAR_INVERSE:
        return Range.unknown((len(inverse), *value.low.shape[1:]))
    most = np.abs(inverse) @ value.largest * (1.0 + WIDER)
    most = most + off / (1.0 - off) * most.max(axis=0, initial=0.0) * (1.0 + WIDER) + TINY
    return Range(-most, most)


MOST_ONE_BY_ONE = 1024  # entries of an argument that are bounded one by one
# Points of tangents to functions of one number.
TANGENT_POINTS = np.unique(
    np.concatenate([*(s * 10.0 ** np.arange(-9.0, 13.0, 0.5) for s in (-1.0, 1.0)), np.arange(-40.0, 41.0)])
)


def range_of_argument(nodes: Nodes, node: Node, value: Range) -> Range | None:
    """The range that the first argument must have for the atom to be within ``value``.

    None where nothing follows, as for inverses and matrix roots. For an atom entry by entry it comes from
    tangents at points far and near, and a further argument has to be one number for all entries; for a norm
    or a largest entry it is found entry by entry, with the slope 1 or -1 there.
    """
    row, argument, rest = ATOMS[node.name], nodes.all[node.arguments[0]], node.arguments[1:]
    by_entry = row.equivariance == "entrywise" or node.name in TOGETHER
    others_vary = any(nodes.all[a].kind != "constant" for a in rest)
    if row.minorant is None or argument.kind == "constant" or others_vary:
        return None
    if not by_entry and (node.shape or not 0 < argument.value.size <= MOST_ONE_BY_ONE):
        return None
    more = [nodes.ball(a) for a in rest]
    if by_entry and any(b.mid.shape for b in more):
        return None
    sides = [(1.0, value.high)] * node.inferred.curvature.is_convex
    sides += [(-1.0, -value.low)] * node.inferred.curvature.is_concave
    out = Range.unknown(argument.shape)
    # c + p · x <= sign · atom(x) for all x: with one entry of p not 0 this bounds that entry by ``end``.
    for sign, end in sides:
        for point, slope, entry in _tangents(argument.shape, by_entry, row, end):
            points = [point, *(b.mid for b in more)]
            near = Near(points, [slope, *(None for _ in more)], [argument.inferred.sign] * len(points))
            bar = exact(np.full(point.shape if by_entry else (), sign))
            c, (p, *_) = row.minorant(bar, near, None, *more, **node.options)
            if p is None or (c.mid.shape != p.mid.shape if by_entry else _has_others(p, entry)):
                continue
            least, most = _ends(p if by_entry else p[entry], c, end)
            at = ... if row.equivariance in ALIKE else entry
            out.low[at] = np.maximum(out.low[at], least)
            out.high[at] = np.minimum(out.high[at], most)
    return widened(out.low, out.high)


MOST_AT_ONCE = 2**20  # numbers, of entries times points
ALIKE = frozenset({"soft", "extreme"})  # words of atoms that bound all their entries as they bound the first


def _tangents(
    shape: tuple[int, ...], by_entry: bool, row: Atom, end: Array
) -> Iterator[tuple[Array, Array | None, Any]]:
    """Where a minorant is taken: the point, or points, the slope there, and the entries that it bounds."""
    if not np.isfinite(end).any():
        return
    if by_entry:
        for part in np.array_split(TANGENT_POINTS, 1 + TANGENT_POINTS.size * end.size // MOST_AT_ONCE):
            yield part, None, ...
        return
    for entry in islice(np.ndindex(shape), 1 if row.equivariance in ALIKE else None):
        for side in (1.0, -1.0):
            slope = np.zeros(shape)
            slope[entry] = side
            yield np.zeros(shape), slope, entry


def _has_others(p: Ball, entry: tuple[int, ...]) -> bool:
    """Whether entries other than this one, or none, may differ from 0."""
    return not p.mid[entry] or np.count_nonzero((p.mid != 0) | (p.rad != 0)) != 1


def _ends(p: Ball, c: Ball, end: Array) -> tuple[Array, Array]:
    """The least and the largest x with p x <= end - c for every p, or each of several with its c."""
    each = tuple(range(-end.ndim, 0))
    p, c = (Ball(*(np.expand_dims(np.ravel(part), each) for part in (b.mid, b.rad))) for b in (p, c))
    rest = quotient(plus(Range(end, end), Range(-c.upper, -c.lower)), Range(p.lower, p.upper))
    is_known = np.isfinite(p.rad) & np.isfinite(c.rad) & (np.abs(p.mid) > 2 * p.rad)
    low = np.where(is_known & (p.mid < 0), rest.low, -np.inf)
    high = np.where(is_known & (p.mid > 0), rest.high, np.inf)
    return low.max(axis=0), high.min(axis=0)


SWEEPS = 6
NARROWED = 0.99  # of a width: a sweep that narrows no width to less than this share is the last
MOST_PRODUCT_TERMS = 4_000_000  # of a matrix product that is taken apart into its terms
TERMS_AT_A_TIME = 2**17


def _terms(left: Range, right: Range) -> Iterator[tuple[slice, Any, Range, Range, Any]]:
    """The terms of a product with a matrix on the left, some rows at a time; none where they are too many.

    Which rows, the places of the left entries that are not zeros, these, the right ones, and the sums.
    """
    used, width = (left.low != 0.0) | (left.high != 0.0), math.prod(right.low.shape[1:])
    if np.count_nonzero(used) * width > MOST_PRODUCT_TERMS:
        return
    for here in panels(len(used), max(1, TERMS_AT_A_TIME // max(1, used.shape[1] * width))):
        at = np.nonzero(used[here])
        count = len(at[0])
        sums = sp.csc_array((np.ones(count), at[0], np.arange(count + 1)), (here.stop - here.start, count))
        wide = (..., None) if right.low.ndim == 2 else ...
        yield here, at, left.taken(here, at, wide), right.taken(at[1]), sums


def _on_diagonal(diagonal: Range, like: Range) -> Range:
    """The range of a matrix of which the diagonal alone is known."""
    out = Range.unknown(like.low.shape)
    np.fill_diagonal(out.low, diagonal.low)
    np.fill_diagonal(out.high, diagonal.high)
    return out


def _among_largest(value: Range, a: Range, k: Range) -> Range:
    """The range of each number, from that of the sum of the k largest.

    Any one and any k - 1 others add up to at most that, and those others to at least the k - 1 smallest ends.
    """
    more = min(float(k.low), a.low.size) - 1.0
    least = np.sort(a.low, axis=None)[: math.ceil(more)] if more >= 0 else np.full(1, -np.inf)
    least[-1:] *= more % 1.0 or 1.0
    return Range(NO_LOW, plus(value, minus(total(Range(least, least)))).high)


def _entries_of_norm(value: Range, a: Range, axis: int | None = None) -> tuple[Range]:
    """The range of entries, none of which is larger than the norm, of all or along an axis."""
    most = (value.high if axis is None else np.expand_dims(value.high, axis)) + np.zeros(a.low.shape)
    return (Range(-most, most),)


def _below(a: Range, largest: Array) -> Range:
    """The range of a symmetric matrix A of which λ I - A is psd, λ being ``largest``, by its minors."""
    rest = np.diagonal(plus(Range(largest, largest), minus(a)).high)
    most, on = root_of_product(rest[:, None], rest), np.eye(len(rest), dtype=bool)
    return widened(np.where(on, -np.inf, -most), np.where(on, largest, most))


def _of_dividend(value: Range, a: Range, b: Range) -> tuple[Range]:
    """The range of a, of which a / b has these values; a quotient by 0 says nothing."""
    ends, nonzero = times(value, b), (b.low > 0) | (b.high < 0)
    return (Range(np.where(nonzero, ends.low, -np.inf), np.where(nonzero, ends.high, np.inf)),)


# By atom, the range of its value from those of its arguments.
_FORWARD: Mapping[str, Callable[..., Range | None]] = {
    "add": plus,
    "sub": lambda a, b: plus(a, minus(b)),
    "neg": minus,
    "mul": times,
    "div": quotient,
    "entrywise max": lambda a, b: Range(np.maximum(a.low, b.low), np.maximum(a.high, b.high)),
    "entrywise min": lambda a, b: Range(np.minimum(a.low, b.low), np.minimum(a.high, b.high)),
    "sum": total,
    "max": lambda a, axis=None: a.each(lambda end: np.max(end, axis=axis)),
    "min": lambda a, axis=None: a.each(lambda end: np.min(end, axis=axis)),
    "exp": lambda a: widened(np.maximum(np.exp(a.low) - TINY, 0.0), NO_HIGH),
    "logistic": lambda a: Range(np.maximum(a.low, 0.0), NO_HIGH),
    "logsumexp": lambda a, axis=None: Range(np.max(a.low, axis=axis), NO_HIGH),
    "trace": lambda a: total(a.each(np.diagonal)),
    "transpose": lambda a: a.each(np.transpose),
    "diag": lambda a: a.each(np.diag),
    "cumsum": lambda a: widened(*(np.cumsum(end) for end in (a.low, a.high, _size(a.low), _size(a.high)))),
    "diff": lambda a: plus(a.each(lambda end: end[1:]), minus(a.each(lambda end: end[:-1]))),
}
# By atom, the ranges of its arguments from that of its value and their own.
_BACKWARD: Mapping[str, Callable[..., tuple[Range, ...]]] = {
    **dict.fromkeys(("norm 1", "norm 2", "norm inf", "norm fro"), _entries_of_norm),
    "add": lambda value, a, b: (plus(value, minus(b)), plus(value, minus(a))),
    "sub": lambda value, a, b: (plus(value, b), plus(a, minus(value))),
    "neg": lambda value, a: (minus(value),),
    "mul": lambda value, a, b: (quotient(value, b), quotient(value, a)),
    "div": _of_dividend,
    "entrywise max": lambda value, a, b: (Range(NO_LOW, value.high),) * 2,
    "entrywise min": lambda value, a, b: (Range(value.low, NO_HIGH),) * 2,
    "logistic": lambda value, a: (Range(NO_LOW, value.high),),
    "sum": lambda value, a, axis=None: (others(value, a, axis),),
    "trace": lambda value, a: (_on_diagonal(others(value, a.each(np.diagonal), None), a),),
    "diag": lambda value, a: (_on_diagonal(value, a) if value.low.ndim == 1 else value.each(np.diag),),
    "transpose": lambda value, a: (value.each(np.transpose),),
    "sum_largest": lambda value, a, k: (_among_largest(value, a, k),),
    # The k largest entries of the diagonal are at most the k largest eigenvalues in sum (Schur).
    "lambda_sum_largest": lambda value, a, k: (
        _on_diagonal(
            _among_largest(value, a.each(np.diagonal), k).each(lambda e: e + np.zeros(len(a.low))), a
        ),
    ),
    "geo_mean": lambda value, a: (Range(np.asarray(0.0), NO_HIGH),),  # elsewhere it has no value
    # x² / y <= t gives |x| <= √(t y), and so each entry of X with that on the diagonal of P.
    "quad_over_lin": lambda value, a, b: (
        Range(-(m := root_of_product(value.high, b.high)), m),
        Range(np.asarray(0.0), NO_HIGH),
    ),
    "matrix_frac": lambda value, a, b: (
        Range(
            -(m := root_of_product(value.high, np.diagonal(b.high)).reshape(-1, *[1] * (a.low.ndim - 1))), m
        ),
    ),
    "lambda_max": lambda value, a: (_below(a, value.high),),
    "lambda_min": lambda value, a: (minus(_below(minus(a), -value.low)),),
}


class _Ranges:
    """The range of each node at all feasible points whose objective is at most ``level``."""

    def __init__(self, nodes: Nodes, level: float) -> None:
        self.nodes, self.level = nodes, level
        self.inverses: dict[tuple[int, bool], tuple[Array, float]] = {}  # of constants, by place and side
        self.ranges = [self.declared(place, node) for place, node in enumerate(nodes.all)]

    def declared(self, place: int, node: Node) -> Range:
        """The range of a node by its value, if constant, its sign, and the diagonal of a psd matrix."""
        if node.kind == "constant":
            ball = self.nodes.ball(place)
            if ball.is_exact:
                return Range(ball.mid, ball.mid)
            # A number that is exactly 0 takes no part in a product, however large the other factor may be.
            return Range(*(np.where(ball.rad == 0, ball.mid, end) for end in (ball.lower, ball.upper)))
        out = Range.unknown(node.shape)
        if node.inferred.sign:
            (out.low if node.inferred.sign > 0 else out.high)[...] = 0.0
        if node.inferred.psd and len(node.shape) == 2:
            np.fill_diagonal(out.low, 0.0)
        return out

    def narrow(self, place: int, other: Range) -> None:
        """Narrow a node's range to ``other`` as well, in which the node's value may be repeated."""
        node = self.nodes.all[place]
        if node.kind != "constant":
            low, high = (
                end_of(end, axis=tuple(range(end.ndim - len(node.shape))))
                for end_of, end in ((np.max, other.low), (np.min, other.high))
            )
            self.ranges[place] = self.ranges[place].intersection(low, high)
            if node.inferred.psd and len(node.shape) == 2:
                self.minors(place)

    def minors(self, place: int) -> None:
        """Narrow a psd matrix by |xᵢⱼ|² <= xᵢᵢ xⱼⱼ."""
        ends = np.diagonal(self.ranges[place].high)
        most = root_of_product(ends[:, None], ends)
        least = -most
        np.fill_diagonal(least, 0.0)
        self.ranges[place] = self.ranges[place].intersection(least, most)

    def sweep(self) -> None:
        """Narrow all ranges once: values by arguments, sides by lines, then arguments by values."""
        require_time()
        for place, node in enumerate(self.nodes.all):
            if (derived := self.forward(node)) is not None:
                self.narrow(place, derived)
        minimized = self.nodes.instance.program.sense == "minimize"
        level = Range(NO_LOW, np.asarray(self.level))
        self.narrow(self.nodes.objective, level if minimized else minus(level))
        for line in self.nodes.lines:
            self.line(line)
        for place in range(len(self.nodes.all) - 1, -1, -1):
            node = self.nodes.all[place]
            if node.arguments:
                for argument, part in self.backward(node, self.ranges[place]):
                    self.narrow(argument, part)

    def line(self, line: ReadLine) -> None:
        """Narrow each side of a line by the other."""
        if line.is_pair:
            a, b, c = line.sides
            for side in (a, c):
                self.narrow(side, Range(np.asarray(0.0), NO_HIGH))
            most = root_of_product(self.ranges[a].high, self.ranges[c].high)
            self.narrow(b, Range(-most, most))
            return
        left, right = line.sides
        if line.op == ">>" and not self.nodes.all[right].shape:
            self.minors(left)
        elif line.op == ">>":
            above, below = self.ranges[left], self.ranges[right]
            self.narrow(left, _on_diagonal(Range(np.diagonal(below.low), NO_HIGH), above))
            self.narrow(right, _on_diagonal(Range(NO_LOW, np.diagonal(above.high)), below))
        else:
            pairs = {"<=": [(left, right)], ">=": [(right, left)], "==": [(left, right), (right, left)]}
            for small, large in pairs[line.op]:
                self.narrow(small, Range(NO_LOW, self.ranges[large].high))
                self.narrow(large, Range(self.ranges[small].low, NO_HIGH))

    def forward(self, node: Node) -> Range | None:
        """The range of a node's value, from those of its arguments; None where nothing follows."""
        ranges = [self.ranges[a] for a in node.arguments]
        if node.kind == "atom" and node.name == "matmul":
            return self.product(node)
        if node.kind == "atom":
            return _FORWARD[node.name](*ranges, **node.options) if node.name in _FORWARD else None
        lows, highs = [k.low for k in ranges], [k.high for k in ranges]
        return Range(node.assembled(lows), node.assembled(highs)) if ranges else None

    def backward(self, node: Node, value: Range) -> Iterator[tuple[int, Range]]:
        """The arguments of a node with their ranges, from that of its value."""
        first, ranges = node.arguments[0], [self.ranges[a] for a in node.arguments]
        if node.kind == "index":
            out = Range.unknown(self.nodes.all[first].shape)
            np.maximum.at(out.low, node.at, value.low)
            np.minimum.at(out.high, node.at, value.high)
            yield first, out
        elif node.kind in ("entries", "block"):
            lows, highs = self.nodes.parts(node, value.low), self.nodes.parts(node, value.high)
            yield from zip(node.arguments, map(Range, lows, highs), strict=True)
        elif node.name in _BACKWARD:
            yield from zip(node.arguments, _BACKWARD[node.name](value, *ranges, **node.options), strict=False)
        elif node.name == "matmul":
            yield self.factor(node, value)
        elif (
            not np.isfinite(ranges[0].largest).all()  # finite ones are good enough
            and (narrowed := range_of_argument(self.nodes, node, value)) is not None
        ):
            yield first, narrowed

    def turned(self, node: Node, value: Range) -> tuple[Range, Range, Range, bool]:
        """Both factors of a matrix product and its value, with the constant one as a matrix on the left.

        Of ``X @ C`` they are those of ``C.T @ X.T``, which the last part of the answer says.
        """
        a, b = (self.ranges[place] for place in node.arguments)
        if is_turned := self.nodes.all[node.arguments[1]].kind == "constant":
            a, b, value = (part.each(np.transpose) for part in (b, a, value))
        a = a if a.low.ndim == 2 else a.taken(None)
        shape = len(a.low), *b.low.shape[1:]
        return a, b, value.each(lambda end: end.reshape(shape)), is_turned

    def product(self, node: Node) -> Range:
        """The range of a matrix product; unknown where it has too many terms."""
        a, b, out, is_turned = self.turned(node, Range.unknown(node.shape))
        for here, _, one, other, sums in _terms(a, b):
            part = total(times(one, other), sums)
            out.low[here], out.high[here] = part.low, part.high
        return (out.each(np.transpose) if is_turned else out).each(lambda end: end.reshape(node.shape))

    def factor(self, node: Node, value: Range) -> tuple[int, Range]:
        """The range of the chosen factor's entries, from the product and its other terms, with its place."""
        a, b, whole, is_turned = self.turned(node, value)
        matrix, chosen = node.arguments[::-1] if is_turned else node.arguments
        out = self.solved(matrix, a, whole, is_turned)
        for here, at, one, other, sums in _terms(a, b):
            quotients = quotient(others(whole.taken(here), times(one, other), sums), one)
            np.maximum.at(out.low, at[1], quotients.low)
            np.minimum.at(out.high, at[1], quotients.high)
        return chosen, out.each(np.transpose) if is_turned else out

    def solved(self, place: int, constant: Range, value: Range, is_turned: bool) -> Range:
        """The range of x by that of its product with a constant matrix, see ``solved``."""
        shape, is_known = (constant.low.shape[1], *value.low.shape[1:]), np.isfinite(value.largest).all()
        is_known = is_known and np.isfinite(constant.largest).all()
        if not 1 < len(constant.low) >= shape[0] or not is_known:
            return Range.unknown(shape)
        if (place, is_turned) not in self.inverses:
            ball = self.nodes.ball(place)
            self.inverses[place, is_turned] = left_inverse(balls.transpose(ball) if is_turned else ball)
        return solved(*self.inverses[place, is_turned], value)

    def joint(self) -> bool:
        """Narrow the variables by all cuts together; whether an end became finite by that."""
        places = {node.name: place for place, node in enumerate(self.nodes.all) if node.kind == "variable"}
        spans = {name: self.ranges[place] for name, place in places.items()}
        count = sum(np.isinf([span.low, span.high]).sum() for span in spans.values())
        cuts = list(islice(self.cuts(), MOST_CUTS + 1)) if 0 < count <= 2 * MOST_UNKNOWNS else []
        if not 0 < len(cuts) <= MOST_CUTS:
            return False
        for name, span in ranges_between(cuts, spans).items():
            self.narrow(places[name], span)
            count -= np.isinf([span.low, span.high]).sum()
        return bool(count > 0)

    def cuts(self) -> Iterator[Cut]:
        """Cuts by the objective, by lines entry by entry, and by affine parts of others."""
        nodes = self.nodes
        objective = affine_part(nodes, nodes.objective, np.asarray(nodes.sign))
        yield objective, room(self.level, float(objective.constant.lower))
        parts = {a for node in nodes.all if not node.inferred.curvature.is_affine for a in node.arguments}
        for line in nodes.lines:
            parts.update(line.sides)
            if not (line.is_pair or line.op == ">>"):
                shape = np.broadcast_shapes(*(nodes.all[s].shape for s in line.sides))
                signs = (1.0, -1.0) if line.op == "==" else (1.0,)
                for sign, unit in product(signs, np.eye(math.prod(shape))):
                    part = affine_part(nodes, line, sign * unit.reshape(shape))
                    yield part, room(0.0, float(part.constant.lower))
        for place in sorted(parts):
            node, span = nodes.all[place], self.ranges[place]
            if node.inferred.curvature.is_affine and node.kind not in ("constant", "variable"):
                for sign, ends in ((1.0, span.high), (-1.0, -span.low)):
                    for unit, end in zip(np.eye(ends.size), ends.flat, strict=True):
                        if np.isfinite(end):
                            part = affine_part(nodes, place, sign * unit.reshape(node.shape))
                            yield part, room(float(end), float(part.constant.lower))


MOST_CUTS = 2000  # that are taken together
MOST_ROUNDS = 5  # of sweeps and of all cuts together
MOST_UNKNOWNS = 128  # entries of variables that cuts are tried for: some take four readings each
LEAST_SLOPE = 1e-9  # of the largest: smaller ones confuse a linear program
LEFT_OVER = 0.1  # of an entry, at most, in a combination of cuts that is taken for it
CUT_OFF = 1e-6  # relative: by which a cut leaves a point out that is not merely on it
FIRST_REACH, FARTHEST, MOST_TRIES = 10.0, 1e7, 40  # how far off cuts are made for ends that are open

# An affine function and its room: <R, x> is at most that at all points in question.
Cut = tuple[AffineBound, float]


def room(end: float, constant: float) -> float:
    """The largest <R, x> that with a constant is at most ``end``, or more."""
    return (end - constant) + WIDER * (abs(end) + abs(constant))


@np.errstate(all="ignore")
def ranges_between(
    cuts: Sequence[Cut],
    spans: Mapping[str, Range],
    another: Callable[[Array], Cut] | None = None,
    size: float = 1.0,
) -> dict[str, Range]:
    """By variable, the ranges within ``spans`` of all x that keep the cuts: see **Ranges by cuts** above.

    another : a further cut, at a point where those before leave an end open; after some none is made.
    size : of a point in question, about.
    """
    each = spans.values()
    new = np.array(
        [
            np.concatenate([e.ravel() for e in side])
            for side in ([s.high for s in each], [-s.low for s in each])
        ]
    )
    unit, has_end = np.eye(new.shape[1]), np.isfinite(new)
    of_spans = [exact(unit[has_end[0]]), exact(-unit[has_end[1]])]
    rows = balls.joined([*of_spans, *(as_row(part, spans) for part, _ in cuts)])
    ends: Array = np.array([*new[has_end], *(end for _, end in cuts)])
    usable = np.isfinite(ends) & np.isfinite(rows.rad).all(axis=1)
    rows, ends = rows[usable], ends[usable]
    rest, reach, most = np.zeros((2, *unit.shape)), FIRST_REACH * size, len(ends) + MOST_TRIES
    for k, j in np.argwhere(~has_end):
        goal = (-1.0) ** k * unit[j]
        _, p = _farthest(goal, rows, ends)
        while p is None and another is not None and len(ends) < most and reach < FARTHEST * size:
            at, _ = _farthest(goal, rows, ends, reach)
            if at is None:  # all is farther off
                reach *= 10.0
                continue
            part, end = another(at)
            if not np.isfinite(end):
                break
            rows, ends = balls.joined([rows, as_row(part, spans)]), np.append(ends, end)
            slack = end - rows.mid[-1] @ at
            reach *= 1.0 if slack < -CUT_OFF * (abs(end) + np.abs(rows.mid[-1]) @ np.abs(at)) else 10.0
            _, p = _farthest(goal, rows, ends)
        if p is not None:
            new[k, j] = float(balls.matmul(exact(p), exact(ends)).upper)
            left = balls.sub(balls.matmul(exact(p), rows), exact(goal))
            rest[k, j] = np.nan_to_num(np.abs(left.mid) + left.rad, nan=np.inf, posinf=np.inf)
        elif another is not None:
            break
    largest = np.abs(new).max(axis=0)
    largest = largest + WIDER * np.where(np.isfinite(largest), largest, 0.0).max(initial=TINY)
    for _ in range(1 + len(unit)):
        off = np.where(rest > 0, rest * largest + TINY, 0.0).sum(axis=2) * (1.0 + WIDER)
        fails = np.isfinite(largest) & (off > LEFT_OVER * largest).any(axis=0)
        if not fails.any():
            break
        largest[fails] = np.inf
    high, low = new + off / (1.0 - LEFT_OVER)
    span = widened(-low, high)
    lows, highs = by_variable(spans, span.low), by_variable(spans, span.high)
    return {name: Range(lows[name], highs[name]) for name in spans}


def as_row(part: AffineBound, spans: Mapping[str, Range]) -> Ball:
    """The slopes of an affine function by the entries of the variables of ``spans``, as one row."""
    each = [part.residuals.get(name, exact(np.zeros(span.low.shape))) for name, span in spans.items()]
    return balls.joined([Ball(r.mid.ravel(), r.rad.ravel()) for r in each])[None]


def by_variable(spans: Mapping[str, Range], z: Array) -> dict[str, Array]:
    """A vector as the values of the variables of ``spans``."""
    parts = np.split(z, np.cumsum([span.low.size for span in spans.values()])[:-1])
    return {
        name: part.reshape(span.low.shape) for (name, span), part in zip(spans.items(), parts, strict=True)
    }


def _farthest(
    goal: Array, rows: Ball, ends: Array, reach: float | None = None
) -> tuple[Array | None, Array | None]:
    """The point farthest along ``goal`` that keeps all cuts, within ``reach`` of 0, and their multipliers.

    None where the solver of linear programs has no such point, or a number overflows.
    """
    sizes = np.maximum(np.abs(rows.mid).max(axis=1, initial=0.0), TINY)
    slopes = rows.mid / sizes[:, None]
    slopes[np.abs(slopes) < LEAST_SLOPE] = 0.0
    limits = (None, None) if reach is None else (-reach, reach)
    right = ends / sizes
    if not (np.isfinite(slopes).all() and np.isfinite(right).all()):
        return None, None
    done = scipy.optimize.linprog(-goal, slopes, right, bounds=limits, options={"presolve": False})
    return (None, None) if done.status else (done.x, np.maximum(-done.ineqlin.marginals, 0.0) / sizes)


def ranges_of(nodes: Nodes, level: float) -> tuple[Mapping[str, Range], Range]:
    """By variable, the ranges of its entries at a feasible point whose objective is at most ``level``.

    (At least, where it is maximised.) With the range of the objective there. TimeLimitError as
    ``require_time``.
    """
    narrowing = _Ranges(nodes, level)
    places = {node.name: place for place, node in enumerate(nodes.all) if node.kind == "variable"}
    for _ in range(MOST_ROUNDS):
        widths: list[Array] = []
        for _ in range(SWEEPS):
            with np.errstate(all="ignore"):
                narrowing.sweep()
                last = widths
                widths = [narrowing.ranges[p].high - narrowing.ranges[p].low for p in places.values()]
            if last and not any(np.any(new < NARROWED * old) for new, old in zip(widths, last, strict=True)):
                break
        if not narrowing.joint():
            break
    return {name: narrowing.ranges[place] for name, place in places.items()}, narrowing.ranges[
        nodes.objective
    ]


DIFFERENCE_STEP = 1e-3  # of the size of the point, or 1: by which R is differentiated
CUT_REACH = 2.0  # cuts are so many times farther off than a quadratic function would reach the level

# The least that all but some variables add to an affine bound; -inf where it is not bounded.
Least = Callable[[AffineBound, Sequence[str]], float]


def ranges_by_cuts(
    nodes: Nodes, multipliers: Multipliers, names: Sequence[str], level: float, least: Least
) -> Mapping[str, Range] | None:
    """The ranges of these variables, or None where cuts prove none: see **Ranges by cuts** above.

    level : the objective of the feasible points in question. least : of the other variables.
    TimeLimitError as ``require_time``.
    """
    start = np.concatenate([np.ravel(nodes.point[name]) for name in names]).astype(float)
    sizes = nodes.instance.sizes()
    spans = {name: Range.unknown(nodes.chosen[name].shape(sizes)) for name in names}

    def cut(z: Array, *, is_feasible: bool = True) -> Cut:
        moved = nodes_of(nodes.instance, {**nodes.point, **by_variable(spans, z)}, nodes.bounds)
        if not is_feasible and (broken := _not_psd(moved)):
            part = affine_part(moved, *broken)
            return part, room(0.0, least(part, names))
        bound = affine_bound(moved, multipliers, {})
        return bound, room(level, least(bound, names))

    # For variables in cones a problem perturbed otherwise may do without ranges.
    if start.size > MOST_UNKNOWNS or not all(is_in_no_cone(nodes.chosen[name]) for name in names):
        return None
    size = max(1.0, float(np.abs(start).max()))
    step = DIFFERENCE_STEP * size
    slopes = [
        [as_row(cut(start + s * step * e)[0], spans).mid[0] for s in (1.0, -1.0)] for e in np.eye(start.size)
    ]
    bends = np.array([(one - other) / (2.0 * step) for one, other in slopes])
    if not np.isfinite(bends).all():
        return None
    values, v = np.linalg.eigh((bends + bends.T) / 2)
    here, end = cut(start)
    slack = max(end - float(as_row(here, spans).mid[0] @ start), 0.0)
    away = [
        CUT_REACH * np.sqrt(2.0 * slack / value) * e
        for value, e in zip(values, v.T, strict=True)
        if value > 0
    ]
    first = [cut(start + sign * one) for one in away for sign in (1.0, -1.0)]
    objective = affine_part(nodes, nodes.objective, np.asarray(nodes.sign))
    first += [(objective, room(level, least(objective, names))), *_alike_across(nodes, spans)]
    ranges = ranges_between(first, spans, partial(cut, is_feasible=False), size)
    return ranges if all(np.isfinite(span.largest).all() for span in ranges.values()) else None


def _not_psd(nodes: Nodes) -> tuple[ReadLine, Array] | None:
    """The matrix inequality that the point misses by most, with v vᵀ, v an eigenvector; None without one."""
    least, worst = 0.0, None
    for line in nodes.lines:
        sides = [nodes.all[side].value for side in line.sides]
        if line.op != ">>":
            continue
        a, b, c = np.broadcast_arrays(*sides) if line.is_pair else (sides[0] - sides[1], 0.0, 0.0)
        f = np.moveaxis(np.array([[a, b], [b, c]]), (0, 1), (-2, -1)) if line.is_pair else a
        if not np.isfinite(f).all():  # far out a curved entry may overflow
            continue
        values, vectors = np.linalg.eigh(f.reshape(-1, *f.shape[-2:]))
        at = int(np.argmin(values[:, 0]))
        if values[at, 0] < least:
            v = vectors[at, :, 0].astype(np.float32).astype(np.float64)  # products of such numbers are exact
            least, bar = values[at, 0], np.zeros(f.shape)
            bar.reshape(-1, *f.shape[-2:])[at] = np.outer(v, v)
            worst = line, bar
    return worst


def _alike_across(nodes: Nodes, spans: Mapping[str, Range]) -> Iterator[Cut]:
    """Cuts by the entries of symmetric variables: those across the diagonal are the same."""
    for name, span in spans.items():
        if nodes.chosen[name].kind == "symmetric":
            for i, j in np.argwhere(~np.eye(len(span.low), dtype=bool)):
                apart = np.zeros(span.low.shape)
                apart[i, j], apart[j, i] = 1.0, -1.0
                yield AffineBound(exact(0.0), {name: exact(apart)}), 0.0


def is_in_no_cone(d: Declaration) -> bool:
    """Whether a variable is in no cone: what is left of its slopes then always needs its range."""
    return d.kind != "psd" and not d.sign
