"""The lines of a program as nodes: every part of objective and constraints once, arguments before values.

A family that stays one (a matrix inequality per query) has nodes for each index; parts that do not depend on
the index still occur once. The diagonal and the trace of a product are written as sums of entries, which is
the same number without the product.

Numbers are divided by the sizes of the nodes at a point, so that they are near one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mmopt.compiler.bind import Instance
from mmopt.compiler.duality.intervals import Range
from mmopt.compiler.to_cones import Line, line
from mmopt.language import ATOMS, evaluate, evaluate_ball
from mmopt.language.atoms.argument_types import Type
from mmopt.language.check.exact_rewriting import taken_together
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.evaluate.evaluator import Points, points, positions
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Declaration,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Relation,
    is_rank,
    names_in,
    transpose,
)
from mmopt.limits import require_time
from mmopt.numerics import matrix_functions
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import BOUNDS, Ball

# Indices of families and their numbers; several numbers where entries are taken together.
Items = tuple[tuple[str, int | tuple[float, ...]], ...]


@dataclass(frozen=True)
class Node:
    """One part of a line. ``arguments`` are places of earlier nodes; ``env`` has the indices of families too.

    kind : "constant", "variable", "index", "block", "entries" or "atom". value : at the point. at : of an
    index, its position; of entries, the places of the arguments in their array (one vector, or a number
    each). owners : of a block, the number of the argument that each entry is from.
    """

    kind: str
    expr: Expr
    inferred: Type
    env: Mapping[str, Any]
    value: Any
    arguments: tuple[int, ...] = ()
    at: tuple[Any, ...] = ()
    owners: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.value)


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
    """The nodes of an instance at a point, the relations between them, and the place of the objective."""

    instance: Instance
    point: Mapping[str, Any]
    bounds: Callable[[str], Any]  # the ball of a name, None where it counts as exact
    all: list[Node] = field(default_factory=list)
    lines: list[ReadLine] = field(default_factory=list)
    objective: int = -1
    places: dict[tuple[Expr, Items], int] = field(default_factory=dict)
    balls: dict[int, Ball] = field(default_factory=dict)

    @cached_property
    def chosen(self) -> dict[str, Declaration]:
        return {d.name: d for d in self.instance.program.choose}

    def chosen_shape(self, name: str) -> tuple[int, ...]:
        """The shape of a variable."""
        return self.chosen[name].shape(self.instance.sizes())

    def ball(self, place: int) -> Ball:
        """The value of a constant node, with its error bound."""
        if place not in self.balls:
            node = self.all[place]
            self.balls[place] = evaluate_ball(node.expr, {**node.env, BOUNDS: self.bounds})
        return self.balls[place]

    def shapes_of_multipliers(self) -> dict[str, tuple[int, ...]]:
        """By constraint, the shape of its multiplier; the index of a family that stays one comes first."""
        shapes: dict[str, tuple[int, ...]] = {}
        for one in self.lines:
            shape = np.broadcast_shapes(*(self.all[side].shape for side in one.sides))
            count = () if one.index is None else (one.index + 1,)
            shapes[one.name] = (*count, *shape, *((2, 2) if one.is_pair else ()))
        return shapes

    def shape_of_argument(self, place: int, number: int) -> tuple[int, ...] | None:
        """The shape of an argument of a node; None where there is no such argument."""
        if not 0 <= place < len(self.all) or not 0 <= number < len(self.all[place].arguments):
            return None
        return self.all[self.all[place].arguments[number]].shape

    def place(self, expr: Expr, scope: Scope, items: Items) -> int:
        """The number of an expression's node, made with all its arguments if it is new."""
        names = names_in(expr)
        key = expr, tuple(item for item in items if item[0] in names)
        if key not in self.places:
            require_time()
            self.places[key] = self.added(self.made(expr, scope, key[1]))
        return self.places[key]

    def added(self, node: Node) -> int:
        self.all.append(node)
        return len(self.all) - 1

    def made(self, expr: Expr, scope: Scope, items: Items) -> Node:
        indices = {name: np.array(i) if isinstance(i, tuple) else i for name, i in items}
        inferred, env = infer(expr, scope), {**self.instance.env, **indices}
        if inferred.is_constant:
            return Node("constant", expr, inferred, env, evaluate(expr, env))
        match expr:
            case Name(id=name):
                return Node("variable", expr, inferred, env, np.asarray(self.point[name], dtype=float))
            case Index(base=base):
                inner = self.place(base, scope, items)
                at = positions(expr, self.all[inner].shape, env)
                return Node("index", expr, inferred, env, self.all[inner].value[at], (inner,), at)
            case Block(rows=rows):
                return self.block(expr, inferred, rows, scope, items)
            case Entries():
                return self.entries(expr, inferred, env, scope, items)
            case Apply(atom="diag" | "trace" as atom, args=(Apply(atom="matmul", args=(left, right)),)):
                one, other = self.place(left, scope, items), self.place(right, scope, items)
                if len(self.all[one].shape) == len(self.all[other].shape) == 2:
                    together = Apply("mul", (left, transpose(right)), expr.span)
                    axis = (("axis", 1),) if atom == "diag" else ()
                    return self.atom(Apply("sum", (together,), expr.span, axis), inferred, scope, items)
        assert isinstance(expr, Apply)
        return self.atom(expr, inferred, scope, items)

    def entries(
        self, expr: Entries, inferred: Type, env: Mapping[str, Any], scope: Scope, items: Items
    ) -> Node:
        at = points(expr, env)
        arguments = self.taken(expr, at, scope, items)
        value = np.zeros(at.shape)
        each = [self.all[a].value for a in arguments]
        value.flat[at.places] = each[0] if len(each) == 1 else np.array(each)
        return Node("entries", expr, inferred, {}, value, arguments, (at.places,))

    def taken(self, expr: Entries, at: Points, scope: Scope, items: Items) -> tuple[int, ...]:
        """The numbers at all points: a vector, or a number (the same for all), or else one each."""
        inner = scope.among(expr)
        if taken_together(expr.body, frozenset(at.indices)):
            together = tuple((name, tuple(v.tolist())) for name, v in at.indices.items())
            return (self.place(expr.body, inner, (*items, *together)),)
        return tuple(self.place(expr.body, inner, (*items, *one.items())) for one in at.envs)

    def atom(self, expr: Apply, inferred: Type, scope: Scope, items: Items) -> Node:
        arguments = tuple(self.place(a, scope, items) for a in expr.args)
        with np.errstate(all="ignore"):
            values = [self.all[a].value for a in arguments]
            value = ATOMS[expr.atom].numpy(*values, **dict(expr.options))
        return Node("atom", expr, inferred, {}, value, arguments)

    def block(
        self, expr: Expr, inferred: Type, rows: tuple[tuple[Expr, ...], ...], scope: Scope, items: Items
    ) -> Node:
        lying = [[infer(e, scope).is_row for e in row] for row in rows]
        arguments = tuple(self.place(e, scope, items) for row in rows for e in row)

        def laid(values: list[Any]) -> Array:
            rest = iter(values)
            return matrix_functions.block([[(next(rest), lies) for lies in row] for row in lying])

        shapes = [self.all[a].shape for a in arguments]
        owners = laid([np.full(shape, float(k)) for k, shape in enumerate(shapes)])
        value = laid([self.all[a].value for a in arguments])
        return Node("block", expr, inferred, {}, value, arguments, owners=owners)

    def read(self, decided: Line) -> None:
        """The nodes of a line, for each index where it is a family that stays one."""
        family, r = decided.constraint.family, decided.relation
        if isinstance(r.left, Entries) and isinstance(r.right, Entries):
            self.read_entries(decided.constraint.name, r, r.left, r.right, decided.scope)
            return
        sizes: list[int | None] = [None]
        if decided.loop:
            assert family is not None
            sizes = list(range(family.dim.value(self.instance.sizes())))
        for i in sizes:
            items: Items = () if i is None or family is None else ((family.index, i),)
            sides = tuple(self.place(e, decided.scope, items) for e in decided.pair or _in_order(r))
            op = ">>" if r.op == "<<" else r.op
            self.lines.append(ReadLine(decided.constraint.name, i, op, sides))

    def read_entries(self, name: str, r: Relation, left: Entries, right: Entries, scope: Scope) -> None:
        """A line for two indices, or with a condition: between the entries that it selects."""
        at = points(left, self.instance.env)
        sides = [self.taken(side, at, scope, ()) for side in (left, right)]
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
    assert program.objective is not None
    nodes.objective = nodes.place(program.objective, instance.checked.lines, ())
    for c in program.constraints:
        fixed = all(t.is_constant for t in instance.checked.constraints[c.name])
        if not (is_rank(c) or fixed):  # fixed lines were checked when the givens were filled in
            nodes.read(line(instance.checked, c))
    return nodes


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
    size = max(float(np.abs(value).max(initial=0.0)), LEAST_SHARE * most if np.isfinite(most) else 0.0)
    return size if LEAST_SCALE < size < 1.0 / LEAST_SIZE else 1.0


def sizes_of(*values: Any) -> Array:
    """The size of each entry, by the largest of several values."""
    each = np.max(np.broadcast_arrays(*(np.abs(np.nan_to_num(v)) for v in values)), axis=0)
    return np.asarray(np.maximum(each, max(LEAST_SHARE * float(each.max(initial=0.0)), LEAST_SIZE)))


def sizes_of_parts(nodes: Nodes, ranges: Mapping[str, Range]) -> list[float]:
    """The size of each node by the parts that it sums, as what is left where parts cancel says nothing."""
    sizes: list[float] = []
    for node in nodes.all:
        name, atom = str(getattr(node.expr, "id", "")), getattr(node.expr, "atom", "")
        parts = [sizes[a] for a in node.arguments]
        size = float(np.abs(np.nan_to_num(node.value)).max(initial=0.0))
        if node.kind == "variable":
            size = size_of_variable(node.value, ranges[name])
        elif atom in ("mul", "matmul"):
            size = max(size, float(np.prod(parts)))
        elif node.kind in ("index", "entries", "block") or atom in SUMS:
            size = max([size, *parts])
        sizes.append(size)
    return sizes
