"""Ranges of variables and expressions: intervals handed through the lines, forwards and backwards.

Every node has an interval for each entry, which contains that of every feasible point whose objective is no
worse than a given level. The range of one side of a line narrows the other, that of a value narrows its
arguments (Benhamou, Goualard, Granvilliers & Puget, Revising hull and box consistency, ICLP 1999). For affine
atoms that is interval arithmetic. A convex f with f(x) <= h has p x <= h - c for each of its minorants
c + p x, taken with one slope p at a time; a concave one turns that round. Psd matrices have
|xᵢⱼ|² <= xᵢᵢ xⱼⱼ. For inverses nothing is derived.

The intervals are widened at every step by far more than its rounding: they have to be finite, not tight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mmopt.compiler.duality import intervals
from mmopt.compiler.duality.intervals import Range
from mmopt.compiler.duality.nodes import Node, Nodes, ReadLine
from mmopt.language import ATOMS
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.minorants import Near
from mmopt.language.syntax.syntax_tree import Apply, Name
from mmopt.limits import require_time
from mmopt.numerics import balls
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, exact

MOST_ENTRIES = 1024  # of an argument whose entries are bounded one by one
# Points of tangents to functions of one number.
GRID = np.unique(
    np.concatenate([*(s * 10.0 ** np.arange(-9.0, 13.0, 0.5) for s in (-1.0, 1.0)), np.arange(-40.0, 41.0)])
)


def range_of_argument(nodes: Nodes, node: Node, expr: Apply, value: Range) -> Range | None:
    """The range of the atom's first argument; None where there is none, as for inverses and matrix roots."""
    row, argument = ATOMS[expr.atom], nodes.all[node.arguments[0]]
    others = [nodes.all[a].kind for a in node.arguments[1:]]
    if row.minorant is None or argument.kind == "constant" or any(kind != "constant" for kind in others):
        return None
    if len(argument.shape) == len(node.shape) == 2 and row.equivariance != "entrywise":
        return None
    sides = [(1.0, value.high)] * node.inferred.curvature.is_convex
    sides += [(-1.0, -value.low)] * node.inferred.curvature.is_concave
    low, high = (np.full(argument.shape, s * np.inf) for s in (-1, 1))
    for sign, end in sides:
        if not np.isfinite(end).any():
            continue
        if row.equivariance == "entrywise":
            narrowed = _by_tangents(row, expr, nodes, node, sign, end)
        elif not node.shape and 0 < np.size(argument.value) <= MOST_ENTRIES:
            narrowed = _by_entries(row, expr, nodes, node, sign, float(end))
        else:
            continue
        low, high = np.maximum(low, narrowed.low), np.minimum(high, narrowed.high)
    return intervals.widened(low, high)


def _ends(p: Ball, c: Ball, end: Array | float) -> tuple[Array | float, Array | float]:
    """The least and the largest x with p x <= end - c."""
    if not (np.isfinite(p.rad) and np.isfinite(c.rad)) or abs(p.mid) <= 2 * p.rad:
        return -np.inf, np.inf
    rest = intervals.plus(Range(np.asarray(end), np.asarray(end)), Range(-c.upper, -c.lower))
    quotient = intervals.quotient(rest, Range(p.lower, p.upper))
    return (-np.inf, quotient.high) if p.mid > 0 else (quotient.low, np.inf)


def _by_tangents(row: Atom, expr: Apply, nodes: Nodes, node: Node, sign: float, end: Array) -> Range:
    """The range of the argument of an entrywise atom, by tangents at points far and near.

    A further argument has to be one number for all entries.
    """
    inferred = nodes.all[node.arguments[0]].inferred
    more = [nodes.ball(a) for a in node.arguments[1:]]
    low, high = (np.full(end.shape, s * np.inf) for s in (-1, 1))
    if any(b.mid.shape for b in more):
        return Range(low, high)
    assert row.minorant is not None
    for at in GRID:
        points: list[Any] = [np.asarray(at), *(b.mid for b in more)]
        near = Near(points, [None] * len(points), [inferred.sign] * len(points))
        c, (p, *_) = row.minorant(exact(sign), near, None, *more, **dict(expr.options))
        if p is not None:
            least, most = _ends(p, c, end)
            low, high = np.maximum(low, least), np.minimum(high, most)
    return Range(low, high)


