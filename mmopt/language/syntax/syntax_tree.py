"""The syntax tree of a program, and its expressions as text and written otherwise.

The tree is of frozen dataclasses, equal when their meaning is the same: positions do not take part in
equality, so ``B[:, i]`` in two places of a file is one expression. As text, an expression has brackets only
where they are needed.

Written otherwise, exactly: transposes at the leaves only, and a family as one vector constraint, which is
much faster to evaluate and to hand over. ``B[:, i].T @ F @ B[:, i] <= alpha for i in n`` says the same as
``diag(B.T @ F @ B) <= alpha``: entry i of either side is the same number. A family without such a form (a
matrix inequality per query) stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

from mmopt.language.atoms.argument_types import Dim
from mmopt.language.atoms.table_of_atoms import ATOMS


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a piece of a program: 1-based line and column, width in characters."""

    line: int
    column: int
    width: int = 1


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
    """``[[a, b], [c, d]]``: a matrix put together from blocks."""

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
    """``left op right`` with op one of ``<=``, ``>=``, ``==``, ``>>``, ``<<``."""

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

    ``repeat``: at most so many times, or until a relation holds; ``alternate`` (``settles``): until the
    objective of the last step that solves no longer falls.
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
    """How a strategy that came from elsewhere becomes a point of the program."""

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


def constant(expr: Expr) -> float | None:
    """The value of an expression of numbers alone, such as ``-2`` or ``1/3``."""
    match expr:
        case Number(value=value):
            return value
        case Apply(atom="neg", args=(inner,)):
            negated = constant(inner)
            return None if negated is None else -negated
        case Apply(atom="add" | "sub" | "mul" | "div" as atom, args=(left, right)):
            a, b = constant(left), constant(right)
            if a is None or b is None or (atom == "div" and b == 0):
                return None
            return {"add": a + b, "sub": a - b, "mul": a * b}[atom] if atom != "div" else a / b
    return None


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
            kept_where = tuple(
                Relation(rewrite(r.left, change), r.op, rewrite(r.right, change), r.span) for r in where
            )
            return Entries(rewrite(body, change), families, kept_where, span)
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


POSTFIX = ATOMS["transpose"].binds
NUMBER = POSTFIX - 1  # 2.T would read as the number "2." and a name
CALL = ATOMS["abs"].binds


