"""The rank constraint ``rank(Z) == p``: what it may look like, and how far a point is from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.language.check.infer import Scope, infer
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import Apply, Constraint, is_rank
from mmopt.numerics.numpy_forms import Array
from mmopt.numerics.pseudoinverse import has_full_rank

__all__ = ["check_rank", "rank_line", "rank_residual"]

HINT = "write: exact: rank(Z) == p"


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
            span, f"a program of class 'rank' has one rank constraint, this has {len(lines)}", HINT
        )
    relation = lines[0].relation
    assert isinstance(relation.left, Apply)
    if relation.op != "==" or lines[0].family:
        program.source.fail(relation.span, "a rank is given by '==' to one number", HINT)
    (inner,) = relation.left.args
    known, right = infer(inner, scope), infer(relation.right, scope)
    if not (known.is_matrix and known.symmetric and known.curvature.is_affine):
        program.source.fail(
            inner.span,
            "the matrix whose rank is given has to be symmetric and affine in what is chosen",
            "for example Z = [[eye(p), A], [A.T, X]]",
        )
    if not (right.is_scalar and right.is_constant):
        program.source.fail(relation.right.span, f"a rank is a given number, this is {right.shape}", HINT)


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
