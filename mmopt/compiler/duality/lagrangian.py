"""A lower bound on any convex program, read off its own tree, from multipliers and slopes of any origin.

Theorem. Let a program minimise f(x) over x in D (what is declared of the variables: signs, psd, symmetric)
subject to gᵢ(x) <= 0, hᵢ(x) = 0, and Fᵢ(x) psd, with the curvature that the check has found. For yᵢ >= 0,
any zᵢ, and psd Yᵢ let

    L(x) = f(x) + Σ <yᵢ, gᵢ(x)> + Σ <zᵢ, hᵢ(x)> - Σ <Yᵢ, Fᵢ(x)>.

(1) L(x) <= f(x) at every feasible x. (2) The reading below finds c and arrays R such that

    L(x) >= c + Σ <Rᵥ, xᵥ>  for every x in D at which f, g, h and F are defined,

over the variables v. (3) So the least value of f is at least c + Σ min <Rᵥ, xᵥ>, each minimum over any set
that xᵥ of every feasible x lies in; where only those with f(x) <= u are known to, it is at least the smaller
of that and u.

Proof. (1) The terms that are added are <= 0. (2) The expressions of the lines are an acyclic graph; let p(k)
be the derivative of L by node k as the reading knows it, at first 1 for f and yᵢ, zᵢ, -Yᵢ for the sides.
Claim, by induction over the nodes in reverse order (values before their arguments): L(x) >= c + Σ <p(k),
k(x)> summed over the nodes not read so far. At first it holds with equality. When node k = A(a, b …) of an
atom A is read, its minorant gives <p(k), A(a, b …)> >= c' + <p', a> + <p'', b> + … for all arguments
(``minorants``, which has the proof for each), so the claim goes on with c + c' and p(a) + p', p(b) + p'' …
That needs p(k) >= 0 where k is convex (psd where it is so in the order of psd matrices), <= 0 where concave:
at first it holds for f and for the sides, as the check of the curvature has found, and every minorant hands
it on, as each atom keeps the curvature of an argument only where it increases or decreases in it. (Of the
forms recognised as a whole ``M.T @ F @ M`` hands M p Mᵀ on, ``trace(P @ F)`` p P, P psd.) At the end only
variables and constants are left. (3) follows at once: a feasible x with f(x) > u has more than u.

All is computed in balls that contain the true number: those of lets and of rounded givens with their error
bounds; the multipliers and slopes are floats and are taken as they are, so their quality shows in R alone. At
the optimum, with exact multipliers and slopes, R is 0 or vanishes on the part of D that matters, and c is the
optimum (Rockafellar, Convex Analysis, theorem 28.2). The problem solved for multipliers and slopes
(``problem_for_multipliers.py``) keeps R strictly inside the dual cones of D, so that this part costs
nothing. The bounds of conic programs by Jansson, Chaykin & Keil (Rigorous error bounds for the optimal value
in semidefinite programming, SIAM J. Numer. Anal. 46, 2007) are the same where every atom is a cone.

The lines are nodes, every part of objective and constraints once, arguments before values. A family that
stays one (a matrix inequality per query) has nodes for each index; parts that do not depend on the index
still occur once. The diagonal and the trace of a product are written as sums of entries, which is the same
number without the product; a product with a diagonal matrix scales columns or rows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.lines_and_cones import Line, line
from mmopt.language import (
    ATOMS,
    Apply,
    Block,
    Declaration,
    Entries,
    EntryIndices,
    Expr,
    Index,
    Name,
    Near,
    Number,
    Relation,
    Scope,
    Type,
    entry_indices,
    evaluate,
    evaluate_ball,
    in_rows,
    infer,
    is_rank,
    names_in,
    positions,
    sum_of_products,
    together,
    transpose,
    vector_on_diagonal,
)
from mmopt.limits import require_time
from mmopt.numerics import BOUNDS, EPS, Array, Ball, Ints, ball_functions, balls, exact, float_functions

# Indices of families and their numbers; several numbers where entries are taken together.
Items = tuple[tuple[str, int | tuple[float, ...]], ...]


@dataclass(frozen=True)
class Node:
    """One part of a line.

    kind : "constant", "variable", "index", "block", "entries" or "atom". env : the values of names, those of
    indices of families too. value : at the point. arguments : places of earlier nodes. at : of an index, its
    position; of entries, the places of the arguments in their array (one vector, or a number each); of a
    block, the places of the entries of one argument after the other.
    """

    kind: str
    expr: Expr
    inferred: Type
    env: Mapping[str, Any]
    value: Any
    arguments: tuple[int, ...] = ()
    at: tuple[Any, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)

    @property
    def name(self) -> str:
        """The name of a variable or of an atom; "" for other nodes."""
        return str(getattr(self.expr, "id", getattr(self.expr, "atom", "")))

    @property
    def options(self) -> dict[str, int]:
        """The options of an atom."""
        return dict(getattr(self.expr, "options", ()))

    def assembled(self, parts: Sequence[Any]) -> Array:
        """The array of an index, a block or entries, from arrays of the arguments."""
        if self.kind == "index":
            return np.asarray(parts[0][self.at])
        out = np.zeros(self.shape)
        out.flat[self.at[0]] = np.concatenate([np.zeros(0), *map(np.ravel, parts)])
        return out


@dataclass(frozen=True)
class ReadLine:
    """A relation between nodes: ``left op right``; of a 2 x 2 matrix inequality its entries a, b and c.

    Of matrices it is always ``large >> small``, where ``large`` is a matrix and a number as ``small`` is 0.

    name : of the constraint. index : of the family, None where the line occurs once.
    """

    name: str
    index: int | None
    op: str
    sides: tuple[int, ...]

    @property
    def is_pair(self) -> bool:
        return len(self.sides) == 3


@dataclass
class Nodes:
    """The nodes of an instance at a point, the relations between them, and the place of the objective.

    bounds : the ball of a name, None where it counts as exact. all : the nodes, arguments before values; a
    place is a number in this list. lines : the relations. places : of expressions with the values of their
    indices. balls : of constant nodes, by place, as far as computed. selected : by name and shape of a
    line of entries, their places.
    """

    instance: Instance
    point: Mapping[str, Any]
    bounds: Callable[[str], Any]
    all: list[Node] = field(default_factory=list)
    lines: list[ReadLine] = field(default_factory=list)
    objective: int = -1
    places: dict[tuple[Expr, Items], int] = field(default_factory=dict)
    balls: dict[int, Ball] = field(default_factory=dict)
    selected: dict[tuple[str, tuple[int, ...]], Ints] = field(default_factory=dict)

    @cached_property
    def chosen(self) -> dict[str, Declaration]:
        return {d.name: d for d in self.instance.program.choose}

    @property
    def sign(self) -> float:
        """1 where the objective is minimised, -1 where it is maximised."""
        return 1.0 if self.instance.program.sense == "minimize" else -1.0

    def ball(self, place: int) -> Ball:
        """The value of a constant node, with its error bound."""
        if place not in self.balls:
            node = self.all[place]
            self.balls[place] = evaluate_ball(node.expr, {**node.env, BOUNDS: self.bounds})
        return self.balls[place]

    def shapes_of_multipliers(self) -> dict[str, tuple[int, ...]]:
        """By constraint, the shape of its multiplier; the index of a family that stays one comes first."""
        return {
            line.name: (
                *(() if line.index is None else (line.index + 1,)),
                *np.broadcast_shapes(*(self.all[side].shape for side in line.sides)),
                *((2, 2) if line.is_pair else ()),
            )
            for line in self.lines
        }

    def listed(self, multipliers: Mapping[str, Array]) -> dict[str, Array]:
        """Multipliers, those of a line for two indices entry by entry, also where they come as a matrix."""
        return {
            name: np.ravel(y)[at] if (at := self.selected.get((name, np.shape(y)))) is not None else y
            for name, y in multipliers.items()
        }

    def parts(self, node: Node, array: Array) -> list[Array]:
        """The entries of an array of a block, or of entries, that belong to each argument."""
        entries, shapes = array.ravel()[node.at], [self.all[a].shape for a in node.arguments]
        if node.kind == "entries" and len(shapes) == 1:
            return [entries]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(entries, ends), shapes, strict=False)]

    def shape_of_argument(self, place: int, number: int) -> tuple[int, ...] | None:
        """The shape of an argument of a node; None where there is no such argument."""
        is_node = 0 <= place < len(self.all) and 0 <= number < len(self.all[place].arguments)
        return self.all[self.all[place].arguments[number]].shape if is_node else None

    def place(self, expr: Expr, scope: Scope, items: Items) -> int:
        """The place of an expression's node, which is added, after all its arguments, if it is new.

        items : the values of indices.
        """
        names = names_in(expr)
        key = expr, tuple(item for item in items if item[0] in names)
        if key not in self.places:
            require_time()
            self.all.append(self.new_node(expr, scope, key[1]))
            self.places[key] = len(self.all) - 1
        return self.places[key]

    def new_node(self, expr: Expr, scope: Scope, items: Items) -> Node:
        """The node of an expression where indices have the values ``items``.

        Its arguments are placed first, their values joined into its own.
        """
        indices = {name: np.array(i) if isinstance(i, tuple) else i for name, i in items}
        inferred, env = infer(expr, scope), {**self.instance.env, **indices}
        if inferred.is_constant:
            return Node("constant", expr, inferred, env, inferred.rounded(evaluate(expr, env)))
        match expr:
            case Name(id=name):
                return Node("variable", expr, inferred, env, np.asarray(self.point[name], dtype=float))
            case Index(base=base):
                inner = self.place(base, scope, items)
                at = positions(expr, self.all[inner].shape, env)
                node = Node("index", expr, inferred, env, None, (inner,), at)
            case Block(rows=rows):
                arguments = tuple(self.place(e, scope, items) for row in rows for e in row)
                lying = [[infer(e, scope).is_row for e in row] for row in rows]
                numbered = [np.full(self.all[a].shape, float(k)) for k, a in enumerate(arguments)]
                owners = float_functions.block(in_rows(numbered, lying))
                at = (np.argsort(owners, axis=None, kind="stable"),)
                node = Node("block", expr, inferred, {}, np.zeros(owners.shape), arguments, at)
            case Entries():
                among = entry_indices(expr, env)
                arguments = self.places_of_entries(expr, among, scope, items)
                node = Node("entries", expr, inferred, {}, np.zeros(among.shape), arguments, (among.places,))
            case Apply(args=(Apply(atom="matmul", args=sides),)) if expr.atom in ("diag", "trace") and all(
                len(self.all[self.place(side, scope, items)].shape) == 2 for side in sides
            ):
                return self.atom(sum_of_products(expr, *sides), inferred, scope, items)
            case Apply(atom="matmul", args=(left, right)) if vector := vector_on_diagonal(right, scope):
                return self.atom(Apply("mul", (left, vector), expr.span), inferred, scope, items)
            case Apply(atom="matmul", args=(left, right)) if vector_on_diagonal(left, scope):
                turned = Apply("matmul", (transpose(right), left), expr.span)
                return self.atom(Apply("transpose", (turned,), expr.span), inferred, scope, items)
            case Apply():
                return self.atom(expr, inferred, scope, items)
        return replace(node, value=node.assembled([self.all[a].value for a in node.arguments]))

    def places_of_entries(
        self, expr: Entries, at: EntryIndices, scope: Scope, items: Items
    ) -> tuple[int, ...]:
        """The place of the vector of all entries, or of a number (the same for all), or else one for each."""
        inner = scope.among(expr)
        if (whole := together(expr.body, frozenset(at.indices))) is not None:
            vectors = tuple((name, tuple(v.tolist())) for name, v in at.indices.items())
            return (self.place(whole, inner, (*items, *vectors)),)
        return tuple(self.place(expr.body, inner, (*items, *one.items())) for one in at.envs)

    def atom(self, expr: Apply, inferred: Type, scope: Scope, items: Items) -> Node:
        """The node of an atom."""
        arguments = tuple(self.place(a, scope, items) for a in expr.args)
        with np.errstate(all="ignore"):
            value = ATOMS[expr.atom].numpy(*[self.all[a].value for a in arguments], **dict(expr.options))
        return Node("atom", expr, inferred, {}, value, arguments)

    def add_line(self, decided: Line) -> None:
        """Add the nodes of a line, for each index where it is a family that stays one."""
        family, r = decided.constraint.family, decided.relation
        if isinstance(r.left, Entries) and isinstance(r.right, Entries):
            self.add_entries(decided.constraint.name, r, r.left, r.right, decided.scope)
            return
        repeated = family if decided.loop else None
        for i in range(repeated.dim.value(self.instance.sizes())) if repeated else [None]:
            items: Items = () if i is None or repeated is None else ((repeated.index, i),)
            sides = tuple(self.place(e, decided.scope, items) for e in decided.pair or _in_order(r))
            self.lines.append(ReadLine(decided.constraint.name, i, ">>" if r.op == "<<" else r.op, sides))

    def add_entries(self, name: str, r: Relation, left: Entries, right: Entries, scope: Scope) -> None:
        """Add a line for two indices, or with a condition: between the entries that it selects."""
        at = entry_indices(left, self.instance.env)
        self.selected[name, at.shape] = at.places
        sides = [self.places_of_entries(side, at, scope, ()) for side in (left, right)]
        if len(sides[0]) == len(sides[1]) == 1:
            self.lines.append(ReadLine(name, None, r.op, (sides[0][0], sides[1][0])))
            return
        # If one side has its numbers one by one, so must the other.
        each = [
            tuple(self.place(side.body, scope.among(side), tuple(one.items())) for one in at.envs)
            for side in (left, right)
        ]
        for i, pair in enumerate(zip(*each, strict=True)):
            self.lines.append(ReadLine(name, i, r.op, pair))


def _in_order(r: Relation) -> tuple[Expr, Expr]:
    """Both sides; of a matrix inequality the larger first, ``0 >> F`` read as ``-F >> 0``."""
    if r.op not in (">>", "<<"):
        return r.left, r.right
    large, small = (r.left, r.right) if r.op == ">>" else (r.right, r.left)
    return (Apply("neg", (small,), r.span), large) if isinstance(large, Number) else (large, small)


def nodes_of(instance: Instance, point: Mapping[str, Any], bounds: Callable[[str], Any]) -> Nodes:
    """The nodes of a convex program at a point; ``bounds``: of names (``balls.BOUNDS``).

    TimeLimitError as ``require_time``.
    """
    nodes, program = Nodes(instance, point, bounds), instance.program
    nodes.objective = nodes.place(program.objective, instance.checked.lines, ())
    for c in program.constraints:
        fixed = all(t.is_constant for t in instance.checked.constraints[c.name])
        if not (is_rank(c) or fixed):  # fixed lines were checked when the givens were filled in
            nodes.add_line(line(instance.checked, c))
    return nodes


# By constraint; of a family that stays one, one after the other along the first axis. Those of a psd line,
# and of a 2 x 2 one, are matrices.
Multipliers = Mapping[str, Array]
# By place of a node and number of its argument.
Slopes = Mapping[tuple[int, int], Array]

LIFTS = 4  # times that a matrix is lifted, until it is proved to be psd
NEXT_TO_PSD = 1e-8  # minus the least eigenvalue of a matrix of unit diagonal that is lifted as such


@dataclass(frozen=True)
class AffineBound:
    """c and, by variable, R: the Lagrangian is at least c + Σ <R, x>."""

    constant: Ball
    residuals: Mapping[str, Ball]


def into_cones(nodes: Nodes, multipliers: Multipliers) -> dict[str, Array]:
    """The multipliers moved into their cones, with proof; entries that are not finite or not proved are 0."""
    moved: dict[str, Array] = {}
    for one in nodes.lines:
        multiplier = multipliers.get(one.name)
        if multiplier is None or one.name in moved:
            continue
        multiplier = np.where(np.isfinite(multiplier), multiplier, 0.0)
        if one.op == ">>":
            flat = multiplier.reshape(-1, *multiplier.shape[-2:])
            moved[one.name] = np.array([_psd(y) for y in flat]).reshape(multiplier.shape)
        else:
            moved[one.name] = multiplier if one.op == "==" else np.maximum(multiplier, 0.0)
    return moved


def _psd(y: Array) -> Array:
    """A matrix near ``y`` that is proved to be psd: lifted by its least eigenvalue, or else zeros.

    Its diagonal is brought to one first, by powers of two, where it is next to psd then.
    """
    with suppress(np.linalg.LinAlgError):  # of numbers that overflow
        y, diagonal = (y + y.T) / 2, np.diagonal(y)
        d = np.exp2(-np.round(np.log2(np.where(diagonal > 0, diagonal, 1.0)) / 2))
        units = np.outer(d, d)
        if not np.linalg.eigvalsh(y * units)[0] > -NEXT_TO_PSD:
            units = np.ones(y.shape)
        y = y * units
        for lift in range(LIFTS):
            if ball_functions.is_semidefinite(exact(y)):
                break
            least = float(np.linalg.eigvalsh(y)[0])
            size = len(y) * EPS * float(np.abs(y).sum())
            y = y + (max(-least, 0.0) + 4.0**lift * size) * np.eye(len(y))
        if ball_functions.is_semidefinite(exact(y)) and np.array_equal(y / units * units, y):
            return np.asarray(y / units)
    return np.zeros(y.shape)


def _scattered(bar: Ball, at: tuple[Any, ...], shape: tuple[int, ...]) -> Ball:
    """An array of zeros with the entries of ``bar`` at their places, those of one place added up."""
    mid, rad, size = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for out, entries in ((mid, bar.mid), (rad, bar.rad), (size, np.abs(bar.mid))):
        np.add.at(out, at, entries)
    is_sum = any(np.ndim(index) for index in at)
    return balls.rounded(mid, rad + balls.gamma(bar.mid.size) * size) if is_sum else Ball(mid, rad)


class _Reading:
    """The reading of the nodes from the last to the first: see the proof of (2) above.

    bars : p(k), the derivatives of the Lagrangian by nodes not read so far, by place. constant : c.
    residuals : R by variable.
    """

    def __init__(self, nodes: Nodes, slopes: Slopes) -> None:
        self.nodes, self.slopes = nodes, slopes
        self.bars: dict[int, Ball] = {}
        self.constant = exact(0.0)
        self.residuals: dict[str, Ball] = {}

    def hand(self, place: int, bar: Ball) -> None:
        """Add to the derivative by a node; by a number that was repeated in all entries it is their sum."""
        shape = self.nodes.all[place].shape
        if bar.mid.shape != shape:
            bar = balls.total(bar)
            assert not shape, "only numbers are repeated"
        before = self.bars.get(place)
        self.bars[place] = bar if before is None else balls.add(before, bar)

    def hand_multiplier(self, one: ReadLine, y: Array) -> None:
        """Hand the multiplier of a line to its sides."""
        if one.is_pair:
            for place, (i, j) in zip(one.sides, ((0, 0), (0, 1), (1, 1)), strict=True):
                self.hand(place, exact(-y[..., i, j] * (1.0 if i == j else 2.0)))
            return
        (left, right), sign = one.sides, -1.0 if one.op in (">=", ">>") else 1.0
        self.hand(left, exact(sign * y))
        if one.op != ">>" or self.nodes.all[right].shape:  # X >> 0: the number is 0
            self.hand(right, exact(-sign * y))

    def run(self) -> AffineBound:
        """Read all nodes, once derivatives by the objective and by the sides of lines are handed in."""
        for place in range(len(self.nodes.all) - 1, -1, -1):
            bar = self.bars.pop(place, None)
            if bar is None or not (bar.mid.any() or bar.rad.any()):
                continue
            require_time()
            self.read(place, self.nodes.all[place], bar)
        return AffineBound(self.constant, self.residuals)

    def read(self, place: int, node: Node, bar: Ball) -> None:
        """Hand the derivative by a node, ``bar``, to its arguments."""
        match node.kind:
            case "constant":
                self.constant = balls.add(self.constant, balls.total(balls.mul(bar, self.nodes.ball(place))))
            case "variable":
                self.residuals[node.name] = bar
            case "index":
                self.hand(
                    node.arguments[0], _scattered(bar, node.at, self.nodes.all[node.arguments[0]].shape)
                )
            case "entries" | "block":
                parts = map(Ball, self.nodes.parts(node, bar.mid), self.nodes.parts(node, bar.rad))
                for argument, part in zip(node.arguments, parts, strict=True):
                    self.hand(argument, part)
            case _:
                self.atom(place, node, bar)

    def atom(self, place: int, node: Node, bar: Ball) -> None:
        """Replace an atom by its minorant, and hand its slopes to the arguments."""
        row = ATOMS[node.name]
        inputs = [self.nodes.all[a] for a in node.arguments]
        near = Near(
            [a.value for a in inputs],
            [self.slopes.get((place, i)) for i in range(len(inputs))],
            [a.inferred.sign for a in inputs],
        )
        arguments = [
            self.nodes.ball(p) if a.kind == "constant" else None
            for p, a in zip(node.arguments, inputs, strict=True)
        ]
        assert row.minorant is not None, row.name  # the check of the curvature has seen to it
        constant, parts = row.minorant(bar, near, *arguments, **node.options)
        self.constant = balls.add(self.constant, balls.total(constant))
        for argument, part in zip(node.arguments, parts, strict=True):
            if part is not None:
                self.hand(argument, part)


def affine_part(nodes: Nodes, place: int | ReadLine, bar: Array) -> AffineBound:
    """The affine function below <bar, node>, or below the product of a line and its multiplier, ``bar``.

    TimeLimitError as ``require_time``.
    """
    reading = _Reading(nodes, {})
    if isinstance(place, ReadLine):
        reading.hand_multiplier(place, bar)
    else:
        reading.hand(place, exact(bar))
    return reading.run()


def affine_bound(nodes: Nodes, multipliers: Multipliers, slopes: Slopes) -> AffineBound:
    """The affine function below the Lagrangian (of minus the objective where it is maximised).

    multipliers : in their cones (``into_cones``); a line without one takes no part.
    TimeLimitError as ``require_time``.
    """
    reading = _Reading(nodes, slopes)
    reading.hand(nodes.objective, exact(nodes.sign))
    for one in nodes.lines:
        if one.name in multipliers:
            y = multipliers[one.name]
            reading.hand_multiplier(one, y if one.index is None else y[one.index])
    return reading.run()
