"""Kronecker products of implicit matrices, and stacks of matrices over the same cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, fits_memory
from mmopt.numerics.outward import plus_up, times_up
from mmopt.workloads.blocks.implicit import Scaled
from mmopt.workloads.blocks.linear import Implicit

__all__ = ["Kron", "Stack", "Stacked", "kron"]


class Kron(Implicit):
    """The Kronecker product of matrices; the last one varies fastest. WorkloadError if there is none."""

    def __init__(self, parts: Sequence[Implicit]) -> None:
        if not parts:
            raise WorkloadError("a Kronecker product needs at least one matrix, found none")
        self.parts = tuple(parts)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = zip(*(part.shape for part in self.parts), strict=True)
        return math.prod(rows), math.prod(columns)

    def _dense(self) -> Array:
        return kron([part.matrix() for part in self.parts])

    def _gram(self) -> Array:
        return kron([part.gram() for part in self.parts])

    def squared_lengths(self, directions: Array) -> Array:
        if len(self.parts) == 1:
            return self.parts[0].squared_lengths(directions)
        return super().squared_lengths(directions)

    def _apply(self, x: Array) -> Array:
        return self._contracted(x, transposed=False)

    def _adjoint(self, y: Array) -> Array:
        return self._contracted(y, transposed=True)

    def _contracted(self, x: Array, transposed: bool) -> Array:
        """One axis at a time; nothing between is larger than both ends, as what shrinks most comes first."""
        ends = [part.shape[::-1] if transposed else part.shape for part in self.parts]
        tensor = x.reshape(math.prod(x.shape[:-1]), *(source for _, source in ends))
        for at in sorted(range(len(ends)), key=lambda i: ends[i][0] / ends[i][1]):
            part = self.parts[at]
            moved = np.moveaxis(tensor, at + 1, -1)
            tensor = np.moveaxis(part.adjoint(moved) if transposed else part.apply(moved), -1, at + 1)
        return tensor.reshape(*x.shape[:-1], math.prod(result for result, _ in ends))

    def entrywise(self, norm: int) -> Implicit:
        return Kron([part.entrywise(norm) for part in self.parts])

    def column_powers(self, norm: int) -> Array:
        return reduce(_outer_up, [part.column_powers(norm) for part in self.parts])

    def largest_power(self, norm: int) -> tuple[float, bool]:
        """The product of the parts' largest ones, since none is negative."""
        found = [part.largest_power(norm) for part in self.parts]
        value = reduce(times_up, [np.asarray(power) for power, _ in found])
        return float(value), all(is_attained for _, is_attained in found)

    def holdings(self) -> Iterator[tuple[int, int]]:
        for part in self.parts:
            yield from part.holdings()

    def __repr__(self) -> str:
        return f"Kron({' ⊗ '.join(map(repr, self.parts))})"


class Stacked(Implicit):
    """Products with the rows of ``blocks``, one block after the other."""

    blocks: Sequence[Implicit]

    def _gram(self) -> Array:
        total = np.zeros((self.shape[1], self.shape[1]))
        for block in self.blocks:
            total += block.gram()
        return total

    def _apply(self, x: Array) -> Array:
        return np.concatenate([block.apply(x) for block in self.blocks], axis=-1)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.shape[1]))
        start = 0
        for block in self.blocks:
            total += block.adjoint(y[..., start : start + block.shape[0]])
            start += block.shape[0]
        return total

    def holdings(self) -> Iterator[tuple[int, int]]:
        for block in self.blocks:
            yield from block.holdings()


