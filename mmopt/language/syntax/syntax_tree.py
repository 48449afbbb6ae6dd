"""The syntax tree of a program, and walks through its expressions.

The tree is of frozen dataclasses, equal when their meaning is the same: positions do not take part in
equality, so ``B[:, i]`` in two places of a file is one expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mmopt.language.atoms.expression_types import Dim


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a piece of a program: 1-based line and column, width in characters on its first line.

    ``end``: line and column after its last character, where it was read from a text.
    """

    line: int
    column: int
    width: int = 1
    end: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    value: float
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    id: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """An atom of the atoms table applied to arguments; operators are atoms too."""

    atom: str
    args: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)
    options: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Index:
    """``base[i, :]``: an item is an expression, or ``None`` for a colon."""

    base: Expr
    items: tuple[Expr | None, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """``[[a, b], [c, d]]``: a block matrix."""

    rows: tuple[tuple[Expr, ...], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Family:
    """The clause ``for j in m``."""

    index: str
    dim: Dim
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Entries:
    """``body for i in n for j in m if where``: the array of these numbers, 0 where the condition fails."""

    body: Expr
    families: tuple[Family, ...]
    where: tuple[Relation, ...]
    span: Span = field(compare=False, repr=False)


Expr = Number | Name | Apply | Index | Block | Entries


@dataclass(frozen=True, slots=True)
class Relation:
    """``left op right``: ``<=``, ``>=``, ``==``, ``>>``, ``<<``; in ``require`` also ``<`` and ``>``."""

    left: Expr
    op: str
    right: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Declaration:
    """``name: kind[dims] sign = source "doc"``."""

    name: str
    kind: str
    dims: tuple[Dim, ...]
    span: Span = field(compare=False, repr=False)
    sign: str = ""
    source: str = ""
    doc: str = field(default="", compare=False)
    # The places of the dimensions and the source, for messages about them.
    dim_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    source_span: Span | None = field(default=None, compare=False, repr=False)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of a value, with the sizes of the dimensions."""
        return tuple(dim.value(sizes) for dim in self.dims)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A named relation, perhaps one for each value of an index."""

    name: str
    relation: Relation
    span: Span = field(compare=False, repr=False)
    family: Family | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """``name = expr``; a ``let`` may declare the type when a new dimension appears."""

    name: str
    expr: Expr
    span: Span = field(compare=False, repr=False)
    declared: Declaration | None = None


@dataclass(frozen=True, slots=True)
class SubProgram:
    """A step ``name = solve(program, Q=…)``."""

    name: str
    program: str
    arguments: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)
    program_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Steps that are repeated.

    ``repeat``: up to a number of times, or until a relation holds; ``alternate`` (``settles``): until the
    objective of the last solve no longer decreases.
    """

    times: Expr
    steps: tuple[Assignment | SubProgram | Repeat, ...]
    span: Span = field(compare=False, repr=False)
    until: Relation | None = None
    settles: bool = False


Step = Assignment | SubProgram | Repeat


@dataclass(frozen=True, slots=True)
class Start:
    """Where the search of a smooth program starts: values by name; without one a variable is random."""

    name: str
    values: tuple[Assignment, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Adoption:
    """The conversion of a strategy from elsewhere to a point of the program."""

    strategy: Declaration
    values: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Multiplier:
    """A multiplier of a certificate, started from a constraint's dual or from an expression of the point.

    ``block`` is i for ``dual(name)[i, i]``: the diagonal block i of a psd block constraint.
    """

    declaration: Declaration
    dual_of: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)  # of the constraint's name
    start: Expr | None = None
    block: int | None = None

    @property
    def key(self) -> str:
        """The name under which a solution keeps its value."""
        return (
            f"{self.dual_of}[{self.block}, {self.block}]"
            if self.block is not None
            else self.dual_of or self.declaration.name
        )


@dataclass(frozen=True, slots=True)
class Certificate:
    """A lower bound on the optimum for any value of its multipliers."""

    multipliers: tuple[Multiplier, ...]
    expr: Expr


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of the solution: a strategy with its norm, a covariance on a basis, or only itself."""

    kind: str  # "strategy", "covariance" or "none"
    expr: Expr
    norm: int = 2
    basis: str = ""


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match expr:
        case Apply(args=args):
            return args
        case Index(base=base, items=items):
            return (base, *(item for item in items if item is not None))
        case Block(rows=rows):
            return tuple(item for row in rows for item in row)
        case Entries(body=body, where=where):
            return (body, *(side for r in where for side in (r.left, r.right)))
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def mentions(expr: Expr, name: str) -> bool:
    """Whether the name occurs in the expression."""
    return any(isinstance(node, Name) and node.id == name for node in walk(expr))


def names_in(expr: Expr) -> set[str]:
    """The names that occur in the expression, except the indices that it binds."""
    if isinstance(expr, Name):
        return {expr.id}
    names = set[str]().union(*map(names_in, children(expr)))
    if isinstance(expr, Entries):
        names |= {name for f in expr.families for name in f.dim.symbols}
        names -= {f.index for f in expr.families}
    return names


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """The tree where every node for which ``change`` gives a new one is replaced, outermost first."""
    new = change(expr)
    if new is not None:
        return new
    match expr:
        case Apply(atom, args, span, options):
            return Apply(atom, tuple(rewrite(a, change) for a in args), span, options)
        case Index(base, items, span):
            return Index(
                rewrite(base, change), tuple(None if i is None else rewrite(i, change) for i in items), span
            )
        case Block(rows, span):
            return Block(tuple(tuple(rewrite(e, change) for e in row) for row in rows), span)
        case Entries(body, families, where, span):
            conditions = tuple(
                Relation(rewrite(r.left, change), r.op, rewrite(r.right, change), r.span) for r in where
            )
            return Entries(rewrite(body, change), families, conditions, span)
        case _:
            return expr


def chain(expr: Expr) -> list[Expr]:
    """The factors of a matrix product, left to right; a list of one when it is none."""
    return (
        chain(expr.args[0]) + chain(expr.args[1])
        if isinstance(expr, Apply) and expr.atom == "matmul"
        else [expr]
    )


def transpose(expr: Expr) -> Expr:
    """``expr.T``, with double transposes removed."""
    return (
        expr.args[0]
        if isinstance(expr, Apply) and expr.atom == "transpose"
        else Apply("transpose", (expr,), expr.span)
    )


def is_rank(c: Constraint) -> bool:
    """Whether the constraint is about a rank."""
    return isinstance(c.relation.left, Apply) and c.relation.left.atom == "rank"
