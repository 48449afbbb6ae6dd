"""The atoms on values that split into components, and on cells that are not listed; in either number system.

Each form is exact: it gives the components, or the levels, of what the dense form gives on the dense
value, or the same number. The reasons are those of ``numerics.component_arrays``: matrices that commute with
a group are multiplied, inverted and rooted component by component, a component counts as often as its
multiplicity, and a vector that is constant on orbits is as good as its levels. Components that are left out
are zero, which ``inv`` reads as the inverse on what is kept (the closed convex extension: nothing outside is
ever needed).

A form takes the number system, the atom's name and its arguments, and gives None for arguments that it cannot
treat. An atom without a form is refused by name.

Parts of one row and one column are treated together: to a part of one entry an atom does what it does to a
number (``Atom.on_entry``). They are stacked into a vector, which goes through an entrywise atom, in either
number system; otherwise thousands of them would be as many small matrices. Inverses and roots are taken in
this way only of what is positive beyond doubt (``Atom.positive``): all else goes through the atom itself,
part by part.

Over cells that are not listed (``component_arrays``) sums of matrices, multiples and the transpose are
those of the parts. A product that runs over the cells has a value around the inverse of a matrix on them, as
R B inv(X) Bᵀ Rᵀ, or with the root of a measure; neither depends on the number of cells. All other products,
and traces, norms and inverses of matrices over the cells, have none. Of a diagonal only an upper bound on its
largest entry is computed, which is enough for ``max(diag(X))``, for ``diag(X) <= 1``, and to scale X in a
repair.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.limits import require_time
from mmopt.numerics.balls import Ball, rounded
from mmopt.numerics.component_arrays import (
    Level,
    Measure,
    NumberLessDiagonal,
    RootOfMeasure,
    Space,
    Spanned,
    Split,
    Unlisted,
    UnlistedDiagonal,
    WeighedQueries,
    is_structured,
)

FEWEST_PARTS = 8  # of one entry, for which stacking pays

Parts = tuple[Any, ...]


def on_every_part(system: Any, atom: str, *args: Any) -> Parts:
    """The atom on every part; an argument is a tuple of parts, or a number that counts for all."""
    tuples = [a for a in args if isinstance(a, tuple)]
    return _in_place(
        system,
        _stacked(system, atom, args, tuples),
        len(tuples[0]),
        lambda at: system.call(atom, *(a[at] if isinstance(a, tuple) else a for a in args)),
    )


def vector(system: Any, atom: str, parts: Parts, **options: int) -> tuple[Any, list[int]]:
    """The atom's numbers on the parts in one vector, and the order of the parts in it."""
    return _in_a_row(
        system,
        _stacked(system, atom, [parts], [parts]),
        len(parts),
        lambda at: system.call(atom, parts[at], **options),
    )


def solved(system: Any, left: Parts | None, matrix: Parts, right: Parts | None) -> Parts:
    """``left @ inv(matrix) @ right`` of every part, where left or right may be None."""
    return _in_place(
        system,
        _quotients(system, left, matrix, right),
        len(matrix),
        lambda at: system.solved(left and left[at], matrix[at], right and right[at]),
    )


def solved_diagonals(system: Any, left: Parts, matrix: Parts, right: Parts) -> tuple[Any, list[int]]:
    """The diagonals of ``left @ inv(matrix) @ right`` in one vector, and the order of the parts in it."""
    return _in_a_row(
        system,
        _quotients(system, left, matrix, right),
        len(matrix),
        lambda at: system.solved_diagonal(left[at], matrix[at], right[at]),
    )


# The parts of one row and column, by number, and the values on them in one vector.
_Stack = tuple[list[int], Any]


def _stacked(system: Any, atom: str, args: Sequence[Any], tuples: Sequence[Parts]) -> _Stack:
    """The parts that are numbers in all arguments, and what the atom makes of them in one vector."""
    if not (small := _small(system, atom, tuples)):
        return small, None
    stacks = (system.stack([a[at] for at in small]) if isinstance(a, tuple) else a for a in args)
    return small, system.row(atom).on_entry(system, *stacks)


def _quotients(system: Any, left: Parts | None, matrix: Parts, right: Parts | None) -> _Stack:
    """The parts of ``left @ inv(matrix) @ right`` that are numbers, and their values in one vector."""
    sides = [side for side in (left, right) if side is not None]
    if not (small := _small(system, "inv", [matrix, *sides])):
        return small, None
    top = system.exact(1.0)
    for side in sides:
        top = system.call("mul", top, system.stack([side[at] for at in small]))
    return small, system.call("div", top, system.stack([matrix[at] for at in small]))


