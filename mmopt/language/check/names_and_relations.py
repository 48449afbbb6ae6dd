"""Checks of names, relations, ranks and objectives, with advice on curvature.

``Names`` collects the names of a program with their types in the order of its text; givens come from
``SOURCES``. A relation, a rank or an objective is checked for its shapes, and for its curvature or gradients.
Where an expression does not have the curvature that its place needs, a hint says what to write instead; ""
where there is none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import NoReturn, TypeVar

from mmopt.language.atoms.expression_types import Curvature, Dim, Type, column, matrix
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.infer_types import (
    Scope,
    check_dims,
    infer,
    not_psd,
    not_symmetric,
    scoped,
    typed_parts,
)
from mmopt.language.syntax.exact_rewriting import Sum, number_of, product, sum_of_multiples
from mmopt.language.syntax.parse_and_write_expressions import to_source
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.source_text import Mistakes, Source
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Assignment,
    Block,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Family,
    Name,
    Number,
    Relation,
    Span,
    children,
    is_rank,
    names_in,
    transpose,
)

T = TypeVar("T")

# name -> its meaning. The binder computes them.
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "workload.matrix": "the queries, one per row, scaled by the square root of their weight",
        "workload.root": "R with RᵀR the workload Gram: the queries up to rotation",
        "workload.gram": "WᵀW",
        "workload.weights": "a weight per query",
        "workload.targets": "largest variance allowed, per query that has a target",
        "workload.basis": "independent rows B that span the queries",
        "workload.representation": "L with W = L B, the rows of queries that have a target",
        "workload.eigenqueries": "eigenvectors of the Gram as rows, of the nonzero eigenvalues",
        "workload.eigenvalues": "the nonzero eigenvalues of the Gram",
        "workload.dropped": "1 for each cell where rules may drop rows of data, else 0",
    }
)

# name -> what its entries are counted by, one word per dimension
AXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "workload.matrix": ("query", "cell"),
        "workload.root": ("rank", "cell"),
        "workload.gram": ("cell", "cell"),
        "workload.weights": ("query",),
        "workload.targets": ("query with a target",),
        "workload.basis": ("basis query", "cell"),
        "workload.representation": ("query with a target", "basis query"),
        "workload.eigenqueries": ("eigenvalue", "cell"),
        "workload.eigenvalues": ("eigenvalue",),
        "workload.dropped": ("cell",),
    }
)
# The sources that are psd by their meaning.
PSD_SOURCES = frozenset({"workload.gram"})


def declared_type(d: Declaration, curvature: Curvature) -> Type:
    """The type that a declaration states."""
    sign = 1 if d.sign else 0
    if d.kind in ("scalar", "dim"):
        return Type(sign=1 if d.kind == "dim" else sign, curvature=curvature)
    if d.kind == "vector":
        return column(d.dims[0], sign=sign, curvature=curvature)
    psd = d.kind == "psd"
    return matrix(*d.dims, sign=sign, psd=psd, symmetric=psd or d.kind == "symmetric", curvature=curvature)


def orders_numbers(c: Constraint) -> bool:
    """Whether a line of ``require`` is about signs: one side is at least the other, entry by entry."""
    return c.relation.op in ("<=", "<", ">=", ">") and c.family is None and not is_rank(c)


def _surplus(r: Relation) -> Expr:
    """The larger side of an order of numbers less the smaller one."""
    return Apply("sub", (r.left, r.right) if r.op in (">=", ">") else (r.right, r.left), r.span)


@dataclass
class Names:
    """The names defined so far; checks raise :class:`~mmopt.errors.ProgramError`, which ``look`` notes."""

    source: Source
    types: dict[str, Type] = field(default_factory=dict)
    dims: set[str] = field(default_factory=set)
    hints: dict[str, str] = field(default_factory=dict)
    orders: Sequence[Constraint] = ()  # the lines of ``require`` that may give signs
    mistakes: Mistakes = field(default_factory=Mistakes)

    def scope(self) -> Scope:
        """The names defined so far, as expressions see them."""
        names = self.types.keys() | self.dims
        surplus = [e for c in self.orders if names_in(e := _surplus(c.relation)) <= names]
        facts: list[Sum] = [{Name(dim, Span(1, 1)): Fraction(1), None: Fraction(-1)} for dim in self.dims]
        facts += map(sum_of_multiples, surplus)
        return Scope(self.source, dict(self.types), frozenset(self.dims), {}, dict(self.hints), facts=facts)

    def look(
        self,
        check: Callable[[], T],
        *exprs: Expr,
        uses: Iterable[str] = (),
        defines: Iterable[str] = (),
        family: Family | None = None,
    ) -> T | None:
        """The result of a check of expressions; None after a mistake, which is noted.

        Where they use something broken, their parts that do not are looked at, and nothing else.
        """
        with self.mistakes.noting(defines):
            if self.mistakes.spare({*uses}.union(*map(names_in, exprs))):
                return check()
            self.mistakes.broken.update(defines)
            for e in exprs:
                self._search(e, self.scope().inside(family))
        return None

    def _search(self, expr: Expr, scope: Scope) -> None:
        """Check the largest parts that use nothing broken."""
        if self.mistakes.spare(names_in(expr)):
            infer(expr, scope)
            return
        for part, inner in typed_parts(expr, scope):
            self._search(part, inner)

    def infer(self, expr: Expr) -> Type:
        """The type of an expression of the names defined so far."""
        return infer(expr, self.scope())

    def number(self, expr: Expr, what: str, hint: str = "", **more: Type) -> Type:
        """The type of an expression that has to be a number; ``more`` are names that only it has."""
        inferred = infer(expr, self.scope().with_types(**more))
        self.source.require(inferred.is_scalar, expr.span, f"{what}, this is {inferred.shape}", hint)
        return inferred

    def new(self, name: str, span: Span) -> None:
        """Refuse a name that has a meaning already."""
        require = self.source.require
        require(name not in self.dims, span, f"'{name}' is a dimension already", "give it another name")
        require(name not in self.types, span, f"'{name}' is defined twice", "give one of them another name")

    def compute(self, a: Assignment) -> None:
        """Define the new name on the left side of an assignment."""
        self.new(a.name, a.span)
        self.types[a.name] = self.assign(a)

    def declare(self, d: Declaration, curvature: Curvature) -> None:
        """Define the name that a declaration states; its dimensions have to be known."""
        for dim, span in zip(d.dims, d.dim_spans, strict=True):
            check_dims(dim, span, self.dims, self.source)
        if d.kind in ("psd", "symmetric"):
            self.source.require(
                d.dims[0] == d.dims[1],
                d.dim_spans[1],
                f"'{d.kind}' is square, here are {d.dims[0]} rows and {d.dims[1]} columns",
                f"write {d.kind}[{d.dims[0]}, {d.dims[0]}]",
            )
        self.new(d.name, d.span)
        self.types[d.name] = declared_type(d, curvature)

    def assign(self, a: Assignment) -> Type:
        """The type of an assignment's right side, checked against what its left side states."""
        inferred = self.infer(a.expr)
        self.source.require(
            not (inferred.is_vector and inferred.is_row),
            a.expr.span,
            f"'{a.name}' would be {inferred.shape}; a named vector is a column",
            f"name the column and write {a.name}.T where a row is meant",
        )
        return self._as_declared(a, a.declared, inferred) if a.declared else inferred

    def _as_declared(self, a: Assignment, d: Declaration, inferred: Type) -> Type:
        """The type of an assignment as its left side declares it, which has to follow from the right side."""
        declared = declared_type(d, inferred.curvature)
        message = f"'{a.name}' is declared {declared.shape} and is {inferred.shape}"
        column = _column_hint(declared, inferred)
        self.source.require(len(declared.dims) == len(inferred.dims), a.span, message, column)
        for dim, size, span in zip(declared.dims, inferred.dims, d.dim_spans, strict=True):
            if any(name.startswith("?") for name in size.symbols):
                self._name_size(dim, span)
            else:
                check_dims(dim, span, self.dims, self.source)
                self.source.require(dim == size, span, message)
        wrong = (
            (declared.psd and not inferred.psd, "psd"),
            (declared.symmetric and not inferred.symmetric, "symmetric"),
            (declared.sign and inferred.sign != declared.sign, ">= 0"),
        )
        for missing, word in wrong:
            fault = not_psd(a.expr) if missing and word != ">= 0" else ""
            self.source.require(
                not missing,
                a.span,
                f"'{a.name}' is declared {word}, "
                + (f"and {fault}" if fault else "which does not follow from its expression"),
                "declare it without" + ", or write it so that it shows (W.T @ W is psd)" * (not fault),
            )
        return replace(inferred, dims=declared.dims)

    def _name_size(self, dim: Dim, span: Span) -> None:
        """Give a new name to a size that depends on the numbers."""
        self.source.require(
            dim.name and dim.name not in self.dims,
            span,
            f"the number of rows is known only with the numbers, it cannot be stated as '{dim}'",
            "give it a new name, for example k",
        )
        self.new(dim.name, span)
        self.dims.add(dim.name)


