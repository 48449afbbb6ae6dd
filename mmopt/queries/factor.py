"""Query blocks on one attribute, kept implicit.

A factor stands for a dense matrix (rows, size): one query a row, one cell of the attribute a column. The
structured kinds know their Gram matrix, a root of it and their products with vectors in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from mmopt.errors import WorkloadError
from mmopt.queries.check import query_matrix
from mmopt.queries.composed import Predicates, Union
from mmopt.queries.factor_base import Factor
from mmopt.queries.structured import AllRange, Identity, Prefix, Total

__all__ = ["Factor", "all_range", "identity", "predicates", "prefix", "total", "union"]


def identity(n: int) -> Factor:
    """One query per cell."""
    return Identity(n)


def total(n: int) -> Factor:
    """One query: all cells."""
    return Total(n)


def prefix(n: int) -> Factor:
    """n queries: query i counts cells 0 to i."""
    return Prefix(n)


def all_range(n: int) -> Factor:
    """n (n + 1) / 2 queries, one per range of neighbouring cells; by first cell, then by last."""
    return AllRange(n)


def predicates(matrix: npt.ArrayLike, labels: Sequence[str] = ()) -> Factor:
    """Explicit queries (rows, size), one label each ("predicate 0", "predicate 1", … if none are given).

    Raises
    ------
    WorkloadError : not a finite 2-D matrix with a row and a column, an all-zero row, or a number of labels
        that is not the number of rows.
    """
    names = tuple(labels)
    dense = query_matrix(matrix, names)
    if names and len(names) != dense.shape[0]:
        raise WorkloadError(f"{dense.shape[0]} predicates have {len(names)} labels")
    return Predicates(dense, names or tuple(f"predicate {i}" for i in range(dense.shape[0])))


def union(*factors: Factor) -> Factor:
    """The queries of all factors, one factor after the other; WorkloadError if their sizes differ."""
    if not factors:
        raise WorkloadError("a union needs at least one query block, found none")
    for factor in factors:
        if factor.size != factors[0].size:
            raise WorkloadError(
                f"a union joins query blocks of {factors[0].size} and {factor.size} cells, "
                "expected equal sizes"
            )
    return Union(tuple(factors))
