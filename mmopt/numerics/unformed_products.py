"""Matrix products without the matrices that need not be formed.

``diag(v)`` in a product scales rows or columns, an identity changes nothing, and of a product that only
``diag`` or ``trace`` asks for the diagonal is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.limits import require_memory
from mmopt.numerics import matrix_functions
from mmopt.numerics.arrays import Array

__all__ = ["Diagonal", "diagonal_of_product", "diagonal_of_solved", "is_identity", "solved", "times", "whole"]


@dataclass(frozen=True)
class Diagonal:
    """A diagonal matrix by its diagonal: an array, a ball, or a vector that is constant on orbits."""

    entries: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(np.shape(self.entries)) * 2


def is_identity(a: Array) -> bool:
    """Whether a matrix is the identity, to the last digit."""
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not (np.diagonal(a) == 1.0).all():
        return False
    return int(np.count_nonzero(a)) == len(a)


def times(left: Array | Diagonal, right: Array | Diagonal) -> Array | Diagonal:
    """The matrix product."""
    if isinstance(left, Diagonal):
        if isinstance(right, Diagonal):
            return Diagonal(left.entries * right.entries)
        return np.asarray((left.entries if right.ndim == 1 else left.entries[:, None]) * right)
    if isinstance(right, Diagonal):
        return np.asarray(left * right.entries)
    if left.ndim == right.ndim == 2:
        if is_identity(right):
            return left
        if is_identity(left):
            return right
        require_memory((left.shape[0], right.shape[1]), "product of two matrices", share=2)
    return np.asarray(left @ right)


def whole(a: Array | Diagonal) -> Array:
    """The matrix itself."""
    return matrix_functions.diag(a.entries) if isinstance(a, Diagonal) else a


def solved(left: Array | Diagonal | None, matrix: Array, right: Array | Diagonal | None) -> Array:
    """``left @ inv(matrix) @ right``, where None stands for nothing; infinite where there is no inverse."""
    if right is None:
        return (
            matrix_functions.inv(matrix)
            if left is None
            else matrix_functions.solve(matrix.T, whole(left).T).T
        )
    behind = matrix_functions.solve(matrix, whole(right))
    if left is None:
        return behind
    if np.isfinite(behind).all():
        return whole(times(left, behind))
    return np.full(np.shape(whole(times(left, np.zeros_like(behind)))), np.inf)


def diagonal_of_product(left: Array | Diagonal, right: Array | Diagonal) -> Array:
    """The diagonal of the product of two matrices, without the product."""
    if isinstance(left, Diagonal) or isinstance(right, Diagonal):
        one, other = (s.entries if isinstance(s, Diagonal) else np.diagonal(s) for s in (left, right))
        return np.asarray(one * other)
    return np.asarray(np.einsum("ij,ji->i", left, right))


def diagonal_of_solved(left: Array | Diagonal, matrix: Array, right: Array | Diagonal) -> Array:
    """The diagonal of ``left @ inv(matrix) @ right`` of matrices, without the product."""
    behind = matrix_functions.solve(matrix, whole(right))
    if not np.isfinite(behind).all():
        return np.full(left.shape[0], np.inf)
    return diagonal_of_product(left, behind)