def relation_hint(relation: Relation, left: Type, right: Type) -> str:
    """A hint at what holds of the curved side where the other is affine; "" where none is."""
    bent, other = (right, left) if left.curvature.is_affine else (left, right)
    if Curvature.UNKNOWN in (left.curvature, right.curvature) or not other.curvature.is_affine:
        return ""
    is_convex = bent.curvature is Curvature.CONVEX
    if relation.op == "==":
        op = (("<<", ">>") if bent.loewner else ("<=", ">="))[is_convex != (bent is left)]
        line = f"{to_source(relation.left)} {op} {to_source(relation.right)}"
        side = "above" if is_convex else "below"
        return f"a {bent.curvature.value} expression can be bounded from {side}, not fixed by '==': {line}"
    near, far = ("above", "below") if is_convex else ("below", "above")
    what = f"a {bent.curvature.value} expression can be bounded from {near}; where it is from {far},"
    return f"{what} the rules of disciplined convex programming do not show that the set is convex"


OTHER_SENSE = "a convex function is minimized, a concave one maximized: change the sense, or the objective"


def advice(culprit: Expr, scope: Scope) -> str:
    """A hint at what to write instead of an expression of unknown curvature; "" for none."""
    match culprit:
        case Apply(atom="sqrt", args=(inner,)):
            return _advice_on_root(inner, scope)
        case Apply(atom="pow", args=(base, Number(value=0.5))):
            return _advice_on_root(base, scope)
        case Apply(atom="log", args=(inner,)) if infer(inner, scope).curvature is Curvature.CONVEX:
            return "log is concave and increasing: use a concave argument. log(sum(exp(x))) is logsumexp(x)"
        case Apply(atom="exp", args=(inner,)) if infer(inner, scope).curvature is Curvature.CONCAVE:
            return "exp is convex and increasing: use a convex argument"
        case Apply(atom="pow", args=(base, exponent)):
            inferred = infer(base, scope)
            if inferred.sign > 0 and names_in(exponent):
                p = to_source(exponent)
                return f"require {p} >= 1 or {p} <= 0 (it is convex), or both {p} >= 0 and {p} <= 1 (concave)"
            number = number_of(exponent) or Fraction(1)
            hint = (
                "an even power is decreasing where its base is negative: make the base affine, or convex and "
                ">= 0, or concave and <= 0"
                if number > 0 and number % 2 == 0
                else "if the base may be negative, only the powers 2, 4, … are convex: declare it"
                + _declared(base, ">= 0" if number > 0 else "> 0")
            )
            if isinstance(exponent, Number) and exponent.value > 1 and inferred.curvature.is_convex:
                zero = Apply("entrywise max", (base, Number(0.0, base.span)), base.span)
                raised = to_source(replace(culprit, args=(zero, exponent)))
                hint += f", or write {raised}, which is equal where a constraint keeps the base >= 0"
            return hint if inferred.sign <= 0 and not (inferred.loewner or inferred.is_broken) else ""
        case Apply(atom="div", args=(above, below)) if infer(below, scope).is_constant:
            return _advice_on_product(below, above, scope)
        case Apply(atom="div", args=(above, _)) if not infer(above, scope).is_constant:
            return (
                "the rules accept a quotient only if one of the two is constant: in a constraint, multiply "
                "both sides by the denominator if it is > 0; x**2 / y, or the sum of squares of x over y, is "
                "written quad_over_lin(x, y)"
            )
        case Apply(atom="div", args=(above, Apply(atom="pow", args=(below, Number(value=power))))):
            return (
                f"a quotient by a power is a power: write {to_source(above)} * {to_source(below)}**-{power:g}"
            )
        case Apply(atom="div", args=(_, below)) if infer(below, scope).sign <= 0:
            return (
                f"a quotient is convex if its denominator is > 0: declare it{_declared(below, '> 0')}; for a "
                "number y, quad_over_lin(1, y) is also 1 / y, and is defined only for y > 0; if y > 0, the "
                "constraint 1 / y >= 2 is 2 * y <= 1"
            )
        case Apply(atom="mul", args=(left, right)) if all(
            infer(e, scope).is_matrix for e in (left, right)
        ) and any(infer(e, scope).loewner for e in (left, right)):
            product = to_source(Apply("matmul", (left, right), culprit.span))
            return f"* is entry by entry; a product of matrices is written {product}"
        case Apply(atom="mul" | "matmul", args=(left, right)):
            return _advice_on_product(left, right, scope)
    return ""


