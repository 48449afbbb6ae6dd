"""The type of every expression: a visitor over the tree that applies the rules of the atoms.

An index gives the type of ``X[i, j]``, and that of the array of such numbers for all i and j. Two forms are
recognised as a whole, because node by node they look like products of curved matrices: the congruence
``M.T @ F @ M`` and the trace of a curved matrix against a psd one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from mmopt.errors import placed, suggest
from mmopt.language.atoms.expression_types import (
    SCALAR,
    UNKNOWN_ROWS,
    Curvature,
    Dim,
    RuleError,
    Type,
    column,
    matrix,
)
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.exact_rewriting import (
    TOGETHER,
    Sum,
    added,
    normal,
    number_of,
    product,
    sum_of_multiples,
)
from mmopt.language.syntax.names_from_elsewhere import instead
from mmopt.language.syntax.parse_and_write_expressions import to_source
from mmopt.language.syntax.source_text import Source
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Entries,
    Expr,
    Family,
    Index,
    Name,
    Number,
    Relation,
    Span,
    chain,
    children,
    mentions,
    names_in,
    rewrite,
    transpose,
    walk,
)
from mmopt.numerics.balls import Ball, exact

MOST_SHIFTED = 9  # ``i + 9``
MOST_EXACT, LARGEST = 40, 1e100  # rows and entries of a matrix of numbers whose minors are taken
MOST_COMBINED = 3  # lines of ``require`` from which a sign follows
ARITHMETIC = ("add", "sub", "mul", "div", "neg")  # of which an exponent may be made
# Atoms that zeros in place of entries left out do not change: those that are 0 at 0, and sums and sizes.
KEEPS_ZEROS = (
    "add",
    "sub",
    "neg",
    "mul",
    "div",
    "abs",
    "sqrt",
    "huber",
    "entropy",
    "sum",
    "norm 1",
    "norm 2",
    "norm inf",
    "norm fro",
    "nuclear",
    "sigma_max",
)


def index_type(expr: Index, base: Type, scope: Scope) -> Type:
    """The type of ``base[i, :]``; ProgramError for a number or kind of indices that does not fit."""
    takes = ("no index", "one index", "two indices")[len(base.dims)]
    scope.source.require(
        len(expr.items) == len(base.dims),
        expr.span,
        f"{base.shape} takes {takes}, not {len(expr.items)}",
        "write X[0, 0]" if base.is_matrix and len(expr.items) == 1 else "",
    )
    for item, dim in zip(expr.items, base.dims, strict=True):
        if item is not None:
            _check_index(item, dim, scope)
    dims = [d for d, item in zip(base.dims, expr.items, strict=True) if item is None]
    if len(dims) == len(base.dims):
        return base
    sign = 1 if base.psd and expr.items[0] == expr.items[-1] else base.sign
    entry = replace(base, psd=False, symmetric=False, antisymmetric=False, sign=sign)
    out = replace(entry, dims=tuple(dims), is_row=bool(dims) and expr.items[0] is not None)
    why = "an entry of a matrix that is curved as a whole (its diagonal is diag(F))"
    return out.broken(why) if base.loewner else out


def _check_index(item: Expr, dim: Dim, scope: Scope) -> None:
    """Check an index: a whole number, the index of a family, or a sum of such: ``i + 1``."""
    if isinstance(item, Name) and scope.indices is not None and item.id in scope.indices:
        if scope.indices[item.id] != dim and not scope.masked and not _fits(item, dim, scope):
            scope.source.fail(
                item.span,
                f"'{item.id}' runs over {scope.indices[item.id]}, the entries here are counted by {dim}",
                f"write: for {item.id} in {dim}",
            )
        return
    if isinstance(item, Number) and item.value == int(item.value):
        scope.source.require(
            dim.symbols or item.value < dim.value({}),
            item.span,
            f"the index {int(item.value)} is beyond {dim} entries counted from 0",
        )
        return
    if scope.indices is None and (isinstance(item, Name) or _whole_polynomial(item, scope) is not None):
        return
    if _whole_polynomial(item, scope) is None:
        is_negative = isinstance(item, Apply) and item.atom == "neg"
        scope.source.fail(
            item.span,
            "an index is a whole number or the index of a family",
            f"entries are counted from 0; the last one is {dim} - 1"
            if is_negative
            else "write W[0, :], or W[j, :] with 'for j in m' after the constraint",
        )
    if not scope.masked and not _fits(item, dim, scope):
        scope.source.fail(
            item.span,
            f"this index may be beyond the entries, which are counted by {dim} from 0",
            f"let the index run over less, for example: {_shorter(item, dim, scope)}",
        )


def _shorter(item: Expr, dim: Dim, scope: Scope) -> str:
    """A range of the index that stays within the entries; where it begins too late, of an index moved up."""
    for name, over in (scope.indices or {}).items():
        for c in range(1, MOST_SHIFTED + 1):
            less = replace(scope, indices={**(scope.indices or {}), name: over - Dim.of(c)})
            moved = Apply("add", (item, Number(float(c), item.span)), item.span)
            if mentions(item, name) and _fits(item, dim, less):
                return f"for {name} in {over - Dim.of(c)}"
            if mentions(item, name) and _fits(moved, dim, less):
                return f"for {name} in {over - Dim.of(c)}, with {name} + {c} in place of {name}"
    return "for i in n - 1"


def _whole_polynomial(item: Expr, scope: Scope) -> Dim | None:
    """A sum or difference of indices, dimensions and whole numbers, as a polynomial of their names."""
    match item:
        case Number(value=value) if value == int(value):
            return Dim.of(int(value))
        case Name(id=name) if name in scope.dims or name in (scope.indices or {}):
            return Dim.of(name)
        case Apply(atom="add" | "sub" as atom, args=(a, b)):
            left, right = _whole_polynomial(a, scope), _whole_polynomial(b, scope)
            if left is None or right is None:
                return None
            return left + right if atom == "add" else left - right
    return None


def _fits(item: Expr, dim: Dim, scope: Scope) -> bool:
    """Whether an index is proved to be at least 0 and below a dimension, whatever the dimensions are."""
    polynomial = _whole_polynomial(item, scope)
    assert polynomial is not None
    lowest, highest = Dim.of(0), Dim.of(0)
    for symbols, times in polynomial.terms:
        ends = [Dim(((symbols, times),))]
        if len(symbols) == 1 and scope.indices and symbols[0] in scope.indices:
            last = (scope.indices[symbols[0]] - Dim.of(1)) * Dim.of(times)
            ends = [Dim.of(0), last] if times > 0 else [last, Dim.of(0)]
        lowest, highest = lowest + ends[0], highest + ends[-1]
    return _is_never_negative(lowest) and _is_never_negative(dim - Dim.of(1) - highest)


def _is_never_negative(d: Dim) -> bool:
    """Whether a polynomial of dimensions, each of which is at least 1, is seen to be at least 0."""
    return (
        all(times > 0 for symbols, times in d.terms if symbols) and d.value(dict.fromkeys(d.symbols, 1)) >= 0
    )


def check_dims(dim: Dim, span: Span, dims: Set[str], source: Source) -> None:
    """ProgramError for a dimension with a symbol that is not defined."""
    for name in sorted(dim.symbols - dims):
        source.fail(
            span, f"the dimension '{name}' is not defined", suggest(name, dims) or "a given introduces it"
        )


def check_family(family: Family, scope: Scope, *, twice: bool = False) -> None:
    """ProgramError for an index that has another meaning, or runs over a dimension that is not known."""
    check_dims(family.dim, family.span, scope.dims, scope.source)
    scope.source.require(
        not twice and family.index not in {*scope.types, *scope.dims},
        family.span,
        f"'{family.index}' has another meaning already",
        "name the index of this family otherwise",
    )


def entries_type(expr: Entries, body: Type, scope: Scope) -> Type:
    """An array with an entry for each value of its indices, of the curvature of these numbers."""
    indices = ", ".join(f.index for f in expr.families)
    scope.source.require(
        body.is_scalar,
        expr.body.span,
        f"a number is expected for each {indices}, this is {body.shape}",
        "for one number write sum(…) round it; a line for vectors, or for matrix inequalities, has one index "
        "and no condition",
    )
    for family in expr.families[2:]:
        scope.source.fail(family.span, "at most two indices run together", "put a sum inside a sum")
    return replace(body, dims=tuple(f.dim for f in expr.families), psd=False, symmetric=False)


OPERATIONS_OF_DIMS = {"add": Dim.__add__, "sub": Dim.__sub__, "mul": Dim.__mul__}


@dataclass(frozen=True)
class Scope:
    """The names that are defined in a part of a program, with types, dimensions, and the text for messages.

    ``indices`` says over which dimension each index runs; without it (None) any number may be an
    index. ``hints`` says why a name is not defined. ``facts`` are sums that are
    never negative, for example by ``require``.
    """

    source: Source
    types: Mapping[str, Type]
    dims: frozenset[str]
    indices: Mapping[str, Dim] | None = None
    hints: Mapping[str, str] = field(default_factory=dict)
    masked: bool = False  # whether a condition keeps some of the indices out
    # A type is needed again and again (a congruence needs those of its factors).
    inferred: dict[Expr, Type] = field(default_factory=dict, compare=False, repr=False)
    facts: Sequence[Sum] = ()

    def with_types(self, **types: Type) -> Scope:
        """The scope with further names."""
        return replace(self, types={**self.types, **types}, inferred={})

    def with_indices(self, *families: Family) -> Scope:
        """The scope inside ``for index in dim`` of each family."""
        widened = self.with_types(**{family.index: replace(SCALAR, sign=1) for family in families})
        return replace(widened, indices={**(self.indices or {}), **{f.index: f.dim for f in families}})

    def among(self, entries: Entries) -> Scope:
        """The scope inside the clauses of entries."""
        names = [family.index for family in entries.families]
        for at, family in enumerate(entries.families):
            check_family(family, self, twice=family.index in names[:at])
        return replace(self.with_indices(*entries.families), masked=bool(entries.where))

    def inside(self, family: Family | None) -> Scope:
        """The scope inside the clause of a family, where there is one."""
        return self.with_indices(family) if family else self


def infer(expr: Expr, scope: Scope) -> Type:
    """The type of an expression; a :class:`~mmopt.errors.ProgramError` shows where it does not fit."""
    if expr not in scope.inferred:
        scope.inferred[expr] = _with_sign(expr, _infer(expr, scope), scope)
    return scope.inferred[expr]


def _with_sign(expr: Expr, inferred: Type, scope: Scope) -> Type:
    """The type, with the sign that follows for what is given from its numbers, or from ``require``."""
    if inferred.sign or not inferred.is_constant:
        return inferred

    def type_of(term: Expr) -> Type:
        # Parts of the expression have a type by now; others get one without facts, which could go round.
        seen = inferred if term == expr else scope.inferred.get(term)
        return seen or infer(term, replace(scope, facts=(), inferred={}))

    total = sum_of_multiples(expr)
    # What holds for all entries of arrays holds for those at one index.
    arrays = {t.base if isinstance(t, Index) else t: times for t, times in total.items()}
    is_one = len({t.items for t in total if isinstance(t, Index)}) == 1
    is_one = is_one and all(isinstance(t, Index | None) or type_of(t).is_scalar for t in total)
    for one, sign in itertools.product((total, arrays)[: 1 + is_one], (1, -1)):
        if _never_negative(added((one, Fraction(sign))), scope.facts, type_of, MOST_COMBINED):
            return replace(inferred, sign=sign)
    ball = None if names_in(expr) else _ball_of_numbers(expr)
    return inferred if ball is None else replace(inferred, sign=int(ball.lower >= 0) - int(ball.upper <= 0))


def _never_negative(total: Sum, facts: Sequence[Sum], type_of: Callable[[Expr], Type], most: int) -> bool:
    """Whether a sum is seen to be never negative: less multiples of so many facts, all its terms are."""
    open_terms = [t for t, times in total.items() if (1 if t is None else type_of(t).sign) * times <= 0]
    if not open_terms:
        return True
    term = max(open_terms, key=lambda t: t is not None)
    able = [fact for fact in facts if term in fact and total[term] * fact[term] > 0]
    rests = (added((total, Fraction(1)), (fact, -total[term] / fact[term])) for fact in able)
    return most > 0 and any(_never_negative(rest, facts, type_of, most - 1) for rest in rests)


@np.errstate(all="ignore")
def _ball_of_numbers(expr: Expr) -> Ball | None:
    """The value of a function of numbers, with its error bound; None for anything else."""
    if isinstance(expr, Number):
        return exact(expr.value)
    function = ATOMS[expr.atom].ball if isinstance(expr, Apply) and expr.atom in TOGETHER else None
    balls = [_ball_of_numbers(a) for a in children(expr)]
    return function(*balls) if function and None not in balls else None


def not_psd(expr: Expr) -> str | None:
    """Why a square matrix of numbers is not psd, in words; "" where it is, None for anything else."""
    if (
        not isinstance(expr, Block)
        or not len(expr.rows) == len(expr.rows[0]) <= MOST_EXACT
        or any((x := number_of(e)) is None or abs(x) > LARGEST for row in expr.rows for e in row)
    ):
        return None
    exact_rows = [[number_of(e) or Fraction(0) for e in row] for row in expr.rows]
    # 0.1 is a tenth here, not the nearest binary number.
    rest = [[Fraction(repr(float(x))) if x == float(x) else x for x in row] for row in exact_rows]
    if rest != [list(column) for column in zip(*rest, strict=True)]:
        return "it is not symmetric"
    for i, row in enumerate(rest):  # elimination, where a row of zeros is left as it is
        j = next((j for j in range(i, len(row)) if row[j]), i)
        if row[i] < 0 or j > i:
            minor = dict.fromkeys([*(k for k in range(i) if rest[k][k]), i, j])
            return f"it is not, as its minor of rows {', '.join(map(str, minor))} is negative"
        for below in rest[i + 1 :] if row[i] else ():
            below[:] = [x - below[i] / row[i] * y for x, y in zip(below, row, strict=True)]
    return ""


def _infer(expr: Expr, scope: Scope) -> Type:
    match expr:
        case Number(value=value):
            return replace(SCALAR, sign=-1 if value < 0 else 1)
        case Name(id=name, span=span):
            if name in scope.types:
                return scope.types[name]
            if name in scope.dims:
                return replace(SCALAR, sign=1)
            scope.source.fail(
                span,
                f"'{name}' is not defined",
                scope.hints.get(name) or instead(name) or suggest(name, [*scope.types, *scope.dims]),
            )
        case Index(base=base):
            return index_type(expr, infer(base, scope), scope)
        case Entries(body=body, where=where):
            inner = scope.among(expr)
            for side in [side for r in where for side in (r.left, r.right)]:
                compared = infer(side, inner)
                scope.source.require(
                    compared.is_scalar and compared.is_constant,
                    side.span,
                    "a condition on indices compares constants",
                    "for example: if |i - j| >= b with the parameter b: dim = 3",
                )
            return entries_type(expr, infer(body, inner), scope)
        case Block():
            return _block(expr, scope)
        case Apply():
            return _apply(expr, scope)


def _apply(expr: Apply, scope: Scope) -> Type:
    """The type of an atom on arguments; ``plain`` is that by its rule alone."""
    atom = ATOMS[expr.atom]
    scope.source.require(
        len(expr.args) == atom.arity,
        expr.span,
        f"'{expr.atom}' takes {atom.arity} argument{'s' * (atom.arity > 1)}, not {len(expr.args)}",
        "write axis=0 or axis=1" if atom.axis and len(expr.args) == 2 else atom.about,
    )
    # Other atoms would take the zeros in place of entries that are left out for entries.
    first = expr.args[0]
    scope.source.require(
        not (isinstance(first, Entries) and first.where) or expr.atom in KEEPS_ZEROS,
        first.span,
        f"a condition leaves entries out, which '{expr.atom}' cannot",
        "a condition is allowed in a sum, a norm, or after a constraint",
    )
    scope.source.require(atom.axis or not expr.options, expr.span, f"'{expr.atom}' takes no axis", atom.about)
    size = [column(dimension(first, scope))] if atom.takes_dim else None
    args = size or [infer(a, scope) for a in expr.args]
    try:
        whole = plain = atom.rule(*args, **options_of(expr, scope))
    except RuleError as error:
        is_inner = all(t.is_vector for t in args)
        sides = [
            e.args[0] if is_inner and isinstance(e, Apply) and e.atom == "transpose" else e for e in expr.args
        ]
        hint = (
            f"* is entry by entry; {'an inner product' if is_inner else 'a product of matrices'} is written "
            f"{to_source(Apply('matmul', tuple(sides), expr.span))}"
            if expr.atom == "mul" and args[0].dims[-1:] == args[1].dims[:1]
            else error.hint
        )
        scope.source.fail(expr.span, error.message, hint)
    if expr.atom == "matmul":
        whole = _congruence_type(expr, plain, scope)
    elif expr.atom == "trace":
        whole = _trace_type(expr, plain, scope)
    elif expr.atom == "sub" and _is_laplacian(expr, scope):
        whole = replace(plain, psd=True)
    elif expr.atom == "mul" and expr.args[0] == expr.args[1]:
        hint = "a product with itself (a square is written x**2)"
        whole = replace(plain, sign=1, why=hint if args[0].curvature.is_affine else plain.why)
    elif expr.atom in ("add", "sub") and plain.is_matrix and plain.dims[0] == plain.dims[1]:
        whole = replace(plain, symmetric=plain.symmetric or _transposed(expr, expr, scope))
    if UNKNOWN_ROWS in whole.dims:  # two such dimensions are equal only for the same expression
        if index := min(names_in(expr) & (scope.indices or {}).keys(), default=""):
            scope.source.fail(
                expr.span,
                f"how many rows '{to_source(expr)}' has may differ from one '{index}' to the next",
                "take the index out of it",
            )
        rows = Dim.of(f"?rows({to_source(expr)})")
        whole = replace(whole, dims=tuple(rows if d == UNKNOWN_ROWS else d for d in whole.dims))
    return whole


def options_of(expr: Apply, scope: Scope) -> dict[str, float | Fraction]:
    """The options of an atom for its rule; a power has between what numbers its exponent is."""
    if expr.atom != "pow":
        return dict(expr.options)
    exponent = expr.args[1]
    if (number := number_of(exponent)) is not None:
        return {"exponent": number}
    kind, indices = infer(exponent, scope), scope.indices or {}
    parts = {e.atom if isinstance(e, Apply) else type(e) for e in walk(exponent)}
    is_number = kind.is_scalar and kind.is_constant and parts <= {Name, Number, *ARITHMETIC}
    if not is_number or names_in(exponent) & indices.keys():
        return {}
    less = infer(Apply("sub", (exponent, Number(1.0, exponent.span)), exponent.span), scope).sign
    least = 1 if less > 0 else 0 if kind.sign > 0 else -math.inf
    return {"least": least, "most": 0 if kind.sign < 0 else 1 if less < 0 else math.inf}


def scoped(expr: Expr, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
    """The expression and every part that has a type, each with the names that are defined there."""
    yield expr, scope
    for part, inner in typed_parts(expr, scope):
        yield from scoped(part, inner)


def typed_parts(expr: Expr, scope: Scope) -> Sequence[tuple[Expr, Scope]]:
    """The direct parts that have a type, each with the names that are defined there."""
    if isinstance(expr, Entries):
        return [(expr.body, scope.among(expr))]
    has_size = isinstance(expr, Apply) and ATOMS[expr.atom].takes_dim
    return [] if has_size else [(child, scope) for child in children(expr)]


def dimension(expr: Expr, scope: Scope) -> Dim:
    """The dimension that an expression such as ``2*n`` means."""
    with placed(scope.source.locate(expr.span)):
        return _dimension(expr, scope)


def _dimension(expr: Expr, scope: Scope) -> Dim:
    """``dimension``, where messages have no place yet."""
    match expr:
        case Name(id=name) if name in scope.dims:
            return Dim.of(name)
        case Number(value=value) if value == int(value):
            return Dim.of(int(value))
        case Apply(atom=atom, args=(a, b)) if atom in OPERATIONS_OF_DIMS:
            return OPERATIONS_OF_DIMS[atom](_dimension(a, scope), _dimension(b, scope))
    scope.source.fail(
        expr.span,
        f"'{to_source(expr)}' is not a dimension",
        (
            suggest(expr.id, scope.dims)
            if isinstance(expr, Name)
            else "made of names, whole numbers, + - and *"
        ),
    )


def _normal(expr: Expr, scope: Scope, *, flip: bool = False) -> Expr:
    """``normal``, where types say what is symmetric, or of a name antisymmetric."""

    def symmetric(e: Expr) -> int:
        inferred = infer(e, scope)
        is_minus = inferred.antisymmetric and isinstance(e, Name)
        return -1 if is_minus else int(inferred.symmetric or inferred.is_scalar)

    return normal(expr, symmetric, flip=flip)


def _transposed(a: Expr, b: Expr, scope: Scope) -> bool:
    """Whether ``a`` is ``b.T`` by its form: the same multiples of the same terms, in any order."""
    one, other = _normal(a, scope), _normal(b, scope, flip=True)
    return one == other or sum_of_multiples(one) == sum_of_multiples(other)


def says_antisymmetric(relation: Relation, name: str) -> bool:
    """Whether a line is ``Q == -Q.T``, ``-Q == Q.T`` or ``Q + Q.T == 0`` for the name Q."""
    q, turned = Name(name, relation.span), transpose(Name(name, relation.span))
    minus, minus_turned = (Apply("neg", (e,), relation.span) for e in (q, turned))
    both, zero = Apply("add", (q, turned), relation.span), Number(0.0, relation.span)
    forms = ({q, minus_turned}, {minus, turned}, {both, zero})
    return relation.op == "==" and {relation.left, relation.right} in forms


def taken_as_one(expr: Expr, scope: Scope) -> Expr:
    """The expression where each quadratic form of what is chosen is a sum of squares, or matrix_frac.

    With P psd, ``x.T @ P @ x`` and ``trace(X.T @ P @ X)`` are sums of squares of ``root(P) @ X``; with P the
    inverse of what is chosen they are matrix_frac, also of the name of a given vector. The factors of a trace
    may be turned in a ring. And ``log(1 + exp(z))`` is one atom, logistic(z).
    """

    def change(e: Expr) -> Expr | None:
        match e:
            case Entries(body=body):
                return replace(e, body=taken_as_one(body, scope.among(e)))
            case Apply(atom="log", args=(Apply(atom="add", args=(a, b)),)):
                return _logistic(a, b, e, scope) or _logistic(b, a, e, scope)
            case Apply(atom="trace", args=(Apply(atom="matmul") as whole,)) | (Apply(atom="matmul") as whole):
                first, *rest = chain(whole)
            case _:
                return None
        match first:  # ``0.5 * x.T @ P @ x`` begins with the factor ``0.5 * x.T``
            case Apply(atom="neg" | "mul", args=(*by, inner)) if all(_is_number(b, scope) for b in by):
                plain = product([inner, *rest])
                form = change(plain if whole is e else replace(e, args=(plain,)))
                return form and replace(first, args=(*by, form), span=e.span)
        ring = chain(_normal(whole, scope))
        if whole is not e:
            turns = [ring[i:] + ring[:i] for i in range(len(ring))]
        elif infer(e, scope).is_scalar:
            is_column = infer(ring[0], scope).is_vector and not infer(ring[0], scope).is_row
            turns = [chain(_normal(ring[0], scope, flip=is_column)) + ring[1:]]
        else:
            return None
        return next((form for turn in turns if (form := _quadratic_form(turn, e, scope))), None)

    return rewrite(expr, change)


def _logistic(one: Expr, other: Expr, whole: Expr, scope: Scope) -> Expr | None:
    """``taken_as_one`` for the logarithm of ``1 + exp(z)``; None for others."""
    match one, other:
        case Number(value=1.0), Apply(atom="exp", args=(z,)) if not infer(z, scope).is_constant:
            return Apply("logistic", (taken_as_one(z, scope),), whole.span)
    return None


def _is_number(expr: Expr, scope: Scope) -> bool:
    """Whether an expression is a number that is given."""
    inferred = infer(expr, scope)
    return inferred.is_scalar and inferred.is_constant


def _quadratic_form(factors: list[Expr], whole: Expr, scope: Scope) -> Apply | None:
    """``taken_as_one`` for the product ``X.T @ P @ X`` or ``X.T @ X`` of the factors; None for others."""
    half, odd = divmod(len(factors), 2)
    if not half:
        return None
    left, middle, x = product(factors[:half]), factors[half : half + odd], product(factors[half + odd :])
    is_square = _transposed(left, x, scope) or (left == x and infer(x, scope).is_vector)
    inner, is_given = infer(x, scope), all(infer(p, scope).is_constant for p in middle)
    if not (is_square and inner.curvature.is_affine and all(infer(p, scope).psd for p in middle)):
        return None
    match middle:
        case [Apply(atom="inv", args=(p,))] if not is_given and (
            (isinstance(x, Name) and inner.is_vector) or not inner.is_constant
        ):
            return Apply("matrix_frac", (x, p), whole.span)
    if inner.is_constant or not is_given:
        return None
    roots: list[Expr] = [Apply("root", (p,), p.span) for p in middle]
    squares = Apply("pow", (product([*roots, *chain(x)]), Number(2.0, whole.span)), whole.span)
    return Apply("sum", (squares,), whole.span)


def not_symmetric(expr: Expr, scope: Scope) -> tuple[int, int] | None:
    """The first block (from 1) of a square block matrix that is not the transpose of its mirror image."""
    if isinstance(expr, Block) and len(expr.rows) == len(expr.rows[0]):
        for i, r in enumerate(expr.rows):
            for j, entry in enumerate(r[: i + 1]):
                if not _transposed(entry, expr.rows[j][i], scope):
                    return i + 1, j + 1
    return None


def vector_on_diagonal(expr: Expr, scope: Scope) -> Expr | None:
    """The vector v of ``diag(v)``; None for other expressions."""
    match expr:
        case Apply(atom="diag", args=(vector,)) if infer(expr, scope).is_matrix:
            return vector
    return None


def is_gram(factors: list[Expr], scope: Scope) -> bool:
    """Whether a product is psd by its form: ``P``, ``M.T @ M``, ``M.T @ P @ M`` with P psd."""
    half, odd = divmod(len(factors), 2)
    if odd and not infer(factors[half], scope).psd:
        return False
    return not half or _transposed(product(factors[:half]), product(factors[half + odd :]), scope)


def _is_laplacian(expr: Apply, scope: Scope) -> bool:
    """Whether a difference is psd by its form: ``diag(sum(D, axis=1)) - D``, D symmetric and nowhere below 0.

    It is the sum of D[i, j] (eᵢ - eⱼ)(eᵢ - eⱼ)ᵀ over the pairs.
    """
    match expr.args:
        case (Apply(atom="diag", args=(Apply(atom="sum", args=(inner,)),)), weights) if inner == weights:
            plain = infer(weights, scope)
            return plain.symmetric and plain.sign > 0
    return False


def _only_chosen_factor(factors: list[Expr], scope: Scope) -> tuple[int, Type] | None:
    """The one factor that depends on what is chosen, if it is the only one."""
    types = [infer(f, scope) for f in factors]
    at = [i for i, t in enumerate(types) if not t.is_constant]
    return (at[0], types[at[0]]) if len(at) == 1 else None


def _congruence_type(expr: Apply, plain: Type, scope: Scope) -> Type:
    """``M.T @ F @ M`` keeps the curvature of F in the Loewner order, and psd."""
    factors = chain(_normal(expr, scope))
    if not _transposed(expr, expr, scope):
        return plain
    psd = is_gram(factors, scope)
    sign = 1 if psd and plain.is_scalar else plain.sign
    out = replace(plain, psd=psd and plain.is_matrix, symmetric=plain.is_matrix, sign=sign)
    curved_factor = _only_chosen_factor(factors, scope)
    if curved_factor is None:
        return out  # constant, or of unknown curvature: still symmetric (and psd) by its form
    at, curved = curved_factor
    if curved.curvature.is_affine:
        return replace(out, curvature=curved.curvature)
    if at * 2 + 1 != len(factors) or not curved.loewner:
        return out
    # The whole is symmetric also where one side is a negative multiple of the other.
    if not _transposed(product(factors[:at]), product(factors[at + 1 :]), scope):
        return out
    return replace(out, curvature=curved.curvature, loewner=out.is_matrix, why="")


def _trace_type(expr: Apply, plain: Type, scope: Scope) -> Type:
    """``trace(P @ F)`` with P psd keeps the curvature of F in the Loewner order."""
    factors = chain(_normal(expr.args[0], scope))
    curved_factor = _only_chosen_factor(factors, scope)
    if curved_factor is None or len(factors) == 1:
        return plain
    at, curved = curved_factor
    if curved.curvature.is_affine or not curved.loewner:
        return plain
    if not is_gram(factors[at + 1 :] + factors[:at], scope):
        return replace(plain, why="").broken(
            f"the trace of a {curved.curvature.value} matrix against one not known to be psd (write W.T @ W)"
        )
    return replace(plain, curvature=curved.curvature, sign=1 if curved.psd else 0, why="")


def _sides(lines: list[list[Type]], side: int = 0) -> list[Dim]:
    """Heights of rows of blocks, or widths of columns (1): matrices decide, then numbers, then vectors."""
    first = [min(line, key=lambda t: (1, 2, 0)[len(t.dims)]) for line in lines]
    return [t.block_shape[side] for t in first]


def _block(expr: Block, scope: Scope) -> Type:
    """The type of a block matrix whose blocks fit."""
    rows = [[infer(e, scope) for e in r] for r in expr.rows]
    heights = _sides(rows)
    widths = _sides([list(c) for c in zip(*rows, strict=True)], 1)
    for lengths, side in ((heights, 0), (widths, 1)):
        for i, types in enumerate(rows):
            for j, t in enumerate(types):
                fits = lengths[(i, j)[side]]
                if t.block_shape[side] != fits:
                    what = ("row", "column")[side] + (" fits" if fits == Dim.of(1) else "s fit") + " here"
                    hint = "in a block a vector is a column, W[j, :] is a row, a number is one entry"
                    if expr.rows[i][j] == Number(0.0, expr.rows[i][j].span):
                        hint = f"zeros here are 0 * [[ones({heights[i]})]] @ [[ones({widths[j]})]].T"
                    elif t.block_shape[1 - side] == fits:
                        hint = "turn it with .T"
                    scope.source.fail(
                        expr.rows[i][j].span,
                        f"block ({i + 1}, {j + 1}) is {t.shape}; {fits} {what}",
                        hint,
                    )
    entries = [t for r in rows for t in r]
    is_column = len(rows) > 1 == len(rows[0]) and not any(t.is_matrix or t.is_row for t in entries)
    whole = matrix(
        sum(heights[1:], heights[0]),
        sum(widths[1:], widths[0]),
        sign=1 if all(t.sign > 0 for t in entries) else 0,
        symmetric=heights == widths and not_symmetric(expr, scope) is None,
        psd=not_psd(expr) == "",
    )
    out = replace(whole, dims=whole.dims[: 2 - is_column])
    bad = next((t for t in entries if not t.curvature.is_affine), None)
    if bad is not None:
        return out.broken(bad.why or "a block matrix with a curved block")
    is_constant = all(t.is_constant for t in entries)
    return replace(out, curvature=Curvature.CONSTANT if is_constant else Curvature.AFFINE)
