"""Where an atom has no finite value at a point, though the line may not use that entry.

The domain of an atom is part of the program, for each of its entries: so solvers take it, and so the bounds
that are derived from the lines. Numpy gives a number for ``sqrt(x)[0]`` all the same where ``x[1]`` is
negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from mmopt.language.check.exact_rewriting import vectorised
from mmopt.language.evaluate.evaluator import OF_PART, Env, evaluate
from mmopt.language.syntax.syntax_tree import Apply, Constraint, Expr, names_in, walk
from mmopt.numerics.split_arrays import arrays_of

__all__ = ["undefined", "undefined_in"]

# An atom in a line, and the entry of its value; with values that split the entry of a part.
Undefined = tuple[Apply, tuple[int, ...]]


def undefined(expr: Expr, env: Env, chosen: Set[str]) -> Undefined | None:
    """The first atom of what is chosen with a value that is not finite; what is given alone may have some."""
    if not any(_may_be(part, chosen) for part in walk(expr)):
        return None
    seen: list[Undefined] = []

    def look(part: Apply, value: Any) -> None:
        if not seen and _may_be(part, chosen):
            for array in arrays_of(value):
                bad = np.argwhere(~np.isfinite(array))
                seen.extend((part, tuple(int(i) for i in at)) for at in bad[:1])

    evaluate(expr, env, look=look)
    return seen[0] if seen else None


def _may_be(part: Any, chosen: Set[str]) -> bool:
    return isinstance(part, Apply) and part.atom in OF_PART and bool(names_in(part) & chosen)


def undefined_in(constraint: Constraint, env: Env, chosen: Set[str]) -> Undefined | None:
    """The same of the sides of a line, of a family for every index."""
    return next(
        (found for side, at in _sides(constraint, env) if (found := undefined(side, at, chosen))), None
    )


def _sides(constraint: Constraint, env: Env) -> Iterator[tuple[Expr, Env]]:
    family = constraint.family
    for side in (constraint.relation.left, constraint.relation.right):
        joined = side if family is None else vectorised(side, family.index)
        if joined is not None:
            yield joined, env
        elif family is not None:
            for index in range(family.dim.value(env)):
                yield side, {**env, family.index: index}
