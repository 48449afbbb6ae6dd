"""Explicit predicates kept sparse, and how a sparse matrix of queries is read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, frozen, stacked_root
from mmopt.numerics.outward import column_powers
from mmopt.workloads.blocks.factor_base import Factor
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.check import check_sizes
from mmopt.workloads.classes import ordered
from mmopt.workloads.describe import describe_array
from mmopt.workloads.domain import Attribute
from mmopt.workloads.labels import group_label

__all__ = [
    "SparseMatrix",
    "SparsePredicates",
    "describe_sparse",
    "sparse_bytes",
    "sparse_classes",
    "sparse_entrywise",
    "sparse_queries",
]


class SparseMatrix(Implicit):
    """Products with a matrix (m, n) held in CSR form."""

    _values: scipy.sparse.csr_array

    def _gram(self) -> Array:
        return np.asarray((self._values.T @ self._values).toarray())

    def _apply(self, x: Array) -> Array:
        m, n = self._values.shape
        return np.asarray((self._values @ x.reshape(-1, n).T).T.reshape(*x.shape[:-1], m))

    def _adjoint(self, y: Array) -> Array:
        m, n = self._values.shape
        return np.asarray((self._values.T @ y.reshape(-1, m).T).T.reshape(*y.shape[:-1], n))

    def column_powers(self, norm: int) -> Array:
        return column_powers(self._values, norm)


class SparsePredicates(SparseMatrix, Factor):
    """Explicit queries as a CSR matrix; "predicate 0", "predicate 1", … where no names are given."""

    kind = "sparse predicates"

    def __init__(self, values: scipy.sparse.csr_array, names: tuple[str, ...] = ()) -> None:
        super().__init__(values.shape[1])
        self._values = values
        self.names = names

    @property
    def rows(self) -> int:
        return int(self._values.shape[0])

    def _take(self, index: Ints) -> Array:
        return np.asarray(self._values[index].toarray())

    def _root(self) -> Array:
        step = max(1, self.size)
        starts = range(0, self.rows, step)
        blocks = (self._take(np.arange(start, min(start + step, self.rows))) for start in starts)
        return stacked_root(blocks, self.size)

    def entrywise(self, norm: int) -> Factor:
        return SparsePredicates(sparse_entrywise(self._values, norm), self.names)

    def squared_norms(self) -> Array:
        return np.asarray(self._values.power(2).sum(axis=1)).ravel()

    def classes(self) -> Ints:
        return sparse_classes(self._values)

    def labels(self, attribute: Attribute) -> list[str]:
        names = self.names or (f"predicate {i}" for i in range(self.rows))
        return [group_label(attribute, name) for name in names]

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self), sparse_bytes(self._values)

    def describe(self) -> list[object]:
        return [self.kind, self.size, *describe_sparse(self._values)]

    def __repr__(self) -> str:
        return f"sparse predicates({self.rows} × {self.size}, {self._values.nnz} entries)"


def sparse_queries(matrix: object) -> scipy.sparse.csr_array:
    """A checked, read-only copy of a sparse matrix of queries in CSR form, without stored zeros.

    Raises
    ------
    WorkloadError : not 2-D, empty, not real, NaN or infinite entries, or a query of zeros.
    """
    raw = scipy.sparse.csr_array(matrix, copy=True)
    if raw.ndim != 2 or 0 in raw.shape:
        raise WorkloadError(
            f"the query matrix has the shape {raw.shape}, expected at least one query and one cell"
        )
    if raw.dtype.kind not in "biuf":
        raise WorkloadError(f"the query matrix holds {raw.dtype.name} values, expected real numbers")
    values = raw.astype(np.float64)
    values.sum_duplicates()
    values.eliminate_zeros()
    wrong = ~np.isfinite(values.data)
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(values.indptr, entry, side="right")) - 1
        raise WorkloadError(
            f"query {row} has the entry {values.data[entry]:g} at cell {values.indices[entry]}, "
            "expected finite numbers"
        )
    check_sizes(abs(values).max(axis=1).toarray().ravel())
    for array in (values.data, values.indices, values.indptr):
        frozen(array)
    return values


def sparse_entrywise(values: scipy.sparse.csr_array, norm: int) -> scipy.sparse.csr_array:
    """|mᵢⱼ|^norm, sparse."""
    return abs(values) if norm == 1 else values.power(2)


def sparse_classes(values: scipy.sparse.csr_array) -> Ints:
    """(n,) class of each column: equal columns share a number; -1: a column of zeros."""
    columns = values.tocsc()
    known: dict[bytes, int] = {}
    result = np.full(values.shape[1], -1, dtype=np.int64)
    for j in range(values.shape[1]):
        span = slice(columns.indptr[j], columns.indptr[j + 1])
        if span.stop > span.start:
            key = columns.indices[span].tobytes() + columns.data[span].tobytes()
            result[j] = known.setdefault(key, len(known))
    return ordered(result)


def sparse_bytes(values: scipy.sparse.csr_array) -> int:
    """Bytes of the entries and of their places."""
    return int(values.data.nbytes + values.indices.nbytes + values.indptr.nbytes)


def describe_sparse(values: scipy.sparse.csr_array) -> list[object]:
    """Plain data that determines the entries; rows sorted, no stored zeros."""
    return [describe_array(array) for array in (values.indptr, values.indices, values.data)]
