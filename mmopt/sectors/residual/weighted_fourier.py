"""Weighted Fourier factorisations: the error of the best strategy that is diagonal in characters.

The characters χ of ⊕ Z/dᵢ have modulus 1, so a strategy that measures each with a weight has the same squared
length at every cell, and the least error is (Σ_χ √H_χχ)² with H_χχ = Σ over products w Π χ* Gᵢ χ / dᵢ² (arXiv
2512.21499). A baseline by name: no better than the sectors one by one, whose strategies include these.
"""

from __future__ import annotations

import math

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.residual.products_of_few import products_of_few, terms_by_sector
from mmopt.workloads import Workload

__all__ = ["weighted_fourier_error"]


def weighted_fourier_error(workload: Workload) -> float:
    """Total squared error at squared sensitivity 1. Raises as ``products_of_few``.

    A sector that is no Kronecker product takes one number for each of its characters.
    """
    products = products_of_few(workload)
    grams = {id(gram): gram for product in products for gram in product.grams}
    spectra = {key: _spectrum(gram) for key, gram in grams.items()}
    sums = {key: float(np.sqrt(spectrum).sum()) for key, spectrum in spectra.items()}
    bases = [np.full(attribute.size, 1 / attribute.size) for attribute in workload.domain.attributes]
    total = 0.0
    for terms in terms_by_sector(products, bases).values():
        if len(terms) == 1:
            [(keys, weight)] = terms.items()
            total += math.sqrt(weight) * math.prod(sums[key] for _, key in keys)
            continue
        asked = np.zeros(1)
        for keys, weight in terms.items():
            product = np.full(1, weight)
            for _, key in keys:
                product = np.multiply.outer(product, spectra[key]).ravel()
            asked = asked + product
        total += float(np.sqrt(asked).sum())
    return total**2


def _spectrum(gram: Array) -> Array:
    """χ* G χ / d² for each character but the constant, (d - 1,)."""
    d = len(gram)
    found = np.fft.ifft(np.fft.fft(gram, axis=0), axis=1).diagonal().real / d
    return np.asarray(np.maximum(found[1:], 0.0))
