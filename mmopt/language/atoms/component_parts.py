"""The parts of matrices that split, one by one; those of one row and one column all together.

What an atom does to a matrix, it does to a part of one entry as to a number (``Atom.on_entry``). They are
stacked into a vector and go through an entrywise atom together, in either number system; thousands of them
would else be as many small matrices. Inverses and roots are taken so only of what is positive beyond doubt
(``Atom.positive``): all else goes through the atom itself, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["each", "solved", "solved_diagonals", "vector"]

FEWEST = 8  # parts for which it pays

Parts = tuple[Any, ...]


def each(numbers: Any, atom: str, *args: Any) -> Parts:
    """The atom on every part; an argument is a tuple of parts, or a number that counts for all."""
    tuples = [a for a in args if isinstance(a, tuple)]
    small, stacked = _stacked(numbers, atom, args, tuples)

    def one(at: int) -> Any:
        return numbers.call(atom, *(a[at] if isinstance(a, tuple) else a for a in args))

    return _in_place(numbers, small, stacked, len(tuples[0]), one)


def vector(numbers: Any, atom: str, parts: Parts, **options: int) -> tuple[Any, list[int]]:
    """The atom's numbers on the parts in one vector, and the order in which the parts stand there."""
    small, stacked = _stacked(numbers, atom, [parts], [parts])
    return _in_a_row(numbers, small, stacked, len(parts), lambda at: numbers.call(atom, parts[at], **options))


def solved(numbers: Any, left: Parts | None, matrix: Parts, right: Parts | None) -> Parts:
    """``left @ inv(matrix) @ right`` of every part, where left or right may be None."""
    small, stacked = _quotients(numbers, left, matrix, right)

    def one(at: int) -> Any:
        return numbers.solved(left and left[at], matrix[at], right and right[at])

    return _in_place(numbers, small, stacked, len(matrix), one)


def solved_diagonals(numbers: Any, left: Parts, matrix: Parts, right: Parts) -> tuple[Any, list[int]]:
    """The diagonals of ``left @ inv(matrix) @ right`` in one vector, and the order of the parts there."""
    small, stacked = _quotients(numbers, left, matrix, right)

    def one(at: int) -> Any:
        return numbers.solved_diagonal(left[at], matrix[at], right[at])

    return _in_a_row(numbers, small, stacked, len(matrix), one)


def _stacked(numbers: Any, atom: str, args: Sequence[Any], tuples: Sequence[Parts]) -> tuple[list[int], Any]:
    """The parts that are numbers in all arguments, and what the atom makes of them in one vector."""
    small = _small(numbers, atom, tuples)
    if not small:
        return small, None
    stacks = (numbers.stack([a[at] for at in small]) if isinstance(a, tuple) else a for a in args)
    return small, numbers.row(atom).on_entry(numbers, *stacks)


def _quotients(numbers: Any, left: Parts | None, matrix: Parts, right: Parts | None) -> tuple[list[int], Any]:
    """The parts of ``left @ inv(matrix) @ right`` that are numbers, and what they come to in one vector."""
    sides = [side for side in (left, right) if side is not None]
    small = _small(numbers, "inv", [matrix, *sides])
    if not small:
        return small, None
    top = numbers.exact(1.0)
    for side in sides:
        top = numbers.call("mul", top, numbers.stack([side[at] for at in small]))
    return small, numbers.call("div", top, numbers.stack([matrix[at] for at in small]))


def _in_place(
    numbers: Any, small: Sequence[int], stacked: Any, count: int, one: Callable[[int], Any]
) -> Parts:
    known = dict(zip(small, numbers.cut(stacked, [1] * len(small)), strict=True)) if small else {}
    return tuple(known[at] if at in known else one(at) for at in range(count))


def _in_a_row(
    numbers: Any, small: Sequence[int], stacked: Any, count: int, one: Callable[[int], Any]
) -> tuple[Any, list[int]]:
    rest = sorted(set(range(count)).difference(small))
    others = [one(at) for at in rest]
    return numbers.join([stacked, *others] if small else others), [*small, *rest]


def _small(numbers: Any, atom: str, tuples: Sequence[Parts]) -> list[int]:
    """The parts that are numbers in all arguments; for roots and inverses only positive ones."""
    row = numbers.row(atom)
    places = range(len(tuples[0])) if row.on_entry is not None else ()
    small = [at for at in places if all(parts[at].shape == (1, 1) for parts in tuples)]
    if len(small) < FEWEST:
        return []
    if not row.positive:
        return small
    low = numbers.low(numbers.stack([tuples[0][at] for at in small]))
    return [at for at, value in zip(small, low.tolist(), strict=True) if value > 0]