def _in_place(system: Any, stack: _Stack, count: int, one: Callable[[int], Any]) -> Parts:
    """The values on ``count`` parts in their order: those of the stack, and ``one`` of each other part."""
    small, stacked = stack
    entries = dict(zip(small, system.cut(stacked, [1] * len(small)), strict=True)) if small else {}
    return tuple(entries[at] if at in entries else _in_time(one, at) for at in range(count))


def _in_a_row(system: Any, stack: _Stack, count: int, one: Callable[[int], Any]) -> tuple[Any, list[int]]:
    """The values on ``count`` parts in one vector, those of the stack first; and the order of the parts."""
    small, stacked = stack
    rest = sorted(set(range(count)).difference(small))
    others = [_in_time(one, at) for at in rest]
    return system.join([stacked, *others] if small else others), [*small, *rest]


def _in_time(one: Callable[[int], Any], at: int) -> Any:
    """The value on a part, which alone may take seconds; TimeLimitError as ``require_time``."""
    require_time()
    return one(at)


def _small(system: Any, atom: str, tuples: Sequence[Parts]) -> list[int]:
    """The parts that are numbers in all arguments; for roots and inverses only positive ones."""
    row = system.row(atom)
    places = range(len(tuples[0])) if row.on_entry is not None else ()
    small = [at for at in places if all(parts[at].shape == (1, 1) for parts in tuples)]
    if len(small) < FEWEST_PARTS:
        return []
    if not row.positive:
        return small
    low = system.low(system.stack([tuples[0][at] for at in small]))
    return [at for at, value in zip(small, low.tolist(), strict=True) if value > 0]


def require_same_space(one: Space, other: Space, atom: str) -> None:
    """ProgramError unless the spaces have the same components."""
    if not one.matches(other):
        raise ProgramError(f"'{atom}' of values that split differently: {one!r} and {other!r}")


# The spaces that a value is on, by their names in its class.
SPACES: Mapping[type, tuple[str, ...]] = {Split: ("rows", "columns"), Level: ("space",)}


def _first_of_kind(kind: type, atom: str, args: Sequence[Any]) -> Any:
    """The first argument of a kind; None where another is neither of the kind nor a number.

    Raises ProgramError where two are on different spaces.
    """
    first = next((a for a in args if isinstance(a, kind)), None)
    others = [a for a in args if not isinstance(a, kind)]
    if first is None or any(is_structured(a) or np.shape(a) for a in others):
        return None
    for other in args:
        for name in SPACES[kind] if isinstance(other, kind) else ():
            require_same_space(getattr(first, name), getattr(other, name), atom)
    return first


def by_component(system: Any, atom: str, *args: Any) -> Split | None:
    """The atom component by component, for matrices; a number is the same in every component."""
    if (first := _first_of_kind(Split, atom, args)) is None:
        return None
    parts = (a.parts if isinstance(a, Split) else a for a in args)
    return Split(first.rows, first.columns, on_every_part(system, atom, *parts))


def on_levels(system: Any, atom: str, *args: Any) -> Level | None:
    """The atom entry by entry, for levels; a number is the same for every level."""
    if (first := _first_of_kind(Level, atom, args)) is None:
        return None
    return Level(first.space, system.call(atom, *[a.values if isinstance(a, Level) else a for a in args]))


def linear(system: Any, atom: str, *args: Any) -> Split | Level | None:
    """The atom on matrices component by component, or on levels and numbers entry by entry."""
    return (by_component if all(isinstance(a, Split) for a in args) else on_levels)(system, atom, *args)


def product(system: Any, atom: str, a: Any, b: Any) -> Split | Level | None:
    """A matrix times a number component by component, or levels and numbers entry by entry."""
    return (by_component if isinstance(a, Split) != isinstance(b, Split) else on_levels)(system, atom, a, b)


def quotient(system: Any, atom: str, a: Any, b: Any) -> Split | Level | None:
    """A matrix divided by a number component by component, or levels and numbers entry by entry."""
    return None if isinstance(b, Split) else product(system, atom, a, b)