def _advice_on_root(inner: Expr, scope: Scope) -> str:
    """The hint of ``advice`` for the square root of an expression; "" where there is none."""
    squares = isinstance(inner, Apply) and inner.atom in ("sum", "matmul")
    hint = (
        "a square root is concave and increasing: the rules need a concave argument. The root of a sum of "
        "squares is norm(x), that of x.T @ P @ x is norm(root(P) @ x), that of x**2 + c**2 is norm([[x], "
        "[c]]) for numbers and norm([[x, c * ones(n)]], axis=1) entry by entry; these are convex. If the "
        "root is the whole objective, minimize its argument"
    )
    return hint if squares or infer(inner, scope).curvature is Curvature.CONVEX else ""


def _declared(expr: Expr, sign: str) -> str:
    """How a sign is declared: with the name, where the expression is one."""
    return f": {expr.id}: … {sign}" if isinstance(expr, Name) else f" {sign}"


def _advice_on_product(left: Expr, right: Expr, scope: Scope) -> str:
    """The hint of ``advice`` for a product of two expressions; "" where there is none."""
    if infer(left, scope).is_constant and infer(right, scope).loewner:
        m = left.args[0] if isinstance(left, Apply) and left.atom == "neg" else left
        whole = to_source(product([transpose(m), right, m]))
        return f"a product has the curvature of its middle factor in the form {whole}"
    for one, other in ((left, right), (right, left)):
        inferred = infer(one, scope)
        if isinstance(one, Name) and inferred.is_constant and inferred.sign == 0:
            name = ("scalar", "vector", "matrix")[len(inferred.dims)]
            kind = f"{name}[{', '.join(map(str, inferred.dims))}]" if inferred.dims else name
            return (
                f"declare its sign: {one.id}: {kind} >= 0; if it is negative, declare its absolute "
                "value, and write a minus"
            )
        is_factor = inferred.is_constant and infer(other, scope).curvature in (
            Curvature.CONVEX,
            Curvature.CONCAVE,
        )
        if is_factor and not (inferred.sign or names_in(one) & (scope.indices or {}).keys()):
            return f"state its sign under 'require', for example: {to_source(one)} >= 0"
        match other:
            case Apply(atom="log", args=(inner,)) if inner == one:
                return f"x * log(x) is -entropy(x), which is convex: write -entropy({to_source(one)})"
            case Apply(atom="log", args=(Apply(atom="div", args=(above, below)),)) if above == one:
                entropy = f"rel_entropy({to_source(one)}, {to_source(below)})"
                return f"x * log(x / y) is rel_entropy(x, y), which is convex: write {entropy}"
    if form := _quadratic_form(left, right, scope):
        matrix, x = form
        hint = f"a quadratic form is written {to_source(product([transpose(x), matrix, x]))}"
        return hint + (
            f", convex where {to_source(matrix)} is psd: {not_psd(matrix) or 'declare it so'}; a concave one "
            "is minus such a form"
        ) * (not infer(matrix, scope).psd)
    plain = right.args[0] if isinstance(right, Apply) and right.atom == "transpose" else right
    inferred = infer(left, scope)
    if plain in (left, transpose(left)) and inferred.curvature.is_affine and not inferred.is_scalar:
        what = "a sum of squares is written" if inferred.is_vector else "the sum of all squares of entries is"
        return f"{what} sum({to_source(Apply('pow', (plain, Number(2.0, plain.span)), plain.span))})"
    both = [infer(e, scope) for e in (left, right)]
    if left != right and all(t.is_scalar and t.curvature is Curvature.AFFINE for t in both):
        a, b = to_source(left), to_source(right)
        return (
            f"a product that is at least c**2, with both factors >= 0, is written [[{a}, c], [c, {b}]] >> 0; "
            f"its square root, which is concave, is geo_mean([[{a}], [{b}]])"
        )
    return ""