def number_text(value: float) -> str:
    """A number as people write it; reading it gives the same float."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def to_source(expr: Expr) -> str:
    """The expression in the language itself; reading it gives an equal tree."""
    return _write(expr)[0]


def _write(expr: Expr) -> tuple[str, int]:
    """The text and how strongly it holds together."""
    match expr:
        case Number(value=value):
            return number_text(value), NUMBER
        case Name(id=name):
            return name, CALL
        case Index(base=base, items=items):
            inside = ", ".join(":" if i is None else to_source(i) for i in items)
            return f"{_held(base, lambda b: b >= NUMBER)}[{inside}]", POSTFIX
        case Block(rows=rows):
            inside = ", ".join("[" + ", ".join(map(to_source, r)) + "]" for r in rows)
            return f"[{inside}]", CALL
        case Entries(body=body, families=families, where=where):
            clauses = [f"for {f.index} in {f.dim}" for f in families]
            clauses += [f"if {to_source(r.left)} {r.op} {to_source(r.right)}" for r in where]
            return " ".join([to_source(body), *clauses]), 0
        case Apply(atom=name, args=args, options=options):
            atom = ATOMS[name]
            if atom.binds == CALL:
                extra = "".join(f", {key}={value}" for key, value in options)
                return f"{atom.text.format(*map(to_source, args))[:-1]}{extra})", CALL
            return atom.text.format(*_operands(name, args)), atom.binds


def _operands(name: str, args: tuple[Expr, ...]) -> list[str]:
    """Operands as text: most group from the left, ``**`` from the right; its exponent may have a minus."""
    binds = ATOMS[name].binds
    if len(args) == 1:
        return [_held(args[0], lambda b: b >= binds)]
    if name == "pow":
        minus = ATOMS["neg"].binds
        return [_held(args[0], lambda b: b > binds), _held(args[1], lambda b: b >= binds or b == minus)]
    return [_held(args[0], lambda b: b >= binds), _held(args[1], lambda b: b > binds)]


def _held(expr: Expr, fits: Callable[[int], bool]) -> str:
    text, binds = _write(expr)
    return text if fits(binds) else f"({text})"


# Entry by entry: the result has the layout of its arguments.
ENTRYWISE = frozenset(name for name, atom in ATOMS.items() if atom.equivariance in ("linear", "entrywise"))
TOGETHER = ENTRYWISE | {"entrywise max", "entrywise min", "huber", "pow", "rel_entropy"}
# (f(A, B)).T = f(A.T, B.T)
THROUGH = ENTRYWISE | {"inv", "pinv"}


def product(factors: list[Expr]) -> Expr:
    """The matrix product of the factors, left to right."""
    return reduce(lambda left, right: Apply("matmul", (left, right), left.span), factors)


def normal(expr: Expr, symmetric: Callable[[Expr], bool], *, flip: bool = False) -> Expr:
    """The expression (its transpose when ``flip``) with transposes only at leaves that need one.

    ``symmetric`` says whether an expression equals its transpose: numbers, symmetric matrices.
    """
    match expr:
        case Apply(atom="transpose", args=(inner,)):
            return normal(inner, symmetric, flip=not flip)
        case Apply(atom="matmul"):
            factors = [normal(f, symmetric, flip=flip) for f in chain(expr)]
            return product(factors[::-1] if flip else factors)
        case Apply(atom, args, span, options) if atom in THROUGH:
            return Apply(atom, tuple(normal(a, symmetric, flip=flip) for a in args), span, options)
        case Block(rows, span) if flip:
            turned = zip(*rows, strict=True)
            return Block(tuple(tuple(normal(e, symmetric, flip=True) for e in r) for r in turned), span)
        case Block(rows, span):
            return Block(tuple(tuple(normal(e, symmetric) for e in r) for r in rows), span)
    return Apply("transpose", (expr,), expr.span) if flip and not symmetric(expr) else expr


def sum_of_products(expr: Apply, left: Expr, right: Expr) -> Apply:
    """``diag`` or ``trace`` of ``left @ right`` without forming the product: sums of ``left * right.T``."""
    together = Apply("mul", (left, transpose(right)), expr.span)
    return Apply("sum", (together,), expr.span, (("axis", 1),) if expr.atom == "diag" else ())


def _slice(expr: Expr, index: str) -> tuple[Expr, str] | None:
    """M of ``M[index, :]`` or ``M[:, index]``, with any number of .T, and what the index counts."""
    while isinstance(expr, Apply) and expr.atom == "transpose":
        expr = expr.args[0]
    if isinstance(expr, Index) and len(expr.items) == 2 and not mentions(expr.base, index):
        first, second = expr.items
        if isinstance(first, Name) and first.id == index and second is None:
            return expr.base, "rows"
        if isinstance(second, Name) and second.id == index and first is None:
            return expr.base, "columns"
    return None


def vectorised(expr: Expr, index: str) -> Expr | None:
    """The vector whose entry ``index`` is the expression, or None when there is no such form.

    An expression without the index is returned as it is (a number, the same for all).
    """
    if not mentions(expr, index):
        return expr
    match expr:
        case Index(base=base, items=(Name(id=name),)) if name == index and not mentions(base, index):
            return base
        case Apply(atom="matmul"):
            return _product(chain(expr), index, expr)
        case Apply(atom, args, span, options) if atom in ENTRYWISE:
            parts = [vectorised(a, index) for a in args]
            whole = tuple(part for part in parts if part is not None)
            return Apply(atom, whole, span, options) if len(whole) == len(parts) else None
    return None


def index_free_parts(expr: Expr, index: str) -> Iterator[Expr]:
    """The largest parts of an expression without the index, below atoms that act entry by entry.

    Its vectorised form is right only if each of them is a number, which the caller checks.
    """
    if not mentions(expr, index):
        yield expr
    elif isinstance(expr, Apply) and expr.atom in ENTRYWISE:
        for part in expr.args:
            yield from index_free_parts(part, index)


def taken_together(expr: Expr, indices: frozenset[str]) -> bool:
    """Whether all indices can be computed at once, entry by entry, with vectors in place of the indices."""
    if not any(mentions(expr, index) for index in indices):
        return True
    match expr:
        case Name():
            return True
        case Index(base=base, items=items):
            return None not in items and not any(mentions(base, index) for index in indices)
        case Apply(atom=atom, args=args):
            return atom in TOGETHER and all(taken_together(a, indices) for a in args)
    return False


def _product(factors: list[Expr], index: str, expr: Apply) -> Expr | None:
    first, last = _slice(factors[0], index), _slice(factors[-1], index)
    inner = factors[1:-1]
    if any(mentions(f, index) for f in inner) or len(factors) < 2:
        return None

    def as_rows(sliced: tuple[Expr, str]) -> Expr:
        return sliced[0] if sliced[1] == "rows" else transpose(sliced[0])

    if first and last:
        left, right = as_rows(first), as_rows(last)
        return Apply("diag", (product([left, *inner, transpose(right)]),), expr.span)
    return product([as_rows(first), *factors[1:]]) if first and not mentions(factors[-1], index) else None


def two_by_two(expr: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Entries a, b, c of ``[[a, b], [b, c]]``, when the block has that form."""
    if isinstance(expr, Block) and len(expr.rows) == 2 and len(expr.rows[0]) == 2:
        (a, b), (again, c) = expr.rows
        if b == again:
            return a, b, c
    return None
