"""Rules of the atoms on matrices: shape, sign and curvature of what comes out.

In the Loewner order they are Boyd & Vandenberghe, Convex Optimization, section 3.6: the inverse is
matrix convex and decreasing, the square root matrix concave and increasing; the trace and the diagonal
keep either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmopt.language.atoms.dims import Dim
from mmopt.language.atoms.rules import Options, Rule
from mmopt.language.atoms.types import SCALAR, UNKNOWN, Curvature, RuleError, Type, column, matrix

__all__ = [
    "diag",
    "factor",
    "fixed",
    "groups",
    "inv",
    "nuclear",
    "pinv",
    "polar",
    "rank",
    "root",
    "row_basis",
    "stack",
    "support",
    "trace",
    "used_rows",
]


def _square(a: Type, what: str) -> Dim:
    if not a.is_matrix or a.dims[0] != a.dims[1]:
        raise RuleError(f"{what} needs a square matrix, this is {a.shape}")
    return a.dims[0]


def trace(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    _square(a, "trace")
    return replace(SCALAR, sign=1 if a.psd else a.sign, curvature=a.curvature, why=a.why)


def diag(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    if a.is_vector:
        known = matrix(a.dims[0], a.dims[0], sign=a.sign, psd=a.sign > 0, symmetric=True, why=a.why)
        # Diagonal matrices are ordered by their entries, so both kinds of curvature agree.
        curved = a.curvature in (Curvature.CONVEX, Curvature.CONCAVE)
        return replace(known, curvature=a.curvature, loewner=curved)
    n = _square(a, "diag")
    return column(n, sign=1 if a.psd else a.sign, curvature=a.curvature, why=a.why)


def inv(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    n = _square(a, "inv")
    out = matrix(n, n, psd=a.psd, symmetric=a.symmetric)
    if a.is_constant:
        return out
    if a.psd and a.curvature.is_concave and (a.loewner or a.curvature.is_affine):
        return replace(out, curvature=Curvature.CONVEX, loewner=True)
    return out.broken(a.why or "the inverse of a matrix that is not both psd and affine (or concave)")


def pinv(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    if not a.is_matrix:
        raise RuleError(f"pinv needs a matrix, this is {a.shape}")
    out = matrix(a.dims[1], a.dims[0], psd=a.psd, symmetric=a.symmetric)
    return out if a.is_constant else out.broken("a pseudo-inverse of what is chosen")


def root(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    n = _square(a, "root")
    if not a.psd:
        raise RuleError("root needs a matrix known to be psd", "declare it psd, or write W.T @ W")
    out = matrix(n, n, psd=True, symmetric=True)
    if a.is_constant:
        return out
    if a.curvature.is_concave and (a.loewner or a.curvature.is_affine):
        return replace(out, curvature=Curvature.CONCAVE, loewner=True)
    return out.broken(a.why or "the square root of a matrix that is not affine (or concave)")


def factor(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    n = _square(a, "factor")
    if not a.psd:
        raise RuleError("factor needs a matrix known to be psd", "declare it psd, or write A.T @ A")
    out = matrix(UNKNOWN, n)
    return out if a.is_constant else out.broken("a factor of what is chosen")


def row_basis(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    if not a.is_matrix:
        raise RuleError(f"row_basis needs a matrix, this is {a.shape}")
    out = matrix(UNKNOWN, a.dims[1])
    return out if a.is_constant else out.broken("a basis of what is chosen")


def nuclear(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    if not a.is_matrix:
        raise RuleError(f"nuclear needs a matrix, this is {a.shape}")
    out = replace(SCALAR, sign=1)
    if a.is_constant:
        return out
    if a.curvature.is_affine:
        return replace(out, curvature=Curvature.CONVEX)
    return out.broken(a.why or "a norm of a curved expression")


def polar(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    n = _square(a, "polar")
    # The polar factor of a psd matrix is psd where that is invertible; otherwise it need not be.
    out = matrix(n, n)
    return out if a.is_constant else out.broken("the polar factor of what is chosen")


def rank(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    if not a.is_matrix:
        raise RuleError(f"rank needs a matrix, this is {a.shape}")
    out = replace(SCALAR, sign=1)
    return out if a.is_constant else out.broken("a rank of what is chosen")


def stack(args: Sequence[Type], options: Options) -> Type:
    a, b = args
    if not (a.is_matrix and b.is_matrix) or a.dims[1] != b.dims[1]:
        raise RuleError(f"stack puts {a.shape} on {b.shape}: both need as many columns")
    out = matrix(UNKNOWN, a.dims[1])  # rows of zeros are left out
    return out if a.is_constant and b.is_constant else out.broken("a stack of what is chosen")


def used_rows(args: Sequence[Type], options: Options) -> Type:
    a, b = args
    if not a.is_matrix or not b.is_vector or a.dims[0] != b.dims[0]:
        raise RuleError(f"used_rows takes a matrix and a number per row, not {a.shape} and {b.shape}")
    out = matrix(UNKNOWN, a.dims[1])
    return out if a.is_constant and b.is_constant else out.broken("rows picked by what is chosen")


def groups(kind: str) -> Rule:
    """Rows of 0 and 1 that say which entries of a vector belong together."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        a, b = args
        if not a.is_vector or not b.is_scalar:
            raise RuleError(f"{kind} takes a vector and a number, not {a.shape} and {b.shape}")
        out = matrix(UNKNOWN, a.dims[0], sign=1)
        return out if a.is_constant and b.is_constant else out.broken("groups of what is chosen")

    return rule


def support(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    if not a.is_vector:
        raise RuleError(f"support needs a vector, this is {a.shape}")
    out = column(a.dims[0], sign=1)
    return out if a.is_constant else out.broken("a support of what is chosen")


def fixed(kind: str) -> Rule:
    """eye(n), ones(n): a constant whose size is a dimension; the checker passes it as ``dims``."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        (a,) = args
        if kind == "eye":
            return matrix(a.dims[0], a.dims[0], sign=1, psd=True, symmetric=True)
        return column(a.dims[0], sign=1)

    return rule
