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
Each |sₖ| is at most Σ |uᵢ| times the largest |Bᵢₖ|. Where y + Σ sₖ dₖ is proved to be in its cone for all such
s, the bound holds with 0 for these entries and all else widened by these s, which need not be known.
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
from mmopt.numerics import ball_functions, balls
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import TINY, Ball, exact

MOST_MOVES = 1000  # each takes a reading of the lines
NEXT_TO_ZERO = 1e-7  # of the largest multiplier of a line: a smaller one of an inequality is taken for 0
INSIDE_CONES = 1e-11  # of the largest multiplier: what is left inside a cone
MOST_LEFT = 1e-2  # of the largest multiplier: where more is left, small moves do not mend it
ROUNDS = 3  # of least squares
INDEPENDENT = 1e-12  # relative: smaller singular values count as 0

Move = tuple[ReadLine, Array]  # a line, and a change of its multiplier


def without_remainder(
    nodes: Nodes, ranges: Mapping[str, Range], multipliers: Multipliers, slopes: Slopes
) -> AffineBound | None:
    """The affine bound at multipliers near these that leave next to nothing; None where there is none.

    multipliers : in their cones. TimeLimitError as ``require_time``.
    """
    size = max((float(np.abs(y).max(initial=0.0)) for y in multipliers.values()), default=0.0)
    y, moves, parts, rows = dict(multipliers), list[Move](), list[AffineBound](), exact(np.zeros((0, 0)))
    for _ in range(ROUNDS):
        y = _inside(nodes, y, INSIDE_CONES * size)
        away = _away(nodes, ranges, affine_bound(nodes, y, slopes), size)
        if not moves:
            moves = list(islice(_moves(nodes, y), MOST_MOVES + 1))
            if not 0 < len(moves) <= MOST_MOVES or not np.abs(away).max(initial=0.0) < MOST_LEFT * size:
                return None
            parts = [affine_part(nodes, line, move) for line, move in moves]
            rows = balls.joined([_left(nodes, ranges, part) for part in parts])
        y = into_cones(nodes, _moved(y, moves, np.linalg.lstsq(rows.mid.T, away, rcond=INDEPENDENT)[0]))
    affine = affine_bound(nodes, y, slopes)
    left = _left(nodes, ranges, affine)[0]
    is_open = np.concatenate(
        [
            np.isinf(span.largest + span.largest.T if _is_symmetric(nodes, name) else span.largest).ravel()
            & (nodes.chosen[name].kind != "psd" and not nodes.chosen[name].sign)
            for name, span in ranges.items()
        ]
    ) & ((left.mid != 0.0) | (left.rad != 0.0) | rows.mid.any(axis=0) | rows.rad.any(axis=0))
    if not is_open.any():
        return affine
    # Of the two entries of a symmetric variable one is in the system.
    first = is_open & (_mirrored(nodes, ranges) >= np.arange(len(is_open)))
    inverse, off = left_inverse(rows[:, first])
    most = np.abs(inverse).max(axis=0) * float((np.abs(left.mid) + left.rad)[first].sum())
    most = most / (1.0 - NEAR_INVERSE) * (1.0 + WIDER) + TINY
    wide = _moved({n: np.zeros(v.shape) for n, v in y.items()}, [(o, np.abs(m)) for o, m in moves], most)
    if not (off < NEAR_INVERSE and all(_is_in_cone(line, y, wide) for line, _ in moves)):
        return None
    row = balls.add(left, Ball(np.zeros(left.shape), most @ (np.abs(rows.mid) + rows.rad)))
    mids, rads = (by_variable(ranges, np.where(is_open, 0.0, end) / 2.0) for end in (row.mid, row.rad))
    off = sum(s * float(abs(p.constant.mid) + p.constant.rad) for s, p in zip(most, parts, strict=True))
    constant = balls.rounded(affine.constant.mid, affine.constant.rad + off)
    return AffineBound(constant, {name: Ball(mids[name], rads[name]) for name in ranges})


def _is_symmetric(nodes: Nodes, name: str) -> bool:
    """Whether a variable is a symmetric matrix."""
    return nodes.chosen[name].kind in ("psd", "symmetric")


