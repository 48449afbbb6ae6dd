"""Weighted Fourier factorisations: the best strategy that is diagonal in characters.

The characters χ of ⊕ Z/dᵢ have modulus 1, so a strategy that measures each with a weight has the same squared
length at every cell, and the least error is (Σ_χ √H_χχ)² with H_χχ = Σ over products w Π χ* Gᵢ χ / dᵢ² (arXiv
2512.21499). A baseline by name. Where a sector is one Kronecker product its best strategy is no worse.
"""

from __future__ import annotations

import math

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.sectors.residual.products_of_few import products_of_few, terms_by_sector
from mmopt.workloads import Workload

__all__ = ["asked_of_characters"]


def asked_of_characters(workload: Workload) -> dict[tuple[int, ...], Array]:
    """H_χχ of each sector, (d₁ - 1, d₂ - 1, …): the characters but the constant of each of its attributes.

    Raises as ``products_of_few``; TooLargeError also for characters that do not fit in memory.
    """
    products = products_of_few(workload)
    grams = {id(gram): gram for product in products for gram in product.grams}
    spectra = {key: _spectrum(gram) for key, gram in grams.items()}
    sizes = workload.domain.shape
    terms = terms_by_sector(products, [np.full(size, 1 / size) for size in sizes])
    require_memory((sum(math.prod(sizes[i] - 1 for i in own) for own in terms),), "characters of all sectors")
    found = {}
    for own, parts in terms.items():
        asked = np.zeros([sizes[i] - 1 for i in own])
        for keys, weight in parts.items():
            product = np.full((), weight)
            for _, key in keys:
                product = np.multiply.outer(product, spectra[key])
            asked = asked + product
        found[own] = asked
    return found


def _spectrum(gram: Array) -> Array:
    """χ* G χ / d² for each character but the constant, (d - 1,)."""
    d = len(gram)
    found = np.fft.ifft(np.fft.fft(gram, axis=0), axis=1).diagonal().real / d
    return np.asarray(np.maximum(found[1:], 0.0))
