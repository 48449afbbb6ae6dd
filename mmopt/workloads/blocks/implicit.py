"""Implicit matrices over a whole domain: dense and sparse ones, row scalings.

``kron`` has Kronecker products and stacks of such matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, frozen, owned
from mmopt.numerics.outward import column_powers, not_below, times_up
from mmopt.workloads.blocks.linear import NUMBER, Implicit
from mmopt.workloads.blocks.sparse import SparseMatrix, sparse_bytes, sparse_entrywise, sparse_queries
from mmopt.workloads.check import query_matrix

__all__ = ["Dense", "DenseMatrix", "Scaled", "Sparse", "permutation"]


class DenseMatrix(Implicit):
    """Products with a matrix (m, n) held as it is."""

    _values: Array

    def _gram(self) -> Array:
        return np.asarray(self._values.T @ self._values)

    def _apply(self, x: Array) -> Array:
        return np.asarray(x @ self._values.T)

    def _adjoint(self, y: Array) -> Array:
        return np.asarray(y @ self._values)

    def column_powers(self, norm: int) -> Array:
        return column_powers(self._values, norm)


class Dense(DenseMatrix):
    """A matrix (m, n) held as it is; build it with ``read``, which checks and copies."""

    def __init__(self, values: Array) -> None:
        self._values = values

    @staticmethod
    def read(matrix: npt.ArrayLike) -> Dense:
        """WorkloadError as in ``Workload.from_matrix``: not 2-D, empty, not finite, or a row of zeros."""
        return Dense(query_matrix(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        return int(self._values.shape[0]), int(self._values.shape[1])

    def _dense(self) -> Array:
        return self._values

    def entrywise(self, norm: int) -> Implicit:
        size = np.abs(self._values)
        return Dense(size if norm == 1 else np.square(size))

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self._values), self._values.nbytes

    def __repr__(self) -> str:
        return f"Dense({_by(self.shape)})"


class Sparse(SparseMatrix):
    """A matrix (m, n) held in CSR form; build it with ``read``, which checks and copies."""

    def __init__(self, values: scipy.sparse.csr_array) -> None:
        self._values = values

    @staticmethod
    def read(matrix: scipy.sparse.sparray | scipy.sparse.spmatrix) -> Sparse:
        """WorkloadError as in ``Workload.from_matrix``."""
        return Sparse(sparse_queries(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        return int(self._values.shape[0]), int(self._values.shape[1])

    def _dense(self) -> Array:
        return np.asarray(self._values.toarray())

    def entrywise(self, norm: int) -> Implicit:
        return Sparse(sparse_entrywise(self._values, norm))

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self._values), sparse_bytes(self._values)

    def __repr__(self) -> str:
        return f"Sparse({_by(self.shape)}, {self._values.nnz:,} entries)"


class Scaled(Implicit):
    """diag(s) M: every row times one number, or each row times its own.

    Parameters
    ----------
    inner : M (m, n).
    scale : s, a number or (m,); finite.

    Raises
    ------
    WorkloadError : scales of another length, or not finite.
    """

    def __init__(self, inner: Implicit, scale: float | npt.ArrayLike) -> None:
        scales = owned(scale)
        if scales.shape not in ((), (inner.shape[0],)):
            raise WorkloadError(
                f"scales of shape {scales.shape} for a matrix of {inner.shape[0]:,} rows, "
                "expected one number or one per row"
            )
        if not np.isfinite(scales).all():
            raise WorkloadError("a scale is NaN or infinite, expected finite numbers")
        self.inner = inner
        self.scale = scales

    @property
    def is_uniform(self) -> bool:
        """Whether all rows have the same scale."""
        return self.scale.ndim == 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.inner.shape

    def _dense(self) -> Array:
        return np.asarray(self.scale[..., None] * self.inner.matrix())

    def _gram(self) -> Array:
        return np.square(self.scale) * self.inner.gram() if self.is_uniform else super()._gram()

    def _apply(self, x: Array) -> Array:
        return np.asarray(self.scale * self.inner.apply(x))

    def _adjoint(self, y: Array) -> Array:
        return self.inner.adjoint(self.scale * y)

    def entrywise(self, norm: int) -> Implicit:
        return Scaled(self.inner.entrywise(norm), self.power(norm))

    def power(self, norm: int) -> Array:
        """|s|^norm, rounded upwards."""
        size = np.abs(self.scale)
        return size if norm == 1 else times_up(size, size)

    def column_powers(self, norm: int) -> Array:
        inner = self.inner.column_powers(norm)
        if self.is_uniform:
            return times_up(self.power(norm), inner)
        # Sums of nonnegative terms, each rounded a few times and added at most once per row.
        sums = self.inner.entrywise(norm).adjoint(self.power(norm))
        return np.where(inner == 0, 0.0, not_below(sums, 2 * self.shape[0] + 64))

    def largest_power(self, norm: int) -> tuple[float, bool]:
        if not self.is_uniform:
            return super().largest_power(norm)
        value, is_attained = self.inner.largest_power(norm)
        return float(times_up(self.power(norm), value)), is_attained

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self), NUMBER if self.is_uniform else self.scale.nbytes
        yield from self.inner.holdings()

    def __repr__(self) -> str:
        return f"Scaled({self.inner!r})"


def permutation(order: npt.ArrayLike, count: int, what: str) -> Ints:
    """The numbers 0 to count - 1 in an order, (count,), read-only; WorkloadError if it is none."""
    given = np.asarray(order)
    if given.dtype.kind not in "iu" or given.shape != (count,):
        raise WorkloadError(
            f"{what} is an array of shape {given.shape} and type {given.dtype.name}, "
            f"expected {count:,} integers"
        )
    found = given.astype(np.int64)
    missing = np.setdiff1d(np.arange(count), found)
    if len(missing):
        raise WorkloadError(f"{what} lacks {missing[0]}, expected each number from 0 to {count - 1:,} once")
    return frozen(found)


def _by(shape: Sequence[int]) -> str:
    return " × ".join(f"{length:,}" for length in shape)
