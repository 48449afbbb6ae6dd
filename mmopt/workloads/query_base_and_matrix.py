"""The base class of groups of queries, with weights and targets, and the queries that are given as a matrix.

``factors_and_products.py`` has those that are Kronecker products.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, Ints, frozen
from mmopt.workloads.blocks.combined_blocks import Scaled
from mmopt.workloads.blocks.implicit_matrix import Implicit, describe_array
from mmopt.workloads.blocks.query_matrices import AnyMatrix, Dense, Sparse, per_query
from mmopt.workloads.domain import Domain


class Group(ABC):
    """Queries of a workload that are declared together, over all its cells."""

    queries: Implicit
    """The queries themselves, without their weights."""

    @property
    def m(self) -> int:
        """Number of queries."""
        return self.queries.rows

    @property
    def n(self) -> int:
        """Number of cells."""
        return self.queries.size

    @abstractmethod
    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""

    def chunks(self, size: int) -> Iterator[tuple[int, Array]]:
        """All queries, dense, at most ``size`` at a time, each time with the number of the first."""
        for start in range(0, self.m, size):
            yield start, self.rows(start, min(start + size, self.m))

    def furthest(self, representation: Array, basis: Array) -> float:
        """The largest distance of a row of L B (L (m, k)) from its query, in lengths of the query."""
        distances = [0.0]
        for start, rows in self.chunks(1024):
            products = representation[start : start + len(rows)] @ basis
            distances += list(np.linalg.norm(products - rows, axis=1) / np.linalg.norm(rows, axis=1))
        return max(distances)

    @abstractmethod
    def spelled_out(self, texts: dict[int, str]) -> str:
        """The queries, weights and targets as the text from which hashes are computed.

        texts : of parts that several groups share, by identity; new ones are added.
        """

    def squared_norms(self) -> Array:
        """Squared L2 norm of each query, (m,)."""
        require_memory((self.m,), f"list of the squared norms of {self!r}")
        return self.queries.squared_norms()

    def classes(self) -> Ints:
        """(n,) class of each cell: no query here distinguishes cells of one class; -1: untouched."""
        require_memory((self.n,), f"list of the classes of the cells of {self!r}")
        return self.queries.classes()


@dataclass(frozen=True, eq=False, repr=False)
class Explicit(Group):
    """Queries as rows of a matrix (m, n) with a weight and a target each; build it with ``read``."""

    queries: Dense | Sparse
    weights: Array
    targets: Array

    @staticmethod
    def read(
        matrix: AnyMatrix,
        targets: np.typing.ArrayLike | None = None,
        weights: np.typing.ArrayLike | None = None,
        names: Sequence[str] = (),
    ) -> Explicit:
        """Check and copy a matrix; WorkloadError as in ``Workload.from_matrix``. names : of the queries."""
        queries = (Sparse.read if scipy.sparse.issparse(matrix) else Dense.read)(matrix, names)
        return Explicit(
            queries,
            weights=per_query(weights, queries.rows, "weight", 1.0),
            targets=per_query(targets, queries.rows, "target", np.inf),
        )

    @property
    def dense(self) -> Array | None:
        """The stored queries, read-only; None where they are sparse."""
        return self.queries.values if isinstance(self.queries, Dense) else None

    @property
    def is_plain(self) -> bool:
        """Whether all queries have the weight 1."""
        return bool((self.weights == 1.0).all())

    def unweighted(self) -> Explicit:
        """These queries with weight 1."""
        return replace(self, weights=np.ones(self.m))

    def normalised(self) -> Explicit:
        """These queries, the weight of each divided by its squared L2 norm."""
        return replace(self, weights=frozen(self.weights / self.squared_norms()))

    def rows(self, start: int, stop: int) -> Array:
        """Queries start to stop - 1, dense (stop - start, n)."""
        if self.dense is not None:
            return self.dense[start:stop]
        require_memory((stop - start, self.n), "rows of the query matrix")
        return self.queries.take(np.arange(start, stop))

    def implicit(self, weighted: bool = False) -> Implicit:
        """The queries as an implicit matrix; weighted: scaled by the square roots of their weights."""
        scales = np.sqrt(self.weights)
        if not weighted or (scales == 1.0).all():
            return self.queries
        return Scaled(self.queries, scales[0] if (scales == scales[0]).all() else scales)

    def weighted_gram(self) -> Array:
        """Gram matrix (n, n) of the queries scaled by the square roots of their weights."""
        require_memory((self.n, self.n), "Gram matrix")
        return self.queries.gram_of_weighted(self.weights)

    @property
    def root_rounding(self) -> float:
        """Relative rounding error of each entry of the rows times the roots of their weights."""
        return 0.0 if self.is_plain else 2 * EPS

    def labels(self, domain: Domain, most: int | None = None) -> list[str]:
        """One text per query, of the first so many: its name, or "query 0", "query 1" and so on."""
        return list(self.queries.names[:most]) or [f"query {i}" for i in range(self.m)[:most]]

    def title(self, domain: Domain) -> str:
        """A name for all queries."""
        return "queries"

    def describe(self) -> list[object]:
        """Plain data that determines queries, weights and targets; the same for dense and sparse input."""
        sparse = Sparse(scipy.sparse.csr_array(self.queries.values))  # rows sorted, no stored zeros
        return [
            "matrix",
            [self.m, self.n],
            *map(describe_array, (*sparse.arrays, self.weights, self.targets)),
        ]

    def spelled_out(self, texts: dict[int, str]) -> str:
        return spelled_out(self.describe())

    def __repr__(self) -> str:
        return f"Explicit({self.m} × {self.n})"


def no_targets() -> WorkloadError:
    """The error for a program that needs accuracy targets."""
    return WorkloadError(
        "the program asks for accuracy targets and no query of the workload has one",
        hint="write max_variance beside the queries, or pass targets= to Workload.from_matrix",
    )


def undetermined(without: int, m: int) -> WorkloadError:
    """The error for queries without a target that those with one do not determine: ``without`` of m."""
    return WorkloadError(
        "some queries have no target and cannot be derived from those that have one, so their "
        f"variance would have no limit ({without} of {m} queries have none)",
        hint="give them a target (max_variance), or leave them out",
    )


def spelled_out(description: object) -> str:
    """Plain data (lists, text, numbers) as the text from which hashes are computed."""
    return json.dumps(description, separators=(",", ":"))
