"""Products of values that split into components, without the parts that need not be formed.

``diag`` of a level vector scales rows or columns, and of a product that only ``diag`` asks for the diagonal
is enough: a part may have as many rows as there are orbits of queries (see ``products`` for dense values).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.language.evaluate import scalars, structured
from mmopt.language.evaluate.number_systems import Numbers
from mmopt.numerics.components import Level, Split

__all__ = ["Scaling", "diagonal", "solved_diagonal", "times", "whole"]


@dataclass(frozen=True)
class Scaling:
    """The diagonal matrix of a level vector."""

    level: Level


def whole(numbers: Numbers, value: Any) -> Any:
    """The value itself, its parts formed."""
    return structured.apply(numbers, "diag", (value.level,), {}) if isinstance(value, Scaling) else value


def times(numbers: Numbers, left: Any, right: Any) -> Any:
    """The matrix product; a Scaling where both are.

    Raises
    ------
    ProgramError : values that split differently, or have no product by component.
    """
    match left, right:
        case Scaling(), Scaling():
            return Scaling(structured.apply(numbers, "mul", (left.level, right.level), {}))
        case Scaling(), Level():
            return structured.apply(numbers, "mul", (left.level, right), {})
        case Scaling(), Split():
            return _scaled(numbers, right, left.level, "rows")
        case Split(), Scaling():
            return _scaled(numbers, left, right.level, "columns")
    args = whole(numbers, left), whole(numbers, right)
    if any(structured.is_structured(a) for a in args):
        return structured.apply(numbers, "matmul", args, {})
    return numbers.call("matmul", *args)


def _scaled(numbers: Numbers, matrix: Split, level: Level, side: str) -> Split:
    """Each row, or column, times the level of its basis vector."""
    space = matrix.rows if side == "rows" else matrix.columns
    structured.same(level.space, space, "matmul")
    labels = structured.labels(level.space)
    values = numbers.take(level.values, np.concatenate(labels))
    factors = tuple(numbers.cut(values, [len(own) for own in labels]))
    if side == "columns":
        factors = scalars.each(numbers, "transpose", factors)
    return Split(matrix.rows, matrix.columns, scalars.each(numbers, "mul", factors, matrix.parts))


def diagonal(numbers: Numbers, left: Split, right: Split) -> Level:
    """``diag(left @ right)``, without the product."""
    structured.same(left.columns, right.rows, "matmul")
    structured.same(left.rows, right.columns, "diag")
    turned = scalars.each(numbers, "transpose", right.parts)
    products = scalars.each(numbers, "mul", left.parts, turned)
    return structured.spread(numbers, left.rows, *scalars.vector(numbers, "sum", products, axis=1))


def solved_diagonal(numbers: Numbers, atom: str, left: Split, matrix: Split, right: Split) -> Any:
    """``diag`` or ``trace`` of ``left @ inv(matrix) @ right``, without the product."""
    structured.same(left.columns, matrix.rows, "matmul")
    structured.same(matrix.columns, right.rows, "matmul")
    structured.same(left.rows, right.columns, atom)
    entries, order = scalars.solved_diagonals(numbers, left.parts, matrix.parts, right.parts)
    if atom == "diag":
        return structured.spread(numbers, left.rows, entries, order)
    lengths = [numbers.shape(left.parts[at])[0] for at in order]
    copies = numbers.count(np.repeat(left.multiplicities[order], lengths))
    return numbers.call("sum", numbers.call("mul", copies, entries))
