"""What the atoms do to values that split into components: one table, in either number system.

Each row's form is exact: it gives the components, or the levels, of what the dense form gives on the dense
value, or the same number. The reasons are those of ``mmopt.numerics.components``: matrices that commute with
a group are multiplied, inverted and rooted component by component, a component counts as often as its
multiplicity,
and a vector that is constant on orbits is as good as its levels. Components that are left out are zero, which
``inv`` reads as the inverse on what is kept (the closed convex extension: nothing outside is ever asked for).
An atom without a row here is refused by name; ``numpy`` below stands for dense numbers among the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.evaluate import scalars
from mmopt.language.evaluate.number_systems import Numbers
from mmopt.numerics.components import Level, Space, Split

__all__ = ["STRUCTURED", "Structured", "apply", "is_structured", "labels", "same", "spread"]

Form = Callable[..., Any]


@dataclass(frozen=True)
class Structured:
    """How an atom treats split matrices and level vectors.

    kind : "by component", "weighted sum", "diag", "entrywise on levels" or "over levels".
    form : takes the number system, the atom's name and its arguments; None where it has no form for them.
    """

    kind: str
    form: Form


def is_structured(value: Any) -> bool:
    """Whether a value is known by components or levels."""
    return isinstance(value, Split | Level)


def apply(numbers: Numbers, atom: str, args: tuple[Any, ...], options: Mapping[str, int]) -> Any:
    """The atom on arguments of which one is structured; a Split, a Level or a number.

    Raises
    ------
    ProgramError : the atom has no structured form, or none for these arguments (both named).
    """
    row = STRUCTURED.get(atom)
    found = None if row is None or options else row.form(numbers, atom, *args)
    if found is None:
        axis = "".join(f", {name}={value}" for name, value in options.items())
        raise ProgramError(
            f"'{atom}' has no form by components for {', '.join(map(_word, args))}{axis}",
            hint="solve the program without the symmetry, or write it with other atoms",
        )
    return found


def _word(value: Any) -> str:
    if isinstance(value, Split):
        return "a matrix that splits into components"
    if isinstance(value, Level):
        return "a vector that is constant on orbits"
    shape = np.shape(getattr(value, "mid", value))
    return ("a number", "a dense vector", "a dense matrix")[min(len(shape), 2)]


def _is_number(value: Any) -> bool:
    return not is_structured(value) and np.ndim(getattr(value, "mid", value)) == 0


def _mapped(numbers: Numbers, atom: str, *args: Any) -> Split | None:
    """By component; numbers count for every component."""
    split = next(a for a in args if isinstance(a, Split))
    if not all(isinstance(a, Split) or _is_number(a) for a in args):
        return None
    for other in args:
        if isinstance(other, Split):
            same(split.rows, other.rows, atom)
            same(split.columns, other.columns, atom)
    each = (a.parts if isinstance(a, Split) else a for a in args)
    return Split(split.rows, split.columns, scalars.each(numbers, atom, *each))


def same(one: Space, other: Space, atom: str) -> None:
    """ProgramError unless the spaces have the same components."""
    if not one.matches(other):
        raise ProgramError(f"'{atom}' of values that split differently: {one!r} and {other!r}")


def _levels(numbers: Numbers, atom: str, *args: Any) -> Level | None:
    """Entry by entry, of levels and numbers."""
    first = next((a for a in args if isinstance(a, Level)), None)
    if first is None or not all(isinstance(a, Level) or _is_number(a) for a in args):
        return None
    for other in args:
        if isinstance(other, Level):
            same(first.space, other.space, atom)
    values = [a.values if isinstance(a, Level) else a for a in args]
    return Level(first.space, numbers.call(atom, *values))


def _sum_of(numbers: Numbers, atom: str, a: Any, b: Any) -> Split | Level | None:
    if isinstance(a, Split) and isinstance(b, Split):
        return _mapped(numbers, atom, a, b)
    return _levels(numbers, atom, a, b)


def _minus(numbers: Numbers, atom: str, a: Any) -> Split | Level | None:
    return _mapped(numbers, atom, a) if isinstance(a, Split) else _levels(numbers, atom, a)


def _product(numbers: Numbers, atom: str, a: Any, b: Any) -> Split | Level | None:
    if isinstance(a, Split) != isinstance(b, Split):
        return _mapped(numbers, atom, a, b)
    return _levels(numbers, atom, a, b)


def _quotient(numbers: Numbers, atom: str, a: Any, b: Any) -> Split | Level | None:
    if isinstance(a, Split):
        return _mapped(numbers, atom, a, b) if _is_number(b) else None
    return _levels(numbers, atom, a, b)


def _matmul(numbers: Numbers, atom: str, a: Any, b: Any) -> Any:
    if isinstance(a, Level) and isinstance(b, Level):
        return _total(numbers, "sum", _levels(numbers, "mul", a, b))
    if not (isinstance(a, Split) and isinstance(b, Split)):
        return None
    same(a.columns, b.rows, atom)
    return Split(a.rows, b.columns, scalars.each(numbers, atom, a.parts, b.parts))


def _transpose(numbers: Numbers, atom: str, a: Any) -> Split | Level:
    if isinstance(a, Level):
        return a
    return Split(a.columns, a.rows, scalars.each(numbers, atom, a.parts))


def _turned(numbers: Numbers, atom: str, a: Any) -> Split | None:
    """Inverse and pseudo-inverse: rows and columns change places."""
    if not isinstance(a, Split):
        return None
    return Split(a.columns, a.rows, scalars.each(numbers, atom, a.parts))


def _root(numbers: Numbers, atom: str, a: Any) -> Split | None:
    return _mapped(numbers, atom, a) if isinstance(a, Split) else None


def _factor(numbers: Numbers, atom: str, a: Any) -> Split | None:
    if not isinstance(a, Split):
        return None
    parts = scalars.each(numbers, atom, a.parts)
    return Split(a.columns.abstract(tuple(len(part) for part in parts)), a.columns, parts)


def _weighted(numbers: Numbers, atom: str, a: Any) -> Any:
    """The number of each part, as often as the part stands there."""
    if not isinstance(a, Split):
        return None
    each, order = scalars.vector(numbers, atom, a.parts)
    return numbers.call("sum", numbers.call("mul", numbers.count(a.multiplicities[order]), each))


def _total(numbers: Numbers, atom: str, a: Any) -> Any:
    if not isinstance(a, Level):
        return None
    return numbers.call("sum", numbers.call("mul", numbers.count(_sizes(a.space)), a.values))


def _extreme(numbers: Numbers, atom: str, a: Any) -> Any:
    return numbers.call(atom, a.values) if isinstance(a, Level) else None


def _soft_max(numbers: Numbers, atom: str, a: Any) -> Any:
    if not isinstance(a, Level):
        return None
    sizes = numbers.call("log", numbers.count(_sizes(a.space)))
    return numbers.call(atom, numbers.call("add", a.values, sizes))


def _diag(numbers: Numbers, atom: str, a: Any) -> Split | Level:
    if isinstance(a, Level):
        orbits = labels(a.space)
        columns = numbers.cut(numbers.take(a.values, np.concatenate(orbits)), [len(own) for own in orbits])
        own = (c if numbers.shape(c) == (1, 1) else numbers.call(atom, numbers.stack([c])) for c in columns)
        return Split(a.space, a.space, tuple(own))
    same(a.rows, a.columns, atom)
    return spread(numbers, a.rows, *scalars.vector(numbers, atom, a.parts))


def spread(numbers: Numbers, space: Space, entries: Any, order: Sequence[int]) -> Level:
    """The diagonal of a matrix from the diagonals of its parts, one after the other in this order."""
    known = labels(space)
    orbits = np.concatenate([known[at] for at in order])
    copies = np.repeat(space.multiplicities[order], [len(known[at]) for at in order])
    sizes = _sizes(space)
    sums = numbers.grouped(numbers.call("mul", numbers.count(copies), entries), orbits, len(sizes))
    return Level(space, numbers.call("div", sums, numbers.count(sizes)))


def labels(space: Space) -> tuple[Any, ...]:
    """The orbits of each component's basis vectors; ProgramError where they are not told apart."""
    if space.labels is None:
        raise ProgramError("the rows of a root are not told apart: they have no diagonal by orbits")
    return space.labels


