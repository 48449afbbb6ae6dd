"""Matrix products without the matrices that need not be formed.

``diag(v)`` in a product scales rows or columns, an identity changes nothing, and of a product that only
``diag`` or ``trace`` asks for the diagonal is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmopt.limits import require_memory
from mmopt.numerics.numpy_forms import Array, diag

__all__ = ["Scaling", "diagonal_of_product", "is_identity", "times", "whole"]


@dataclass(frozen=True)
class Scaling:
    """A diagonal matrix by its diagonal."""

    entries: Array

    @property
    def ndim(self) -> int:
        return 2

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.entries), len(self.entries)


def is_identity(a: Array) -> bool:
    """Whether a matrix is the identity, to the last digit."""
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not (np.diagonal(a) == 1.0).all():
        return False
    return int(np.count_nonzero(a)) == len(a)


def times(left: Array | Scaling, right: Array | Scaling) -> Array | Scaling:
    """The matrix product."""
    if isinstance(left, Scaling):
        if isinstance(right, Scaling):
            return Scaling(left.entries * right.entries)
        return np.asarray((left.entries if right.ndim == 1 else left.entries[:, None]) * right)
    if isinstance(right, Scaling):
        return left * right.entries
    if left.ndim == right.ndim == 2:
        if is_identity(right):
            return left
        if is_identity(left):
            return right
        require_memory((left.shape[0], right.shape[1]), "product of two matrices", share=2)
    return np.asarray(left @ right)


def whole(a: Array | Scaling) -> Array:
    """The matrix itself."""
    return diag(a.entries) if isinstance(a, Scaling) else a


def diagonal_of_product(left: Array | Scaling, right: Array | Scaling) -> Array:
    """The diagonal of the product of two matrices, without the product."""
    if isinstance(left, Scaling):
        return left.entries * (right.entries if isinstance(right, Scaling) else np.diagonal(right))
    if isinstance(right, Scaling):
        return np.diagonal(left) * right.entries
    return np.asarray(np.einsum("ij,ji->i", left, right))
