"""What to write instead of an expression that is not curved as its place asks: hints, "" for none."""

from __future__ import annotations

from mmopt.language.atoms.argument_types import Curvature, Type
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.syntax.syntax_tree import Apply, Expr, Name, Number, Relation, transpose
from mmopt.language.syntax.to_text import to_source

__all__ = ["advice", "turned_objective", "turned_relation"]

FLIPPED = {"<=": ">=", ">=": "<=", "<<": ">>", ">>": "<<"}


def turned_relation(relation: Relation, left: Type, right: Type) -> str:
    """The line the other way round, where that is convex."""
    bent = left if not left.curvature.is_affine else right
    other = right if bent is left else left
    if relation.op == "==" and Curvature.UNKNOWN not in (left.curvature, right.curvature):
        side = "at most" if bent.curvature is Curvature.CONVEX else "at least"
        op = "<=" if (bent.curvature is Curvature.CONVEX) == (bent is left) else ">="
        op = {"<=": "<<", ">=": ">>"}[op] if bent.loewner else op
        line = f"{to_source(relation.left)} {op} {to_source(relation.right)}"
        said = f"what is {bent.curvature.value} can be {side} a limit, not equal to one: {line}"
        return said if other.curvature.is_affine else ""
    if relation.op not in FLIPPED or Curvature.UNKNOWN in (left.curvature, right.curvature):
        return ""
    is_small_left = FLIPPED[relation.op] in ("<=", "<<")
    small, large = (left, right) if is_small_left else (right, left)
    if not (small.curvature.is_convex and large.curvature.is_concave):
        return ""
    line = f"{to_source(relation.left)} {FLIPPED[relation.op]} {to_source(relation.right)}"
    if bent.curvature is Curvature.CONVEX:
        return f"what is convex can be kept below a limit, not above one; is this meant: {line}"
    return f"what is concave can be kept above a limit, not below one; is this meant: {line}"


def turned_objective(known: Type) -> str:
    """What to do with an objective of the other curvature."""
    if known.curvature is Curvature.CONCAVE:
        return "what is concave has a largest value: maximize it, or minimize something convex"
    return "what is convex has a least value: minimize it, or maximize something concave"


def advice(culprit: Expr, scope: Scope) -> str:
    """What may be meant by an expression that is neither convex nor concave."""
    match culprit:
        case Apply(atom="sqrt", args=(inner,)):
            return _of_root(inner, scope)
        case Apply(atom="pow", args=(base, Number(value=0.5))):
            return _of_root(base, scope)
        case Apply(atom="log", args=(Apply(atom="add", args=(Number(value=1.0), Apply(atom="exp"))),)):
            return (
                "log(1 + exp(t)) of a number t is logsumexp([[0], [t]]); "
                "of all entries: sum(logsumexp([[0], [x[i]]]) for i in n)"
            )
        case Apply(atom="log", args=(inner,)) if infer(inner, scope).curvature is Curvature.CONVEX:
            return "log is concave, and rises: take it of something concave; log(sum(exp(x))) is logsumexp(x)"
        case Apply(atom="exp", args=(inner,)) if infer(inner, scope).curvature is Curvature.CONCAVE:
            return "exp is convex, and rises: take it of something convex"
        case Apply(atom="pow", args=(base, _)):
            return _of_power(base, scope)
        case Apply(atom="div", args=(above, _)) if not infer(above, scope).is_constant:
            return (
                "a quotient of two that are chosen has no curvature: in a line, multiply what is below to "
                "the other side; that t**2 / x is at most y is written [[x, t], [t, y]] >> 0"
            )
        case Apply(atom="div", args=(_, below)) if infer(below, scope).sign <= 0:
            return f"a quotient is convex where what is below is > 0: declare it{_declared(below, '> 0')}"
        case Apply(atom="mul" | "matmul", args=(left, right)):
            return _of_product(left, right, scope)
    return ""


def _of_root(inner: Expr, scope: Scope) -> str:
    known = infer(inner, scope)
    squares = isinstance(inner, Apply) and inner.atom in ("sum", "matmul")
    if known.curvature is Curvature.CONVEX or squares:
        return (
            "a square root is concave, and rises: of something convex it is neither. The root of a sum of "
            "squares is norm(x), which is convex; as an objective, minimize what is under the root"
        )
    return ""


def _of_power(base: Expr, scope: Scope) -> str:
    known = infer(base, scope)
    if known.sign <= 0 and not known.loewner and known.curvature is not Curvature.UNKNOWN:
        return f"of what may be negative only even powers are convex: declare it{_declared(base, '>= 0')}"
    return ""


def _declared(expr: Expr, sign: str) -> str:
    return f": {expr.id}: … {sign}" if isinstance(expr, Name) else f" {sign}"


def _of_product(left: Expr, right: Expr, scope: Scope) -> str:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Name) and infer(one, scope).is_constant and infer(one, scope).sign == 0:
            return f"declare its sign: {one.id}: {_kind(infer(one, scope))} >= 0"
        if isinstance(other, Apply) and other.atom == "log" and other.args[0] == one:
            return f"x * log(x) is -entropy(x), which is convex: write -entropy({to_source(one)})"
    if form := _of_form(left, right, scope):
        matrix, x = form
        name = to_source(matrix)
        product = Apply("matmul", (Apply("root", (matrix,), matrix.span), x), x.span)
        said = f"a quadratic form is written norm({to_source(product)})**2"
        return said if infer(matrix, scope).psd else f"{said}, where {name} is psd: declare it so"
    plain = right.args[0] if isinstance(right, Apply) and right.atom == "transpose" else right
    if left == plain:
        known = infer(left, scope)
        if known.is_vector and known.curvature.is_affine:
            return f"a sum of squares is written sum({_squared(plain)})"
        if known.is_matrix and known.curvature.is_affine:
            return f"the sum of all squares of entries is sum({_squared(plain)})"
    both = [infer(e, scope) for e in (left, right)]
    if left != right and all(t.is_scalar and t.curvature is Curvature.AFFINE for t in both):
        a, b = to_source(left), to_source(right)
        return f"that a product is at least c**2, with both >= 0, is written [[{a}, c], [c, {b}]] >> 0"
    return ""


def _kind(known: Type) -> str:
    """The kind of a declaration with its dimensions: ``vector[n]``."""
    name = ("scalar", "vector", "matrix")[len(known.dims)]
    return f"{name}[{', '.join(map(str, known.dims))}]" if known.dims else name


def _of_form(left: Expr, right: Expr, scope: Scope) -> tuple[Expr, Expr] | None:
    """The given matrix Q and the affine x of ``x @ Q @ x``, ``x.T @ Q @ x`` or ``x * (Q @ x)``."""
    if isinstance(right, Apply) and right.atom == "matmul" and right.args[1] == left:
        left, right = Apply("matmul", (right.args[1], right.args[0]), right.span), left
    if not (isinstance(left, Apply) and left.atom == "matmul" and left.args[0] in (right, transpose(right))):
        return None
    known, x = infer(left.args[1], scope), infer(right, scope)
    is_form = known.is_constant and known.is_matrix and x.is_vector and x.curvature.is_affine
    return (left.args[1], right) if is_form else None


def _squared(expr: Expr) -> str:
    return to_source(Apply("pow", (expr, Number(2.0, expr.span)), expr.span))
