"""Functions of the cells that squared lengths are, of equal attributes, in orthonormal coordinates.

f is the mean of a symmetric F over all choices of w of the k attributes. Let B be the constant and c other
functions of a value, orthonormal under a positive measure p, and F = Σ C[a, b, …] B_a B_b …. The terms of one
multiset α of indices, m of them not of the constant, make up a multiple of the mean over all choices of
m attributes of these functions' product. Under the product of p on all attributes such means are orthogonal,
of squared norm Πr! / (k)_m with r how often each function stands in α. Signed measures with a density of
this kind with respect to that product have moments in closed form.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.equal.pair_coordinates import PairCoordinates
from mmopt.sectors.measures import CutDensity

__all__ = ["MOST_COUNTS", "CountProfiles"]

MOST_COUNTS = 2**25  # that cut densities are summed over: a few seconds


@dataclass(frozen=True, eq=False)
class CountProfiles:
    """One coordinate for each ascending tuple of ``places`` of the numbers of constant (0) and contrasts."""

    pairs: PairCoordinates
    measure: Array
    """(d,) p."""

    @cached_property
    def tuples(self) -> Ints:
        """(size, places), ascending; the first is that of the constant."""
        numbers = itertools.combinations_with_replacement(range(self.pairs.size), self.pairs.places)
        return np.array(list(numbers), dtype=np.int64)

    @cached_property
    def scales(self) -> Array:
        """(size,) √(Πr! / (k)_m)."""
        found = []
        for own in self.tuples.tolist():
            repeats = math.prod(math.factorial(own.count(a)) for a in set(own) - {0})
            found.append(math.sqrt(repeats / math.perm(self.pairs.attributes, np.count_nonzero(own))))
        return np.array(found)

    @cached_property
    def orders(self) -> Array:
        """(size,) number of different orders of each tuple."""
        repeats = (math.prod(math.factorial(own.count(a)) for a in set(own)) for own in self.tuples.tolist())
        return np.array([math.factorial(self.pairs.places) // often for often in repeats], dtype=np.float64)

    def coordinates(self, parts: Sequence[Array]) -> Array:
        """(size,) those of f, with N = ``parts``; the first is its mean."""
        return self.coordinates_of(self.pairs.function(parts))

    def coordinates_of(self, function: Array) -> Array:
        """(size,) those of the mean of a symmetric F over all choices of attributes."""
        inner = self._turned(function, self._basis * self.measure)
        return np.asarray(self.orders * self.scales * inner[tuple(self.tuples.T)])

    def function(self, coordinates: Array) -> Array:
        """F (d, …) of these coordinates."""
        return self._turned(self._spread(coordinates / (self.orders * self.scales)), self._basis.T)

    def law(self, coordinates: Array) -> Array:
        """The law of the values of ``places`` attributes under the density of these coordinates."""
        return self._turned(self._spread(coordinates * self.scales), (self._basis * self.measure).T)

    def moments(self, coordinates: Array) -> tuple[Array, ...]:
        """Q_κ of the signed measure that has the function of these coordinates as its density."""
        return self.pairs.moments(self.law(coordinates))

    @property
    def counts(self) -> float:
        """How many counts of values there are; infinity beyond what is enumerated often."""
        found = math.comb(self.pairs.attributes + self.pairs.size - 1, self.pairs.size - 1)
        return found if found <= MOST_COUNTS else math.inf

    def positive_part(self, coordinates: Array) -> CutDensity:
        """The positive part of the density of these coordinates."""
        return CutDensity(self.function(coordinates), self.measure)

    @cached_property
    def _basis(self) -> Array:
        """(d, d) values of B, a function a row: the contrasts, orthonormal under p and to the constant."""
        roots = np.sqrt(self.measure)
        rows = np.vstack([np.ones(self.pairs.size), self.pairs.contrasts]) * roots
        orthonormal, upper = np.linalg.qr(rows.T)
        return np.asarray((orthonormal * np.sign(np.diag(upper))).T / roots)

    def _spread(self, entries: Array) -> Array:
        """The symmetric tensor with these entries at ascending indices."""
        found = np.empty((self.pairs.size,) * self.pairs.places)
        for order in itertools.permutations(range(self.pairs.places)):
            found[tuple(self.tuples[:, list(order)].T)] = entries
        return found

    @staticmethod
    def _turned(tensor: Array, matrix: Array) -> Array:
        """The matrix applied to every axis."""
        for _ in range(tensor.ndim):
            tensor = np.tensordot(tensor, matrix, axes=(0, 1))  # the new axis comes last
        return tensor
