"""A second lowering, perturbed and with the nodes taken apart, whose duals are multipliers *and* slopes.

Every curved atom gets a variable of its own for its argument, equal to that (at least, or at most, where that
is curved itself); the dual of this line is the slope at which the atom should be bounded. An inverse or a
root has a block of its own, whose dual has the slope in its corner: Y >= inv(F) as [[Y, I], [I, F]] psd,
Y <= root(F) as [[F, Y], [Y, I]].

Numbers are near one: variables, arguments and lines are divided by their sizes at a feasible point, the
objective by its own. It is perturbed: a small share of the traces of psd variables and of the sums of
nonnegative ones is taken off. The dual that a solver finds for this has, for the program itself, residuals
that lie inside the dual cones by that share, where its own errors do no harm.

**What is left.** Multipliers are moved until what is left of the slopes of variables is exactly 0, or inside
a cone. What a solver leaves of a free variable's slopes is charged with its range, which may be wide or
infinite. The slopes R that are left (see ``lagrangian.py``) are affine in the multipliers y of lines between
affine sides: for moves dₖ of these, y + Σ sₖ dₖ leaves R + Σ sₖ Jₖ. An entry of y >= 0 is moved by its own
size, a psd Y by symmetric products of its eigenvectors times the roots of their eigenvalues, so that small s
keep them in their cones. The s are least squares: of a free variable nothing is to be left, of others, where
they are large, a little inside the dual cone.

**Exact zeros.** Rounding is left of all. Let r be what is left of free entries without a range, J their rows,
B a matrix with row sums of I - B Jᵀ of at most q < 1. So I - J Bᵀ has column sums of at most q, there is a u
with J Bᵀ u = -r and Σ |uᵢ| <= Σ |rᵢ| / (1 - q), and at s = Bᵀ u nothing at all is left of these entries.
Each |sₖ| is at most Σ |uᵢ| times the largest |Bᵢₖ|. Where y + Σ sₖ dₖ is proved to be in its cone for all
such s, the bound holds with 0 for these entries and all else widened by these s, which need not be known.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.compiler.duality.lagrangian import (
    AffineBound,
    Multipliers,
    Node,
    Nodes,
    ReadLine,
    Slopes,
    affine_bound,
    affine_part,
    into_cones,
)
from mmopt.compiler.duality.ranges import NEAR_INVERSE, WIDER, Range, as_row, by_variable, left_inverse
from mmopt.compiler.lower_to_cvxpy import Lowered
from mmopt.language import (
    ATOMS,
    symmetric,
)
from mmopt.limits import require_time, time_not_counted
from mmopt.numerics import TINY, Array, Ball, balls, exact, is_semidefinite

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


LEAST_SHARE = 1e-3  # of the largest entry: smaller entries are scaled as if they were so large
LEAST_SIZE = 1e-12
LEAST_SCALE = 1e-5  # of a variable: smaller values are taken for 0
SUMS = frozenset({"add", "sub", "neg", "sum", "trace", "diag"})


def size_of(value: Any) -> float:
    """The largest entry, where it is a number that can be divided by; else 1."""
    size = float(np.abs(value).max(initial=0.0))
    return size if LEAST_SIZE < size < 1.0 / LEAST_SIZE else 1.0


def size_of_variable(value: Any, limits: Range) -> float:
    """The size of a variable: at the point, or by its largest possible value where it is 0 there."""
    most = float(limits.largest.max(initial=0.0))
    is_limited = bool(np.isfinite(most))
    size = max(float(np.abs(value).max(initial=0.0)), LEAST_SHARE * most if is_limited else 0.0)
    return size if (LEAST_SIZE if is_limited else LEAST_SCALE) < size < 1.0 / LEAST_SIZE else 1.0


def sizes_of(*values: Any) -> Array:
    """The size of each entry, by the largest of several values."""
    each = np.max(np.broadcast_arrays(*(np.abs(np.nan_to_num(v)) for v in values)), axis=0)
    return np.asarray(np.maximum(each, max(LEAST_SHARE * float(each.max(initial=0.0)), LEAST_SIZE)))


def sizes_of_parts(nodes: Nodes, ranges: Mapping[str, Range]) -> list[float]:
    """The size of each node by the parts that it sums, as what is left where parts cancel says nothing."""
    sizes: list[float] = []
    for node in nodes.all:
        parts = [sizes[a] for a in node.arguments]
        size = float(np.abs(np.nan_to_num(node.value)).max(initial=0.0))
        if node.kind == "variable":
            size = size_of_variable(node.value, ranges[node.name])
        elif node.name in ("mul", "matmul"):
            size = max(size, float(np.prod(parts)))
        elif node.kind in ("index", "entries", "block") or node.name in SUMS:
            size = max([size, *parts])
        sizes.append(size)
    return sizes


# For a point inside: the room by which lines hold, in their sizes, at most; and the weight of the objective
# next to it.
MOST_ROOM, PART_OF_OBJECTIVE = 0.1, 1e-3

# A constraint of cvxpy, and what makes of its dual that of the program.
Dual = tuple[Any, Callable[[Any], Array]]


def _values(duals: Sequence[Dual]) -> list[Array]:
    """The values of duals once the problem is solved; none of those that have no value."""
    values = [(line.dual_value, convert) for line, convert in duals]
    return [
        np.asarray(convert(value), dtype=float)
        for value, convert in values
        # That of a second-order cone is a list of parts.
        if value is not None and not (isinstance(value, list) and any(part is None for part in value))
    ]


@dataclass
class LoweredNodes:
    """A problem built node by node, and its duals by the names and places of the program.

    size : the objective is divided by it, and all duals are multiplied. parts : of ``sizes_of_parts``.
    values : the cvxpy expressions of nodes, by place. rewards : the traces and sums, in their sizes, of which
    a share is taken off. room : see ``MOST_ROOM``; None where no point inside is sought.
    lines : by constraint, one for each index of a family that stays one. arguments : as in ``Slopes``, those
    of all lines that an argument has. variables : by name. is_cancelled : whether a line or an argument is
    next to zero, and its parts are not.
    """

    cp: Any
    nodes: Nodes
    ranges: Mapping[str, Range]
    size: float
    by_parts: bool
    parts: list[float]
    constraints: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    rewards: list[Any] = field(default_factory=list)
    room: Any = None
    lines: dict[str, list[Dual]] = field(default_factory=dict)
    arguments: dict[tuple[int, int], list[Dual]] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    is_cancelled: bool = False

    def point(self) -> dict[str, Array]:
        """The variables by name; none before the problem is solved."""
        values = {name: variable.value for name, variable in self.variables.items()}
        return (
            {} if any(v is None for v in values.values()) else {n: np.asarray(v) for n, v in values.items()}
        )

    def duals(self) -> tuple[Multipliers, Slopes]:
        """Multipliers and slopes as the problem has them now; missing ones are left out."""
        families = {line.name for line in self.nodes.lines if line.index is not None}
        return {
            name: np.array(values) if name in families else values[0]
            for name, group in self.lines.items()
            if len(values := _values(group)) == len(group)
        }, {
            place: np.asarray(sum(parts), dtype=float)
            for place, duals in self.arguments.items()
            if (parts := _values(duals))
        }

    def not_cancelled(self, sizes: Array, *places: int) -> Array:
        """The sizes of nodes, or where parts cancel, but for the solver's errors, those of the parts."""
        parts = max(self.parts[place] for place in places)
        if sizes.max(initial=0.0) > LEAST_SCALE * parts:
            return sizes
        self.is_cancelled = True
        return np.full(sizes.shape, parts) if self.by_parts else sizes

    def build(self, share: float, is_inner: bool) -> Lowered:
        """The problem: see ``lower_node_by_node``."""
        if is_inner:
            self.room = self.cp.Variable()
            self.constraints.append(self.room <= MOST_ROOM)
        for place, node in enumerate(self.nodes.all):
            require_time()
            self.values.append(self.node(place, node))
        for line in self.nodes.lines:
            lowered = self.pair if line.is_pair else self.psd if line.op == ">>" else self.entries
            self.lines.setdefault(line.name, []).append(lowered(line))
        minimized = self.nodes.instance.program.sense == "minimize"
        objective = self.values[self.nodes.objective] * ((1.0 if minimized else -1.0) / self.size)
        for reward in self.rewards if share else ():
            objective = objective - share * reward
        if is_inner:
            objective = PART_OF_OBJECTIVE * objective - self.room
        return Lowered(self.cp.Problem(self.cp.Minimize(objective), self.constraints), {}, {}, {})

    def dual(self, line: Any, convert: Callable[[Any], Any]) -> Dual:
        """Add a constraint to the problem; ``convert`` makes of its dual that of the program."""
        self.constraints.append(line)
        return line, convert

    def inside(self, value: Any, unit: Any = 1.0) -> Any:
        """The value that must be nonnegative, or psd, less the room."""
        return value if self.room is None else value - self.room * unit

    # -------------------------------------------------------------- nodes

    def node(self, place: int, node: Node) -> Any:
        """The cvxpy expression of a node, in that of its arguments."""
        values = [self.values[a] for a in node.arguments]
        match node.kind:
            case "constant":
                return self.cp.Constant(node.value)
            case "variable":
                return self.variable(node)
            case "index":
                return values[0][node.at]
            case "block":
                return self.placed(node, [self.cp.reshape(v, (v.size,), order="C") for v in values])
            case "entries":
                return self.placed(node, values)
        row = ATOMS[node.name]
        if node.name in ("inv", "root"):
            return self.bound(place, node, values[0])
        assert row.cvxpy is not None, row.name
        if row.cones is not None and not node.inferred.curvature.is_affine:
            values = [
                value if self.nodes.all[a].kind == "constant" else self.argument(place, i, a, value)
                for i, (a, value) in enumerate(zip(node.arguments, values, strict=True))
            ]
        by_column = node.name == "mul" and node.shape != self.nodes.all[node.arguments[1]].shape != ()
        if by_column or (node.name == "diag" and len(node.shape) == 2):
            values[-1] = self.on_diagonal(values[-1], size_of(node.value))
        if by_column:
            values[1] = np.ones((node.shape[0], 1)) @ self.cp.reshape(
                values[1], (1, node.shape[1]), order="C"
            )
        power, base = self.nodes.all[node.arguments[-1]], self.nodes.all[node.arguments[0]]
        logs = {"log": 1.0, "logdet": float(math.prod(base.shape[:1]))}.get(node.name, 0.0)
        degrees = (float(power.value),) if node.name == "pow" else (0.0,) if logs else row.degrees
        if row.cones is not None and degrees is not None and len(degrees) == 1:
            size = size_of(base.value)  # its cone is of numbers near one
            scaled = row.cvxpy(self.cp, values[0] / size, *values[1:], **node.options)
            return scaled * size ** degrees[0] + logs * math.log(size)
        return row.cvxpy(self.cp, *values, **node.options)

    def on_diagonal(self, vector: Any, size: float) -> Any:
        """A vector, or limits in place of a curved one, as cvxpy orders only affine matrices."""
        if vector.is_affine():
            return vector
        limit = size * self.cp.Variable(vector.shape)
        self.constraints.append(limit >= vector if vector.is_convex() else limit <= vector)
        return limit

    def placed(self, node: Node, values: list[Any]) -> Any:
        """The entries in their places in an array of zeros."""
        (at,), size = node.at, int(np.prod(node.shape))
        vector = self.cp.hstack(values) if len(values) > 1 else values[0] + np.zeros(len(at))
        return self.cp.reshape(sp.eye_array(size, format="csc")[:, at] @ vector, node.shape, order="C")

    def variable(self, node: Node) -> Any:
        """A variable, by its size; a psd or nonnegative one is rewarded: see ``rewards``."""
        d = self.nodes.chosen[node.name]
        scale = size_of_variable(node.value, self.ranges[d.name])
        variable = self.cp.Variable(node.shape, symmetric=d.kind in ("psd", "symmetric"), nonneg=bool(d.sign))
        self.variables[d.name] = scale * variable
        if d.kind == "psd":
            self.constraints.append(self.inside(variable, np.eye(node.shape[0])) >> 0)
            self.rewards.append(self.cp.trace(variable) / node.shape[0])
        elif d.sign:
            if self.room is not None:
                self.constraints.append(self.inside(variable) >= 0)
            self.rewards.append(self.cp.sum(variable) / max(1, variable.size))
        return scale * variable

    def argument(self, place: int, number: int, at: int, value: Any) -> Any:
        """A variable for an argument; the dual of the line between them is the slope.

        A symmetric argument has a line for each entry of its triangle.
        """
        node = self.nodes.all[at]
        scale = self.not_cancelled(np.array(size_of(node.value)), at).max()
        is_symmetric = len(node.shape) == 2 and node.inferred.symmetric
        variable = self.cp.Variable(node.shape, symmetric=is_symmetric)
        entries = np.triu_indices(len(node.value)) if is_symmetric else ...
        away = variable - value / scale
        away = away[entries] if is_symmetric else away
        line, sign = (
            (away == 0, -1.0)
            if value.is_affine()
            else (away >= 0, 1.0)
            if value.is_convex()
            else (away <= 0, -1.0)
        )

        def slope(dual: Any) -> Array:
            """The dual in its entries; that of a triangle half on each side of the diagonal."""
            out = np.zeros(node.shape)
            out[entries] = np.reshape(dual, out[entries].shape) * (sign * self.size / scale)
            return (out + out.T) / 2 if is_symmetric else out

        self.arguments.setdefault((place, number), []).append(self.dual(line, slope))
        return scale * variable

    def bound(self, place: int, node: Node, value: Any) -> Any:
        """One Y above the inverse, or below the root, of a matrix whose size is f: [[Y, I], [I, F / f]]."""
        is_inverse = node.name == "inv"
        f, side = size_of(self.nodes.all[node.arguments[0]].value), node.shape[0]
        matrix = symmetric(self.cp, value / f)
        bound, i = self.cp.Variable((side, side), symmetric=True), np.eye(side)
        corner = slice(side, None) if is_inverse else slice(None, side)
        line = self.cp.bmat([[bound, i], [i, matrix]] if is_inverse else [[matrix, bound], [bound, i]]) >> 0
        dual = self.dual(line, lambda value: -np.asarray(value)[corner, corner] * (self.size / f))
        self.arguments.setdefault((place, 0), []).append(dual)
        return bound / f if is_inverse else bound * f**0.5

    # -------------------------------------------------------------- lines

    def entries(self, line: ReadLine) -> Dual:
        """A relation entry by entry, each divided by its size."""
        left, right = line.sides
        sizes = self.not_cancelled(sizes_of(*(self.nodes.all[s].value for s in line.sides)), *line.sides)
        difference = self.cp.multiply(1.0 / sizes, self.values[left] - self.values[right])
        way = {"<=": -1.0, ">=": 1.0}.get(line.op, 0.0)
        # A solver may return a plain number for an array of one entry.
        return self.dual(
            self.inside(way * difference) >= 0 if way else difference == 0,
            lambda value: np.reshape(value, sizes.shape) * (self.size / sizes),
        )

    def psd(self, line: ReadLine) -> Dual:
        """D F D psd with the diagonal D that brings F's to one."""
        large, small = line.sides
        is_alone = not self.nodes.all[small].shape
        value = self.values[large] if is_alone else self.values[large] - self.values[small]
        diagonals = [np.diagonal(self.nodes.all[s].value) for s in ((large,) if is_alone else (large, small))]
        d = 1.0 / np.sqrt(sizes_of(*diagonals))
        lowered = self.inside(self.cp.multiply(np.outer(d, d), value), np.eye(len(d))) >> 0
        whole = np.outer(d, d) * self.size
        return self.dual(lowered, lambda value: np.reshape(value, whole.shape) * whole)

    def pair(self, line: ReadLine) -> Dual:
        """[[a, b], [b, c]] psd as a second-order cone, whose dual (t, u, w) is [[t + w, u], [u, t - w]]."""
        values = [self.nodes.all[s].value for s in line.sides]
        shape = np.broadcast_shapes(*map(np.shape, values))
        count = int(np.prod(shape))
        first, last = (np.broadcast_to(1.0 / sizes_of(values[i]), shape).reshape(count) for i in (0, 2))
        scales = first, np.sqrt(first * last), last
        a, b, c = (
            self.cp.multiply(s, self.cp.reshape(self.values[p] + np.zeros(shape), (count,), order="C"))
            for s, p in zip(scales, line.sides, strict=True)
        )

        def convert(value: Any) -> Array:
            """The matrices, of the dual (t, u, w) of the cones."""
            t, (u, w) = np.asarray(value[0]).reshape(count), np.asarray(value[1]).reshape(2, count)
            entries = (t + w) * first, u * scales[1], (t - w) * last
            matrix = np.array([[entries[0], entries[1]], [entries[1], entries[2]]]) * self.size
            return np.moveaxis(matrix, 2, 0).reshape(*shape, 2, 2)

        return self.dual(
            self.cp.SOC(self.inside(a + c, 2.0), self.cp.vstack([2 * b, a - c]), axis=0), convert
        )


def lower_node_by_node(
    nodes: Nodes,
    ranges: Mapping[str, Range],
    share: float,
    size: float | None = None,
    *,
    by_parts: bool = False,
    is_inner: bool = False,
) -> tuple[Lowered, LoweredNodes]:
    """The problem for multipliers and slopes, and its duals.

    share : the perturbation, relative to the objective.
    is_inner : for a point strictly inside all inequalities, where there is one.
    ranges : of the variables; one that is next to zero at the point is scaled by a part of its range.
    size : by which the objective is divided; by default its value at the point.
    by_parts : lines whose parts cancel at the point, as of ``sum(x) <= 0``, are divided by the parts' size.

    Imports cvxpy. TimeLimitError as ``require_time``.
    """
    with time_not_counted("cvxpy"):
        import cvxpy
    size = size or size_of(nodes.all[nodes.objective].value)
    apart = LoweredNodes(cvxpy, nodes, ranges, size, by_parts, sizes_of_parts(nodes, ranges))
    return apart.build(share, is_inner), apart
