"""Rules of the atoms on matrices: shape, sign and curvature of what comes out.

In the Loewner order they are Boyd & Vandenberghe, Convex Optimization, section 3.6: the inverse is
matrix convex and decreasing, the square root matrix concave and increasing; the trace and the diagonal
keep either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mmopt.language.atoms.argument_types import (
    SCALAR,
    UNKNOWN,
    Curvature,
    Dim,
    RuleError,
    Type,
    column,
    matrix,
)
from mmopt.language.atoms.entry_rules import Options, Rule, with_curvature

__all__ = [
    "diag",
    "eye",
    "factor",
    "groups",
    "inv",
    "lambda_max",
    "lambda_min",
    "length",
    "logdet",
    "norm_fro",
    "nuclear",
    "ones",
    "pinv",
    "polar",
    "rank",
    "root",
    "row_basis",
    "sigma_max",
    "stack",
    "support",
    "trace",
    "used_rows",
]


def _sides(a: Type, what: str) -> tuple[Dim, Dim]:
    if not a.is_matrix:
        raise RuleError(f"{what} needs a matrix, this is {a.shape}")
    return a.dims[0], a.dims[1]


def _square(a: Type, what: str) -> Dim:
    if not a.is_matrix or a.dims[0] != a.dims[1]:
        raise RuleError(f"{what} needs a square matrix, this is {a.shape}")
    return a.dims[0]


def _psd(a: Type, what: str, gram: str) -> Dim:
    n = _square(a, what)
    if not a.psd:
        raise RuleError(f"{what} needs a matrix known to be psd", f"declare it psd, or write {gram}")
    return n


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
    holds = a.psd and a.curvature.is_concave and (a.loewner or a.curvature.is_affine)
    why = "the inverse of a matrix that is not both psd and affine (or concave)"
    return with_curvature(out, a, Curvature.CONVEX, holds, why, loewner=True)


def root(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    n = _psd(a, "root", "W.T @ W")
    out = matrix(n, n, psd=True, symmetric=True)
    holds = a.curvature.is_concave and (a.loewner or a.curvature.is_affine)
    why = "the square root of a matrix that is not affine (or concave)"
    return with_curvature(out, a, Curvature.CONCAVE, holds, why, loewner=True)


def _norm(what: str) -> Rule:
    """A norm of a matrix."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        (a,) = args
        _sides(a, what)
        out = replace(SCALAR, sign=1)
        return with_curvature(
            out, a, Curvature.CONVEX, a.curvature.is_affine, "a norm of a curved expression"
        )

    return rule


nuclear, norm_fro, sigma_max = _norm("nuclear"), _norm("norm(X, fro)"), _norm("sigma_max")


def length(what: str, of_matrix: str) -> Rule:
    """A norm of a vector, or of the columns (axis 0) or rows (axis 1) of a matrix; it rises with sizes."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        (a,) = args
        if a.is_scalar:
            raise RuleError(f"{what} needs a vector, this is a number", "write abs(x)")
        if a.is_matrix and "axis" not in options:
            raise RuleError(f"{what} of a matrix may mean several things", of_matrix)
        if a.is_vector and "axis" in options:
            raise RuleError(f"axis is for a matrix, this is {a.shape}")
        out = replace(SCALAR, sign=1)
        if a.is_matrix:
            out = column(a.dims[1 - int(options["axis"])], sign=1)
        holds = a.curvature.is_affine or (a.sign > 0 and a.curvature.is_convex and not a.loewner)
        return with_curvature(out, a, Curvature.CONVEX, holds, "a norm of a curved expression")

    return rule


def _symmetric(a: Type, what: str) -> None:
    _square(a, what)
    if not a.symmetric:
        hint = "declare it psd or symmetric; the largest singular value of any matrix is sigma_max(A)"
        raise RuleError(f"{what} needs a matrix known to be symmetric", hint)


def lambda_max(args: Sequence[Type], options: Options) -> Type:
    """Convex, and increasing in the order of symmetric matrices."""
    (a,) = args
    _symmetric(a, "lambda_max")
    holds = a.curvature.is_affine or (a.loewner and a.curvature.is_convex)
    why = "a largest eigenvalue of a matrix that is not affine (or convex)"
    return with_curvature(replace(SCALAR, sign=int(a.psd)), a, Curvature.CONVEX, holds, why)


def lambda_min(args: Sequence[Type], options: Options) -> Type:
    """Concave, and increasing in the order of symmetric matrices."""
    (a,) = args
    _symmetric(a, "lambda_min")
    holds = a.curvature.is_affine or (a.loewner and a.curvature.is_concave)
    why = "a smallest eigenvalue of a matrix that is not affine (or concave)"
    return with_curvature(replace(SCALAR, sign=int(a.psd)), a, Curvature.CONCAVE, holds, why)


def logdet(args: Sequence[Type], options: Options) -> Type:
    """Concave, and increasing in the order of psd matrices (Boyd & Vandenberghe, 3.1.5)."""
    (a,) = args
    _psd(a, "logdet", "W @ diag(d) @ W.T with d >= 0")
    holds = a.curvature.is_affine or (a.loewner and a.curvature.is_concave)
    why = "a log-determinant of a matrix that is not affine (or concave)"
    return with_curvature(SCALAR, a, Curvature.CONCAVE, holds, why)


def _given(what: str, known: Callable[..., Type]) -> Rule:
    """A rule for what is given only, and how it is called where it is of what is chosen."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        out = known(*args)
        return out if all(a.is_constant for a in args) else out.broken(f"{what} what is chosen")

    return rule


