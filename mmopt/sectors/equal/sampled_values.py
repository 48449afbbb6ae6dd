"""The joint law of the values of a few equal attributes, drawn without replacement, under a measure.

Of a product ⊗ᵢ pᵢ of measures the law of w attributes drawn in any order is the mean of
pᵢ(a) pⱼ(b) … over distinct i, j, …. Sums over distinct attributes are sums over all, by inclusion and
exclusion on the partitions of the w places: of the power sums Σᵢ pᵢ(a) pᵢ(b) … with one factor a place. Of a
cell they are counts n of its values: Σᵢ pᵢ(a) pᵢ(b) = n_a where a = b, else 0, so that every partition stands
on a diagonal of the law.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.measures import Mixture

__all__ = [
    "PARTITIONS",
    "counts_of",
    "diagonal",
    "law_of",
    "law_of_moments",
    "law_of_product",
    "letters_of",
    "products_of",
    "symmetric",
]

PARTITIONS: dict[int, tuple[tuple[int, str], ...]] = {
    1: ((1, "a"),),
    2: ((1, "ab"), (-1, "aa")),
    3: ((1, "abc"), (-3, "aab"), (2, "aaa")),
    4: ((1, "abcd"), (-6, "aabc"), (8, "aaab"), (3, "aabb"), (-6, "aaaa")),
}
"""Of so many places: the partitions by shape, places of one part under one letter; how many there are, times
the Möbius function of the lattice of partitions (Stanley, Enumerative Combinatorics 1, example 3.10.4)."""


def letters_of(shape: str) -> str:
    """The different letters of a shape, in order."""
    return "".join(dict.fromkeys(shape))


def diagonal(tensor: Array, shape: str) -> Array:
    """The entries whose places of one letter agree: an axis a letter, to be read and to be written."""
    letters = letters_of(shape)
    return tensor if letters == shape else np.einsum(f"{shape}->{letters}", tensor)


def symmetric(tensor: Array) -> Array:
    """The mean over all orders of the axes."""
    orders = list(itertools.permutations(range(tensor.ndim)))
    return np.asarray(sum(np.transpose(tensor, order) for order in orders) / len(orders))


def counts_of(mixture: Mixture) -> Array:
    """(J, d) how many attributes have each value, where a product is one cell; else NaN."""
    stacked = np.stack(mixture.factors, axis=1)
    is_cell = (stacked.max(axis=2) == 1.0).all(axis=1)
    return np.where(is_cell[:, None], stacked.sum(axis=1), np.nan)


def products_of(mixture: Mixture) -> Array:
    """(J, k, d) the measures of each product."""
    return np.stack(mixture.factors, axis=1)


def law_of(mixture: Mixture, places: int, absolute: bool = False) -> Array:
    """Σⱼ weightsⱼ times the law (d, …, d) of so many attributes, at most all k of them.

    ``absolute``: with terms added that are to be subtracted, which is what its rounding is relative to.
    """
    counts = counts_of(mixture)
    is_cell = np.isfinite(counts[:, 0])
    k = len(mixture.factors)
    law = _law_of_cells(counts[is_cell], mixture.weights[is_cell], k, places, absolute)
    products = products_of(mixture)
    for at in np.flatnonzero(~is_cell & (mixture.weights != 0)):
        law += mixture.weights[at] * law_of_product(products[at], places, absolute)
    return law


def law_of_product(factors: Array, places: int, absolute: bool = False) -> Array:
    """The law of so many attributes under the product of the measures (k, d)."""
    k, d = factors.shape
    sums = {1: factors.sum(axis=0)}
    powers = factors
    for m in range(2, places + 1):
        sums[m] = np.reshape(powers.T @ factors, (d,) * m)
        if m < places:
            powers = (powers[:, :, None] * factors[:, None, :]).reshape(k, d**m)
    law = np.zeros((d,) * places)
    for often, shape in _partitions(places, absolute):
        term = np.ones(())
        for letter in letters_of(shape):
            term = np.multiply.outer(term, sums[shape.count(letter)])
        law += often * term
    return symmetric(law) / math.perm(k, places)


def _partitions(places: int, absolute: bool) -> list[tuple[int, str]]:
    return [(abs(often) if absolute else often, shape) for often, shape in PARTITIONS[places]]


def law_of_moments(moments: Array, attributes: int, absolute: bool = False) -> Array:
    """The law of as many attributes as ``moments`` (d, …, d) has axes: Σ weights times counts ⊗ … ⊗ counts.

    The counts of every cell have the sum ``attributes``.
    """
    places = moments.ndim
    known = {places: moments}
    for m in range(places, 1, -1):
        known[m - 1] = known[m].sum(axis=-1) / attributes
    law = np.zeros(moments.shape)
    for often, shape in _partitions(places, absolute):
        diagonal(law, shape)[...] += often * known[len(letters_of(shape))]
    return symmetric(law) / math.perm(attributes, places)


def _law_of_cells(counts: Array, weights: Array, attributes: int, places: int, absolute: bool) -> Array:
    """The law of so many attributes of cells with these counts (c, d), times their weights."""
    d, half = counts.shape[1], places // 2
    pairs = (counts[:, :, None] * counts[:, None, :]).reshape(len(counts), d * d)
    sides = (np.ones((len(counts), 1)), counts, pairs)
    moments = (sides[half] * weights[:, None]).T @ sides[places - half]
    return law_of_moments(moments.reshape((d,) * places), attributes, absolute)