def _by_entries(row: Atom, expr: Apply, nodes: Nodes, node: Node, sign: float, end: float) -> Range:
    """The range of the argument of a norm or a largest entry: by entry, with the slope 1 or -1 there."""
    argument, more = nodes.all[node.arguments[0]], [nodes.ball(a) for a in node.arguments[1:]]
    nothing = [None] * len(more)
    low, high = (np.full(argument.shape, s * np.inf) for s in (-1, 1))
    for entry, slope in _units(argument.shape):
        points: list[Any] = [np.zeros(argument.shape), *(b.mid for b in more)]
        near = Near(points, [slope, *nothing], [argument.inferred.sign] * len(points))
        assert row.minorant is not None
        c, (p, *_) = row.minorant(exact(sign), near, None, *more, **dict(expr.options))
        if p is not None and np.count_nonzero(p.mid) == 1 and not np.delete(p.rad, _flat(entry, p)).any():
            least, most = _ends(p[entry], c, end)
            low[entry], high[entry] = max(low[entry], float(least)), min(high[entry], float(most))
    return Range(low, high)


def _flat(entry: tuple[int, ...], p: Ball) -> int:
    return int(np.ravel_multi_index(entry, p.mid.shape)) if entry else 0


def _units(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Array]]:
    for entry in np.ndindex(shape):
        for side in (1.0, -1.0):
            slope = np.zeros(shape)
            slope[entry] = side
            yield entry, slope


SWEEPS = 6
NARROWED = 0.99  # of a width: a sweep that narrows no width to less than this share is the last
MOST_TERMS = 4_000_000  # of a matrix product that is taken apart