def _sizes(space: Space) -> Any:
    if space.sizes is None:
        raise ProgramError("the rows of a root are not told apart: they have no orbits")
    return space.sizes


_ENTRYWISE = Structured("entrywise on levels", _levels)

STRUCTURED: Mapping[str, Structured] = MappingProxyType(
    {
        "add": Structured("by component", _sum_of),
        "sub": Structured("by component", _sum_of),
        "neg": Structured("by component", _minus),
        "mul": Structured("by component", _product),
        "div": Structured("by component", _quotient),
        "matmul": Structured("by component", _matmul),
        "transpose": Structured("by component", _transpose),
        "inv": Structured("by component", _turned),
        "pinv": Structured("by component", _turned),
        "root": Structured("by component", _root),
        "factor": Structured("by component", _factor),
        "trace": Structured("weighted sum", _weighted),
        "nuclear": Structured("weighted sum", _weighted),
        "sum": Structured("weighted sum", _total),
        "logsumexp": Structured("weighted sum", _soft_max),
        "diag": Structured("diag", _diag),
        "max": Structured("over levels", _extreme),
        "min": Structured("over levels", _extreme),
        "pow": _ENTRYWISE,
        "abs": _ENTRYWISE,
        "sqrt": _ENTRYWISE,
        "exp": _ENTRYWISE,
        "log": _ENTRYWISE,
        "support": _ENTRYWISE,
    }
)
