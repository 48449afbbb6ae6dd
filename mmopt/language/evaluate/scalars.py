"""Parts of one row and one column: what an atom does to a matrix, it does to these as to numbers.

They are stacked into a vector and go through an entrywise atom together, in either number system; thousands
of them would else be as many small matrices. Inverses and roots are taken so only of what is positive beyond
doubt: all else goes through the atom itself, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mmopt.language.evaluate.number_systems import Numbers

__all__ = ["each", "solved", "solved_diagonals", "vector"]

FEWEST = 8  # parts for which it pays

Form = Callable[..., Any]

# What the atom does to numbers, by the number system.
AS_NUMBERS: Mapping[str, Form] = MappingProxyType(
    {
        **{
            atom: lambda numbers, *args, atom=atom: numbers.call(atom, *args)
            for atom in ("add", "sub", "neg", "mul", "div")
        },
        "matmul": lambda numbers, a, b: numbers.call("mul", a, b),
        **dict.fromkeys(("transpose", "trace", "diag", "sum"), lambda numbers, a: a),
        "nuclear": lambda numbers, a: numbers.call("abs", a),
        **dict.fromkeys(("root", "factor"), lambda numbers, a: numbers.call("sqrt", a)),
        **dict.fromkeys(("inv", "pinv"), lambda numbers, a: numbers.call("div", numbers.exact(1.0), a)),
    }
)
POSITIVE = frozenset({"root", "factor", "inv", "pinv"})


def each(numbers: Numbers, atom: str, *args: Any) -> tuple[Any, ...]:
    """The atom on every part; an argument is a tuple of parts, or a number that counts for all."""
    tuples = [a for a in args if isinstance(a, tuple)]
    count = len(tuples[0])
    small = _small(numbers, atom, tuples)

    if not small:
        rows = zip(*(a if isinstance(a, tuple) else (a,) * count for a in args), strict=True)
        return tuple(numbers.call(atom, *own) for own in rows)
    stacked = [numbers.stack([a[at] for at in small]) if isinstance(a, tuple) else a for a in args]
    found = numbers.cut(AS_NUMBERS[atom](numbers, *stacked), [1] * len(small))
    return _merged(count, small, found, lambda at: numbers.call(atom, *_at(args, at)))


def vector(numbers: Numbers, atom: str, parts: tuple[Any, ...], **options: int) -> tuple[Any, list[int]]:
    """The atom's numbers on the parts in one vector, and the order in which the parts stand there."""
    small = _small(numbers, atom, [parts])
    own = set(small)
    rest = [at for at in range(len(parts)) if at not in own]
    found = [numbers.call(atom, parts[at], **options) for at in rest]
    if small:
        found.insert(0, AS_NUMBERS[atom](numbers, numbers.stack([parts[at] for at in small])))
    return numbers.join(found), [*small, *rest]


def solved(numbers: Numbers, left: Any, matrix: tuple[Any, ...], right: Any) -> tuple[Any, ...]:
    """``left @ inv(matrix) @ right`` of every part; left and right are tuples of parts, or None."""
    small, stacked = _quotients(numbers, left, matrix, right)

    def one(at: int) -> Any:
        return numbers.solved(left and left[at], matrix[at], right and right[at])

    if not small:
        return tuple(one(at) for at in range(len(matrix)))
    return _merged(len(matrix), small, numbers.cut(stacked, [1] * len(small)), one)


def solved_diagonals(
    numbers: Numbers, left: tuple[Any, ...], matrix: tuple[Any, ...], right: tuple[Any, ...]
) -> tuple[Any, list[int]]:
    """The diagonals of ``left @ inv(matrix) @ right`` in one vector, and the order of the parts there."""
    small, stacked = _quotients(numbers, left, matrix, right)
    own = set(small)
    rest = [at for at in range(len(matrix)) if at not in own]
    found = [numbers.solved_diagonal(left[at], matrix[at], right[at]) for at in rest]
    return numbers.join([stacked, *found] if small else found), [*small, *rest]


def _quotients(numbers: Numbers, left: Any, matrix: tuple[Any, ...], right: Any) -> tuple[list[int], Any]:
    """The parts of ``left @ inv(matrix) @ right`` that are numbers, and what they come to in one vector."""
    sides = [side for side in (left, right) if side is not None]
    small = _small(numbers, "inv", [matrix, *sides])
    if not small:
        return small, None
    top = numbers.exact(1.0)
    for side in sides:
        top = numbers.call("mul", top, numbers.stack([side[at] for at in small]))
    return small, numbers.call("div", top, numbers.stack([matrix[at] for at in small]))


def _at(args: Sequence[Any], at: int) -> list[Any]:
    return [a[at] if isinstance(a, tuple) else a for a in args]


def _merged(
    count: int, small: Sequence[int], found: Sequence[Any], other: Callable[[int], Any]
) -> tuple[Any, ...]:
    if len(small) == count:
        return tuple(found)
    known = dict(zip(small, found, strict=True))
    return tuple(known[at] if at in known else other(at) for at in range(count))


def _small(numbers: Numbers, atom: str, tuples: Sequence[tuple[Any, ...]]) -> list[int]:
    """The parts that are numbers in all arguments; for roots and inverses only positive ones."""
    if atom not in AS_NUMBERS:
        return []
    shape = numbers.shape
    places = list(range(len(tuples[0])))
    for parts in tuples:
        places = [at for at in places if shape(parts[at]) == (1, 1)]
    if len(places) < FEWEST:
        return []
    if atom not in POSITIVE:
        return places
    low = numbers.low(numbers.stack([tuples[0][at] for at in places]))
    return [at for at, value in zip(places, low.tolist(), strict=True) if value > 0]
