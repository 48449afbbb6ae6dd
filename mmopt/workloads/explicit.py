"""A block of queries given as a matrix, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse

from mmopt.numerics.arrays import EPS, Array, Ints, frozen, require_memory
from mmopt.workloads.blocks.implicit import Dense, Scaled, Sparse
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.blocks.sparse import describe_sparse, sparse_classes, sparse_queries
from mmopt.workloads.check import per_query, query_matrix
from mmopt.workloads.classes import column_classes
from mmopt.workloads.describe import describe_array
from mmopt.workloads.domain import Domain

__all__ = ["Explicit"]


@dataclass(frozen=True, eq=False, repr=False)
class Explicit:
    """Queries as rows of a matrix (m, n) with a weight and a target each; build it with ``read``."""

    values: Array | scipy.sparse.csr_array
    weights: Array
    targets: Array
    name: str | None = None

    @staticmethod
    def read(
        matrix: npt.ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix,
        targets: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> Explicit:
        """Check and copy a matrix; WorkloadError as in ``Workload.from_matrix``."""
        values = sparse_queries(matrix) if scipy.sparse.issparse(matrix) else query_matrix(matrix)
        m = values.shape[0]
        return Explicit(
            values,
            weights=per_query(weights, m, "weight", 1.0),
            targets=per_query(targets, m, "target", np.inf),
        )

    @property
    def m(self) -> int:
        """Number of queries."""
        return int(self.values.shape[0])

    @property
    def n(self) -> int:
        """Number of cells."""
        return int(self.values.shape[1])

    @property
    def full_rank(self) -> bool:
        """Whether the columns are known to be independent without computing: never."""
        return False

    @property
    def dense(self) -> Array | None:
        """The queries as they stand here, read-only; None where they are sparse."""
        return self.values if isinstance(self.values, np.ndarray) else None

    @property
    def is_plain(self) -> bool:
        """Whether all queries have the weight 1."""
        return bool((self.weights == 1.0).all())

    def unweighted(self) -> Explicit:
        """The same queries with weight 1."""
        return replace(self, weights=np.ones(self.m))

    def normalised(self) -> Explicit:
        """The same queries, the weight of each divided by its squared L2 norm."""
        return replace(self, weights=frozen(self.weights / self.squared_norms()))

    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""
        if isinstance(self.values, np.ndarray):
            return self.values[start:stop]
        require_memory((stop - start, self.n), "rows of the query matrix")
        return np.asarray(self.values[start:stop].toarray())

    def implicit(self, weighted: bool = False) -> Implicit:
        """The queries as an implicit matrix; weighted: scaled by the square roots of their weights."""
        plain = Dense(self.values) if isinstance(self.values, np.ndarray) else Sparse(self.values)
        scales = np.sqrt(self.weights)
        if not weighted or (scales == 1.0).all():
            return plain
        return Scaled(plain, scales[0] if (scales == scales[0]).all() else scales)

    def weighted_gram(self) -> Array:
        """Gram matrix (n, n) of the queries scaled by the square roots of their weights."""
        require_memory((self.n, self.n), "Gram matrix")
        if isinstance(self.values, np.ndarray):
            scaled = np.sqrt(self.weights)[:, None] * self.values
            return np.asarray(scaled.T @ scaled)
        weighted = scipy.sparse.diags_array(self.weights) @ self.values
        return np.asarray((self.values.T @ weighted).toarray())

    def squared_norms(self) -> Array:
        """Squared L2 norm of each query, (m,)."""
        square = self.values * self.values if isinstance(self.values, np.ndarray) else self.values.power(2)
        return np.asarray(square.sum(axis=1)).ravel()

    def classes(self) -> Ints:
        """(n,) class of each cell: equal columns share a number; -1: a column of zeros."""
        if isinstance(self.values, np.ndarray):
            return column_classes(self.values)
        return sparse_classes(self.values)

    @property
    def root_rounding(self) -> float:
        """Of the rows times the roots of their weights: of each entry, relatively."""
        return 0.0 if self.is_plain else 2 * EPS

    def blocks(self, size: int) -> Iterator[tuple[int, Array]]:
        """Dense blocks of at most ``size`` rows, each with the number of its first row."""
        for start in range(0, self.m, size):
            yield start, self.rows(start, min(start + size, self.m))

    def labels(self, domain: Domain) -> list[str]:
        """One text per query: "query 0", "query 1" and so on."""
        return [f"query {i}" for i in range(self.m)]

    def title(self, domain: Domain) -> str:
        """The group's name."""
        return self.name or "queries"

    def describe(self) -> list[object]:
        """Plain data that determines queries, weights and targets; the same for dense and sparse input."""
        sparse = scipy.sparse.csr_array(self.values)  # rows sorted, no stored zeros
        own = (describe_array(array) for array in (self.weights, self.targets))
        return ["matrix", [self.m, self.n], *describe_sparse(sparse), *own]

    def __repr__(self) -> str:
        return f"Explicit({self.m} × {self.n})"
