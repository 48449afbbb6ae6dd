"""Blocks over the cells of another one, in another order or with further cells behind them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mmopt.numerics.arrays import Array, Ints, frozen
from mmopt.workloads.blocks.implicit_matrix import Implicit, ordered
from mmopt.workloads.blocks.matrix_blocks import describe_array
from mmopt.workloads.blocks.modified_blocks import Around
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.domain import Attribute
from mmopt.workloads.encodings import Values
from mmopt.workloads.query_labels import range_labels

__all__ = ["Padded", "Reordered"]


class Reordered(Around):
    """A block over the cells in another order: its first column is cell ``order[0]``, and so on."""

    kind = "reordered"

    def __init__(self, inner: Implicit, order: Ints) -> None:
        super().__init__(inner, frozen(np.array([order, np.argsort(order)])))
        self.order, self._place = self._numbers

    def _take(self, index: Ints) -> Array:
        return np.asarray(self.inner.take(index)[:, self._place])

    def _gram(self) -> Array:
        return np.asarray(self.inner.gram()[np.ix_(self._place, self._place)])

    def _root(self) -> Array:
        return np.asarray(self.inner.root()[:, self._place])

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x[..., self.order])

    def _adjoint(self, y: Array) -> Array:
        return np.asarray(self.inner.adjoint(y)[..., self._place])

    def entrywise(self, norm: int) -> Implicit:
        return Reordered(self.inner.entrywise(norm), self.order)

    def column_powers(self, norm: int) -> Array:
        return np.asarray(self.inner.column_powers(norm)[self._place])

    def classes(self) -> Ints:
        return ordered(super().classes()[self._place])

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else Reordered(super().spanning(), self.order)

    def labels(self, attribute: Attribute) -> list[str]:
        # Bins in another order are no bins; their labels still say what each cell is.
        moved = Attribute(attribute.name, tuple(attribute.labels[i] for i in self.order))
        return [f"{label} (reordered)" if label else "" for label in super().labels(moved)]

    def describe(self) -> list[object]:
        return [self.kind, self.size, self.inner.describe(), describe_array(self.order)]


class Padded(Implicit):
    """A block over the first cells; none of its queries counts the others.

    Parameters
    ----------
    inner : M (m, k).
    size : n > k; the matrix is (M 0).
    """

    def __init__(self, inner: Implicit, size: int) -> None:
        super().__init__(size, inner.rows)
        self.root_rounding = inner.root_rounding
        self.inner = inner
        self.kind = f"padded {inner.kind}"

    @property
    def title(self) -> str:
        return self.inner.title

    def _wide(self, values: Array) -> Array:
        """With zeros for the other cells, along the last axis."""
        beside = np.zeros((*values.shape[:-1], self.size - self.inner.size))
        return np.concatenate([values, beside], axis=-1)

    def _square(self, values: Array) -> Array:
        return self._wide(self._wide(values).T)

    def _take(self, index: Ints) -> Array:
        return self._wide(self.inner.take(index))

    def _gram(self) -> Array:
        return self._square(self.inner.gram())

    def gram_of_weighted(self, weights: Array) -> Array:
        return self._square(self.inner.gram_of_weighted(weights))

    def _root(self) -> Array:
        return self._wide(self.inner.root())

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x[..., : self.inner.size])

    def _adjoint(self, y: Array) -> Array:
        return self._wide(self.inner.adjoint(y))

    def squared_lengths(self, directions: Array) -> Array:
        return self.inner.squared_lengths(directions[: self.inner.size])

    def entrywise(self, norm: int) -> Implicit:
        return Padded(self.inner.entrywise(norm), self.size)

    def column_powers(self, norm: int) -> Array:
        return self._wide(self.inner.column_powers(norm))

    def classes(self) -> Ints:
        return np.pad(self.inner.classes(), (0, self.size - self.inner.size), constant_values=-1)

    def spanning(self) -> Implicit:
        return Padded(self.inner.spanning(), self.size)

    def labels(self, attribute: Attribute) -> list[str]:
        """A query of all cells of the block is no total, and reads as the range that it is."""
        size = self.inner.size
        # With its encoding it stays whole: a range of all that are declared is not one of all cells.
        first = attribute
        if attribute.declared != size:
            first = Attribute(attribute.name, attribute.labels[:size], encoding=Values(()))
        (whole,) = range_labels(first, [(0, size - 1)])
        return [label or whole for label in self.inner.labels(first)]

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield from self.inner.holdings()

    def describe(self) -> list[object]:
        return ["padded", self.size, self.inner.describe()]

    def __repr__(self) -> str:
        return f"padded({self.inner!r}, {self.size})"
