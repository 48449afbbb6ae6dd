"""Points that floating point can hold.

Where queries or cells have slack the noise of least privacy cost may be as large as one likes, and weights
that go to zero make it so. Lowering the eigenvalues of Σ that are above t times the smallest keeps every
target. With orthonormal B and p of sum 1 it adds at most 1 / (t λ) to p @ costs, λ the smallest eigenvalue,
where the largest cost is at least 1 / (n λ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace as namespace

from mmopt.numerics.numpy_forms import eigenvectors
from mmopt.numerics.singular_vectors import graded

__all__ = ["Care", "care", "conditioned"]

Array = Any

LOSS = 10.0  # over the gap wanted is t
CELLS = 16  # with more of them than LOSS times this t grows like their number: the loss is at most n / t
MOST = 1e10  # a larger t would leave less than half of the digits of the smallest eigenvalue


@dataclass(frozen=True)
class Care:
    """What a point has to give up for the sake of rounding.

    even : whether X may be equalised. At the optimum X⁻¹ G X⁻¹ is diagonal, so that what rounding does to X
        hardly changes its objective; at an equalised X near it that is not so.
    condition : the largest condition of Σ.
    """

    even: bool
    condition: float


def care(wanted: float, is_first: bool, n: int) -> Care:
    """For a gap and n cells: most at first, then the condition that a smaller gap needs."""
    return Care(is_first, min(max(LOSS, n / CELLS) / wanted, MOST))


def conditioned(roots: Sequence[Array], condition: float) -> list[Array]:
    """R Rᵀ of each root R (k, r), r <= k, of numpy, the large eigenvalues lowered to a condition of them all.

    What a root does not reach gets the largest eigenvalue.
    """
    xp = namespace(roots[0])
    products = [root @ root.T for root in roots]
    spectra = [xp.linalg.eigvalsh(product) for product in products]
    largest = max(float(values[-1]) for values in spectra)
    if min(float(values[0]) for values in spectra) * condition > largest:
        return products
    # Of the roots, not of the products: these have lost what is below the rounding of the largest.
    found = []
    for root in roots:
        vectors = eigenvectors(products.pop(0))
        values, _ = graded(root.T @ vectors, vectors)
        found.append((vectors, values[-min(root.shape) :]))
    least = min(float(xp.min(values)) ** 2 for _, values in found)
    return [_product(left, values, condition * least) for left, values in found]


def _product(left: Array, values: Array, most: float) -> Array:
    xp = namespace(left)
    lowered = xp.full((left.shape[0],), most, dtype=left.dtype)
    lowered[-values.shape[0] :] = xp.clip(values**2, None, most)
    scaled = left * xp.sqrt(lowered)
    return scaled @ scaled.T  # as numpy's product with the transpose it is exactly symmetric