def _quadratic_form(left: Expr, right: Expr, scope: Scope) -> tuple[Expr, Expr] | None:
    """The given matrix Q and the affine x of ``x @ Q @ x``, ``0.5 * x.T @ Q @ x`` or ``x * (Q @ x)``."""
    if isinstance(right, Apply) and right.atom == "matmul" and right.args[1] == left:
        left, right = Apply("matmul", (right.args[1], right.args[0]), right.span), left
    if not (isinstance(left, Apply) and left.atom == "matmul"):
        return None
    first = left.args[0]
    first = first.args[1] if isinstance(first, Apply) and first.atom == "mul" else first
    if first not in (right, transpose(right)):
        return None
    middle, x = infer(left.args[1], scope), infer(right, scope)
    is_form = middle.is_constant and middle.is_matrix and x.is_vector and x.curvature.is_affine
    return (left.args[1], right) if is_form else None


# Which curvature the left and the right side of a relation need.
SIDES = {
    "<=": ("convex", "concave"),
    "<<": ("convex", "concave"),
    ">=": ("concave", "convex"),
    ">>": ("concave", "convex"),
    "==": ("affine", "affine"),
}
SIDES_IN_WORDS = {
    "convex": "the smaller side has",
    "concave": "the larger side has",
    "affine": "both sides of '==' have",
}
# The rule that failed and a way out, by words of the reason; the last one is about any other.
RULES = {
    "the inverse of": "an inverse is convex if its matrix is psd, and affine or concave: declare the matrix "
    "psd, or write it in a form that is psd (such as W.T @ W)",
    "a sum of a convex": "the sum of a convex and a concave expression may be neither: drop one of them, or "
    "make it affine",
    "a factor of unknown sign": "the sign of a factor keeps or turns the curvature: state it under "
    "'require', or where the name is declared, for example u: vector[n] >= 0",
    "product": "a product has the curvature of one factor if all others are constants of known sign: fix one "
    "as a parameter, or alternate between them in a procedure",
    "quotient": "a quotient is convex if a constant >= 0 is divided by a concave expression > 0: make the "
    "numerator or the denominator constant, and write -(1 / x) for -1 / x",
    "a rank of": "a rank is not convex: nuclear(X), the sum of the singular values, is its convex surrogate; "
    "a constraint on a rank needs a program of class rank",
    "that contains a variable": "make it a parameter, which is constant",
    "extreme": "sums and extremes of all entries do not have the curvature of the matrix: use its trace, its "
    "diag, lambda_max or lambda_min",
    "an entry of": "only the diagonal of such a matrix has its curvature: use diag(F), or trace(P @ F) with "
    "P psd",
    "a block": "blocks have to be affine: replace the curved block by a variable, and compare both in a "
    "constraint",
    "the trace of": "the trace of P @ F has the curvature of F if P is psd: declare it psd, or write W.T @ W",
    "larg": "a largest value is convex, and only if its argument is: make the argument convex",
    "small": "a smallest value is concave, and only if its argument is: make the argument concave",
    "sum of squares": "quad_over_lin(x, y) is convex for an affine x and a concave y > 0: make the curved "
    "argument affine",
    "": "the rules allow an affine argument, and a curved one only where the atom is increasing or "
    "decreasing to match: make the argument affine",
}
BOTH_SIDES = (
    "the smaller side may be convex and the larger one concave; both may be affine: drop an increasing "
    "function that is applied to both sides, or make one side affine"
)
SYMMETRIC = (
    "declare a name psd or symmetric; in a sum, write each product with its transpose, as in A @ Q + "
    "Q @ A.T, and a factor before both: t * (A @ Q + Q @ A.T)"
)


