"""Checks of a relation, a rank or an objective: shapes, curvature or gradients, and texts where they fail."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NoReturn

import numpy as np

from mmopt.language.atoms.argument_types import Curvature, Type
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.advice_on_curvature import advice, turned_relation
from mmopt.language.check.infer_types import Scope, infer, not_symmetric
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Constraint,
    Entries,
    Expr,
    Name,
    Number,
    children,
    is_rank,
    names_in,
    walk,
)
from mmopt.numerics.matrix_functions import Array
from mmopt.numerics.pseudoinverse import has_full_rank

__all__ = [
    "SIDES",
    "check_rank",
    "check_relation",
    "check_shapes",
    "check_smooth",
    "check_smooth_line",
    "is_logarithm",
    "rank_line",
    "rank_residual",
    "refuse_curvature",
    "suits",
]

# Which curvature the left and the right side of a relation need.
SIDES = {
    "<=": ("convex", "concave"),
    "<<": ("convex", "concave"),
    ">=": ("concave", "convex"),
    ">>": ("concave", "convex"),
    "==": ("affine", "affine"),
}
BOTH_AFFINE = "both sides of '==' have to be affine"
RULES = "the rules: python -m pydoc mmopt.language"
LOGARITHMS = ("log", "logdet")


def check_shapes(c: Constraint, scope: Scope) -> tuple[Type, Type]:
    """The types of both sides of a relation whose shapes fit."""
    r = c.relation
    left, right = infer(r.left, scope), infer(r.right, scope)
    is_order = r.op in (">>", "<<")
    for t, e in ((left, r.left), (right, r.right)):
        if is_order and not (isinstance(e, Number) and e.value == 0):
            _symmetric(e, t, r.op, scope)
    if not (left.is_scalar or right.is_scalar or left.dims == right.dims):
        scope.source.fail(r.span, f"{left.shape} {r.op} {right.shape}: both sides need the same shape")
    if is_order and not (left.is_matrix or right.is_matrix):
        message = f"'{r.op}' compares symmetric matrices, both sides are numbers"
        scope.source.fail(r.span, message, "write >= 0")
    return left, right


def _symmetric(e: Expr, t: Type, op: str, scope: Scope) -> None:
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
            culprit = e.rows[i - 1][j - 1]
            scope.source.fail(
                culprit.span,
                message,
                (f"block ({i}, {j}) has to be the transpose of block ({j}, {i})" if i != j else "")
                or f"block ({i}, {i}) has to be symmetric: declare it psd or symmetric",
            )
        hint = "declare it psd or symmetric"
    elif t.is_vector:
        hint = "between vectors write <= or >="
    scope.source.fail(e.span, message, hint)


def check_relation(c: Constraint, known: tuple[Type, Type], scope: Scope) -> None:
    """Check the curvature of both sides of a convex constraint; the smaller side is looked at first."""
    r = c.relation
    sides = zip(SIDES[r.op], known, (r.left, r.right), strict=True)
    for word, t, e in sorted(sides, key=lambda side: side[0] == "concave"):
        what = f"the {'smaller' if word == 'convex' else 'larger'} side has to be {word}"
        wanted = f"'{c.name}': {BOTH_AFFINE if word == 'affine' else what}"
        if not suits(t, word):
            refuse_curvature(e, t, wanted, scope, turned_relation(r, *known))
        if not t.curvature.is_affine and t.is_matrix and t.loewner != (r.op in ("<<", ">>")):
            as_whole = "as a whole, not entry by entry (compare with << or >>, or take its diag)"
            by_entry = "entry by entry, not as a whole (compare with <= or >=)"
            scope.source.fail(
                e.span, f"{wanted}, and it is {word} {as_whole if t.loewner else by_entry}", RULES
            )


def suits(known: Type, word: str) -> bool:
    """Whether an expression is convex, concave or affine, as the word says."""
    curvature = known.curvature
    return {"convex": curvature.is_convex, "concave": curvature.is_concave}.get(word, curvature.is_affine)


def is_logarithm(expr: Expr | None, given: Set[str]) -> bool:
    """Whether an objective is a logarithm by its form: a term of it, up to factors, or a sum of some.

    Other units of what is chosen then add a constant to it; the logarithm of what is ``given`` is a number
    like others. A soft maximum is none: it is near the largest of its arguments.
    """
    match expr:
        case Apply(atom="add" | "sub" | "mul" | "matmul" | "div", args=args):
            return any(is_logarithm(a, given) for a in args)
        case Apply(atom="neg" | "sum" | "max" | "min", args=args):
            return is_logarithm(args[0], given)
        case Entries(body=body, families=families):
            return is_logarithm(body, given | {f.index for f in families})
        case Apply(atom=atom):
            return atom in LOGARITHMS and not names_in(expr) <= given
    return False


def refuse_curvature(expr: Expr, known: Type, what: str, scope: Scope, turned: str = "") -> NoReturn:
    """Raise for an expression of the wrong curvature, at the smallest part of it that is to blame.

    ``turned``: what to do where the curvature is the opposite one.
    """
    if known.curvature is not Curvature.UNKNOWN:
        scope.source.fail(expr.span, f"{what}, and it is {known.curvature.value}", turned or RULES)
    culprit, inner = _culprit(expr, known, scope)
    scope.source.fail(culprit.span, f"{what}, and here is {known.why}", advice(culprit, inner) or RULES)


def _culprit(expr: Expr, known: Type, scope: Scope) -> tuple[Expr, Scope]:
    """The first part that breaks the curvature for this reason while nothing inside it does; names there."""

    if isinstance(expr, Entries):
        return _culprit(expr.body, known, scope.among(expr))

    def broken(e: Expr) -> bool:
        is_leaf = isinstance(e, Name | Number)
        return not is_leaf and (t := infer(e, scope)).curvature is Curvature.UNKNOWN and t.why == known.why

    skip = {
        id(a) for e in walk(expr) if isinstance(e, Apply) and ATOMS[e.atom].takes_dim for a in walk(e.args[0])
    }
    # What stands inside the clauses of entries has indices that are not known outside.
    skip |= {id(a) for e in walk(expr) if isinstance(e, Entries) for c in children(e) for a in walk(c)}
    able = (e for e in walk(expr) if id(e) not in skip and broken(e))
    found = next((e for e in able if isinstance(e, Entries) or not any(map(broken, children(e)))), expr)
    return _culprit(found, known, scope) if isinstance(found, Entries) else (found, scope)


def check_smooth(expr: Expr, scope: Scope) -> None:
    """Raise a :class:`~mmopt.errors.ProgramError` at the first atom on what is chosen without a gradient."""
    if isinstance(expr, Entries):
        check_smooth(expr.body, scope.among(expr))
        return
    if isinstance(expr, Apply):
        if ATOMS[expr.atom].takes_dim:
            return
        if not ATOMS[expr.atom].gradient and not infer(expr, scope).is_constant:
            able = ", ".join(sorted(name for name, atom in ATOMS.items() if atom.gradient))
            scope.source.fail(
                expr.span,
                f"'{expr.atom}' has no gradient, and a smooth program is searched by gradients",
                f"these have one: {able}",
            )
    for child in children(expr):
        check_smooth(child, scope)


def check_smooth_line(c: Constraint, scope: Scope) -> None:
    """The same for both sides of a constraint, which compares entries (a psd matrix is declared so)."""
    if c.relation.op in (">>", "<<"):
        scope.source.fail(
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
    if program.klass not in ("rank", "smooth") and lines:
        program.source.fail(
            lines[0].relation.left.span,
            f"'{lines[0].name}': a rank constraint is not convex",
            "write 'class rank'",
        )
    if program.klass != "rank":
        return
    if len(lines) != 1:
        span = lines[1].span if lines else dict(program.spans)["class"]
        program.source.fail(
            span, f"a program of class 'rank' has one rank constraint, this has {len(lines)}", RANK_HINT
        )
    relation = lines[0].relation
    assert isinstance(relation.left, Apply)
    if relation.op != "==" or lines[0].family:
        program.source.fail(relation.span, "a rank is given by '==' to one number", RANK_HINT)
    (inner,) = relation.left.args
    known, right = infer(inner, scope), infer(relation.right, scope)
    if not (known.is_matrix and known.symmetric and known.curvature.is_affine):
        program.source.fail(
            inner.span,
            "the matrix whose rank is given has to be symmetric and affine in what is chosen",
            "for example Z = [[eye(p), A], [A.T, X]]",
        )
    if not (right.is_scalar and right.is_constant):
        program.source.fail(
            relation.right.span, f"a rank is a given number, this is {right.shape}", RANK_HINT
        )


def rank_residual(matrix: Array, rank: int) -> float:
    """The first singular value beyond the rank, relative to the largest; 1 when the rank is not reached."""
    if rank == min(matrix.shape) and has_full_rank(matrix):
        return 0.0
    values = np.linalg.svd(matrix, compute_uv=False)
    if not len(values) or not values[0] > 0:
        return 0.0 if rank == 0 else 1.0
    if rank > len(values) or (rank and values[rank - 1] <= 1e-12 * values[0]):
        return 1.0
    return float(values[rank] / values[0]) if rank < len(values) else 0.0