def matmul(system: Any, atom: str, a: Any, b: Any) -> Any:
    """The product of two matrices, or of two vectors by their levels."""
    if isinstance(a, Level) and isinstance(b, Level):
        return total(system, "sum", on_levels(system, "mul", a, b))
    if not (isinstance(a, Split) and isinstance(b, Split)):
        return None
    require_same_space(a.columns, b.rows, atom)
    return Split(a.rows, b.columns, on_every_part(system, atom, a.parts, b.parts))


def transpose(system: Any, atom: str, a: Split | Level) -> Split | Level | None:
    """A vector is a row as it is a column."""
    return a if isinstance(a, Level) else turned(system, atom, a)


def turned(system: Any, atom: str, a: Any) -> Split | None:
    """Transpose, inverse and pseudo-inverse of a matrix: rows and columns change places."""
    return Split(a.columns, a.rows, on_every_part(system, atom, a.parts)) if isinstance(a, Split) else None


def factor(system: Any, atom: str, a: Any) -> Split | None:
    """A factor of a matrix, component by component; its rows have no orbits."""
    if not isinstance(a, Split):
        return None
    parts = on_every_part(system, atom, a.parts)
    return Split(a.columns.abstract(tuple(len(part) for part in parts)), a.columns, parts)


def weighted(system: Any, atom: str, a: Any, guess: Sequence[Any] = ()) -> Any:
    """The atom's numbers on the parts of a matrix, summed as often as each part occurs; a guess per part."""
    if not isinstance(a, Split):
        return None
    if len(guess) == len(a.parts):
        order = list(range(len(guess)))
        values = system.join([system.call(atom, a.parts[at], guess=guess[at]) for at in order])
    else:
        values, order = vector(system, atom, a.parts)
    return system.call("sum", system.call("mul", system.count(a.multiplicities[order]), values))


def total(system: Any, atom: str, a: Any) -> Any:
    """The sum of the levels, each as often as its orbit has coordinates."""
    if not isinstance(a, Level):
        return None
    return system.call("sum", system.call("mul", system.count(_sizes(a.space)), a.values))


def extreme(system: Any, atom: str, a: Any) -> Any:
    """The largest or smallest of the levels."""
    return system.call(atom, a.values) if isinstance(a, Level) else None


def soft_max(system: Any, atom: str, a: Any) -> Any:
    """The soft maximum of the levels, each raised by the logarithm of how often it occurs."""
    if not isinstance(a, Level):
        return None
    return system.call(atom, system.call("add", a.values, system.call("log", system.count(_sizes(a.space)))))


def diag(system: Any, atom: str, a: Split | Level) -> Split | Level:
    """The diagonal of a matrix by orbits; of a vector a matrix with levels on the diagonals of its parts."""
    if isinstance(a, Split):
        require_same_space(a.rows, a.columns, atom)
        return spread(system, a.rows, *vector(system, atom, a.parts))
    parts = (c if c.shape == (1, 1) else system.call(atom, system.stack([c])) for c in on_basis(system, a))
    return Split(a.space, a.space, tuple(parts))


def on_basis(system: Any, a: Level) -> Any:
    """The level of each basis vector: a column for each component."""
    orbits = labels(a.space)
    return system.cut(a.values[np.concatenate(orbits)], [len(component) for component in orbits])


def spread(system: Any, space: Space, entries: Any, order: Sequence[int]) -> Level:
    """The diagonal of a matrix from the diagonals of its parts, one after the other in this order."""
    by_component_orbits = labels(space)
    orbits = np.concatenate([by_component_orbits[at] for at in order])
    copies = np.repeat(space.multiplicities[order], [len(by_component_orbits[at]) for at in order])
    sizes = _sizes(space)
    sums = system.grouped(system.call("mul", system.count(copies), entries), orbits, len(sizes))
    return Level(space, system.call("div", sums, system.count(sizes)))


def labels(space: Space) -> tuple[Any, ...]:
    """The orbits of each component's basis vectors; ProgramError where there are none."""
    if space.labels is None:
        raise ProgramError("the rows of a root are not told apart: they have no diagonal by orbits")
    return space.labels


def _sizes(space: Space) -> Any:
    """The number of coordinates of each orbit; ProgramError where there are no orbits."""
    if space.sizes is None:
        raise ProgramError("the rows of a root are not told apart: they have no orbits")
    return space.sizes


