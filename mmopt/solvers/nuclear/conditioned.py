"""Covariances that floating point can hold.

Where queries or cells have slack the noise of least privacy cost may be as large as one likes, and weights
that go to zero make it so. Lowering the eigenvalues of Σ that are above ``CAP`` times the smallest keeps every
target. With orthonormal B and p of sum 1 it adds at most 1 / (CAP λ) to p @ costs, λ the smallest eigenvalue,
where the largest cost is at least 1 / (n λ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from array_api_compat import array_namespace as namespace

__all__ = ["CAP", "conditioned"]

Array = Any

CAP = 1e9


def conditioned(roots: Sequence[Array]) -> list[Array]:
    """R Rᵀ of each root R (k, r), r <= k, their common condition at most ``CAP``.

    What R does not reach gets the largest eigenvalue.
    """
    xp = namespace(roots[0])
    products = [root @ root.T for root in roots]
    spectra = [xp.linalg.eigvalsh(product) for product in products]
    largest = max(float(values[-1]) for values in spectra)
    if min(float(values[0]) for values in spectra) * CAP > largest:
        return products
    # Of the roots, not of the products: these have lost what is below the rounding of the largest.
    found = [xp.linalg.svd(root) for root in roots]
    least = min(float(xp.min(values)) ** 2 for _, values, _ in found)
    return [_product(left, values, CAP * least) for left, values, _ in found]


def _product(left: Array, values: Array, most: float) -> Array:
    xp = namespace(left)
    lowered = xp.full((left.shape[0],), most, dtype=left.dtype)
    lowered[: values.shape[0]] = xp.clip(values**2, None, most)
    return (left * lowered) @ left.T
