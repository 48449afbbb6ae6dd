"""The gradient of an expression, in reverse: one pass forward for the values, one back for the derivatives.

A :class:`Tape` is an expression written out as a list of operations, each one once however often it
occurs, what does not depend on the chosen variables computed already. Running it costs a few times
what evaluating the expression costs, whatever the number of variables (Griewank & Walther,
Evaluating Derivatives, chapter 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.exact_rewriting import taken_together
from mmopt.language.evaluate.evaluator import Env, evaluate, is_row, points, positions
from mmopt.language.syntax.syntax_tree import Apply, Block, Entries, Expr, Index, Name, names_in, transpose
from mmopt.numerics import matrix_functions
from mmopt.numerics.matrix_functions import Array

__all__ = ["Pull", "Tape"]

# From the derivative of a number by a value to that number's derivatives by the chosen variables.
Pull = Callable[[Any], dict[str, Array]]
# One operation: its arguments' places, its value from theirs, and their derivatives from its own.
Forward = Callable[[Sequence[Any], float], Any]
Backward = Callable[[Sequence[Any], Any, Any, float], Sequence[Any]]


@dataclass
class Tape:
    """An expression recorded at a point, to be run at others of the same shapes.

    env : arrays and numbers for every name, those of ``wrt`` at any point.
    wrt : the names by which it is differentiated.
    """

    expr: Expr
    env: Env
    wrt: Sequence[str]
    nodes: dict[int, tuple[Sequence[int], Forward, Backward]] = field(default_factory=dict)
    leaves: dict[str, int] = field(default_factory=dict)
    sample: list[Any] = field(default_factory=list)  # the values at the point of recording
    known: dict[Expr, int] = field(default_factory=dict)
    is_rough: bool = False  # whether an atom that is not smooth (abs, max, min) is on the tape

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self.last = self.record(self.expr)

    def run(self, values: Mapping[str, Any], rounding: float = 0.0) -> tuple[Any, Pull]:
        """The value at a point, and what gives its derivatives.

        ``rounding`` > 0 rounds abs, max and min off (see ``atom_gradients``), in the value too.
        """
        at = list(self.sample)
        for name, place in self.leaves.items():
            at[place] = np.asarray(values[name], dtype=float)
        with np.errstate(all="ignore"):
            for place, (arguments, forward, _) in self.nodes.items():
                at[place] = forward([at[i] for i in arguments], rounding)

        def pull(bar: Any) -> dict[str, Array]:
            bars: dict[int, Any] = {self.last: bar}
            with np.errstate(all="ignore"):
                for place in reversed(self.nodes):
                    if place not in bars:
                        continue
                    arguments, _, backward = self.nodes[place]
                    parts = backward([at[i] for i in arguments], at[place], bars.pop(place), rounding)
                    for i, part in zip(arguments, parts, strict=True):
                        if i in self.nodes or i in self.leaves.values():
                            bars[i] = bars[i] + part if i in bars else part
            return {
                name: np.array(bars.get(place, 0.0) + np.zeros(np.shape(at[place])))
                for name, place in self.leaves.items()
            }

        return at[self.last], pull

    # -------------------------------------------------------------- recording

    def record(self, expr: Expr) -> int:
        if expr not in self.known:
            self.known[expr] = self.written(expr)
        return self.known[expr]

    def written(self, expr: Expr) -> int:
        if not names_in(expr) & set(self.wrt):
            return self.place(evaluate(expr, self.env))
        match expr:
            case Name(id=name):
                if name not in self.leaves:
                    self.leaves[name] = self.place(np.asarray(self.env[name], dtype=float))
                return self.leaves[name]
            case Index(base=base):
                return self.index(expr, self.record(base))
            case Block(rows=rows):
                return self.block(rows)
            case Entries():
                return self.entries(expr)
        assert isinstance(expr, Apply)
        (atom, args), options = (expr.atom, expr.args), dict(expr.options)
        if atom in ("diag", "trace") and isinstance(args[0], Apply) and args[0].atom == "matmul":
            left, right = args[0].args
            if all(np.ndim(self.sample[self.record(side)]) == 2 for side in (left, right)):
                # Without forming the product: sums of left * right.T.
                together = Apply("mul", (left, transpose(right)), expr.span)
                axis = (("axis", 1),) if atom == "diag" else ()
                return self.record(Apply("sum", (together,), expr.span, axis))
        return self.atom(atom, [self.record(a) for a in args], options)

    def place(self, value: Any) -> int:
        self.sample.append(value)
        return len(self.sample) - 1

    def add(self, arguments: Sequence[int], forward: Forward, backward: Backward) -> int:
        at = self.place(forward([self.sample[i] for i in arguments], 0.0))
        self.nodes[at] = arguments, forward, backward
        return at

    def atom(self, name: str, arguments: Sequence[int], options: Mapping[str, int]) -> int:
        row = ATOMS[name]
        gradient, rounded = row.gradient, row.rounded
        assert gradient is not None, name  # the check of smooth programs has seen to it
        self.is_rough = self.is_rough or rounded is not None

        def forward(args: Sequence[Any], rounding: float) -> Any:
            if rounding and rounded is not None:
                return rounded(*args, rounding=rounding, **options)
            return row.numpy(*args, **options)

        def backward(args: Sequence[Any], value: Any, bar: Any, rounding: float) -> Sequence[Any]:
            more = {"rounding": rounding} if rounded is not None else {}
            return gradient(*args, value, bar, **options, **more)

        return self.add(arguments, forward, backward)

    def index(self, expr: Index, base: int) -> int:
        at = positions(expr, np.shape(self.sample[base]), self.env)

        def backward(args: Sequence[Any], value: Any, bar: Any, rounding: float) -> Sequence[Any]:
            out = np.zeros(np.shape(args[0]))
            np.add.at(out, at, bar)  # type: ignore[arg-type]  # an entry may be taken several times
            return (out,)

        return self.add([base], lambda args, rounding: args[0][at], backward)

    def entries(self, expr: Entries) -> int:
        """The numbers at all points, put in their places."""
        at = points(expr, self.env)
        if taken_together(expr.body, frozenset(at.indices)):
            each = [self.inside(at.indices, expr.body)]
        else:
            each = [self.inside(one, expr.body) for one in at.envs]

        def forward(args: Sequence[Any], rounding: float) -> Any:
            out = np.zeros(at.shape)
            out.flat[at.places] = args[0] if len(args) == 1 else np.array(args)
            return out

        def backward(args: Sequence[Any], value: Any, bar: Array, rounding: float) -> Sequence[Any]:
            own = bar.flat[at.places]
            if len(args) > 1:
                return list(own)
            return [own if np.ndim(args[0]) else np.sum(own)]

        return self.add(each, forward, backward)

    def inside(self, indices: Mapping[str, Any], body: Expr) -> int:
        """The body recorded with values for its indices, by which nothing outside is known."""
        outside = self.env, self.known
        self.env, self.known = {**self.env, **indices}, {}
        try:
            return self.record(body)
        finally:
            self.env, self.known = outside

    def block(self, rows: Sequence[Sequence[Expr]]) -> int:
        lying = [[is_row(e, self.env) for e in row] for row in rows]
        arguments = [self.record(e) for row in rows for e in row]

        def sides(args: Sequence[Any]) -> list[list[tuple[Any, bool]]]:
            rest = iter(args)
            return [[(next(rest), lies) for lies in row] for row in lying]

        shapes = [np.shape(self.sample[i]) for i in arguments]
        owners = matrix_functions.block(sides([np.full(shape, float(k)) for k, shape in enumerate(shapes)]))

        def backward(args: Sequence[Any], value: Any, bar: Array, rounding: float) -> Sequence[Any]:
            return [bar[owners == k].reshape(shape) for k, shape in enumerate(shapes)]

        return self.add(arguments, lambda args, rounding: matrix_functions.block(sides(args)), backward)