def _column_hint(one: Type, other: Type) -> str:
    """A hint where a vector meets a row, in either order; "" elsewhere."""
    vector, row = sorted((one, other), key=lambda t: len(t.dims))
    is_row = vector.is_vector and row.is_matrix and row.dims[0] == Dim.of(1)
    return "a column of numbers is written [[2], [1], [1], [2]]; the transpose of a row A is A.T" * is_row


def check_shapes(c: Constraint, scope: Scope) -> tuple[Type, Type]:
    """The types of both sides of a relation whose shapes fit."""
    r = c.relation
    left, right = infer(r.left, scope), infer(r.right, scope)
    is_order = r.op in (">>", "<<")
    for t, e in ((left, r.left), (right, r.right)):
        if is_order and not (isinstance(e, Number) and e.value == 0):
            _require_symmetric(e, t, r.op, scope)
    scope.source.require(
        left.is_scalar or right.is_scalar or left.dims == right.dims,
        r.span,
        f"{left.shape} {r.op} {right.shape}: both sides need the same shape",
        _column_hint(left, right),
    )
    is_scalar = is_order and not (left.is_matrix or right.is_matrix)
    scope.source.require(
        not is_scalar, r.span, f"'{r.op}' compares symmetric matrices, both sides are numbers", "write >= 0"
    )
    return left, right


