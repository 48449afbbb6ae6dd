"""The type of what is taken by index: ``X[i, j]``, and the array of such numbers for all i and j."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mmopt.errors import suggest
from mmopt.language.atoms.argument_types import Dim, Type
from mmopt.language.syntax.syntax_tree import Apply, Entries, Expr, Family, Index, Name, Number, mentions

if TYPE_CHECKING:
    from mmopt.language.check.infer_types import Scope

__all__ = ["check_family", "check_number_of_indices", "entries_type", "index_type", "refuse_zeros"]

MOST_SHIFTED = 9  # ``i + 9``
# What zeros in place of entries that are left out do not change: those that are 0 at 0, and sums and sizes.
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
    if len(expr.items) != len(base.dims):
        takes = ("no index", "one index", "two indices")[len(base.dims)]
        hint = "write X[0, 0]" if base.is_matrix and len(expr.items) == 1 else ""
        scope.source.fail(expr.span, f"{base.shape} takes {takes}, not {len(expr.items)}", hint)
    for item, dim in zip(expr.items, base.dims, strict=True):
        if item is not None:
            _item(item, dim, scope)
    kept = [d for d, item in zip(base.dims, expr.items, strict=True) if item is None]
    if len(kept) == len(base.dims):
        return base
    sign = 1 if base.psd and expr.items[0] == expr.items[-1] else base.sign
    known = replace(base, psd=False, symmetric=False, sign=sign)
    out = replace(known, dims=tuple(kept), is_row=bool(kept) and expr.items[0] is not None)
    if base.loewner:
        return out.broken("an entry of a matrix that is curved as a whole (its diagonal is diag(F))")
    return out


def _item(item: Expr, dim: Dim, scope: Scope) -> None:
    """An index is a whole number, the index of a family, or a sum of such: ``i + 1``."""
    if isinstance(item, Name) and scope.indices is not None and item.id in scope.indices:
        if scope.indices[item.id] != dim and not scope.masked and not _fits(item, dim, scope):
            scope.source.fail(
                item.span,
                f"'{item.id}' runs over {scope.indices[item.id]}, the entries here are counted by {dim}",
                f"write: for {item.id} in {dim}",
            )
        return
    if isinstance(item, Number) and item.value == int(item.value):
        if not dim.symbols and item.value >= dim.value({}):
            message = f"the index {int(item.value)} is beyond {dim.value({})} entries counted from 0"
            scope.source.fail(item.span, message)
        return
    if scope.indices is None and (isinstance(item, Name) or _whole(item, scope) is not None):
        return
    if _whole(item, scope) is None:
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
    """A run of the index that stays within the entries; where that begins too late, of one moved up."""
    for name, over in (scope.indices or {}).items():
        for c in range(1, MOST_SHIFTED + 1):
            less = replace(scope, indices={**(scope.indices or {}), name: over - Dim.of(c)})
            moved = Apply("add", (item, Number(float(c), item.span)), item.span)
            if mentions(item, name) and _fits(item, dim, less):
                return f"for {name} in {over - Dim.of(c)}"
            if mentions(item, name) and _fits(moved, dim, less):
                return f"for {name} in {over - Dim.of(c)}, with {name} + {c} in place of {name}"
    return "for i in n - 1"


def _whole(item: Expr, scope: Scope) -> Dim | None:
    """A sum or difference of indices, dimensions and whole numbers, as a polynomial of their names."""
    match item:
        case Number(value=value) if value == int(value):
            return Dim.of(int(value))
        case Name(id=name) if name in scope.dims or name in (scope.indices or {}):
            return Dim.of(name)
        case Apply(atom="add" | "sub" as atom, args=(a, b)):
            left, right = _whole(a, scope), _whole(b, scope)
            if left is None or right is None:
                return None
            return left + right if atom == "add" else left - right
    return None


def _fits(item: Expr, dim: Dim, scope: Scope) -> bool:
    """Whether an index is proved to be at least 0 and below a dimension, whatever the dimensions are."""
    known = _whole(item, scope)
    assert known is not None
    lowest, highest = Dim.of(0), Dim.of(0)
    for symbols, times in known.terms:
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


def check_family(family: Family, scope: Scope, *, twice: bool) -> None:
    """ProgramError for an index that has another meaning, or runs over a dimension that is not known."""
    for name in sorted(family.dim.symbols - scope.dims):
        scope.source.fail(
            family.span,
            f"the dimension '{name}' is not defined",
            suggest(name, scope.dims) or "a given introduces it",
        )
    if twice or family.index in scope.types or family.index in scope.dims:
        scope.source.fail(
            family.span,
            f"'{family.index}' has another meaning already",
            "name the index of this family otherwise",
        )


def check_number_of_indices(side: Expr, known: Type, scope: Scope) -> None:
    """A side of a condition is a number that is given."""
    if not (known.is_scalar and known.is_constant):
        scope.source.fail(
            side.span,
            "a condition on indices compares numbers that are given",
            "for example: if |i - j| >= b with the parameter b: dim = 3",
        )


def entries_type(expr: Entries, body: Type, scope: Scope) -> Type:
    """An array with an entry for each value of its indices, of the curvature of these numbers."""
    if not body.is_scalar:
        scope.source.fail(
            expr.body.span,
            f"a number is expected for each {_listed(expr)}, this is {body.shape}",
            "a family of vectors or of matrix inequalities has one index and no condition",
        )
    if len(expr.families) > 2:
        scope.source.fail(expr.families[2].span, "at most two indices run together", "put a sum inside a sum")
    return replace(body, dims=tuple(f.dim for f in expr.families), psd=False, symmetric=False)


def _listed(expr: Entries) -> str:
    return ", ".join(f.index for f in expr.families)


def refuse_zeros(expr: Apply, inner: Entries, scope: Scope) -> None:
    """Entries that a condition leaves out are zeros, which some atoms would take for entries."""
    if inner.where and expr.atom not in KEEPS_ZEROS:
        scope.source.fail(
            inner.span,
            f"a condition leaves entries out, which '{expr.atom}' cannot",
            "a condition stands in a sum, a norm, or after a constraint",
        )
