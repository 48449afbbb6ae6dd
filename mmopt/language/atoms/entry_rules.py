"""Rules of the operators and of entry-by-entry atoms: shape, sign and curvature of what comes out.

They are those of disciplined convex programming (Grant, Boyd & Ye 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mmopt.language.atoms.argument_types import SCALAR, Curvature, RuleError, Type, column

__all__ = [
    "Options",
    "Rule",
    "add",
    "div",
    "elementwise",
    "huber",
    "larger",
    "matmul",
    "mul",
    "neg",
    "power",
    "reduction",
    "rel_entropy",
    "soft_max",
    "sub",
    "transpose",
    "with_curvature",
]

TWO_CHOSEN = "a product of two expressions that both depend on what is chosen"
Options = dict[str, float]
Rule = Callable[[Sequence[Type], Options], Type]


def _broadcast(a: Type, b: Type, sign: int) -> Type:
    """The shape of two arguments that go together entry by entry."""
    if not (a.is_scalar or b.is_scalar or (a.dims == b.dims and (a.is_row == b.is_row or a.is_matrix))):
        hint = "turn one of them with .T" if a.dims == b.dims else ""
        raise RuleError(f"{a.shape} does not fit {b.shape}", hint)
    wide = b if a.is_scalar else a
    symmetric = all(t.symmetric or t.is_scalar for t in (a, b)) and wide.is_matrix
    return Type(wide.dims, wide.is_row, sign, symmetric=symmetric)


def with_curvature(out: Type, a: Type, bent: Curvature, holds: bool, why: str, loewner: bool = False) -> Type:
    """A value of the curvature that it has of what is chosen, where that holds; else why it is lost."""
    if a.is_constant:
        return out
    return replace(out, curvature=bent, loewner=loewner) if holds else out.broken(a.why or why)


def add(args: Sequence[Type], options: Options) -> Type:
    a, b = args
    out = _broadcast(a, b, a.sign if a.sign == b.sign else 0)
    return _sum_curvature(replace(out, psd=a.psd and b.psd), a, b)


def _sum_curvature(out: Type, a: Type, b: Type) -> Type:
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


def neg(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    return replace(a, sign=-a.sign, curvature=-a.curvature, psd=False)


def sub(args: Sequence[Type], options: Options) -> Type:
    return replace(add((args[0], neg((args[1],), options)), options), psd=False)


def _scaled(out: Type, factor: Type, curved: Type) -> Type:
    """``factor`` (constant) times ``curved``."""
    if curved.curvature.is_affine:
        return replace(out, curvature=curved.curvature)
    if curved.curvature is Curvature.UNKNOWN:
        return out.broken(curved.why)
    if factor.sign == 0:
        return out.broken(f"a {curved.curvature.value} expression times a factor of unknown sign")
    if curved.loewner and not factor.is_scalar:
        return out.broken("entry by entry weights on a matrix that is curved as a whole")
    bent = curved.curvature if factor.sign > 0 else -curved.curvature
    return replace(out, curvature=bent, loewner=curved.loewner)


def mul(args: Sequence[Type], options: Options) -> Type:
    a, b = args
    scalar_psd = (a.is_scalar and a.sign > 0 and b.psd) or (b.is_scalar and b.sign > 0 and a.psd)
    schur = a.psd and b.psd
    out = replace(_broadcast(a, b, a.sign * b.sign), psd=scalar_psd or schur)
    if a.is_constant:
        return _scaled(out, a, b)
    if b.is_constant:
        return _scaled(out, b, a)
    return out.broken(a.why or b.why or TWO_CHOSEN)


def div(args: Sequence[Type], options: Options) -> Type:
    a, b = args
    if b.is_matrix and not a.is_matrix:
        raise RuleError(f"{a.shape} divided by {b.shape}", "for the matrix inverse write inv(X)")
    psd = a.psd and b.is_scalar and b.sign > 0
    out = replace(_broadcast(a, b, a.sign * b.sign), psd=psd, symmetric=a.symmetric and b.is_scalar)
    if b.is_constant:
        return _scaled(out, b, a)
    if not a.is_constant:
        return out.broken(a.why or b.why or TWO_CHOSEN.replace("product", "quotient"))
    if a.sign <= 0 or not b.curvature.is_concave or b.loewner or b.sign <= 0:
        why = "a quotient that is not (a constant >= 0) / (something concave and >= 0)"
        return out.broken(b.why or why)
    return replace(out, curvature=Curvature.CONVEX)


def matmul(args: Sequence[Type], options: Options) -> Type:
    """The plain product; congruences ``M.T @ F @ M`` are recognised by the checker."""
    a, b = args
    if a.is_scalar or b.is_scalar:
        raise RuleError(f"{a.shape} @ {b.shape}: '@' multiplies vectors and matrices", "write * for a number")
    inner_a, inner_b = a.dims[-1], b.dims[0]
    if inner_a != inner_b:
        raise RuleError(f"{a.shape} @ {b.shape}: {inner_a} columns meet {inner_b} rows")
    if a.is_vector and not a.is_row and b.is_vector and b.is_row:
        message = f"{a.shape} @ {b.shape}: a column times a row is a matrix on paper and a number in numpy"
        raise RuleError(message, "the inner product is u @ v; an outer product is not in the language")
    out = Type((*a.dims[:-1], *b.dims[1:]), b.is_matrix and not a.is_matrix, a.sign * b.sign)
    if not a.is_constant and not b.is_constant:
        return out.broken(a.why or b.why or TWO_CHOSEN)
    factor, curved = (a, b) if a.is_constant else (b, a)
    if curved.curvature.is_affine:
        return replace(out, curvature=curved.curvature)
    if curved.loewner or curved.curvature is Curvature.UNKNOWN:
        return out.broken(curved.why or "a matrix product that is not of the form M.T @ F @ M")
    return replace(_scaled(replace(out, dims=()), replace(factor, dims=()), curved), dims=out.dims)


def transpose(args: Sequence[Type], options: Options) -> Type:
    (a,) = args
    return replace(a, dims=a.dims[::-1], is_row=a.is_vector and not a.is_row)


def power(args: Sequence[Type], options: Options) -> Type:
    """``a ** b`` with a constant exponent; the checker puts its value into ``options``."""
    a, b = args
    if b.is_scalar and "exponent" not in options and a.is_constant and b.is_constant and not a.is_matrix:
        return Type(a.dims, a.is_row, 1 if a.sign > 0 else 0)  # a parameter as exponent of what is given
    if not b.is_scalar or "exponent" not in options:
        raise RuleError("an exponent is a plain number", "for example x**2")
    exponent = options["exponent"]
    if a.is_matrix and (exponent < 0 or exponent % 1):
        hint = "the matrix inverse is inv(X), the matrix square root root(X), entry by entry it is sqrt(X)"
        raise RuleError(f"the power {exponent:g} of a matrix", hint)
    sign = 1 if exponent % 2 == 0 or a.sign > 0 else 0
    out = Type(a.dims, a.is_row, sign, symmetric=a.symmetric)
    if exponent == 1 and not a.is_constant:
        return a
    is_positive = a.sign > 0 and not a.loewner
    convex = a.curvature.is_affine and (exponent % 2 == 0 and exponent > 0)
    convex |= is_positive and exponent > 1 and a.curvature.is_convex
    convex |= is_positive and exponent < 0 and a.curvature.is_concave
    concave = is_positive and 0 < exponent < 1 and a.curvature.is_concave
    of = "something that may be negative" if a.sign <= 0 else f"something {a.curvature.value}"
    why = f"the power {exponent:g} of {of}"
    return with_curvature(out, a, Curvature.CONCAVE if concave else Curvature.CONVEX, convex or concave, why)


def elementwise(bent: Curvature, *, increasing: bool | None, sign: int = 0, even: bool = False) -> Rule:
    """A rule for a function of one argument, entry by entry.

    ``increasing`` is None when the function is not monotone; ``even`` when it increases on
    nonnegative arguments.
    """

    def rule(args: Sequence[Type], options: Options) -> Type:
        (a,) = args
        out = Type(a.dims, a.is_row, sign, symmetric=a.symmetric)
        rises = increasing if increasing is not None else (True if even and a.sign > 0 else None)
        keeps = a.curvature.is_affine or (not a.loewner and rises is True and a.curvature is bent)
        moves = {True: "increasing ", False: "decreasing "}.get(rises, "") if rises is not None else ""
        an = "an" if moves[:1] == "i" else "a"
        why = f"{an} {moves}{bent.value} function of something {a.curvature.value}"
        return with_curvature(out, a, bent, keeps, why)

    return rule


def reduction(bent: Curvature | None) -> Rule:
    """A rule for sum (``bent`` None) and for max and min, over all entries or along an axis."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        (a,) = args
        out = replace(SCALAR, sign=a.sign)
        if "axis" in options:
            if not a.is_matrix:
                raise RuleError(f"axis is for a matrix, this is {a.shape}")
            out = column(a.dims[1 - int(options["axis"])], sign=a.sign)
        if a.loewner or a.curvature is Curvature.UNKNOWN:
            return out.broken(
                a.why or "a sum or an extreme of the entries of a matrix that is curved as a whole"
            )
        keeps = a.curvature.is_affine or bent in (None, a.curvature)
        why = "a largest (smallest) entry of something concave (convex)"
        return with_curvature(out, a, bent or a.curvature, keeps, why)

    return rule


