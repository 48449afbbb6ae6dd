"""Expressions evaluated in any number system, and differentiated at plain numbers: one walk each.

A walk through the tree computes in an *algebra*: a number system (plain floats, or balls with a proved error
bound; see ``number_systems``) on dense values, or the same number system on values that split into components
(``ByComponent`` there). The algebra provides products, diagonals and the atoms; the walk itself knows no kind
of value.

A value that lets and requirements need more than once is computed once (``share``). This is exact: an equal
syntax tree has an equal value. Only products with a pseudo-inverse are shared, such as the ``W @ pinv(Q)`` of
the weighting programs; anything else costs less than keeping it would.

Gradients are computed in reverse: one pass forward for the values, one back for the derivatives. A
:class:`Tape` is an expression written as a list of operations, each of them once however often it occurs;
parts that do not depend on the chosen variables are computed already. Running it costs a few times as much as
evaluating the expression, whatever the number of variables (Griewank & Walther, Evaluating Derivatives,
chapter 3).
"""

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from mmopt.errors import OptionError, ProgramError
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, ByComponent, Numbers, splits
from mmopt.language.syntax.exact_rewriting import ENTRYWISE, sum_of_products, together
from mmopt.language.syntax.parse_and_write_expressions import to_source
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Assignment,
    Block,
    Constraint,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Relation,
    chain,
    names_in,
    rewrite,
    walk,
)
from mmopt.numerics import Array, Ints, balls, float_functions


@dataclass(frozen=True)
class Shared:
    """The lets, in order, and the requirements of a program, where a repeated product is computed once.

    ``passing``: the names of the lets that hold such products, which nothing else uses.
    """

    lets: tuple[Assignment, ...]
    requires: tuple[Constraint, ...]
    passing: frozenset[str]


def share(program: Program) -> Shared:
    """The lets and requirements with each repeated product under a new name."""
    exprs = [*(let.expr for let in program.lets), *(c.relation.left for c in program.requires)]
    counts = Counter(node for expr in exprs for node in walk(expr) if _is_costly(node))
    names: dict[Expr, str] = {}
    lets: list[Assignment] = []

    def named(node: Expr) -> Expr | None:
        if counts[node] < 2 or not _is_costly(node):
            return None
        if node not in names:
            # A part that occurs elsewhere too is named first.
            inner = rewrite(node, lambda e: named(e) if counts[e] > counts[node] else None)
            names[node] = f"shared {len(names) + 1}"  # no name of a program has a space
            lets.append(Assignment(names[node], inner, node.span))
        return Name(names[node], node.span)

    for let in program.lets:
        expr = rewrite(let.expr, named)  # puts the products that it shares first
        lets.append(replace(let, expr=expr))
    requires = tuple(
        replace(c, relation=replace(c.relation, left=rewrite(c.relation.left, named)))
        for c in program.requires
    )
    return Shared(tuple(lets), requires, frozenset(names.values()))


def _is_costly(node: Expr) -> bool:
    """Whether an expression is worth keeping: a pseudo-inverse, or a product with one."""
    if not isinstance(node, Apply) or any(isinstance(e, Index) for e in walk(node)):
        return False  # an index may belong to a family
    if node.atom == "pinv":
        return True
    return node.atom == "matmul" and any(_is_costly(factor) for factor in node.args)


# Partial functions: atoms of one argument that have no value at some numbers, where the rules allow any sign
# (a test compares).
PARTIAL = frozenset({"sqrt", "log", "entropy", "rel_entropy", "geo_mean", "quad_over_lin"})

Env = Mapping[str, Any]
# Under this name, which no program can use, values may hold a memo of the indices at which conditions hold.
DECIDED = "indices at which conditions hold"
# Atoms whose numpy form is exact with fractions.
IN_FRACTIONS = frozenset({"add", "sub", "neg", "mul", "div", "abs"})
Look = Callable[[Apply, Any], None]