class Stack(Stacked):
    """The rows of the blocks, one block after the other, over the same cells.

    Weighted unions are stacks of ``Scaled`` blocks. WorkloadError if there is no block, or if numbers of
    columns differ.
    """

    def __init__(self, blocks: Sequence[Implicit]) -> None:
        if not blocks:
            raise WorkloadError("a stack needs at least one matrix, found none")
        for block in blocks:
            if block.shape[1] != blocks[0].shape[1]:
                raise WorkloadError(
                    f"a stack joins matrices of {blocks[0].shape[1]:,} and {block.shape[1]:,} columns, "
                    "expected equal numbers"
                )
        self.blocks = tuple(blocks)

    @property
    def shape(self) -> tuple[int, int]:
        return sum(block.shape[0] for block in self.blocks), self.blocks[0].shape[1]

    def _dense(self) -> Array:
        return np.vstack([block.matrix() for block in self.blocks])

    def squared_lengths(self, directions: Array) -> Array:
        return np.concatenate([block.squared_lengths(directions) for block in self.blocks])

    def entrywise(self, norm: int) -> Implicit:
        return Stack([block.entrywise(norm) for block in self.blocks])

    def column_powers(self, norm: int) -> Array:
        total = np.zeros(self.shape[1])
        for block in self.blocks:
            total = plus_up(total, block.column_powers(norm))
        return total

    def largest_power(self, norm: int) -> tuple[float, bool]:
        """Attained where all blocks are products over the same attributes, or where the cells fit in memory.

        Of the cells of an attribute only those count whose powers in the blocks no other cell's exceed
        throughout. Otherwise the sum of the blocks' largest ones, an upper bound.
        """
        if len(self.blocks) == 1:
            return self.blocks[0].largest_power(norm)
        found = _largest_of_products(self.blocks, norm)
        if found is not None:
            return found, True
        if fits_memory(self.shape[1:]):
            return float(self.column_powers(norm).max()), True
        value = reduce(plus_up, [np.asarray(block.largest_power(norm)[0]) for block in self.blocks])
        return float(value), False

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Stack({len(self.blocks)} blocks, {rows:,} × {columns:,})"


def kron(arrays: Sequence[Array]) -> Array:
    """The Kronecker product of vectors or matrices, dense."""
    return reduce(lambda a, b: np.asarray(np.kron(a, b), dtype=np.float64), arrays)


def _outer_up(a: Array, b: Array) -> Array:
    return times_up(a[:, None], b[None, :]).ravel()


def _as_product(block: Implicit, norm: int) -> tuple[float, tuple[Implicit, ...]] | None:
    """The factor on the powers, and the parts, of a Kronecker product that may be scaled."""
    if isinstance(block, Scaled) and block.is_uniform and isinstance(block.inner, Kron):
        return float(block.power(norm)), block.inner.parts
    return (1.0, block.parts) if isinstance(block, Kron) else None


def _largest_of_products(blocks: Sequence[Implicit], norm: int) -> float | None:
    """The largest column power of a stack of products over the same attributes; None if it is no such."""
    products = [_as_product(block, norm) for block in blocks]
    known = [product for product in products if product is not None]
    sizes = {tuple(part.shape[1] for part in parts) for _, parts in known}
    if len(known) < len(blocks) or len(sizes) > 1:
        return None
    powers = []  # per attribute (cells that count, blocks)
    for at in range(len(known[0][1])):
        own = [parts[at] for _, parts in known]
        if not fits_memory((own[0].shape[1], len(own))):
            return None
        found = {part: part.column_powers(norm) for part in own}
        powers.append(_undominated(np.column_stack([found[part] for part in own])))
    if not fits_memory((math.prod(len(rows) for rows in powers),)):
        return None
    total: Array = np.zeros(1)
    for b, (scale, _) in enumerate(known):
        total = plus_up(total, times_up(scale, reduce(_outer_up, [rows[:, b] for rows in powers])))
    return float(total.max())


def _undominated(rows: Array) -> Array:
    """The rows that no other row exceeds or equals in every entry, one of each."""
    rows = np.unique(rows, axis=0)
    kept = np.empty_like(rows)
    count = 0
    for row in rows[np.argsort(-rows.sum(axis=1))]:
        if not (kept[:count] >= row).all(axis=1).any():
            kept[count] = row
            count += 1
    return kept[:count]
