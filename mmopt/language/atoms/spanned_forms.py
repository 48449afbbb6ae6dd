"""What the atoms do to values over cells that are not listed (``numerics.spanned_cells``), in either system.

Sums of matrices, multiples and the transpose are those of the parts. A product that runs over the cells has
a value around the inverse of a matrix on them, as R B inv(X) Bᵀ Rᵀ, or with the root of a measure; the number
of cells enters neither. All other products, and traces, norms and inverses of matrices over the cells, have
none.

Of a diagonal only its largest entry is known, from above. Which is enough for ``max(diag(X))``, for
``diag(X) <= 1``, and to scale X in a repair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mmopt.language.atoms.component_forms import each, linear, product, quotient, same, transpose
from mmopt.numerics.balls import Ball, rounded
from mmopt.numerics.spanned_cells import Beside, Measure, Profile, RootOfMeasure, Spanned, WeighedQueries
from mmopt.numerics.split_arrays import Split, Unlisted, is_structured

__all__ = ["form", "times_root"]


def form(numbers: Any, atom: str, *args: Any, **_: Any) -> Any:
    """The atom on values of which one is over such cells; None where it has no form for them."""
    unlisted = [a for a in args if isinstance(a, Unlisted)]
    if unlisted:
        return _on_vectors(numbers, atom, args) if len(unlisted) == 1 else None
    match atom, args:
        case (("add" | "sub" | "neg"), _):
            return linear(numbers, atom, *args)
        case "mul", (a, b):
            return product(numbers, atom, a, b)
        case "div", (a, b):
            return quotient(numbers, atom, a, b)
        case "transpose", (a,):
            return transpose(numbers, atom, a)
        case "factor", (Split(columns=columns) as a,):
            parts = each(numbers, atom, a.parts)
            return Split(columns.abstract(tuple(len(part) for part in parts)), columns, parts)
        case "matmul", (Split() as a, Split() as b) if a.columns.is_listed:
            same(a.columns, b.rows, atom)
            return Split(a.rows, b.columns, each(numbers, atom, a.parts, b.parts))
        case "diag", (Split(rows=Spanned() as cells) as a,):
            same(cells, a.columns, atom)
            return Profile(cells, _largest(numbers, cells, a))
    return None


def _largest(numbers: Any, cells: Spanned, matrix: Split) -> Any:
    """The largest entry of a diagonal, between its mean over all cells and what is proved of it.

    Within radii the diagonal moves by at most the largest ‖radii‖ (Frobenius) times the longest ‖b(x)‖².
    """
    if not isinstance(matrix.parts[0], Ball):
        return cells.largest_entry(matrix.parts)
    wide = max(float(np.linalg.norm(part.rad)) for part in matrix.parts)
    high = cells.largest_entry([part.mid for part in matrix.parts])
    high += wide * cells.longest * (1 + 1e-9) if wide else 0.0
    traces = numbers.join([numbers.call("trace", part) for part in matrix.parts])
    mean = numbers.call("sum", numbers.call("mul", numbers.count(matrix.multiplicities), traces))
    low = min(float(mean.lower), high)
    return rounded(np.asarray((low + high) / 2), np.asarray((high - low) / 2))


def _on_vectors(numbers: Any, atom: str, args: tuple[Any, ...]) -> Any:
    match atom, args:
        case "max", (Profile(largest=largest),):
            return largest
        case "div", (Profile() as a, b) if _is_positive(b):
            return Profile(a.space, numbers.call(atom, a.largest, b))
        case "mul", (Profile() as a, b) | (b, Profile() as a) if _is_positive(b):
            return Profile(a.space, numbers.call(atom, a.largest, b))
        case "sub", (_, Profile() as a) if not isinstance(a.largest, Ball):
            return Beside(a.space)
        case "diag", (Beside(space=space),):
            # What a repair would put on the diagonal beside X, up to 1: a function of the cells that is no
            # combination of the queries' products, so that X would leave the span. Nothing is added: X keeps
            # its lines as it is. No figure that is claimed passes here, as these are evaluated as balls.
            return Split(space, space, tuple(np.zeros((d, d)) for d in space.dims))
        case "nuclear", (WeighedQueries(least=least),):
            return least
        case "sqrt", (Measure() as d,):
            return RootOfMeasure(d)
        case "sum", (Measure() as d,):
            total = d.moments.total
            return total if isinstance(numbers.exact(0.0), Ball) else float(total.mid)
    return None


def _is_positive(value: Any) -> bool:
    """Whether it is a number that is proved to be above zero."""
    if is_structured(value) or np.shape(value):
        return False
    return bool((value.lower if isinstance(value, Ball) else value) > 0)


def times_root(numbers: Any, matrix: Split, root: RootOfMeasure) -> Split | WeighedQueries:
    """Queries R B times diag(√d): R J, up to a rotation of its columns, which are not told apart.

    The exact root of the moments is J (I + F) with ‖F‖ <= e, which moves a row of R J by e times its length.
    """
    same(matrix.columns, root.space, "matmul")
    lower = [part.lower if isinstance(part, Ball) else part for part in matrix.parts]
    assert isinstance(root.space, Spanned)
    least = root.space.root_trace(lower, root.measure.mixture)
    if least is not None:
        return WeighedQueries(root.space, numbers.exact(np.asarray(least)))
    moments = root.measure.moments
    parts = each(numbers, "matmul", matrix.parts, tuple(map(numbers.exact, moments.roots)))
    if isinstance(parts[0], Ball):
        parts = tuple(map(_widened, parts, moments.offs))
    return Split(matrix.rows, matrix.columns.abstract(matrix.columns.dims), parts)


def _widened(part: Ball, off: float) -> Ball:
    lengths = np.linalg.norm(np.abs(part.mid) + part.rad, axis=1, keepdims=True) * (1 + 1e-9)
    return rounded(part.mid, part.rad + off * lengths)