def _require_symmetric(e: Expr, t: Type, op: str, scope: Scope) -> None:
    """Refuse a side of ``>>`` or ``<<``, of type ``t``, that is not known to be a symmetric matrix."""
    if t.is_matrix and t.symmetric:
        return
    hint = ""
    message = f"'{op}' compares symmetric matrices, this is {t.shape}"
    if t.is_scalar:
        hint = "write 0, or a multiple of eye(n)"
    elif t.is_matrix and t.dims[0] == t.dims[1]:
        message += " that is not known to be symmetric"
        at = not_symmetric(e, scope)
        if at and isinstance(e, Block):
            i, j = at
            culprit, mirror = e.rows[i - 1][j - 1], e.rows[j - 1][i - 1]
            is_minus = any(isinstance(b, Apply) and b.atom == "neg" for b in (culprit, mirror))
            scope.source.fail(
                culprit.span,
                message,
                f"block ({i}, {i}), counted from 1, has to be symmetric: {SYMMETRIC}"
                if i == j
                else f"block ({i}, {j}) has to be the transpose of block ({j}, {i})"
                + ", as for Q and -Q with a constraint Q == -Q.T" * is_minus,
            )
        hint = SYMMETRIC
    elif t.is_vector:
        hint = "between vectors write <= or >="
    scope.source.fail(e.span, message, hint)


def check_curvature_of_sides(c: Constraint, types: tuple[Type, Type], scope: Scope) -> None:
    """Refuse a constraint whose sides lack the curvature that its relation needs, the convex side first.

    Raises
    ------
    ProgramError : with what to do about it; also a matrix that is curved as a whole where entries are
        compared, or entry by entry where wholes are.
    """
    r = c.relation
    sides = zip(SIDES[r.op], types, (r.left, r.right), strict=True)
    for word, t, e in sorted(sides, key=lambda side: side[0] == "concave"):
        wanted = f"'{c.name}': {SIDES_IN_WORDS[word]} to be {word}"
        if not suits(t, word):
            refuse_curvature(e, t, wanted, scope, relation_hint(r, *types))
        is_other = not t.curvature.is_affine and t.is_matrix and t.loewner != (r.op in ("<<", ">>"))
        as_whole = "as a whole, not entry by entry (compare with << or >>, or take its diag)"
        by_entry = "entry by entry, not as a whole (compare with <= or >=)"
        scope.source.require(
            not is_other, e.span, f"{wanted}, but it is {word} {as_whole if t.loewner else by_entry}"
        )


def suits(inferred: Type, word: str) -> bool:
    """Whether an expression is convex, concave or affine: the one that ``word`` names."""
    curvature = inferred.curvature
    return {"convex": curvature.is_convex, "concave": curvature.is_concave}.get(word, curvature.is_affine)


def is_logarithm(expr: Expr | None, given: Set[str]) -> bool:
    """Whether an objective is a logarithm by its form: one of its terms is, up to factors.

    Other units of what is chosen then add a constant to it; the logarithm of what is ``given`` is a number
    like any other. A soft maximum is no logarithm: it is near the largest of its arguments.
    """
    match expr:
        case Apply(atom="add" | "sub" | "mul" | "matmul" | "div", args=args):
            return any(is_logarithm(a, given) for a in args)
        case Apply(atom="neg" | "sum" | "max" | "min", args=args):
            return is_logarithm(args[0], given)
        case Entries(body=body, families=families):
            return is_logarithm(body, given | {f.index for f in families})
        case Apply(atom=atom):
            return atom in ("log", "logdet") and not names_in(expr) <= given
    return False


