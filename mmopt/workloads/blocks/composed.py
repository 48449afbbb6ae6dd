"""The blocks made of other data: explicit predicates, unions of blocks, blocks over reordered cells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import numpy as np

from mmopt.numerics.arrays import Array, Ints, rounding_of_root, stacked_root
from mmopt.numerics.outward import plus_up
from mmopt.workloads.blocks.closed_forms import Identity
from mmopt.workloads.blocks.factor_base import Factor
from mmopt.workloads.blocks.implicit import DenseMatrix
from mmopt.workloads.blocks.kron import Stacked
from mmopt.workloads.classes import column_classes, ordered, refine
from mmopt.workloads.describe import describe_array
from mmopt.workloads.domain import Attribute
from mmopt.workloads.labels import group_label

__all__ = ["Predicates", "Reordered", "Union"]


class Predicates(DenseMatrix, Factor):
    kind = "predicates"

    def __init__(self, matrix: Array, names: tuple[str, ...]) -> None:
        super().__init__(matrix.shape[1])
        self._values = matrix
        self.names = names

    @property
    def rows(self) -> int:
        return int(self._values.shape[0])

    def _take(self, index: Ints) -> Array:
        rows: Array = self._values[index]
        return rows

    def _root(self) -> Array:
        return stacked_root([self._values], self.size)

    def entrywise(self, norm: int) -> Factor:
        size = np.abs(self._values)
        return Predicates(size if norm == 1 else np.square(size), self.names)

    def squared_norms(self) -> Array:
        return np.asarray(np.square(self._values).sum(axis=1))

    def classes(self) -> Ints:
        return column_classes(self._values)

    def labels(self, attribute: Attribute) -> list[str]:
        return [group_label(attribute, name) for name in self.names]

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self), self._values.nbytes

    def describe(self) -> list[object]:
        return [self.kind, self.size, describe_array(self._values)]

    def __repr__(self) -> str:
        return f"predicates({self.rows} × {self.size})"


class Union(Stacked, Factor):
    """The rows of the parts, one part after the other."""

    kind = "union"

    def __init__(self, parts: tuple[Factor, ...]) -> None:
        super().__init__(parts[0].size)
        self.parts = self.blocks = parts

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def full_rank(self) -> bool:
        return any(part.full_rank for part in self.parts)

    def _take(self, index: Ints) -> Array:
        rows: Array = np.empty((len(index), self.size))
        start = 0
        for part in self.parts:
            chosen = (start <= index) & (index < start + part.rows)
            rows[chosen] = part.take(index[chosen] - start)
            start += part.rows
        return rows

    def _root(self) -> Array:
        return stacked_root((part.root() for part in self.parts), self.size)

    @property
    def root_rounding(self) -> float:
        held = sum(min(part.shape) for part in self.parts)
        return max(part.root_rounding for part in self.parts) + rounding_of_root(held, self.size)

    def entrywise(self, norm: int) -> Factor:
        return Union(tuple(part.entrywise(norm) for part in self.parts))

    def column_powers(self, norm: int) -> Array:
        return reduce(plus_up, [part.column_powers(norm) for part in self.parts])

    def squared_norms(self) -> Array:
        return np.concatenate([part.squared_norms() for part in self.parts])

    def classes(self) -> Ints:
        return refine([part.classes() for part in self.parts])

    def spanning(self) -> Factor:
        return Identity(self.size) if self.full_rank else Union(tuple(p.spanning() for p in self.parts))

    def labels(self, attribute: Attribute) -> list[str]:
        return [label for part in self.parts for label in part.labels(attribute)]

    def describe(self) -> list[object]:
        return [self.kind, self.size, [part.describe() for part in self.parts]]

    def __repr__(self) -> str:
        return f"union({', '.join(map(repr, self.parts))})"


class Reordered(Factor):
    """A block over the cells in another order: its first column is cell ``order[0]``, and so on."""

    kind = "reordered"

    def __init__(self, block: Factor, order: Ints) -> None:
        super().__init__(block.size)
        self.block = block
        self.order = order
        self._place = np.argsort(order)

    @property
    def rows(self) -> int:
        return self.block.rows

    @property
    def full_rank(self) -> bool:
        return self.block.full_rank

    def _take(self, index: Ints) -> Array:
        return np.asarray(self.block.take(index)[:, self._place])

    def _gram(self) -> Array:
        return np.asarray(self.block.gram()[np.ix_(self._place, self._place)])

    def _root(self) -> Array:
        return np.asarray(self.block.root()[:, self._place])

    @property
    def root_rounding(self) -> float:
        return self.block.root_rounding

    def _apply(self, x: Array) -> Array:
        return self.block.apply(x[..., self.order])

    def _adjoint(self, y: Array) -> Array:
        return np.asarray(self.block.adjoint(y)[..., self._place])

    def entrywise(self, norm: int) -> Factor:
        return Reordered(self.block.entrywise(norm), self.order)

    def column_powers(self, norm: int) -> Array:
        return np.asarray(self.block.column_powers(norm)[self._place])

    def squared_norms(self) -> Array:
        return self.block.squared_norms()

    def classes(self) -> Ints:
        return ordered(self.block.classes()[self._place])

    def spanning(self) -> Factor:
        return Identity(self.size) if self.full_rank else Reordered(self.block.spanning(), self.order)

    def labels(self, attribute: Attribute) -> list[str]:
        # Bins in another order are no bins; their labels still say what each cell is.
        moved = Attribute(attribute.name, tuple(attribute.labels[i] for i in self.order))
        return [f"{label} (reordered)" if label else "" for label in self.block.labels(moved)]

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self), self.order.nbytes + self._place.nbytes
        yield from self.block.holdings()

    def describe(self) -> list[object]:
        return [self.kind, self.size, self.block.describe(), describe_array(self.order)]

    def __repr__(self) -> str:
        return f"reordered({self.block!r})"
