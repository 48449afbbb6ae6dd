"""Expressions written otherwise, exactly: with the same value at every point.

Transposes are moved to the leaves. A family of lines becomes one vector constraint, which is much faster to
evaluate and to hand over: ``B[:, i].T @ F @ B[:, i] <= alpha for i in n`` says the same as
``diag(B.T @ F @ B) <= alpha``, where entry i of either side is the same number. A family without such a form
(a matrix inequality per query) stays one. Numbers that stand in an expression are added up exactly.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, reduce

from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Expr,
    Index,
    Name,
    Number,
    chain,
    mentions,
    rewrite,
    transpose,
)

# Atoms that act entry by entry: the value has the layout of the arguments.
ENTRYWISE = frozenset(name for name, atom in ATOMS.items() if atom.equivariance in ("linear", "entrywise"))
# Those that may take vectors in place of all indices at once.
TOGETHER = ENTRYWISE | {"entrywise max", "entrywise min", "huber", "pow", "rel_entropy"}
# (f(A, B)).T = f(A.T, B.T)
TRANSPOSED_INSIDE = ENTRYWISE | {"inv", "pinv"}


def product(factors: list[Expr]) -> Expr:
    """The matrix product of the factors, left to right."""
    return reduce(lambda left, right: Apply("matmul", (left, right), left.span), factors)


def normal(expr: Expr, symmetric: Callable[[Expr], int], *, flip: bool = False) -> Expr:
    """The expression (its transpose when ``flip``) with transposes only at leaves that need one.

    ``symmetric`` says whether an expression equals its transpose (1: numbers, symmetric matrices) or minus
    its transpose (-1); else 0.
    """
    match expr:
        case Apply(atom="neg", args=(inner,), span=span):
            turned = normal(inner, symmetric, flip=flip)
            if isinstance(turned, Apply) and turned.atom == "neg":
                return turned.args[0]
            return Apply("neg", (turned,), span)
        case Apply(atom="transpose", args=(inner,)):
            return normal(inner, symmetric, flip=not flip)
        case Apply(atom="matmul"):
            factors = [normal(f, symmetric, flip=flip) for f in chain(expr)]
            return product(factors[::-1] if flip else factors)
        case Apply(atom, args, span, options) if atom in TRANSPOSED_INSIDE:
            return Apply(atom, tuple(normal(a, symmetric, flip=flip) for a in args), span, options)
        case Block(rows, span):
            lines = zip(*rows, strict=True) if flip else rows
            return Block(tuple(tuple(normal(e, symmetric, flip=flip) for e in line) for line in lines), span)
    parity = symmetric(expr) if flip else 1
    return expr if parity > 0 else Apply("neg" if parity else "transpose", (expr,), expr.span)


# Multiples of expressions none of which is a sum or a multiple; under None of 1.
Sum = dict[Expr | None, Fraction]


def added(*parts: tuple[Sum, Fraction]) -> Sum:
    """Multiples of sums, added up."""
    total: Sum = {}
    for part, times in parts:
        for key, value in part.items():
            total[key] = total.get(key, 0) + (value if times == 1 else times * value)
    return {key: value for key, value in total.items() if value}


# Cached, since the sign of each part of a sum is asked for; what is returned must not be changed.
@lru_cache(maxsize=1024)
def sum_of_multiples(expr: Expr) -> Sum:
    """An expression as a sum of multiples, by exact fractions."""
    match expr:
        case Number(value=value):
            return added(({None: Fraction(1)}, Fraction(value)))
        case Apply(atom="neg", args=(inner,)):
            return added((sum_of_multiples(inner), Fraction(-1)))
        case Apply(atom="add" | "sub" as atom, args=(left, right)):
            sign = Fraction(1 if atom == "add" else -1)
            return added((sum_of_multiples(left), Fraction(1)), (sum_of_multiples(right), sign))
        case Apply(atom="mul" | "matmul", args=(left, right), span=span):
            a, b = sum_of_multiples(left), sum_of_multiples(right)
            for number, other in ((a, b), (b, a)):
                if expr.atom == "mul" and number.keys() <= {None}:
                    return added((other, number.get(None, Fraction(0))))
            match [*a.items()], [*b.items()]:
                case [(one, times)], [(two, more)] if one is not None and two is not None:
                    return {Apply(expr.atom, (one, two), span): times * more}
        case Apply(atom="div", args=(left, right)) if by := number_of(right):
            return added((sum_of_multiples(left), 1 / by))
    return {expr: Fraction(1)}


def number_of(expr: Expr) -> Fraction | None:
    """The exact value of numbers combined by ``+ - * /``, such as ``-2`` or ``1/3``; None for others."""
    total = sum_of_multiples(expr)
    return total.get(None, Fraction(0)) if total.keys() <= {None} else None


def sum_of_products(expr: Apply, left: Expr, right: Expr) -> Apply:
    """``diag`` or ``trace`` of ``left @ right`` without forming the product: sums of ``left * right.T``."""
    together = Apply("mul", (left, transpose(right)), expr.span)
    return Apply("sum", (together,), expr.span, (("axis", 1),) if expr.atom == "diag" else ())


def _matrix_and_row(expr: Expr, has_index: Callable[[Expr], bool]) -> tuple[Expr, Expr] | None:
    """M and i where an expression is row i of a matrix M: of ``M[i, :]``, or of ``M.T[:, i]``."""
    while isinstance(expr, Apply) and expr.atom == "transpose":  # a vector is a row as it is a column
        expr = expr.args[0]
    if isinstance(expr, Index) and len(expr.items) == 2 and not has_index(expr.base):
        first, second = expr.items
        if first is not None and second is None:
            return expr.base, first
        if second is not None and first is None:
            return transpose(expr.base), second
    return None


def vectorised(expr: Expr, index: str) -> Expr | None:
    """The vector whose entry ``index`` is the expression, or None when there is no such form.

    An expression without the index is returned as it is (a number, the same for all).
    """

    def whole(e: Expr) -> Expr | None:
        return e.base if isinstance(e, Index) and e.items == (Name(index, e.span),) else None

    entry = together(expr, frozenset({index}), ENTRYWISE)
    vector = None if entry is None else rewrite(entry, whole)
    return None if vector is None or mentions(vector, index) else vector


def index_free_parts(expr: Expr, index: str) -> Iterator[Expr]:
    """The largest parts of an expression without the index, below atoms that act entry by entry.

    Its vectorised form is right only if each of them is a number, which the caller checks.
    """
    if not mentions(expr, index):
        yield expr
    elif isinstance(expr, Apply) and expr.atom in ENTRYWISE:
        for part in expr.args:
            yield from index_free_parts(part, index)


def together(expr: Expr, indices: frozenset[str], atoms: frozenset[str] = TOGETHER) -> Expr | None:
    """The expression in a form that is computed for all indices at once, with vectors in place of indices.

    It is entry by entry, by ``atoms``; ``A[i, :] @ x`` is ``(A @ x)[i]``. None when there is no such form.
    """

    def has_index(e: Expr) -> bool:
        return any(mentions(e, index) for index in indices)

    match expr:
        case Index(base=base, items=items) if has_index(expr):
            return expr if None not in items and not has_index(base) else None
        case Apply(atom="matmul") if has_index(expr):
            return _entry_of_product(chain(expr), has_index, expr)
        case Apply(atom, args, span, options) if atom in atoms and has_index(expr):
            parts = [together(a, indices, atoms) for a in args]
            whole = tuple(part for part in parts if part is not None)
            return Apply(atom, whole, span, options) if len(whole) == len(parts) else None
    return expr if isinstance(expr, Name) or not has_index(expr) else None


def _entry_of_product(factors: list[Expr], has_index: Callable[[Expr], bool], expr: Apply) -> Index | None:
    """A product with slices at its ends as an entry of the product of the whole matrices."""
    sliced = [_matrix_and_row(f, has_index) if has_index(f) else None for f in (factors[0], factors[-1])]
    rest = [f for f, row in zip((factors[0], factors[-1]), sliced, strict=True) if row is None]
    if any(map(has_index, [*factors[1:-1], *rest])):
        return None
    left, right = sliced
    whole = product(
        [left[0] if left else factors[0], *factors[1:-1], transpose(right[0]) if right else factors[-1]]
    )
    whole = whole if left else transpose(whole)  # its rows are what the index counts
    items = [row[1] for row in sliced if row]
    if len(items) == 2 and items[0] == items[1]:
        return Index(Apply("diag", (whole,), expr.span), (items[0],), expr.span)
    return Index(whole, tuple(items), expr.span)


def two_by_two(expr: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Entries a, b, c of ``[[a, b], [b, c]]``, when the block has that form."""
    if isinstance(expr, Block) and len(expr.rows) == 2 and len(expr.rows[0]) == 2:
        (a, b), (again, c) = expr.rows
        if b == again:
            return a, b, c
    return None