def refuse_curvature(expr: Expr, inferred: Type, what: str, scope: Scope, turned: str = "") -> NoReturn:
    """Raise for an expression of the wrong curvature, at the smallest part that is to blame.

    ``turned``: what to do where the curvature is the opposite one.
    """
    if inferred.curvature is not Curvature.UNKNOWN:
        scope.source.fail(expr.span, f"{what}, but it is {inferred.curvature.value}", turned or BOTH_SIDES)
    culprit, inner = _culprit(expr, inferred, scope)
    rule = next(text for words, text in RULES.items() if words in inferred.why)
    scope.source.fail(culprit.span, f"{what}, but this is {inferred.why}", advice(culprit, inner) or rule)


def _culprit(expr: Expr, inferred: Type, scope: Scope) -> tuple[Expr, Scope]:
    """The first part that breaks the curvature for this reason while nothing inside does; and its scope."""

    def breaks(e: Expr, inner: Scope) -> bool:
        is_leaf = isinstance(e, Name | Number)
        return not is_leaf and (t := infer(e, inner)).curvature is Curvature.UNKNOWN and t.why == inferred.why

    able = (part for part in scoped(expr, scope) if breaks(*part))
    return next((part for part in able if not any(breaks(*c) for c in typed_parts(*part))), (expr, scope))


def check_smooth(expr: Expr, scope: Scope) -> None:
    """Raise a :class:`~mmopt.errors.ProgramError` at the first atom on what is chosen without a gradient."""
    for part, inner in scoped(expr, scope):
        if isinstance(part, Apply) and not ATOMS[part.atom].gradient and not infer(part, inner).is_constant:
            able = ", ".join(sorted(name for name, atom in ATOMS.items() if atom.gradient))
            scope.source.fail(
                part.span,
                f"'{part.atom}' has no gradient, and a smooth program is searched by gradients",
                f"these have one: {able}",
            )


def check_smooth_line(c: Constraint, scope: Scope) -> None:
    """``check_smooth`` for both sides of a line, which compares entries (a psd matrix is declared so)."""
    scope.source.require(
        c.relation.op not in (">>", "<<"),
        c.relation.span,
        f"'{c.name}': a smooth program compares entries, not matrices",
        "declare the variable psd",
    )
    for side in (c.relation.left, c.relation.right):
        check_smooth(side, scope)


RANK_HINT = "write: exact: rank(Z) == p"


def rank_line(constraints: Sequence[Constraint]) -> Constraint:
    """The one rank constraint of a checked program of class rank."""
    return next(c for c in constraints if is_rank(c))


def check_rank(program: Program, scope: Scope) -> None:
    """One constraint ``rank(affine symmetric) == dimension`` in class rank, none elsewhere.

    Raises :class:`~mmopt.errors.ProgramError`.
    """
    lines = [c for c in program.constraints if is_rank(c)]
    require = program.source.require
    for line in lines if program.problem_class not in ("rank", "smooth") else ():
        program.source.fail(
            line.relation.left.span, f"'{line.name}': a rank constraint is not convex", "write 'class rank'"
        )
    if program.problem_class != "rank":
        return
    require(
        len(lines) == 1,
        lines[1].span if len(lines) > 1 else dict(program.spans)["class"],
        f"a program of class 'rank' has one rank constraint, this has {len(lines)}",
        RANK_HINT,
    )
    relation = lines[0].relation
    require(
        relation.op == "==" and not lines[0].family,
        relation.span,
        "a rank is given by '==' to one number",
        RANK_HINT,
    )
    (inner,) = children(relation.left)
    inside, right = infer(inner, scope), infer(relation.right, scope)
    require(
        inside.is_matrix and inside.symmetric and inside.curvature.is_affine,
        inner.span,
        "the matrix whose rank is fixed has to be symmetric and affine in the variables",
        "for example Z = [[eye(p), A], [A.T, X]]",
    )
    require(
        right.is_scalar and right.is_constant,
        relation.right.span,
        f"a rank is a constant number, this is {right.shape}",
        RANK_HINT,
    )
