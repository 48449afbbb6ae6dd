"""Where the argument of a curved atom lies, from where its value does: minorants with one slope at a time.

A convex f with f(x) <= h has p x <= h - c for each of its minorants c + p x; a concave one turns that round.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mmopt.compiler.duality import intervals
from mmopt.compiler.duality.intervals import Range
from mmopt.compiler.duality.nodes import Node, Nodes
from mmopt.language import ATOMS
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.minorants import Near
from mmopt.language.syntax.syntax_tree import Apply
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, exact

__all__ = ["range_of_argument"]

MOST_ENTRIES = 1024  # of an argument whose entries are bounded one by one
# Points of tangents to functions of one number.
GRID = np.unique(
    np.concatenate([*(s * 10.0 ** np.arange(-9.0, 13.0, 0.5) for s in (-1.0, 1.0)), np.arange(-40.0, 41.0)])
)


def range_of_argument(nodes: Nodes, node: Node, expr: Apply, value: Range) -> Range | None:
    """Of the atom's first argument; None where nothing is known, as of inverses and of matrix roots."""
    row, argument = ATOMS[expr.atom], nodes.all[node.arguments[0]]
    others = [nodes.all[a].kind for a in node.arguments[1:]]
    if row.minorant is None or argument.kind == "constant" or any(kind != "constant" for kind in others):
        return None
    if len(argument.shape) == len(node.shape) == 2 and row.equivariance != "entrywise":
        return None
    sides = [(1.0, value.high)] * node.known.curvature.is_convex
    sides += [(-1.0, -value.low)] * node.known.curvature.is_concave
    low, high = (np.full(argument.shape, s * np.inf) for s in (-1, 1))
    for sign, end in sides:
        if not np.isfinite(end).any():
            continue
        if row.equivariance == "entrywise":
            found = _by_tangents(row, expr, nodes, node, sign, end)
        elif not node.shape and 0 < np.size(argument.value) <= MOST_ENTRIES:
            found = _by_entries(row, expr, nodes, node, sign, float(end))
        else:
            continue
        low, high = np.maximum(low, found.low), np.minimum(high, found.high)
    return intervals.widened(low, high)


def _ends(p: Ball, c: Ball, end: Array | float) -> tuple[Array | float, Array | float]:
    """What p x <= end - c says of x: the least and the largest value."""
    if not (np.isfinite(p.rad) and np.isfinite(c.rad)) or abs(p.mid) <= 2 * p.rad:
        return -np.inf, np.inf
    rest = intervals.plus(Range(np.asarray(end), np.asarray(end)), Range(-c.upper, -c.lower))
    found = intervals.quotient(rest, Range(p.lower, p.upper))
    return (-np.inf, found.high) if p.mid > 0 else (found.low, np.inf)


def _by_tangents(row: Atom, expr: Apply, nodes: Nodes, node: Node, sign: float, end: Array) -> Range:
    """Entry by entry: by tangents at points far and near; of those with another constant each entry alike."""
    known = nodes.all[node.arguments[0]].known
    more = [nodes.ball(a) for a in node.arguments[1:]]
    low, high = (np.full(end.shape, s * np.inf) for s in (-1, 1))
    if any(b.mid.shape for b in more):
        return Range(low, high)
    assert row.minorant is not None
    for at in GRID:
        points: list[Any] = [np.asarray(at), *(b.mid for b in more)]
        near = Near(points, [None] * len(points), [known.sign] * len(points))
        c, (p, *_) = row.minorant(exact(sign), near, None, *more, **dict(expr.options))
        if p is not None:
            least, most = _ends(p, c, end)
            low, high = np.maximum(low, least), np.minimum(high, most)
    return Range(low, high)


def _by_entries(row: Atom, expr: Apply, nodes: Nodes, node: Node, sign: float, end: float) -> Range:
    """Of a norm, or a largest entry: one entry at a time, by the slope that is 1 or -1 there."""
    argument, more = nodes.all[node.arguments[0]], [nodes.ball(a) for a in node.arguments[1:]]
    nothing = [None] * len(more)
    low, high = (np.full(argument.shape, s * np.inf) for s in (-1, 1))
    for entry, slope in _units(argument.shape):
        points: list[Any] = [np.zeros(argument.shape), *(b.mid for b in more)]
        near = Near(points, [slope, *nothing], [argument.known.sign] * len(points))
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
