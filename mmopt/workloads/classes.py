"""Which columns of a query matrix are equal: cells that no query tells apart.

A class array is (n,) int64: equal columns share a number >= 0, all-zero columns have -1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import Array, Ints

__all__ = ["column_classes", "ordered", "refine"]


def ordered(classes: Ints) -> Ints:
    """The same classes numbered 0, 1, … in the order in which they first occur; -1 stays."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    first = np.where(classes[first] < 0, -1, first)  # untouched cells sort before all others
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first)) - int((first < 0).sum())
    rank[first < 0] = -1
    result: Ints = rank[inverse.reshape(classes.shape)]
    return result


def column_classes(matrix: Array) -> Ints:
    """Classes of the columns of a dense matrix (m, n), compared exactly."""
    columns = np.ascontiguousarray(matrix.T) + 0.0  # minus zero equals zero
    keys = columns.view(np.dtype((np.void, columns.dtype.itemsize * columns.shape[1]))).ravel()
    _, inverse = np.unique(keys, return_inverse=True)
    return ordered(np.where(columns.any(axis=1), inverse.reshape(-1), -1).astype(np.int64))


def refine(parts: Sequence[Ints]) -> Ints:
    """Classes of columns that are equal in every part; a column is zero when it is in every part."""
    result = parts[0]
    for part in parts[1:]:
        pair = (result + 1) * (int(part.max()) + 2) + (part + 1)  # 0 when both are untouched
        result = ordered(pair - 1)
    return ordered(result)