def _pinv(a: Type) -> Type:
    rows, columns = _sides(a, "pinv")
    return matrix(columns, rows, psd=a.psd, symmetric=a.symmetric)


def _polar(a: Type) -> Type:
    """The polar factor of a psd matrix is psd where that is invertible; otherwise it need not be."""
    n = _square(a, "polar")
    return matrix(n, n)


def _rank(a: Type) -> Type:
    _sides(a, "rank")
    return replace(SCALAR, sign=1)


def _stack(a: Type, b: Type) -> Type:
    if not (a.is_matrix and b.is_matrix) or a.dims[1] != b.dims[1]:
        raise RuleError(f"stack puts {a.shape} on {b.shape}: both need as many columns")
    return matrix(UNKNOWN, a.dims[1])  # rows of zeros are left out


def _used_rows(a: Type, b: Type) -> Type:
    if not a.is_matrix or not b.is_vector or a.dims[0] != b.dims[0]:
        raise RuleError(f"used_rows takes a matrix and a number per row, not {a.shape} and {b.shape}")
    return matrix(UNKNOWN, a.dims[1])


def _support(a: Type) -> Type:
    if not a.is_vector:
        raise RuleError(f"support needs a vector, this is {a.shape}")
    return column(a.dims[0], sign=1)


def groups(kind: str) -> Rule:
    """Rows of 0 and 1 that say which entries of a vector belong together."""

    def known(a: Type, b: Type) -> Type:
        if not a.is_vector or not b.is_scalar:
            raise RuleError(f"{kind} takes a vector and a number, not {a.shape} and {b.shape}")
        return matrix(UNKNOWN, a.dims[0], sign=1)

    return _given("groups of", known)


def _toeplitz(a: Type) -> Type:
    if not a.is_vector:
        raise RuleError(f"toeplitz takes a vector, not {a.shape}", "its first column")
    return matrix(a.dims[0], a.dims[0], sign=max(a.sign, 0))


toeplitz = _given("a Toeplitz matrix of", _toeplitz)
pinv = _given("a pseudo-inverse of", _pinv)
polar = _given("the polar factor of", _polar)
rank = _given("a rank of", _rank)
factor = _given("a factor of", lambda a: matrix(UNKNOWN, _psd(a, "factor", "A.T @ A")))
row_basis = _given("a basis of", lambda a: matrix(UNKNOWN, _sides(a, "row_basis")[1]))
stack = _given("a stack of", _stack)
used_rows = _given("rows picked by", _used_rows)
support = _given("a support of", _support)
# Constants, whose size is a dimension; the checker passes it as ``dims``.
eye = _given("an identity of", lambda a: matrix(a.dims[0], a.dims[0], sign=1, psd=True, symmetric=True))
ones = _given("ones of", lambda a: column(a.dims[0], sign=1))
