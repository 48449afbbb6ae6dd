"""What every block of queries on one attribute can do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, require_memory, rounding_of_root, stacked_root
from mmopt.workloads.blocks.linear import NUMBER, Implicit
from mmopt.workloads.domain import Attribute

__all__ = ["Counting", "Factor"]


class Factor(Implicit):
    """A block of queries on one attribute; stands for a matrix (rows, size). Immutable.

    Parameters
    ----------
    size : number of cells of the attribute.
    """

    kind: str

    def __init__(self, size: int) -> None:
        if size < 1:
            raise WorkloadError(f"a query block needs at least one cell, found {size}")
        self._size = int(size)

    @property
    def size(self) -> int:
        """Number of columns: cells of the attribute."""
        return self._size

    @property
    @abstractmethod
    def rows(self) -> int:
        """Number of queries."""

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, size)."""
        return self.rows, self.size

    @property
    def full_rank(self) -> bool:
        """Whether the kind alone says that the columns are independent (False: not known)."""
        return self.size == 1

    def take(self, index: Ints) -> Array:
        """The dense rows of these numbers, (len(index), size); TooLargeError beyond the memory limit."""
        require_memory((len(index), self.size), f"rows of {self!r}")
        return self._take(index)

    @abstractmethod
    def _take(self, index: Ints) -> Array: ...

    def _dense(self) -> Array:
        return self._take(np.arange(self.rows))

    @abstractmethod
    def _gram(self) -> Array: ...

    def root(self) -> Array:
        """R (r, size) with RᵀR = ``gram()`` and r <= min(rows, size), not computed from the Gram matrix.

        TooLargeError beyond the memory limit.
        """
        require_memory((min(self.shape), self.size), f"root of the Gram matrix of {self!r}")
        return self._root()

    @abstractmethod
    def _root(self) -> Array: ...

    @abstractmethod
    def squared_norms(self) -> Array:
        """Squared L2 norm of each row, (rows,)."""

    @abstractmethod
    def classes(self) -> Ints:
        """(size,) class of each column: equal columns share a number >= 0; an all-zero column has -1."""

    @property
    def root_rounding(self) -> float:
        """γ with R = Qᵀ (M + E), Q orthonormal and ‖E‖ <= γ ‖M‖ (Frobenius), M the queries, R ``root()``."""
        return rounding_of_root(*self.shape)

    def spanning(self) -> Factor:
        """A factor with the same row space; it has at most ``size`` rows where the kind knows how."""
        return self

    @abstractmethod
    def entrywise(self, norm: int) -> Factor: ...

    @property
    def row_weights(self) -> Array | None:
        """A weight per query, (rows,); None where the block has none."""
        return None

    @property
    def plain(self) -> Factor:
        """The same queries without weights."""
        return self

    def weighed(self) -> Factor:
        """The queries scaled by the square roots of their weights: what total error sees."""
        return self

    def gram_of_weighted(self, weights: Array) -> Array:
        """Gram matrix (size, size) of the rows scaled by √weights (rows,); weights positive."""
        total = np.zeros((self.size, self.size))
        for rows in self._scaled_rows(weights):
            total += rows.T @ rows
        return total

    def root_of_weighted(self, weights: Array) -> Array:
        """R (r, size) with RᵀR = ``gram_of_weighted``, r <= min(rows, size), not computed from it."""
        return stacked_root(self._scaled_rows(weights), self.size)

    def _scaled_rows(self, weights: Array) -> Iterator[Array]:
        step = max(64, self.size)
        for start in range(0, self.rows, step):
            index = np.arange(start, min(start + step, self.rows))
            yield np.sqrt(weights[index])[:, None] * self.take(index)

    @abstractmethod
    def labels(self, attribute: Attribute) -> list[str]:
        """One text per query; empty for the total."""

    def holdings(self) -> Iterator[tuple[int, int]]:
        """The size alone, for a block with a closed form."""
        yield id(self), NUMBER

    def describe(self) -> list[object]:
        """Plain data that determines the matrix, for hashes and comparison."""
        return [self.kind, self.size]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(self.describe()))

    def __repr__(self) -> str:
        return f"{self.kind}({self.size})"


class Counting(Factor):
    """A block with entries 0 and 1 only."""

    def entrywise(self, norm: int) -> Factor:
        """Itself: |m| = m² = m."""
        return self
