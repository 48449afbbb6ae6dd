"""Kronecker products of implicit matrices, and stacks of matrices over the same cells."""

import math
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import Array, Ints, rounding_of_root, stacked_root
from mmopt.numerics.outward import plus_up, times_up
from mmopt.workloads.blocks.implicit_matrix import Implicit, ordered, refine
from mmopt.workloads.blocks.modified_blocks import Scaled
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.domain import Attribute


class Kron(Implicit):
    """The Kronecker product of matrices; the last one varies fastest. WorkloadError if there is none."""

    kind = "Kron"

    def __init__(self, parts: Sequence[Implicit]) -> None:
        if not parts:
            raise WorkloadError("a Kronecker product needs at least one matrix, found none")
        super().__init__(math.prod([part.size for part in parts]), math.prod([part.rows for part in parts]))
        self.full_rank = all(part.full_rank for part in parts)
        self.parts = tuple(parts)

    def _take(self, index: Ints) -> Array:
        numbers = np.unravel_index(index, [part.rows for part in self.parts])
        result = np.ones((len(index), 1))
        for part, places in zip(self.parts, numbers, strict=True):
            rows = part.take(places.astype(np.int64))
            result = (result[:, :, None] * rows[:, None, :]).reshape(len(rows), result.shape[1] * part.size)
        return result

    def _gram(self) -> Array:
        return kron([part.gram() for part in self.parts])

    def squared_norms(self) -> Array:
        return kron([part.squared_norms() for part in self.parts])

    def spanning(self) -> Implicit:
        return Kron([part.spanning() for part in self.parts])

    def classes(self) -> Ints:
        """Classes part by part, so two cells may be in different classes although their columns are equal.

        (Only where a part has entries other than 0 and 1.)
        """
        result = np.zeros(1, dtype=np.int64)
        for part in self.parts:
            classes = part.classes()
            pair = result[:, None] * (int(classes.max()) + 1) + classes[None, :]
            result = np.where((result[:, None] < 0) | (classes[None, :] < 0), -1, pair).ravel()
        return ordered(result)

    def squared_lengths(self, directions: Array) -> Array:
        if len(self.parts) == 1:
            return self.parts[0].squared_lengths(directions)
        return super().squared_lengths(directions)

    def _apply(self, x: Array) -> Array:
        return self._contracted(x, transposed=False)

    def _adjoint(self, y: Array) -> Array:
        return self._contracted(y, transposed=True)

    def _contracted(self, x: Array, transposed: bool) -> Array:
        """One axis at a time, the one that shrinks most first: no result between is larger than both ends."""
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

    def largest_power(self, norm: int) -> float:
        """The product of the largest of the parts, since none is negative."""
        return float(reduce(times_up, [np.asarray(part.largest_power(norm)) for part in self.parts]))

    def holdings(self) -> Iterator[tuple[int, int]]:
        for part in {id(part): part for part in self.parts}.values():  # equal parts are counted once
            yield from part.holdings()

    def describe(self) -> list[object]:
        return [self.kind, [part.describe() for part in self.parts]]

    def __repr__(self) -> str:
        return f"Kron({' ⊗ '.join(map(repr, self.parts))})"


class Stack(Implicit):
    """The rows of the blocks, one block after the other, over the same cells.

    Weighted unions are stacks of ``Scaled`` blocks. WorkloadError if there is no block, or if numbers of
    columns differ.
    """

    kind = "union"

    def __init__(self, blocks: Sequence[Implicit]) -> None:
        if not blocks:
            raise WorkloadError("a stack needs at least one matrix, found none")
        for block in blocks:
            if block.size != blocks[0].size:
                raise WorkloadError(
                    f"a stack joins matrices of {blocks[0].size:,} and {block.size:,} columns, "
                    "expected equal numbers"
                )
        super().__init__(blocks[0].size, sum(block.rows for block in blocks))
        self.full_rank = any(block.full_rank for block in blocks)
        held = sum(min(block.shape) for block in blocks)
        self.root_rounding = max(b.root_rounding for b in blocks) + rounding_of_root(held, self.size)
        self.blocks = tuple(blocks)

    def _take(self, index: Ints) -> Array:
        rows: Array = np.empty((len(index), self.size))
        start = 0
        for block in self.blocks:
            chosen = (start <= index) & (index < start + block.rows)
            rows[chosen] = block.take(index[chosen] - start)
            start += block.rows
        return rows

    def _dense(self) -> Array:
        return np.vstack([block.matrix() for block in self.blocks])

    def _gram(self) -> Array:
        total = np.zeros((self.size, self.size))
        for block in self.blocks:
            total += block.gram()
        return total

    def _root(self) -> Array:
        return stacked_root((block.root() for block in self.blocks), self.size)

    def _apply(self, x: Array) -> Array:
        return np.concatenate([block.apply(x) for block in self.blocks], axis=-1)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        start = 0
        for block in self.blocks:
            total += block.adjoint(y[..., start : start + block.rows])
            start += block.rows
        return total

    def squared_lengths(self, directions: Array) -> Array:
        return np.concatenate([block.squared_lengths(directions) for block in self.blocks])

    def entrywise(self, norm: int) -> Implicit:
        return type(self)([block.entrywise(norm) for block in self.blocks])

    def column_powers(self, norm: int) -> Array:
        return reduce(plus_up, [block.column_powers(norm) for block in self.blocks])

    def largest_power(self, norm: int) -> float:
        """Exact where all blocks are products over the same attributes, or where the cells fit in memory.

        Otherwise the sum of the largest of the blocks, an upper bound. A cell of an attribute does not count
        where the powers of another cell are at least as large in every block.
        """
        if len(self.blocks) == 1:
            return self.blocks[0].largest_power(norm)
        largest = _largest_of_products(self.blocks, norm)
        if largest is not None:
            return largest
        if fits_memory(self.shape[1:]):
            return float(self.column_powers(norm).max())
        return float(reduce(plus_up, [np.asarray(block.largest_power(norm)) for block in self.blocks]))

    def classes(self) -> Ints:
        return refine([block.classes() for block in self.blocks])

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else Stack([b.spanning() for b in self.blocks])

    def labels(self, attribute: Attribute) -> list[str]:
        return [label for block in self.blocks for label in block.labels(attribute)]

    def holdings(self) -> Iterator[tuple[int, int]]:
        for block in self.blocks:
            yield from block.holdings()

    def describe(self) -> list[object]:
        return [self.kind, self.size, [block.describe() for block in self.blocks]]

    def __repr__(self) -> str:
        return f"Stack({len(self.blocks)} blocks, {self.rows:,} × {self.size:,})"


class Union(Stack):
    """A stack of a few blocks on one attribute, which are shown."""

    def __repr__(self) -> str:
        return f"union({', '.join(map(repr, self.blocks))})"


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
    """The largest column power of a stack of products over the same attributes; None for any other stack."""
    products = [_as_product(block, norm) for block in blocks]
    factored = [product for product in products if product is not None]
    if len(factored) < len(blocks) or len({tuple(part.size for part in parts) for _, parts in factored}) > 1:
        return None
    powers = []  # per attribute (cells that count, blocks)
    for at in range(len(factored[0][1])):
        column = [parts[at] for _, parts in factored]
        if not fits_memory((column[0].size, len(column))):
            return None
        by_part = {part: part.column_powers(norm) for part in column}
        powers.append(_undominated(np.column_stack([by_part[part] for part in column])))
    if not fits_memory((math.prod(len(rows) for rows in powers),)):
        return None
    total: Array = np.zeros(1)
    for b, (scale, _) in enumerate(factored):
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