def _mirrored(nodes: Nodes, ranges: Mapping[str, Range]) -> Array:
    """The place of the entry that each entry is the same as: that across the diagonal, or itself."""
    places = by_variable(ranges, np.arange(sum(span.low.size for span in ranges.values())))
    return np.concatenate([(p.T if _is_symmetric(nodes, n) else p).ravel() for n, p in places.items()])


def _left(nodes: Nodes, ranges: Mapping[str, Range], affine: AffineBound) -> Ball:
    """Twice what is left of the slopes of all entries in one row, alike on both sides of a diagonal."""
    row = as_row(affine, ranges)
    return balls.add(row, row[:, _mirrored(nodes, ranges)])


def _away(nodes: Nodes, ranges: Mapping[str, Range], affine: AffineBound, size: float) -> Array:
    """How far what should be left is from what is left, in one row.

    size : of the multipliers. An entry is large where it is more than its slope, in sizes of both.
    """
    away = []
    for name, left in by_variable(ranges, _left(nodes, ranges, affine).mid[0]).items():
        d, point = nodes.chosen[name], np.asarray(nodes.point[name], dtype=float)
        goal = left - point * (size / max(float(np.abs(point).max(initial=0.0)), TINY))
        if d.kind == "psd":
            values, v = np.linalg.eigh((goal + goal.T) / 2)
            goal = (v * np.maximum(values, 0.0)) @ v.T + INSIDE_CONES * size * np.eye(len(left))
        else:
            goal = np.where(goal > 0, left, INSIDE_CONES * size) if d.sign else np.zeros(left.shape)
        away.append((goal - left).ravel())
    return np.concatenate(away)


def _inside(nodes: Nodes, multipliers: Multipliers, inside: float) -> dict[str, Array]:
    """Multipliers of inequalities without those next to zero, psd ones a little inside their cone."""
    out = dict(multipliers)
    for name, op in {
        line.name: line.op for line in nodes.lines if not line.is_pair and line.name in out
    }.items():
        y = out[name]
        small = NEXT_TO_ZERO * float(y.max(initial=0.0)) if op != "==" else -np.inf
        out[name] = y + inside * np.eye(y.shape[-1]) if op == ">>" else np.where(y > small, y, 0.0)
    return out


def _moves(nodes: Nodes, multipliers: Multipliers) -> Iterator[Move]:
    """Moves of the multipliers of lines between affine sides."""
    for line in nodes.lines:
        is_affine = all(nodes.all[side].inferred.curvature.is_affine for side in line.sides)
        if line.name in multipliers and is_affine and not line.is_pair:
            y = _at(line, multipliers)
            if line.op == ">>":
                values, v = np.linalg.eigh(y)
                pairs = combinations_with_replacement((v * np.sqrt(np.maximum(values, 0.0))).T, 2)
                yield from ((line, np.outer(a, b) + np.outer(b, a)) for a, b in pairs)
            else:
                sizes = np.full(y.shape, np.abs(multipliers[line.name]).max()) if line.op == "==" else y
                units = np.eye(y.size).reshape(-1, *y.shape)
                yield from ((line, unit * sizes) for unit in units if (unit * sizes).any())


def _at(line: ReadLine, multipliers: Multipliers) -> Array:
    """The multiplier of a line among those of its name, to be read or changed."""
    return multipliers[line.name][(...,) if line.index is None else (line.index, ...)]


def _moved(multipliers: Multipliers, moves: Sequence[Move], steps: Array) -> dict[str, Array]:
    """The multipliers after so many steps of the moves."""
    out = {name: np.array(y) for name, y in multipliers.items()}
    for step, (line, move) in zip(steps, moves, strict=True):
        _at(line, out)[...] += step * move
    return out


def _is_in_cone(line: ReadLine, y: Multipliers, wide: Multipliers) -> bool:
    """Whether all multipliers of a line that are within ``wide`` of y are proved to be in their cone."""
    here, off = _at(line, y), _at(line, wide) * (1.0 + WIDER)
    return (
        ball_functions.is_semidefinite(Ball(here, off))
        if line.op == ">>"
        else line.op == "==" or bool((here >= off).all())
    )
