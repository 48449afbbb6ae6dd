"""Measures on the cells of equal attributes that are the positive part of a density, times a product measure.

A signed measure with a density of the kind of ``count_profiles`` may have the moments at which f is 1
everywhere; it bounds nothing. Its positive part is a measure. The law of a few attributes under it, which is
all that its moments are made of, is summed over the counts of values, which are few where cells are many.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.balls import Ball
from mmopt.sectors.equal.count_form import CountForm
from mmopt.sectors.equal.count_halves import monomials, tuples, value_blocks
from mmopt.sectors.equal.sampled_values import law_of_moments

__all__ = ["CutLaw", "law_of_cut"]


@dataclass(frozen=True, eq=False)
class CutLaw:
    """The law (d, …, d) of the values of some attributes under a measure, whose sum is its mass.

    magnitudes : the same with terms added that are to be subtracted; roundings : how many go into any term at
    most: the law is off by γ times ``magnitudes`` from that of the measure of the weights as computed.
    """

    law: Array
    magnitudes: Array
    roundings: int

    @property
    def mass(self) -> Ball:
        """That of the measure of the weights as computed."""
        off = 1.01 * (self.roundings + self.law.size) * EPS * float(self.magnitudes.sum())
        return Ball(np.asarray(self.law.sum()), np.asarray(off))


def law_of_cut(form: CountForm, measure: Array) -> CutLaw:
    """The law of ``form.degree`` attributes under max(form, 0) times the product of a measure (d,) on each.

    Time as to enumerate all counts five times.
    """
    first, w, k = form.size // 2, form.degree, form.total
    shapes = ((len(tuples(first, j)), len(tuples(form.size - first, w - j))) for j in range(w + 1))
    sums = [np.zeros(shape) for shape in shapes]
    roundings = longest = 0
    ends = np.cumsum([0, *(own.shape[1] for own in sums[::-1])])
    known: Ints | None = None
    for x, y, values in value_blocks(form):
        if y is not known:
            known, of_y = y, _shares(y, measure[first:], 0)
            right = np.vstack(monomials(y.T.astype(np.float64), w)).T
        weights = np.maximum(values, 0.0)
        weights *= np.multiply.outer(_shares(x, measure[:first], k), of_y)
        left, sides = monomials(x.T.astype(np.float64), w), weights @ right
        for j in range(w + 1):
            sums[j] += left[j] @ sides[:, ends[w - j] : ends[w - j + 1]]
        roundings, longest = roundings + 1, max(longest, len(x) + len(y))
    moments = _tensor(sums, first, form.size)
    signed, magnitudes = (law_of_moments(moments, k, absolute) for absolute in (False, True))
    return CutLaw(signed, magnitudes, roundings + longest + 64)


def _shares(counts: Ints, measure: Array, total: int) -> Array:
    """total! Π pⁿ / n! at rows of counts (c, ·)."""
    logs = counts @ np.log(measure) - scipy.special.gammaln(counts + 1.0).sum(axis=1)
    return np.asarray(np.exp(logs + math.lgamma(total + 1.0)))


def _tensor(sums: list[Array], first: int, size: int) -> Array:
    """The symmetric tensor of the sums of products of counts, by degree in the first values."""
    w = len(sums) - 1
    found = np.empty((size,) * w)
    for j, own in enumerate(sums):
        one, other = tuples(first, j), first + tuples(size - first, w - j)
        whole = np.hstack([np.repeat(one, len(other), axis=0), np.tile(other, (len(one), 1))])
        for order in itertools.permutations(range(w)):
            found[tuple(whole[:, list(order)].T)] = own.ravel()
    return found