class _Ranges:
    def __init__(self, nodes: Nodes, level: float) -> None:
        self.nodes, self.level = nodes, level
        self.ranges = [self.first(place, node) for place, node in enumerate(nodes.all)]

    def first(self, place: int, node: Node) -> Range:
        shape = node.shape
        if node.kind == "constant":
            ball = self.nodes.ball(place)
            return Range(np.asarray(ball.lower), np.asarray(ball.upper))
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        if node.inferred.sign:
            (low if node.inferred.sign > 0 else high)[...] = 0.0
        if node.inferred.psd and len(shape) == 2:
            np.fill_diagonal(low, 0.0)
        return Range(low, high)

    def narrow(self, place: int, other: Range) -> None:
        """Narrow a node's range to ``other`` as well; a number that was spread, to all entries of it."""
        before = self.ranges[place]
        node = self.nodes.all[place]
        if node.kind != "constant":
            spread = not node.shape
            low, high = (np.max(other.low), np.min(other.high)) if spread else (other.low, other.high)
            self.ranges[place] = before.intersection(low, high)
            if node.inferred.psd and len(node.shape) == 2:
                self.minors(place)

    def minors(self, place: int) -> None:
        """|xᵢⱼ|² <= xᵢᵢ xⱼⱼ of a psd matrix."""
        before = self.ranges[place]
        ends = np.diagonal(before.high)
        most = intervals.root_of_product(ends[:, None], ends)
        low = np.array(before.low)
        np.fill_diagonal(low, np.maximum(np.diagonal(low), 0.0))
        self.ranges[place] = Range(low, before.high).intersection(-most, most)

    def sweep(self) -> None:
        require_time()
        for place, node in enumerate(self.nodes.all):
            derived = self.forward(node)
            if derived is not None:
                self.narrow(place, derived)
        minimized = self.nodes.instance.program.sense == "minimize"
        level = Range(np.asarray(-np.inf), np.asarray(self.level))
        self.narrow(self.nodes.objective, level if minimized else intervals.minus(level))
        for one in self.nodes.lines:
            self.line(one)
        for place in range(len(self.nodes.all) - 1, -1, -1):
            node = self.nodes.all[place]
            if node.kind not in ("constant", "variable"):
                for argument, part in self.backward(place, node):
                    self.narrow(argument, part)

    def line(self, one: ReadLine) -> None:
        if one.is_pair:
            a, b, c = one.sides
            for side in (a, c):
                self.narrow(side, Range(np.asarray(0.0), np.asarray(np.inf)))
            most = intervals.root_of_product(self.ranges[a].high, self.ranges[c].high)
            self.narrow(b, Range(-most, most))
            return
        left, right = one.sides
        if one.op == ">>":
            if not self.nodes.all[right].shape:
                self.minors(left)
                return
            at = np.diag_indices(self.nodes.all[left].shape[0])
            low, high = (np.full(self.nodes.all[left].shape, end) for end in (-np.inf, np.inf))
            low[at], high[at] = self.ranges[right].low[at], self.ranges[left].high[at]
            self.narrow(left, Range(low, np.full(low.shape, np.inf)))
            self.narrow(right, Range(np.full(low.shape, -np.inf), high))
            return
        if one.op in ("<=", "=="):
            self.narrow(left, Range(np.full((), -np.inf), self.ranges[right].high))
            self.narrow(right, Range(self.ranges[left].low, np.full((), np.inf)))
        if one.op in (">=", "=="):
            self.narrow(right, Range(np.full((), -np.inf), self.ranges[left].high))
            self.narrow(left, Range(self.ranges[right].low, np.full((), np.inf)))

    def forward(self, node: Node) -> Range | None:
        ranges = [self.ranges[a] for a in node.arguments]
        match node.kind:
            case "index":
                return Range(ranges[0].low[node.at], ranges[0].high[node.at])
            case "entries":
                low, high = np.zeros(node.shape), np.zeros(node.shape)
                low.flat[node.at[0]] = np.array([k.low for k in ranges]).squeeze()
                high.flat[node.at[0]] = np.array([k.high for k in ranges]).squeeze()
                return Range(low, high)
            case "block":
                low, high = np.empty(node.shape), np.empty(node.shape)
                for k, part in enumerate(ranges):
                    low[node.owners == k], high[node.owners == k] = part.low.ravel(), part.high.ravel()
                return Range(low, high)
            case "atom":
                assert isinstance(node.expr, Apply)
                return self.value(node.expr, ranges)
        return None

    def value(self, expr: Apply, ranges: list[Range]) -> Range | None:
        options = dict(expr.options)
        match expr.atom:
            case "add":
                return intervals.plus(*ranges)
            case "sub":
                return intervals.plus(ranges[0], intervals.minus(ranges[1]))
            case "neg":
                return intervals.minus(ranges[0])
            case "mul":
                return intervals.times(*ranges)
            case "div":
                return intervals.quotient(*ranges)
            case "entrywise max" | "entrywise min" as atom:
                pick = np.maximum if atom == "entrywise max" else np.minimum
                return Range(*(pick(*ends) for ends in zip(*((k.low, k.high) for k in ranges), strict=True)))
            case "sum":
                return intervals.total(ranges[0], options.get("axis"))
            case "trace":
                return intervals.total(Range(np.diagonal(ranges[0].low), np.diagonal(ranges[0].high)), None)
            case "transpose":
                return Range(ranges[0].low.T, ranges[0].high.T)
            case "diag":
                return Range(np.diag(ranges[0].low), np.diag(ranges[0].high))
            case "matmul":
                terms = self.terms(ranges)
                return None if terms is None else intervals.total(terms[0], terms[1])
        return None

    def terms(self, ranges: list[Range]) -> tuple[Range, int] | None:
        """The products that a matrix product adds up, and along which axis."""
        a, b = ranges
        if a.low.size * b.low.size // max(1, b.low.shape[0]) > MOST_TERMS:
            return None
        if a.low.ndim == 1:
            wide = Range(*(end[:, None] if b.low.ndim == 2 else end for end in (a.low, a.high)))
            return intervals.times(wide, b), 0
        if b.low.ndim == 1:
            return intervals.times(a, b), 1
        left = Range(a.low[:, :, None], a.high[:, :, None])
        return intervals.times(left, Range(b.low[None], b.high[None])), 1

    def backward(self, place: int, node: Node) -> Iterator[tuple[int, Range]]:
        value = self.ranges[place]
        first = node.arguments[0]
        if node.kind == "index":
            low, high = (np.full(self.nodes.all[first].shape, s * np.inf) for s in (-1, 1))
            np.maximum.at(low, node.at, value.low)
            np.minimum.at(high, node.at, value.high)
            yield first, Range(low, high)
        elif node.kind == "entries":
            taken = Range(value.low.ravel()[node.at], value.high.ravel()[node.at])
            for k, argument in enumerate(node.arguments):
                yield argument, taken if len(node.arguments) == 1 else Range(taken.low[k], taken.high[k])
        elif node.kind == "block":
            for k, argument in enumerate(node.arguments):
                shape = self.nodes.all[argument].shape
                part = node.owners == k
                yield argument, Range(value.low[part].reshape(shape), value.high[part].reshape(shape))
        else:
            assert isinstance(node.expr, Apply)
            yield from self.arguments(place, node, node.expr, value)

    def arguments(self, place: int, node: Node, expr: Apply, value: Range) -> Iterator[tuple[int, Range]]:
        ranges, places = [self.ranges[a] for a in node.arguments], node.arguments
        match expr.atom:
            case "add":
                yield places[0], intervals.plus(value, intervals.minus(ranges[1]))
                yield places[1], intervals.plus(value, intervals.minus(ranges[0]))
            case "sub":
                yield places[0], intervals.plus(value, ranges[1])
                yield places[1], intervals.plus(ranges[0], intervals.minus(value))
            case "neg":
                yield places[0], intervals.minus(value)
            case "mul":
                yield places[0], intervals.quotient(value, ranges[1])
                yield places[1], intervals.quotient(value, ranges[0])
            case "div":
                yield places[0], intervals.times(value, ranges[1])
            case "entrywise max":
                yield from ((place, Range(np.full((), -np.inf), value.high)) for place in places)
            case "entrywise min":
                yield from ((place, Range(value.low, np.full((), np.inf))) for place in places)
            case "sum":
                yield places[0], intervals.others(value, ranges[0], dict(expr.options).get("axis"))
            case "trace":
                diagonal = Range(np.diagonal(ranges[0].low), np.diagonal(ranges[0].high))
                yield places[0], self.on_diagonal(intervals.others(value, diagonal, None), places[0])
            case "diag":
                if len(node.shape) == 1:
                    yield places[0], self.on_diagonal(value, places[0])
                else:
                    yield places[0], Range(np.diag(value.low), np.diag(value.high))
            case "transpose":
                yield places[0], Range(value.low.T, value.high.T)
            case "matmul":
                yield from self.factors(node, ranges, value)
            case _:
                if not np.isfinite(ranges[0].largest).all():  # finite ones are good enough
                    narrowed = range_of_argument(self.nodes, node, expr, value)
                    if narrowed is not None:
                        yield places[0], narrowed

    def on_diagonal(self, diagonal: Range, place: int) -> Range:
        low, high = (np.full(self.nodes.all[place].shape, s * np.inf) for s in (-1, 1))
        np.fill_diagonal(low, diagonal.low)
        np.fill_diagonal(high, diagonal.high)
        return Range(low, high)

    def factors(self, node: Node, ranges: list[Range], value: Range) -> Iterator[tuple[int, Range]]:
        """The ranges of the chosen factor's entries, from entries of the product and their other terms."""
        first, last = node.arguments
        if self.nodes.all[first].kind == "constant" and ranges[0].low.ndim == 2:
            yield last, intervals.solved(self.nodes.ball(first), value)
        elif self.nodes.all[last].kind == "constant" and ranges[1].low.ndim == 2:
            turned = intervals.solved(
                balls.transpose(self.nodes.ball(last)), Range(value.low.T, value.high.T)
            )
            yield first, Range(turned.low.T, turned.high.T)
        terms = self.terms(ranges)
        if terms is None:
            return
        each = intervals.others(value, *terms)
        for which, (place, other) in enumerate(zip(node.arguments, ranges[::-1], strict=True)):
            if self.nodes.all[place].kind == "constant":
                continue
            a, b = ranges
            if a.low.ndim == b.low.ndim == 2:
                by = (
                    Range(other.low[:, :, None], other.high[:, :, None])
                    if which
                    else Range(other.low[None], other.high[None])
                )
            elif a.low.ndim == 1 and b.low.ndim == 2 and which:
                by = Range(other.low[:, None], other.high[:, None])
            else:
                by = other
            quotients = intervals.quotient(each, by)
            # Over the axis that the factor does not have.
            axes = {(2, 2, 0): 2, (2, 2, 1): 0, (1, 2, 0): 1, (2, 1, 1): 0}
            axis = axes.get((a.low.ndim, b.low.ndim, which))
            if axis is not None:
                quotients = Range(quotients.low.max(axis=axis), quotients.high.min(axis=axis))
            yield place, quotients


def ranges_of(nodes: Nodes, level: float) -> Mapping[str, Range]:
    """By variable, the ranges of its entries at a feasible point whose objective is at most ``level``.

    (At least, where it is maximised.) TimeLimitError as ``require_time``.
    """
    narrowing = _Ranges(nodes, level)
    places = {
        node.expr.id: place
        for place, node in enumerate(nodes.all)
        if node.kind == "variable" and isinstance(node.expr, Name)
    }
    widths: list[Array] = []
    for _ in range(SWEEPS):
        with np.errstate(all="ignore"):
            narrowing.sweep()
            last, widths = (
                widths,
                [narrowing.ranges[p].high - narrowing.ranges[p].low for p in places.values()],
            )
        if last and not any(np.any(new < NARROWED * old) for new, old in zip(widths, last, strict=True)):
            break
    return {name: narrowing.ranges[place] for name, place in places.items()}
