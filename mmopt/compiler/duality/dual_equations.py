"""Multipliers moved until what is left of the slopes of variables is exactly 0, or inside a cone.

What a solver leaves of a free variable's slopes is charged with its range, which may be wide or infinite. The
slopes R that are left (see ``lagrangian.py``) are affine in the multipliers y of lines between affine sides:
for moves dₖ of these, y + Σ sₖ dₖ leaves R + Σ sₖ Jₖ. An entry of y >= 0 is moved by its own size, a psd Y
by symmetric products of its eigenvectors times the roots of their eigenvalues, so that small s keep them in
their cones. The s are least squares: of a free variable nothing is to be left, of others, where they are
large, a little inside the dual cone.

**Exact zeros.** Rounding is left of all. Let r be what is left of free entries without a range, J their rows,
B a matrix with row sums of I - B Jᵀ of at most q < 1. So I - J Bᵀ has column sums of at most q, there is a u
with J Bᵀ u = -r and Σ |uᵢ| <= Σ |rᵢ| / (1 - q), and at s = Bᵀ u nothing at all is left of these entries.
Each |sₖ| is at most Σ |uᵢ| times the largest |Bᵢₖ|. Where y + Σ sₖ dₖ is proved to be in its cone for all
such s, the bound holds with 0 for these entries and all else widened by these s, which need not be known.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, islice

import numpy as np

from mmopt.compiler.duality.lagrangian import (
    AffineBound,
    Multipliers,
    Nodes,
    ReadLine,
    Slopes,
    affine_bound,
    affine_part,
    into_cones,
)
from mmopt.compiler.duality.ranges import NEAR_INVERSE, WIDER, Range, as_row, by_variable, left_inverse
from mmopt.numerics import balls
from mmopt.numerics.arrays import Array
from mmopt.numerics.ball_functions import is_semidefinite
from mmopt.numerics.balls import TINY, Ball, exact

MOST_MOVES, MOST_ENTRIES = 1000, 10_000  # each move takes a reading of the lines; entries of multipliers
MOST_NUMBERS = 500_000  # of the system: entries of variables times moves
NEXT_TO_ZERO = 1e-7  # of the largest multiplier of a line: a smaller one of an inequality is taken for 0
INSIDE_CONES = 1e-11  # of the largest multiplier: what is left inside a cone
MOST_LEFT = 1e-2  # of the largest multiplier: where more is left, small moves do not mend it

Move = tuple[ReadLine, Array]  # a line, and a change of its multiplier


def without_remainder(
    nodes: Nodes, ranges: Mapping[str, Range], multipliers: Multipliers, slopes: Slopes
) -> AffineBound | None:
    """The affine bound at multipliers near these that leave next to nothing; None where there is none.

    multipliers : in their cones. TimeLimitError as ``require_time``.
    """
    places = by_variable(ranges, np.arange(float(sum(span.low.size for span in ranges.values()))))
    turned = [p.T if nodes.chosen[n].kind in ("psd", "symmetric") else p for n, p in places.items()]
    across = np.concatenate([np.ravel(p) for p in turned]).astype(int)

    def left_of(part: AffineBound) -> Ball:
        """Twice what is left of the slopes of all entries, alike on both sides of a diagonal."""
        return balls.add(row := as_row(part, ranges), row[:, across])

    size = max((float(np.abs(y).max(initial=0.0)) for y in multipliers.values()), default=0.0)
    is_small = sum(map(np.size, multipliers.values())) <= MOST_ENTRIES
    most_moves = min(MOST_MOVES, MOST_NUMBERS // max(1, len(across))) if is_small else 0
    y, moves, parts, rows = dict(multipliers), list[Move](), list[AffineBound](), exact(np.zeros((0, 0)))
    for _ in range(3):  # what is moved back into a cone leaves a little again
        y = _inside(nodes, y, INSIDE_CONES * size)
        away = _away(nodes, by_variable(ranges, left_of(affine_bound(nodes, y, slopes)).mid[0]), size)
        if not moves:
            moves = list(islice(_moves(nodes, y), most_moves + 1))
            if not 0 < len(moves) <= most_moves or not np.abs(away).max(initial=0.0) < MOST_LEFT * size:
                return None
            parts = [affine_part(nodes, line, move) for line, move in moves]
            rows = balls.joined([left_of(part) for part in parts])
        y = into_cones(nodes, _moved(y, moves, np.asarray(np.linalg.lstsq(rows.mid.T, away)[0])))
    affine = affine_bound(nodes, y, slopes)
    left = left_of(affine)[0]
    is_open = np.concatenate(
        [
            np.isinf(span.largest).ravel() & (nodes.chosen[n].kind != "psd" and not nodes.chosen[n].sign)
            for n, span in ranges.items()
        ]
    )
    is_open = (is_open | is_open[across]) & (
        (left.mid != 0.0) | (left.rad != 0.0) | rows.mid.any(axis=0) | rows.rad.any(axis=0)
    )
    if not is_open.any():
        return affine
    # Of two entries that are the same one is in the system.
    first = is_open & (across >= np.arange(len(across)))
    inverse, off = left_inverse(rows[:, first])
    most = np.abs(inverse).max(axis=0) * float((np.abs(left.mid) + left.rad)[first].sum())
    most = most / (1.0 - NEAR_INVERSE) * (1.0 + WIDER) + TINY
    wide = _moved(
        {n: np.zeros(v.shape) for n, v in y.items()}, [(line, np.abs(m)) for line, m in moves], most
    )
    if not off < NEAR_INVERSE or not all(
        is_semidefinite(Ball(_at(line, y), _at(line, wide)))
        if line.op == ">>"
        else line.op == "==" or (_at(line, y) >= _at(line, wide)).all()
        for line in {line for line, _ in moves}
    ):
        return None
    row = balls.add(left, Ball(np.zeros(left.shape), most @ (np.abs(rows.mid) + rows.rad)))
    mids, rads = (by_variable(ranges, np.where(is_open, 0.0, end) / 2.0) for end in (row.mid, row.rad))
    more = sum(s * float(abs(p.constant.mid) + p.constant.rad) for s, p in zip(most, parts, strict=True))
    constant = balls.rounded(affine.constant.mid, affine.constant.rad + more)
    return AffineBound(constant, {name: Ball(mids[name], rads[name]) for name in ranges})


def _away(nodes: Nodes, left: Mapping[str, Array], size: float) -> Array:
    """How far what should be left is from what is left, entry after entry.

    size : of the multipliers. An entry is large where it is more than its slope, in sizes of both.
    """
    away = []
    for name, slope in left.items():
        d, point = nodes.chosen[name], np.asarray(nodes.point[name], dtype=float)
        goal = slope - point * (size / max(float(np.abs(point).max(initial=0.0)), TINY))
        if d.kind == "psd":
            values, v = np.linalg.eigh((goal + goal.T) / 2)
            goal = (v * np.maximum(values, 0.0)) @ v.T + INSIDE_CONES * size * np.eye(len(v))
        else:
            goal = np.where(goal > 0, slope, INSIDE_CONES * size) * bool(d.sign)
        away.append(np.ravel(goal - slope))
    return np.concatenate(away)


def _inside(nodes: Nodes, multipliers: Multipliers, inside: float) -> dict[str, Array]:
    """Multipliers of inequalities without those next to zero, psd ones a little inside their cone."""
    ops = {line.name: line.op for line in nodes.lines if not line.is_pair}
    return {
        name: y + inside * np.eye(y.shape[-1])
        if ops.get(name) == ">>"
        else np.where(y > NEXT_TO_ZERO * y.max(initial=0.0), y, 0.0)
        if ops.get(name) in ("<=", ">=")
        else y
        for name, y in multipliers.items()
    }


def _moves(nodes: Nodes, multipliers: Multipliers) -> Iterator[Move]:
    """Moves of the multipliers of lines between affine sides."""
    for line in nodes.lines:
        types = [nodes.all[side].inferred for side in line.sides]
        if line.name in multipliers and not line.is_pair and all(t.curvature.is_affine for t in types):
            y = _at(line, multipliers)
            if line.op == ">>":
                values, v = np.linalg.eigh(y)
                pairs = combinations_with_replacement((v * np.sqrt(np.maximum(values, 0.0))).T, 2)
                yield from ((line, np.outer(a, b) + np.outer(b, a)) for a, b in pairs)
            else:
                sizes = np.full(y.shape, np.abs(multipliers[line.name]).max()) if line.op == "==" else y
                places = np.arange(float(y.size)).reshape(y.shape)
                yield from ((line, np.where(places == at, sizes, 0.0)) for at in np.flatnonzero(sizes))


def _at(line: ReadLine, multipliers: Multipliers) -> Array:
    """The multiplier of a line among those of its name, to be read or changed."""
    return multipliers[line.name][(...,) if line.index is None else (line.index, ...)]


def _moved(multipliers: Multipliers, moves: Sequence[Move], steps: Array) -> dict[str, Array]:
    """The multipliers after so many steps of the moves."""
    out = {name: np.array(y) for name, y in multipliers.items()}
    for step, (line, move) in zip(steps, moves, strict=True):
        _at(line, out)[...] += step * move
    return out
