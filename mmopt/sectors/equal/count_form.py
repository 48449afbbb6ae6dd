"""A polynomial in the counts of values: how many of k equal attributes have each value.

What permutations of the attributes leave alone depends on a cell through these counts n alone, Σ n = k. The
mean of a function F over all choices of w attributes in order is a polynomial of degree w in them, and, times
powers of Σ n / k = 1, a form: f = Σ T[a, b, …] n_a n_b …, with T symmetric.

The same F has a mean over the choices of w of any number of attributes. That of k is the mean, over all
subsets of D of them, of that of D (w <= D <= k): its largest value is at most that of D, of fewer counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.sectors.equal.sampled_values import PARTITIONS, diagonal, letters_of, symmetric

__all__ = ["CountForm", "count_form"]

STEPS = 64  # of rounding of a term of F on its way into the form: 24 orders, 5 partitions, products


@dataclass(frozen=True, eq=False)
class CountForm:
    """f(n) = Σ tensor[a, b, …] n_a n_b … on counts n (d,), whole numbers >= 0 with the sum ``total``.

    tensor : (d, …, d), symmetric, of two axes to four. rounding : what f may be off by at any counts, at
    most, where the tensor stands for numbers that no floats are. function, magnitudes, roundings : as
    ``count_form`` takes them.
    """

    total: int
    tensor: Array
    rounding: float
    function: Array
    magnitudes: Array
    roundings: int

    @property
    def size(self) -> int:
        """The number of values, d."""
        return len(self.tensor)

    @property
    def degree(self) -> int:
        """w, the number of attributes that F is a function of."""
        return self.tensor.ndim

    @property
    def most(self) -> float:
        """At least the sum of the magnitudes of all terms, at any counts: what rounding is relative to."""
        return float(np.abs(self.tensor).max()) * float(self.total) ** self.degree * (1 + 8 * EPS)

    def values(self, counts: Array | Ints) -> Array:
        """f at rows of counts (c, d)."""
        n = counts.astype(np.float64)
        half = self.degree // 2
        sides = {1: n, 2: (n[:, :, None] * n[:, None, :]).reshape(len(n), self.size**2)}
        left, right = sides[self.degree - half], sides[half]
        matrix = self.tensor.reshape(left.shape[1], right.shape[1])
        return np.asarray(np.einsum("ij,ij->i", left @ matrix, right))

    def of_fewer(self, total: int) -> CountForm:
        """The form of the mean of the same F over so many attributes, at least ``degree``."""
        return count_form(self.function, self.magnitudes, self.roundings, total)


def count_form(function: Array, magnitudes: Array, roundings: int, attributes: int) -> CountForm:
    """The form of the mean of a symmetric F (d, …) over all choices of its places among the attributes.

    ``magnitudes``: F with every number that it was made of replaced by its magnitude; ``roundings``: how many
    roundings any of its terms went through, so that it is off by γ times the magnitudes (Higham, Accuracy and
    Stability, §3.1).
    """
    tensor = _form(function, attributes, signed=True)
    of_all = float(_form(magnitudes, attributes, signed=False).max()) * float(attributes) ** function.ndim
    steps = (roundings + STEPS) * EPS / 2
    rounding = 1.01 * steps / (1.0 - steps) * of_all
    return CountForm(attributes, tensor, rounding, function, magnitudes, roundings)


def _form(function: Array, attributes: int, signed: bool) -> Array:
    places = function.ndim
    tensor = np.zeros(function.shape)
    for often, shape in PARTITIONS[places]:
        term = diagonal(function, shape) * (often if signed else abs(often))
        lacking = places - len(letters_of(shape))
        tensor += term.reshape(term.shape + (1,) * lacking) / float(attributes) ** lacking
    return symmetric(tensor) / math.perm(attributes, places)
