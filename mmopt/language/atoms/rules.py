"""Rules of the atoms: shape, sign and curvature of the value, from those of the arguments; and power cones.

Those of the operators and of atoms entry by entry are the rules of disciplined convex programming (Grant,
Boyd & Ye 2006). Those of matrices in the Loewner order are in Boyd & Vandenberghe, Convex Optimization,
section 3.6: the inverse is matrix convex and decreasing, the square root matrix concave and increasing;
the trace and the diagonal keep either.

Cones of powers
---------------
A power of what is chosen becomes a few second-order cones where its exponent is simple, else one power cone.
``t <= x**p`` for a fraction p is a geometric mean, and that is a tree of means of two: with p = a / b and 2^k
the least power of two that is at least b, it has the weights (a, b - a, 2^k - b) / 2^k, where the third is
the weight of t itself (Alizadeh & Goldfarb 2003, Second-order cone programming, section 2.3). cvxpy halves
the weights in the same way, so that the cones counted here are those that it passes on.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

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

TWO_CHOSEN = "a product of two expressions that both contain variables"
# The type of the value from those of the arguments; an axis, or an exponent, by keyword.
Rule = Callable[..., Type]


def _require(holds: object, message: str, hint: str = "") -> None:
    """Raise RuleError unless something holds."""
    if not holds:
        raise RuleError(message, hint)


def _broadcast(a: Type, b: Type, sign: int) -> Type:
    """The type of two arguments combined entry by entry."""
    _require(
        a.is_scalar or b.is_scalar or (a.dims == b.dims and (a.is_row == b.is_row or a.is_matrix)),
        f"{a.shape} does not fit {b.shape}",
        "turn one of them with .T" if a.dims == b.dims else "",
    )
    wide = b if a.is_scalar else a
    return Type(
        wide.dims,
        wide.is_row,
        sign,
        symmetric=all(t.symmetric or t.is_scalar for t in (a, b)) and wide.is_matrix,
    )


def with_curvature(out: Type, a: Type, bent: Curvature, holds: bool, why: str, loewner: bool = False) -> Type:
    """``out`` for a constant ``a``; else of curvature ``bent`` where ``holds``, or broken for ``why``."""
    if a.is_constant:
        return out
    return replace(out, curvature=bent, loewner=loewner) if holds else out.broken(a.why or why)


def _in_order(out: Type, a: Type, bent: Curvature, why: str, loewner: bool = False) -> Type:
    """``with_curvature`` of what increases in the order of psd matrices."""
    keeps = a.curvature.is_convex if bent is Curvature.CONVEX else a.curvature.is_concave
    return with_curvature(out, a, bent, keeps and (a.loewner or a.curvature.is_affine), why, loewner)


def add(a: Type, b: Type) -> Type:
    out = _broadcast(a, b, a.sign if a.sign == b.sign else 0)
    return _sum_curvature(replace(out, psd=a.psd and b.psd), a, b)


def _sum_curvature(out: Type, a: Type, b: Type) -> Type:
    """The type ``out`` of a sum of ``a`` and ``b``, with the curvature that both have together."""
    why = a.why or b.why
    if Curvature.UNKNOWN in (a.curvature, b.curvature):
        return out.broken(why)
    if a.curvature.is_affine and b.curvature.is_affine:
        constant = a.is_constant and b.is_constant
        return replace(out, curvature=Curvature.CONSTANT if constant else Curvature.AFFINE)
    curved = [t for t in (a, b) if not t.curvature.is_affine]
    if len({t.curvature for t in curved}) > 1:
        return out.broken("a sum of a convex and a concave part")
    if len({t.loewner for t in curved}) > 1:
        return out.broken("a sum of a matrix curved as a whole and one curved entry by entry")
    if curved[0].loewner and out.is_matrix and (a.is_scalar or b.is_scalar):
        return out.broken("a number added to every entry of a matrix that is curved as a whole")
    return replace(out, curvature=curved[0].curvature, loewner=curved[0].loewner)


def neg(a: Type) -> Type:
    return replace(a, sign=-a.sign, curvature=-a.curvature, psd=False)


def sub(a: Type, b: Type) -> Type:
    return replace(add(a, neg(b)), psd=False)


def _scaled(out: Type, factor: Type, curved: Type) -> Type:
    """The type ``out`` of a product, with its curvature: a constant ``factor`` times ``curved``."""
    if curved.curvature.is_affine:
        return replace(out, curvature=curved.curvature)
    if curved.curvature is Curvature.UNKNOWN:
        return out.broken(curved.why)
    if factor.sign == 0:
        return out.broken(f"a {curved.curvature.value} expression times a factor of unknown sign")
    if curved.loewner and not factor.is_scalar:
        return out.broken("entry by entry weights on a matrix that is curved as a whole")
    return replace(
        out, curvature=curved.curvature if factor.sign > 0 else -curved.curvature, loewner=curved.loewner
    )


def mul(a: Type, b: Type) -> Type:
    scalar_psd = (a.is_scalar and a.sign > 0 and b.psd) or (b.is_scalar and b.sign > 0 and a.psd)
    out = replace(_broadcast(a, b, a.sign * b.sign), psd=scalar_psd or (a.psd and b.psd))
    if a.is_constant:
        return _scaled(out, a, b)
    return _scaled(out, b, a) if b.is_constant else out.broken(a.why or b.why or TWO_CHOSEN)


def div(a: Type, b: Type) -> Type:
    _require(
        not b.is_matrix or a.is_matrix,
        f"{a.shape} divided by {b.shape}",
        "for the matrix inverse write inv(X)",
    )
    psd = a.psd and b.is_scalar and b.sign > 0
    out = replace(_broadcast(a, b, a.sign * b.sign), psd=psd, symmetric=a.symmetric and b.is_scalar)
    if b.is_constant:
        return _scaled(out, b, a)
    if not a.is_constant:
        return out.broken(a.why or b.why or TWO_CHOSEN.replace("product", "quotient"))
    if a.sign <= 0 or not b.curvature.is_concave or b.loewner or b.sign <= 0:
        return out.broken(b.why or "a quotient that is not (a constant >= 0) / (a concave expression >= 0)")
    return replace(out, curvature=Curvature.CONVEX)


def matmul(a: Type, b: Type) -> Type:
    """The plain product; congruences ``M.T @ F @ M`` are recognised by the checker."""
    _require(
        not a.is_scalar and not b.is_scalar,
        f"{a.shape} @ {b.shape}: '@' multiplies vectors and matrices",
        "write * for a number",
    )
    inner_a, inner_b = a.dims[-1], b.dims[0]
    _require(inner_a == inner_b, f"{a.shape} @ {b.shape}: {inner_a} columns meet {inner_b} rows")
    _require(
        not a.is_vector or a.is_row or not b.is_vector or not b.is_row,
        f"{a.shape} @ {b.shape}: a column times a row is a matrix on paper and a number in numpy",
        "the inner product is u @ v; an outer product is written [[u]] @ [[v]].T",
    )
    out = Type((*a.dims[:-1], *b.dims[1:]), b.is_matrix and not a.is_matrix, a.sign * b.sign)
    if not a.is_constant and not b.is_constant:
        return out.broken(a.why or b.why or TWO_CHOSEN)
    factor, curved = (a, b) if a.is_constant else (b, a)
    if curved.curvature.is_affine:
        return replace(out, curvature=curved.curvature)
    if curved.loewner or curved.curvature is Curvature.UNKNOWN:
        return out.broken(curved.why or "a matrix product that is not of the form M.T @ F @ M")
    return replace(_scaled(replace(out, dims=()), replace(factor, dims=()), curved), dims=out.dims)


def transpose(a: Type) -> Type:
    return replace(a, dims=a.dims[::-1], is_row=a.is_vector and not a.is_row)


Real = float | Fraction


def power(
    a: Type, b: Type, exponent: Real | None = None, least: Real | None = None, most: Real = math.inf
) -> Type:
    """``a ** b``; the checker passes the exponent, or of one that is given the ``least`` and ``most``."""
    least, most = (least, most) if exponent is None else (exponent, exponent)
    if b.is_scalar and exponent is None and a.is_constant and b.is_constant and not a.is_matrix:
        return Type(a.dims, a.is_row, 1 if a.sign > 0 else 0)  # a parameter as exponent of what is given
    if least is None:
        raise RuleError(
            "an exponent is a number, a name of the data, or made of these by + - * /", "as in x**2"
        )
    words = "a power with a constant exponent"
    if exponent is not None:
        rest = float(exponent - round(exponent)) if float(exponent) % 1 == 0 else 0.0
        words = f"the power {float(exponent):g}"
        words += f" {'-' if rest < 0 else '+'} {abs(rest):g}" * bool(rest)
    _require(
        not a.is_matrix or (exponent is not None and exponent >= 0 and not exponent % 1),
        f"{words} of a matrix",
        "the matrix inverse is inv(X), the matrix square root root(X), entry by entry it is sqrt(X)",
    )
    is_even = exponent is not None and exponent % 2 == 0
    out = Type(a.dims, a.is_row, int(is_even or a.sign > 0), symmetric=a.symmetric)
    if exponent == 1 and not a.is_constant:
        return a
    is_positive = a.sign > 0 and not a.loewner
    convex = a.curvature.is_affine and is_even and least > 0
    convex |= is_even and least > 0 and a.sign < 0 and not a.loewner and a.curvature.is_concave
    convex |= is_positive and least >= 1 and a.curvature.is_convex
    convex |= is_positive and most <= 0 and a.curvature.is_concave
    concave = is_positive and least >= 0 and most <= 1 and a.curvature.is_concave
    of = "a base that may be negative" if a.sign <= 0 else f"a {a.curvature.value} expression"
    return with_curvature(
        out,
        a,
        Curvature.CONCAVE if concave else Curvature.CONVEX,
        convex or concave,
        f"{words} of {of}",
    )


def elementwise(bent: Curvature, *, increasing: bool = False, sign: int = 0, even: bool = False) -> Rule:
    """A rule for a function of one argument, entry by entry.

    ``increasing`` on all arguments; ``even``: on nonnegative ones, so that it decreases on those <= 0.
    """

    def rule(a: Type) -> Type:
        rises, falls = increasing or (even and a.sign > 0), even and a.sign < 0
        is_kept = (rises and a.curvature is bent) or (falls and a.curvature is -bent)
        keeps = a.curvature.is_affine or (not a.loewner and is_kept)
        why = f"{'an increasing' if rises else 'a'} {bent.value} function of a {a.curvature.value} expression"
        return with_curvature(Type(a.dims, a.is_row, sign, symmetric=a.symmetric), a, bent, keeps, why)

    return rule


def _along(a: Type, axis: int | None, sign: int) -> Type:
    """The type of numbers made of all entries, or of a matrix along an axis."""
    if axis is None:
        return replace(SCALAR, sign=sign)
    _require(a.is_matrix, f"axis is for a matrix, this is {a.shape}")
    return column(a.dims[1 - axis], sign=sign)


def reduction(
    bent: Curvature | None, why: str = "a largest (smallest) entry of a concave (convex) expression"
) -> Rule:
    """A rule for sum (``bent`` None) and for max and min, over all entries or along an axis.

    ``why`` names what breaks the curvature.
    """

    def rule(a: Type, axis: int | None = None) -> Type:
        out = _along(a, axis, a.sign)
        if a.loewner or a.curvature is Curvature.UNKNOWN:
            return out.broken(
                a.why or "a sum or an extreme of the entries of a matrix that is curved as a whole"
            )
        return with_curvature(
            out,
            a,
            bent or a.curvature,
            a.curvature.is_affine or bent in (None, a.curvature),
            why,
        )

    return rule


def soft_max(a: Type, axis: int | None = None) -> Type:
    """The rule of max, but the value is above the largest entry: negative entries may give a positive one."""
    out = reduction(Curvature.CONVEX)(a, axis=axis)
    return replace(out, sign=max(out.sign, 0))


def larger(bent: Curvature) -> Rule:
    """A rule for the larger (convex) or the smaller (concave) of two, entry by entry."""

    def rule(a: Type, b: Type) -> Type:
        up = 1 if bent is Curvature.CONVEX else -1
        sign = up if up in (a.sign, b.sign) else -up if {a.sign, b.sign} == {-up} else 0
        out = _broadcast(a, b, sign)
        keeps = all(t.curvature.is_affine or (t.curvature is bent and not t.loewner) for t in (a, b))
        why = f"the {'larger' if up > 0 else 'smaller'} of two that are not both {bent.value}"
        return with_curvature(out, b if a.is_constant else a, bent, keeps, a.why or b.why or why)

    return rule


def huber(a: Type, limit: Type) -> Type:
    _require(
        limit.is_scalar and limit.sign > 0, "the limit of huber is a number >= 0", "for example huber(x, 2)"
    )
    out = elementwise(Curvature.CONVEX, sign=1, even=True)(a)
    return out if limit.is_constant else out.broken(limit.why or "a limit of huber that contains a variable")


def rel_entropy(a: Type, b: Type) -> Type:
    """x log(x / y), jointly convex: the perspective of -log (Boyd & Vandenberghe, 3.2.6)."""
    return with_curvature(
        _broadcast(a, b, 0),
        b if a.is_constant else a,
        Curvature.CONVEX,
        a.curvature.is_affine and b.curvature.is_affine,
        a.why or b.why or "a relative entropy of a curved expression",
    )


def quad_over_lin(a: Type, b: Type) -> Type:
    """A sum of squares over y > 0, jointly convex, falling in y (Boyd & Vandenberghe, example 3.18)."""
    _require(b.is_scalar, f"quad_over_lin divides by a number, this is {b.shape}")
    rises = a.curvature.is_affine or (a.sign > 0 and a.curvature.is_convex and not a.loewner)
    holds = rises and b.sign >= 0 and b.curvature.is_concave
    return _over(a, b, holds, "a sum of squares of a curved expression, or over one not concave and > 0")


def matrix_frac(a: Type, b: Type) -> Type:
    """trace(X.T @ inv(P) @ X), jointly convex, falling in P in the order of psd matrices."""
    fits = a.dims[:1] == (_psd(b, "matrix_frac", "W @ diag(d) @ W.T with d >= 0"),)
    _require(fits, f"matrix_frac takes {a.shape} and {b.shape}: both need as many rows")
    holds = a.curvature.is_affine and b.curvature.is_concave and (b.loewner or b.curvature.is_affine)
    return _over(a, b, holds, "a matrix_frac of a curved expression")


def _over(a: Type, b: Type, holds: bool, why: str) -> Type:
    """The type of squares of ``a`` over ``b``, convex where ``holds``, or broken for ``why``."""
    why = a.why or b.why or why
    return with_curvature(replace(SCALAR, sign=1), b if a.is_constant else a, Curvature.CONVEX, holds, why)


def of_largest(largest: Rule) -> Rule:
    """The rule for a sum of the k largest, from that for the largest."""

    def rule(a: Type, k: Type) -> Type:
        _require(k.is_scalar and k.sign > 0, "a sum of the k largest takes a number k >= 0", "for example 3")
        return (
            largest(a)
            if k.is_constant
            else largest(a).broken(k.why or "a number of terms that contains a variable")
        )

    return rule


def kron(a: Type, b: Type) -> Type:
    """Products of entries with entries; a psd factor keeps the order of psd matrices."""
    (rows, columns), (more_rows, more_columns) = _sides(a, "kron"), _sides(b, "kron")
    signs = (int(t.psd) if other.loewner else t.sign for t, other in ((a, b), (b, a)))
    product = mul(*(replace(t, dims=(), sign=sign) for t, sign in zip((a, b), signs, strict=True)))
    return replace(
        product,
        dims=(rows * more_rows, columns * more_columns),
        sign=a.sign * b.sign,
        symmetric=a.symmetric and b.symmetric,
        psd=a.psd and b.psd,
    )


def cumsum(a: Type) -> Type:
    _require(a.is_vector, f"cumsum takes a vector, this is {a.shape}", "a row or column at a time")
    return column(a.dims[0], sign=a.sign, curvature=a.curvature, why=a.why)


def diff(a: Type) -> Type:
    _require(a.is_vector, f"diff takes a vector, this is {a.shape}", "a row or column at a time")
    out = column(a.dims[0] - Dim.of(1), curvature=a.curvature)
    return out if a.curvature.is_affine else out.broken(a.why or "a difference of curved expressions")


def _sides(a: Type, what: str) -> tuple[Dim, Dim]:
    """The rows and columns of a matrix; RuleError for anything else, about the atom ``what``."""
    _require(a.is_matrix, f"{what} needs a matrix, this is {a.shape}")
    return a.dims[0], a.dims[1]


def _square(a: Type, what: str) -> Dim:
    """The rows, and columns, of a square matrix."""
    _require(a.is_matrix and a.dims[0] == a.dims[1], f"{what} needs a square matrix, this is {a.shape}")
    return a.dims[0]


def _psd(a: Type, what: str, gram: str) -> Dim:
    """The rows of a matrix known to be psd; ``gram``: how it could be written so that it is known."""
    n = _square(a, what)
    _require(a.psd, f"{what} needs a matrix known to be psd", f"declare it psd, or write {gram}")
    return n


def trace(a: Type) -> Type:
    _square(a, "trace")
    return replace(SCALAR, sign=1 if a.psd else a.sign, curvature=a.curvature, why=a.why)


def diag(a: Type) -> Type:
    if a.is_vector:
        out = matrix(a.dims[0], a.dims[0], sign=a.sign, psd=a.sign > 0, symmetric=True, why=a.why)
        # Diagonal matrices are ordered by their entries, so both kinds of curvature agree.
        return replace(
            out, curvature=a.curvature, loewner=a.curvature in (Curvature.CONVEX, Curvature.CONCAVE)
        )
    return column(_square(a, "diag"), sign=1 if a.psd else a.sign, curvature=a.curvature, why=a.why)


def inv(a: Type) -> Type:
    n = _square(a, "inv")
    return with_curvature(
        matrix(n, n, psd=a.psd, symmetric=a.symmetric),
        a,
        Curvature.CONVEX,
        a.psd and a.curvature.is_concave and (a.loewner or a.curvature.is_affine),
        "the inverse of a matrix that is not both psd and affine (or concave)",
        loewner=True,
    )


def root(a: Type) -> Type:
    n = _psd(a, "root", "W.T @ W")
    return _in_order(
        matrix(n, n, psd=True, symmetric=True),
        a,
        Curvature.CONCAVE,
        "the square root of a matrix that is not affine (or concave)",
        loewner=True,
    )


def _norm(what: str) -> Rule:
    """A rule for a norm of a matrix; ``what`` names it."""

    def rule(a: Type) -> Type:
        _sides(a, what)
        return with_curvature(
            replace(SCALAR, sign=1),
            a,
            Curvature.CONVEX,
            a.curvature.is_affine,
            "a norm of a curved expression",
        )

    return rule


nuclear, norm_fro, sigma_max = _norm("nuclear"), _norm("norm(X, fro)"), _norm("sigma_max")


def length(what: str, of_matrix: str) -> Rule:
    """A rule for a norm of a vector, or of the columns (axis 0) or rows (axis 1) of a matrix.

    It rises with the sizes of entries. ``what`` names it; ``of_matrix``: what to write for a whole matrix.
    """

    def rule(a: Type, axis: int | None = None) -> Type:
        _require(not a.is_scalar, f"{what} needs a vector, this is a number", "write abs(x)")
        if a.is_matrix and axis is None:
            raise RuleError(f"{what} of a matrix may mean several things", of_matrix)
        holds = a.curvature.is_affine or (a.sign > 0 and a.curvature.is_convex and not a.loewner)
        return with_curvature(_along(a, axis, 1), a, Curvature.CONVEX, holds, "a norm of a curved expression")

    return rule


def _eigenvalue(a: Type, what: str) -> Type:
    """The type of an eigenvalue of a symmetric matrix, but for its curvature."""
    _square(a, what)
    _require(
        a.symmetric,
        f"{what} needs a matrix known to be symmetric",
        "declare it psd or symmetric; the largest singular value of any matrix is sigma_max(A)",
    )
    return replace(SCALAR, sign=int(a.psd))


def lambda_max(a: Type) -> Type:
    """Convex, and increasing in the order of symmetric matrices."""
    return _in_order(
        _eigenvalue(a, "lambda_max"),
        a,
        Curvature.CONVEX,
        "a largest eigenvalue of a matrix that is not affine (or convex)",
    )


def lambda_min(a: Type) -> Type:
    """Concave, and increasing in the order of symmetric matrices."""
    return _in_order(
        _eigenvalue(a, "lambda_min"),
        a,
        Curvature.CONCAVE,
        "a smallest eigenvalue of a matrix that is not affine (or concave)",
    )


def logdet(a: Type) -> Type:
    """Concave, and increasing in the order of psd matrices (Boyd & Vandenberghe, 3.1.5)."""
    _psd(a, "logdet", "W @ diag(d) @ W.T with d >= 0")
    return _in_order(
        SCALAR, a, Curvature.CONCAVE, "a log-determinant of a matrix that is not affine (or concave)"
    )


def _given(what: str) -> Callable[[Rule], Rule]:
    """A rule for what is given only; of what is chosen the curvature is lost, and ``what`` names the atom."""

    def of_given(type_of: Rule) -> Rule:
        def rule(*args: Type) -> Type:
            out = type_of(*args)
            return out if all(a.is_constant for a in args) else out.broken(f"{what} variables")

        return rule

    return of_given


@_given("a pseudo-inverse of")
def pinv(a: Type) -> Type:
    rows, columns = _sides(a, "pinv")
    return matrix(columns, rows, psd=a.psd, symmetric=a.symmetric)


@_given("the polar factor of")
def polar(a: Type) -> Type:
    """The polar factor of a psd matrix is psd where that is invertible; otherwise it need not be."""
    n = _square(a, "polar")
    return matrix(n, n)


@_given("a rank of")
def rank(a: Type) -> Type:
    _sides(a, "rank")
    return replace(SCALAR, sign=1)


@_given("a stack of")
def stack(a: Type, b: Type) -> Type:
    _require(
        a.is_matrix and b.is_matrix and a.dims[1] == b.dims[1],
        f"stack puts {a.shape} on {b.shape}: both need as many columns",
    )
    return matrix(UNKNOWN_ROWS, a.dims[1])  # rows of zeros are left out


@_given("rows picked by")
def used_rows(a: Type, b: Type) -> Type:
    _require(
        a.is_matrix and b.is_vector and a.dims[0] == b.dims[0],
        f"used_rows takes a matrix and a number per row, not {a.shape} and {b.shape}",
    )
    return matrix(UNKNOWN_ROWS, a.dims[1])


@_given("a support of")
def support(a: Type) -> Type:
    _require(a.is_vector, f"support needs a vector, this is {a.shape}")
    return column(a.dims[0], sign=1)


def groups(kind: str) -> Rule:
    """A rule for rows of 0 and 1 that mark which entries of a vector belong together."""

    @_given("groups of")
    def type_of(a: Type, b: Type) -> Type:
        _require(
            a.is_vector and b.is_scalar, f"{kind} takes a vector and a number, not {a.shape} and {b.shape}"
        )
        return matrix(UNKNOWN_ROWS, a.dims[0], sign=1)

    return type_of


@_given("a Toeplitz matrix of")
def toeplitz(a: Type) -> Type:
    _require(a.is_vector, f"toeplitz takes a vector, not {a.shape}", "its first column")
    return matrix(a.dims[0], a.dims[0], sign=max(a.sign, 0))


factor = _given("a factor of")(lambda a: matrix(UNKNOWN_ROWS, _psd(a, "factor", "A.T @ A")))
row_basis = _given("a basis of")(lambda a: matrix(UNKNOWN_ROWS, _sides(a, "row_basis")[1]))
# Constants, whose size is a dimension; the checker passes it as ``dims``.
eye = _given("an identity of")(lambda a: matrix(a.dims[0], a.dims[0], sign=1, psd=True, symmetric=True))
ones = _given("ones of")(lambda a: column(a.dims[0], sign=1))


# An exponent is taken for a fraction that is as near, relatively, and has no larger denominator.
EXACT_EXPONENT = 1e-14
LARGEST_DENOMINATOR = 1024
MOST_MEANS = 4  # beyond it cvxpy itself advises a power cone


def power_cones(
    shape: tuple[int, ...], outputs: int, exponent: float
) -> tuple[tuple[str, int, int, int], ...]:
    """(kind, size, count, unknowns) of the cones of ``x**exponent``, entry by entry of ``outputs`` entries.

    ``shape`` is not needed; it is an argument of every ``Atom.cones``.
    """
    if exponent in (0.0, 1.0):
        return ()
    if (count := means_of_power(exponent)) is not None:
        return (("second-order", 3, count * outputs, count * outputs),)
    # cvxpy adds x >= 0 where the exponent is above 1, but not for even powers.
    above = (("nonnegative", 1, outputs, 0),) if exponent > 1 and exponent % 2 else ()
    return (("power", 3, outputs, outputs), *above)


def means_of_power(exponent: float) -> int | None:
    """How many means of two make the power; None for an exponent that is no simple fraction, or too many."""
    p = Fraction(exponent).limit_denominator(LARGEST_DENOMINATOR)
    if abs(float(p) - exponent) > EXACT_EXPONENT * max(1.0, abs(exponent)):
        return None
    # In the mean that is t <= x**p, x <= t**(1 / p), or 1 <= x**weight * t**(1 - weight).
    weight = p if 0 <= p <= 1 else 1 / p if p > 1 else p / (p - 1)
    count = means([weight.numerator, weight.denominator - weight.numerator])
    return count if count <= MOST_MEANS else None


def means(weights: list[int]) -> int:
    """How many means of two make the geometric mean of numbers with these weights, and of the mean itself."""
    total = sum(weights)
    whole = 1 << (total - 1).bit_length()
    seen: set[tuple[int, ...]] = set()
    todo = [(*weights, *([whole - total] if whole > total else []))]
    while todo:
        now = todo.pop()
        if whole not in now and now not in seen:
            seen.add(now)
            todo += _halves(now, whole)
    return len(seen)


def _halves(weights: tuple[int, ...], whole: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two lists of weights whose mean is the one given; the first takes the largest powers of two."""
    first, second = [0] * len(weights), [2 * w for w in weights]
    bit = whole
    while sum(first) < whole:
        for i, w in enumerate(second):
            if w >= bit and sum(first) < whole:
                first[i], second[i] = first[i] + bit, w - bit
        bit //= 2
    return tuple(first), tuple(second)