def on_unlisted_cells(system: Any, atom: str, *args: Any, **_: Any) -> Any:
    """The atom on values, one of them over cells that are not listed; None where it has no form for them."""
    if unlisted := [a for a in args if isinstance(a, Unlisted)]:
        return _on_vectors(system, atom, args) if len(unlisted) == 1 else None
    match atom, args:
        case (("add" | "sub" | "neg" | "mul" | "div" | "transpose" | "factor"), _):
            return system.row(atom).by_component(system, atom, *args)
        case "matmul", (Split() as a, b) if a.columns.is_listed:
            return matmul(system, atom, a, b)
        case "diag", (Split(rows=Spanned() as cells) as a,):
            require_same_space(cells, a.columns, atom)
            return UnlistedDiagonal(cells, _largest(system, cells, a))
    return None


def _largest(system: Any, cells: Spanned, matrix: Split) -> Any:
    """The largest entry of a diagonal, between its mean over all cells and what is proved of it.

    Within radii the diagonal moves by at most the largest ‖radii‖ (Frobenius) times the longest ‖b(x)‖².
    """
    if not isinstance(matrix.parts[0], Ball):
        return cells.largest_entry(matrix.parts)
    radius = max(float(np.linalg.norm(part.rad)) for part in matrix.parts)
    high = cells.largest_entry([part.mid for part in matrix.parts])
    high += radius * cells.longest * (1 + 1e-9) if radius else 0.0
    traces = system.join([system.call("trace", part) for part in matrix.parts])
    mean = system.call("sum", system.call("mul", system.count(matrix.multiplicities), traces))
    low = min(float(mean.lower), high)
    return rounded(np.asarray((low + high) / 2), np.asarray((high - low) / 2))


def _on_vectors(system: Any, atom: str, args: tuple[Any, ...]) -> Any:
    """The atom on one vector over cells that are not listed; None where it has no form for it."""
    match atom, args:
        case "max", (UnlistedDiagonal(largest=largest),):
            return largest
        case "div", (UnlistedDiagonal() as a, b) if _is_positive(b):
            return UnlistedDiagonal(a.space, system.call(atom, a.largest, b))
        case "mul", (UnlistedDiagonal() as a, b) | (b, UnlistedDiagonal() as a) if _is_positive(b):
            return UnlistedDiagonal(a.space, system.call(atom, a.largest, b))
        case "sub", (_, UnlistedDiagonal() as a) if not isinstance(a.largest, Ball):
            return NumberLessDiagonal(a.space)
        case "diag", (NumberLessDiagonal(space=space),):
            # What a repair would add to the diagonal of X, up to 1: a function of the cells that is no
            # combination of the queries' products, so that X would leave the span. Nothing is added: X keeps
            # its lines as it is. No figure that is claimed passes here, as these are evaluated as balls.
            return Split(space, space, tuple(np.zeros((d, d)) for d in space.dims))
        case "nuclear", (WeighedQueries(least=least),):
            return least
        case "sqrt", (Measure() as d,):
            return RootOfMeasure(d.space, d)
        case "sum", (Measure() as d,):
            return d.moments.total if isinstance(system.exact(0.0), Ball) else float(d.moments.total.mid)
    return None


def _is_positive(value: Any) -> bool:
    """Whether a value is a number that is proved to be above zero."""
    if is_structured(value) or np.shape(value):
        return False
    return bool((value.lower if isinstance(value, Ball) else value) > 0)


def times_root(system: Any, matrix: Split, root: RootOfMeasure) -> Split | WeighedQueries:
    """Queries R B times diag(√d): R J, up to a rotation of its columns, which have no orbits.

    The exact root of the moments is J (I + F) with ‖F‖ <= e, which moves a row of R J by e times its length.
    """
    require_same_space(matrix.columns, root.space, "matmul")
    lower = [part.lower if isinstance(part, Ball) else part for part in matrix.parts]
    assert isinstance(root.space, Spanned)
    if (least := root.space.root_trace(lower, root.measure.mixture)) is not None:
        return WeighedQueries(root.space, system.exact(np.asarray(least)))
    roots = tuple(map(system.exact, root.measure.moments.roots))
    parts = on_every_part(system, "matmul", matrix.parts, roots)
    if isinstance(parts[0], Ball):
        parts = tuple(map(_widened, parts, root.measure.moments.offs))
    return Split(matrix.rows, matrix.columns.abstract(matrix.columns.dims), parts)


def _widened(part: Ball, off: float) -> Ball:
    """The ball with room for rows that are off by ``off`` times their length."""
    lengths = np.linalg.norm(np.abs(part.mid) + part.rad, axis=1, keepdims=True) * (1 + 1e-9)
    return rounded(part.mid, part.rad + off * lengths)
