"""Square matrices on a row space: as one array, or known by what commutes with permutations of attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.sectors.measured.sector_layout import SectorLayout
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["DenseOperator", "Operator", "change_of_functions", "symmetric_root"]


class Operator(ABC):
    """An invertible matrix (r, r) on the functions of a ``SectorLayout``."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of functions, r."""

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, Array]:
        """What it is made of, by name."""

    @abstractmethod
    def apply(self, vector: Array) -> Array:
        """The matrix times a vector (r,)."""

    @abstractmethod
    def inverse(self) -> Operator:
        """The inverse; ``numpy.linalg.LinAlgError`` where there is none."""

    @abstractmethod
    def transposed(self) -> Operator:
        """The transpose."""

    @abstractmethod
    def gram(self) -> Operator:
        """The matrix's transpose times it."""

    @abstractmethod
    def root(self) -> Operator:
        """The symmetric root of a symmetric positive semidefinite one."""

    @abstractmethod
    def block(self, layout: SectorLayout, attributes: tuple[int, ...]) -> Array:
        """(Π oᵢ, Π oᵢ) rows and columns of ``layout.place(attributes)``."""

    @abstractmethod
    def kind_of(self, attributes: tuple[int, ...]) -> Hashable:
        """Equal for sets of attributes whose blocks are the same."""


@dataclass(frozen=True, eq=False)
class DenseOperator(Operator):
    """matrix : (r, r)."""

    matrix: Array

    @property
    def size(self) -> int:
        return len(self.matrix)

    @property
    def parts(self) -> Mapping[str, Array]:
        return {"matrix": self.matrix}

    def apply(self, vector: Array) -> Array:
        return np.asarray(self.matrix @ vector)

    def inverse(self) -> DenseOperator:
        return DenseOperator(np.asarray(np.linalg.inv(self.matrix), dtype=np.float64))

    def transposed(self) -> DenseOperator:
        return DenseOperator(self.matrix.T)

    def gram(self) -> DenseOperator:
        return DenseOperator(self.matrix.T @ self.matrix)

    def root(self) -> DenseOperator:
        return DenseOperator(symmetric_root(self.matrix))

    def block(self, layout: SectorLayout, attributes: tuple[int, ...]) -> Array:
        place = layout.place(attributes)
        return self.matrix[np.ix_(place, place)]

    def kind_of(self, attributes: tuple[int, ...]) -> Hashable:
        return attributes


def symmetric_root(matrix: Array) -> Array:
    """The symmetric root of a psd matrix; eigenvalues below 0, which rounding makes, count as 0."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def change_of_functions(layout: SectorLayout, other: SectorLayout) -> DenseOperator:
    """U with the functions of one layout = U times those of another, on the same classes and sectors."""
    require_memory((layout.size, layout.size), "change of functions of a row space")
    found = np.zeros((layout.size, layout.size))
    for one in layout.sets:
        block = kron([np.ones((1, 1)), *(layout.change(i, other)[1:] for i in one)])
        start = layout.starts[one]
        found[start : start + len(block), other.place(one)] = block
    return DenseOperator(found)