def soft_max(args: Sequence[Type], options: Options) -> Type:
    """As max, but above the largest entry: what is negative may come out positive."""
    out = reduction(Curvature.CONVEX)(args, options)
    return replace(out, sign=max(out.sign, 0))


def larger(bent: Curvature) -> Rule:
    """A rule for the larger (convex) or the smaller (concave) of two, entry by entry."""

    def rule(args: Sequence[Type], options: Options) -> Type:
        a, b = args
        up = 1 if bent is Curvature.CONVEX else -1
        sign = up if up in (a.sign, b.sign) else -up if {a.sign, b.sign} == {-up} else 0
        out = _broadcast(a, b, sign)
        keeps = all(t.curvature.is_affine or (t.curvature is bent and not t.loewner) for t in args)
        why = f"the {'larger' if up > 0 else 'smaller'} of two that are not both {bent.value}"
        return out if a.is_constant and b.is_constant else _bent(out, bent, keeps, a.why or b.why or why)

    return rule


def _bent(out: Type, bent: Curvature, holds: bool, why: str) -> Type:
    return replace(out, curvature=bent) if holds else out.broken(why)


def huber(args: Sequence[Type], options: Options) -> Type:
    a, limit = args
    if not limit.is_scalar or limit.sign <= 0:
        raise RuleError("the limit of huber is a number >= 0", "for example huber(x, 2)")
    out = elementwise(Curvature.CONVEX, increasing=None, sign=1, even=True)([a], options)
    return out if limit.is_constant else out.broken(limit.why or "a limit of huber that is chosen")


def rel_entropy(args: Sequence[Type], options: Options) -> Type:
    """x log(x / y), jointly convex: the perspective of -log (Boyd & Vandenberghe, 3.2.6)."""
    a, b = args
    out = _broadcast(a, b, 0)
    if a.is_constant and b.is_constant:
        return out
    holds = a.curvature.is_affine and b.curvature.is_affine
    return _bent(out, Curvature.CONVEX, holds, a.why or b.why or "a relative entropy of what is curved")