class Memo:
    """Values already computed, by expression and by the objects that its names mean (identical, not equal).

    For example, the repair of ``fitness_for_use`` and its constraint ``privacy`` both need the costs of all
    cells. The objects are kept, so that no other one can take their place in memory. Arrays must not be
    written to between two evaluations with the same memo.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[Expr, tuple[float, ...]], tuple[Any, tuple[Any, ...]]] = {}

    def value(self, expr: Expr, env: Env, compute: Callable[[], Any]) -> Any:
        """The value kept for the expression, or else the one computed now."""
        meant = tuple(env[name] for name in sorted(names_in(expr)))
        key = expr, tuple(v if isinstance(v, int | float) else id(v) for v in meant)
        if key not in self._values:
            self._values[key] = compute(), meant
        return self._values[key][0]


def evaluate(expr: Expr, env: Env, memo: Memo | None = None, look: Look | None = None) -> Any:
    """The value of an expression: a float or an array; a Split or a Level where ``env`` has such values.

    ``env`` holds arrays for names and whole numbers for dimensions. A product around one ``inv`` is
    solved, never inverted, so that the closed convex extension holds (see ``float_functions.solve``).
    Where only the diagonal of a product is needed, only that is formed; a ``memo`` keeps it.
    ``look`` is called with the value of every atom except products.

    Raises
    ------
    ProgramError : an atom or an index that has no form by components.
    """
    return _evaluated(PLAIN, expr, env, memo or Memo(), look)


def evaluate_ball(expr: Expr, env: Env) -> Any:
    """The value with its error bound: a ball, or a Split or Level of balls.

    Names count as exact, except those for which ``env`` has a ball (``balls.BOUNDS``), or whose parts are
    balls. ``env`` may hold an approximate polar factor for a nuclear norm (``ball_functions.GUESS``).

    Raises :class:`~mmopt.errors.ProgramError` for an atom without an error bound, which only prepares data.
    """
    return _evaluated(BALLS, expr, env, Memo())


def _evaluated(numbers: Numbers, expr: Expr, env: Env, memo: Memo, look: Look | None = None) -> Any:
    """The value in a number system: by component where a name has a value that splits."""
    algebra = ByComponent(numbers) if splits(env) else numbers
    # 1 / 0 is infinite and 0 / 0 no number, without a warning: both are seen in the result.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _Walk(numbers, algebra, env, memo, look).value(expr)


def is_row(expr: Expr, env: Env) -> bool:
    """Whether a vector expression is a row: ``W[j, :]``, or the transpose of a column (as in the rules)."""
    match expr:
        case Index(base=base, items=(None,)):
            return is_row(base, env)
        case Index(items=(first, _)):
            return first is not None
        case Apply(atom="transpose", args=(inner,)):
            return not is_row(inner, env)
        case Apply(atom="matmul", args=(_, right)):
            return np.ndim(evaluate(right, env)) == 2
        case Apply(atom=atom, args=args) if atom in ENTRYWISE:
            return any(is_row(a, env) for a in args)
        case _:
            return False


def in_rows(parts: Sequence[Any], are_rows: Sequence[Sequence[bool]]) -> list[list[tuple[Any, bool]]]:
    """The parts of a block matrix by rows, each with its flag in ``are_rows``: whether it is a row vector."""
    rest = iter(parts)
    return [[(next(rest), is_row) for is_row in row] for row in are_rows]


def positions(expr: Index, shape: tuple[int, ...], env: Env) -> tuple[int | slice | Ints, ...]:
    """The positions of an index expression in an array of a shape; OptionError for an entry beyond it."""
    places: list[int | slice | Ints] = []
    for item, size in zip(expr.items, shape, strict=True):
        at = np.asarray(0.0 if item is None else evaluate(item, env))
        for beyond in at[(at < 0) | (at >= size)].ravel()[:1]:
            raise OptionError(f"an index is {beyond:g}, expected 0 to {size - 1}")
        places.append(slice(None) if item is None else at.astype(int) if at.ndim else int(at))
    return tuple(places)


@dataclass(frozen=True)
class EntryIndices:
    """The indices for which entries are needed: a vector for each name, and their places.

    ``shape`` is that of the array, ``places`` the place of each entry in it, row by row.
    """

    indices: Mapping[str, Array]
    places: Ints
    shape: tuple[int, ...]

    @property
    def envs(self) -> Iterator[dict[str, int]]:
        """The indices, one after the other."""
        for at in range(len(self.places)):
            yield {name: int(vector[at]) for name, vector in self.indices.items()}


def entry_indices(expr: Entries, env: Env) -> EntryIndices:
    """The indices at which all conditions hold, by error bounds; computed once if ``env`` has ``DECIDED``.

    Raises ``KeyError`` for a dimension or parameter that ``env`` lacks, OptionError for a range below zero,
    ProgramError for a condition that may hold or not, by the rounding of its sides.
    """
    if not (expr.where and DECIDED in env):
        return _entry_indices(expr, env)
    clauses = replace(expr, body=Number(0.0, expr.span))
    chosen: EntryIndices = env[DECIDED].value(clauses, env, lambda: _entry_indices(clauses, env))
    return chosen


def _entry_indices(expr: Entries, env: Env) -> EntryIndices:
    """``entry_indices``, computed."""
    shape = tuple(f.dim.value(env) for f in expr.families)
    for f, count in zip(expr.families, shape, strict=True):
        if count < 0:
            raise OptionError(f"'{f.index}' runs over {f.dim}, which is {count} here")
    grid = [part.ravel() for part in np.indices(shape, dtype=float)]
    names = {f.index: part for f, part in zip(expr.families, grid, strict=True)}
    holds = np.ones(grid[0].shape, dtype=bool)
    for r in expr.where:
        holds &= _holds(r, expr, env)
    (places,) = np.nonzero(holds)
    return EntryIndices({name: part[places] for name, part in names.items()}, places, shape)


def _holds(r: Relation, expr: Entries, env: Env) -> Array:
    """Whether a condition holds at each of all indices; in fractions where error bounds do not decide."""
    sides = [evaluate_ball(replace(expr, body=side, where=()), env) for side in (r.left, r.right)]
    (low, high), (least, most) = map(balls.ends, sides)
    # The sign of left - right is from ``below`` to ``above``.
    below, above = (np.where(a < b, -1, np.where(a > b, 1, 0)) for a, b in ((low, most), (high, least)))
    op = HOLDS[r.op]
    holds = np.asarray(op(below, 0))
    is_open = (holds != op(above, 0)) | (below * above < 0)
    if not is_open.any():
        return holds.ravel()
    indices = {f.index: part for f, part in zip(expr.families, np.nonzero(is_open), strict=True)}
    wholes = [together(side, frozenset(indices)) for side in (r.left, r.right)]
    left, right = (None if e is None else _in_fractions(e, {**env, **indices}) for e in wholes)
    if left is None or right is None:
        one, other = (f"{float(side.mid[is_open][0]):.17g}" for side in sides)
        place = ", ".join(f"{name} = {part[0]}" for name, part in indices.items())
        raise ProgramError(
            f"rounding hides whether {to_source(r.left)} {r.op} {to_source(r.right)} where {place}: the "
            f"sides are {one} and {other}",
            hint="give the outcome as numbers 0 and 1, which are exact, and write: if chosen[i] == 1",
        )
    holds[is_open] = op(left, right)
    return holds.ravel()


def _in_fractions(expr: Expr, env: Env) -> Any:
    """The exact value: what is known exactly, put together by + - * / and abs; None for anything else."""
    ball = evaluate_ball(expr, env)
    if ball.is_exact:
        return np.frompyfunc(Fraction, 1, 1)(ball.mid)
    if not (isinstance(expr, Apply) and expr.atom in IN_FRACTIONS):
        return None
    args = [_in_fractions(a, env) for a in expr.args]
    if any(a is None for a in args) or (expr.atom == "div" and np.any(args[1] == 0)):
        return None
    return ATOMS[expr.atom].numpy(*args)


HOLDS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class _Walk:
    """A walk through the tree of an expression; a *term* is a factor of a product as the algebra keeps it."""

    numbers: Numbers
    algebra: Numbers | ByComponent
    env: Env
    memo: Memo
    look: Look | None = None

    def value(self, expr: Expr) -> Any:
        """The value of an expression."""
        self.algebra.enter(expr)
        match expr:
            case Number(value=value):
                return self.algebra.exact(value)
            case Name(id=name):
                return self.algebra.exact(self.numbers.named(name, self.env))
            case Index(base=base):
                value = self.value(base)
                return value[positions(expr, np.shape(value), self.env)]
            case Entries():
                return self.entries(expr)
            case Block(rows=rows):
                return self.numbers.block(
                    [[(self.value(e), is_row(e, self.env)) for e in row] for row in rows]
                )
            case Apply(atom="diag" | "trace" as atom, args=(Apply(atom="matmul") as product,)):
                return self.memo.value(expr, self.env, lambda: self.diagonal(atom, product))
            case Apply(atom="matmul"):
                return self.algebra.whole(self.term(expr))
            case Apply():
                return self.atom(expr)

    def atom(self, expr: Apply) -> Any:
        """The value of an atom that is no product."""
        row = ATOMS[expr.atom]
        args = [self.value(a) for a in expr.args]
        for at in row.chooses:
            if isinstance(args[at], balls.Ball):
                args[at] = balls.around(evaluate(expr.args[at], self.env), args[at])
        options = {**dict(expr.options), **self.numbers.hints(row, self.env)}
        value = self.algebra.call(expr.atom, *args, **options)
        if self.look is not None:
            self.look(expr, value)
        return value

    def entries(self, expr: Entries) -> Any:
        """The numbers for all indices, in their places of an array of zeros."""
        at = entry_indices(expr, self.env)
        if (whole := together(expr.body, frozenset(at.indices))) is not None:
            values = replace(self, env={**self.env, **at.indices}, memo=Memo()).value(whole)
        else:
            each = [replace(self, env={**self.env, **one}, memo=Memo()).value(expr.body) for one in at.envs]
            values = self.numbers.join(each) if each else self.numbers.exact(np.zeros(0))
        return self.numbers.placed(values, at.places, at.shape)

    def term(self, expr: Expr) -> Any:
        """A factor of a product; or a product, which around one inverse is solved."""
        match expr:
            case Apply(atom="matmul"):
                return self.algebra.product(*self.terms(expr))
            case Apply(atom="diag", args=(inner,)) if not (
                isinstance(inner, Apply) and inner.atom == "matmul"
            ):
                return self.algebra.diagonal_matrix(self.value(inner))
            case _:
                return self.value(expr)

    def diagonal(self, atom: str, product: Apply) -> Any:
        """``diag`` or ``trace`` of a product, which is not formed where the algebra can do without it."""
        terms = self.terms(product)
        if (entries := self.algebra.diagonal(*terms)) is None:
            return self.algebra.call(atom, self.algebra.whole(self.algebra.product(*terms)))
        return self.algebra.of_diagonal(atom, entries)

    def terms(self, product: Apply) -> tuple[Any, Any, Any]:
        """Both sides of a product, None for nothing, and the matrix whose inverse is between them.

        Without an inverse, and with several, the matrix is None, and the sides are the two of the text.
        """
        factors = chain(product)
        inverses = [f for f in factors if isinstance(f, Apply) and f.atom == "inv"]
        if len(inverses) != 1:
            left, right = map(self.term, product.args)
            return left, right, None
        at, (matrix,) = factors.index(inverses[0]), inverses[0].args
        return self.product_of(factors[:at]), self.product_of(factors[at + 1 :]), self.value(matrix)

    def product_of(self, factors: list[Expr]) -> Any:
        """The product of factors without an inverse, from the right where it ends in a vector, or None."""
        terms = [self.term(f) for f in factors]
        if terms and len(np.shape(terms[-1])) == 1:
            return reduce(lambda a, b: self.algebra.product(b, a), terms[::-1])
        return reduce(self.algebra.product, terms) if terms else None


# From the derivative of a number by a value (``bar``) to that number's derivatives by the chosen variables.
Pull = Callable[[Any], dict[str, Array]]
# One operation: its value from those of its arguments; their derivatives from theirs, its value, and its
# derivative ``bar``. Both take ``rounding`` last.
Forward = Callable[[Sequence[Any], float], Any]
Backward = Callable[[Sequence[Any], Any, Any, float], Sequence[Any]]


@dataclass
class Tape:
    """An expression recorded at a point, to be run at others of the same shapes.

    A value has a place: its number on the tape, in the order of computing.

    env : arrays and numbers for every name, those of ``wrt`` at any point.
    wrt : the names by which it is differentiated.
    nodes : the operations by place: the places of the arguments, and how to go forward and backward.
    leaves : the places of the names. recorded : those of expressions.
    """

    expr: Expr
    env: Env
    wrt: Sequence[str]
    nodes: dict[int, tuple[Sequence[int], Forward, Backward]] = field(default_factory=dict)
    leaves: dict[str, int] = field(default_factory=dict)
    sample: list[Any] = field(default_factory=list)  # the values at the point of recording
    recorded: dict[Expr, int] = field(default_factory=dict)
    is_rough: bool = False  # whether an atom that is not smooth (abs, max, min) is on the tape

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self.last = self.record(self.expr)

    def run(self, values: Mapping[str, Any], rounding: float = 0.0) -> tuple[Any, Pull]:
        """The value at a point, and a function for its derivatives.

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
        """The place of an expression, which is put on the tape unless it is there."""
        if expr not in self.recorded:
            self.recorded[expr] = self.put(expr)
        return self.recorded[expr]

    def put(self, expr: Expr) -> int:
        """Put an expression on the tape, after its arguments; returns its place."""
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
            case Apply(atom="diag" | "trace", args=(Apply(atom="matmul", args=(left, right)),)) if all(
                np.ndim(self.sample[self.record(side)]) == 2 for side in (left, right)
            ):
                return self.record(sum_of_products(expr, left, right))
            case Apply(atom=atom, args=args, options=options):
                return self.atom(atom, [self.record(a) for a in args], dict(options))
        raise AssertionError(expr)  # a number has no names

    def place(self, value: Any) -> int:
        """A new place, with its value at the point of recording."""
        self.sample.append(value)
        return len(self.sample) - 1

    def add(self, arguments: Sequence[int], forward: Forward, backward: Backward) -> int:
        """Add an operation on the values at places ``arguments``; returns the place of its value."""
        at = self.place(forward([self.sample[i] for i in arguments], 0.0))
        self.nodes[at] = arguments, forward, backward
        return at

    def atom(self, name: str, arguments: Sequence[int], options: Mapping[str, int]) -> int:
        """Add an atom, with its gradient."""
        row = ATOMS[name]
        gradient, rounded = row.gradient, row.rounded
        assert gradient is not None, name  # ensured by the check of smooth programs
        self.is_rough = self.is_rough or rounded is not None

        def forward(args: Sequence[Any], rounding: float) -> Any:
            return (
                rounded(*args, rounding=rounding, **options)
                if rounding and rounded is not None
                else row.numpy(*args, **options)
            )

        def backward(args: Sequence[Any], value: Any, bar: Any, rounding: float) -> Sequence[Any]:
            return gradient(
                *args, value, bar, **options, **{"rounding": rounding} if rounded is not None else {}
            )

        return self.add(arguments, forward, backward)

    def index(self, expr: Index, base: int) -> int:
        """Add the entries of the value at place ``base``."""
        at = positions(expr, np.shape(self.sample[base]), self.env)

        def backward(args: Sequence[Any], value: Any, bar: Any, rounding: float) -> Sequence[Any]:
            out = np.zeros(np.shape(args[0]))
            np.add.at(out, at, bar)  # type: ignore[arg-type]  # an entry may be taken several times
            return (out,)

        return self.add([base], lambda args, rounding: args[0][at], backward)

    def entries(self, expr: Entries) -> int:
        """Add the array of the numbers for all indices."""
        at = entry_indices(expr, self.env)
        each = (
            [self.inside(at.indices, whole)]
            if (whole := together(expr.body, frozenset(at.indices))) is not None
            else [self.inside(one, expr.body) for one in at.envs]
        )

        def forward(args: Sequence[Any], rounding: float) -> Any:
            out = np.zeros(at.shape)
            out.flat[at.places] = args[0] if len(args) == 1 else np.array(args)
            return out

        def backward(args: Sequence[Any], value: Any, bar: Array, rounding: float) -> Sequence[Any]:
            pulled = bar.flat[at.places]
            return list(pulled) if len(args) > 1 else [pulled if np.ndim(args[0]) else np.sum(pulled)]

        return self.add(each, forward, backward)

    def inside(self, indices: Mapping[str, Any], body: Expr) -> int:
        """The body recorded with values for its indices; places recorded outside do not apply to it."""
        outside = self.env, self.recorded
        self.env, self.recorded = {**self.env, **indices}, {}
        try:
            return self.record(body)
        finally:
            self.env, self.recorded = outside

    def block(self, rows: Sequence[Sequence[Expr]]) -> int:
        """Add a block matrix."""
        are_rows = [[is_row(e, self.env) for e in row] for row in rows]
        arguments = [self.record(e) for row in rows for e in row]
        shapes = [np.shape(self.sample[i]) for i in arguments]
        # Each entry of the matrix belongs to the block of this number.
        numbered = [np.full(shape, float(k)) for k, shape in enumerate(shapes)]
        owners = float_functions.block(in_rows(numbered, are_rows))

        def backward(args: Sequence[Any], value: Any, bar: Array, rounding: float) -> Sequence[Any]:
            return [bar[owners == k].reshape(shape) for k, shape in enumerate(shapes)]

        return self.add(
            arguments, lambda args, rounding: float_functions.block(in_rows(args, are_rows)), backward
        )
