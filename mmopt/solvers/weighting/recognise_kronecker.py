"""Whether a dense design is a Kronecker product, up to rounding and to the signs of its entries.

Entry ((i, i'), (j, j')) of A ⊗ B is A[i, j] B[i', j']: the rows (i, 0) tell A, the rows (0, i') tell B, and
all other entries follow. Three rows are enough to see that nearly every other pair of shapes is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmopt.solvers.weighting.weighting_problem import Array, entrywise

__all__ = ["costs_of", "factors_of", "is_likely_product", "places_of"]

# With fewer entries the dense matrix is as quick: 256 cells to a gap of 1e-6 in 20 ms, by factors in 30.
LEAST_ENTRIES = 1 << 18
SMALL_FACTOR = 1 << 12  # entries of a factor that is not taken apart
MOST_SHARED = 1 / 8  # of the entries, that two factors may have together; with more there is nothing to gain
# An entry may differ by this from the product, next to the largest of its row: what that adds to a
# sensitivity is far below any gap asked for.
ROUNDING_OF_ENTRIES = 1e-13
ROUNDING_OF_COSTS = 1e-6  # the same for costs, relatively: their product is only where the iteration starts
ENTRIES_COMPARED = 1 << 18  # entries that are compared at a time


def factors_of(design: Array, power: int) -> tuple[Array, ...] | None:
    """Two or more matrices whose Kronecker product is ``entrywise(design, power)``, or None.

    None also for a design so small that it does not matter.
    """
    if math.prod(design.shape) < LEAST_ENTRIES:
        return None
    found = next((split for split in _likely(design, power) if split.is_whole()), None)
    return None if found is None else _finer(found.first()) + _finer(found.second())


def is_likely_product(design: Array, power: int) -> bool:
    """The same judged by three rows; nearly always right."""
    return math.prod(design.shape) >= LEAST_ENTRIES and next(_likely(design, power), None) is not None


def places_of(rows: Array, among: Array) -> Array | None:
    """Where the rows stand in a matrix that has them in the same order, exactly; None if it does not."""
    xp = rows.__array_namespace__()
    places: list[int] = []
    at = 0
    for i in range(rows.shape[0]):
        while at < among.shape[0] and not bool(xp.all(rows[i, :] == among[at, :])):
            at += 1
        if at == among.shape[0]:
            return None
        places.append(at)
        at += 1
    return xp.asarray(places, dtype=xp.int64)


def costs_of(c: Array, sizes: Sequence[int]) -> list[Array] | None:
    """Vectors of these sizes whose Kronecker product is nearly c > 0, or None."""
    xp = c.__array_namespace__()
    largest = int(xp.argmax(c))
    found: list[Array] = []
    joined, stride = xp.ones_like(c[:1]), 1
    for size in reversed(sizes):
        start = largest - (largest // stride % size) * stride
        line = c[start : start + stride * (size - 1) + 1 : stride]
        found.insert(0, line if stride == c.shape[0] // size else line / c[largest])
        joined = xp.reshape(found[0][:, None] * joined[None, :], (-1,))
        stride *= size
    return found if bool(xp.all(xp.abs(joined - c) <= ROUNDING_OF_COSTS * c)) else None


@dataclass(frozen=True)
class _Split:
    """entrywise(design) as A ⊗ B, A of ``shape``: true if it is true of each row."""

    design: Array
    power: int
    shape: tuple[int, int]
    at: int  # the largest entry of the first row

    @property
    def inner(self) -> tuple[int, int]:
        """The shape of B."""
        (k, n), (k1, n1) = self.design.shape, self.shape
        return k // k1, n // n1

    def first(self, rows: slice = slice(None)) -> Array:
        """Rows of A."""
        k2, n2 = self.inner
        return entrywise(self.design[::k2, self.at % n2 :: n2][rows, :], self.power)

    def second(self, rows: slice = slice(None)) -> Array:
        """Rows of B."""
        k2, n2 = self.inner
        start = self.at // n2 * n2
        found = entrywise(self.design[:k2, start : start + n2][rows, :], self.power)
        return found / entrywise(self.design[:1, self.at : self.at + 1], self.power)

    def is_whole(self) -> bool:
        """Whether all rows agree."""
        k2 = self.inner[0]
        second = self.second()
        step = max(1, ENTRIES_COMPARED // self.design.shape[1])
        return all(
            self.agrees(i, slice(start, min(start + step, k2)), second[start : start + step, :])
            for i in range(self.shape[0])
            for start in range(0, k2, step)
        )

    def agrees(self, i: int, rows: slice, second: Array) -> bool:
        """Whether the rows (i, rows) agree; ``second`` holds these rows of B."""
        xp = second.__array_namespace__()
        first = self.first(slice(i, i + 1))
        here = slice(i * self.inner[0] + rows.start, i * self.inner[0] + rows.stop)
        known = entrywise(self.design[here, :], self.power)
        off = xp.abs(known - xp.reshape(first[:, :, None] * second[:, None, :], known.shape))
        return bool(xp.all(xp.max(off, axis=1) <= ROUNDING_OF_ENTRIES * xp.max(known, axis=1)))


def _likely(design: Array, power: int) -> Iterator[_Split]:
    """Splits with which the last row and two others agree, those with the smallest factors first."""
    xp = design.__array_namespace__()
    k, n = design.shape
    at = int(xp.argmax(xp.abs(design[0, :])))
    if not design[0, at]:
        return
    entries = k * n
    shapes = [(a * b + entries // (a * b), a, b) for a in _divisors(k) for b in _divisors(n)]
    for size, k1, n1 in sorted(shapes):
        if size > MOST_SHARED * entries:
            return
        split = _Split(design, power, (k1, n1), at)
        k2 = split.inner[0]
        probes = [slice(row % k2, row % k2 + 1) for row in (k - 1, k // 2, k // 3)]
        if all(
            split.agrees(row // k2, own, split.second(own))
            for row, own in zip((k - 1, k // 2, k // 3), probes, strict=True)
        ):
            yield split


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _finer(factor: Array) -> tuple[Array, ...]:
    """The factor, taken apart where that saves work; it has no sign, so power 2 changes nothing."""
    if math.prod(factor.shape) <= SMALL_FACTOR:
        return (factor,)
    found = next((split for split in _likely(factor, 2) if split.is_whole()), None)
    return (factor,) if found is None else _finer(found.first()) + _finer(found.second())
