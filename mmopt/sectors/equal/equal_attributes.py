"""The row space of a workload that every permutation of its attributes leaves alone, of order at most two.

At most four components, whatever the number of attributes: prefixes of one and two attributes over 10^40
cells cost four spectra of dimension 90 at most. Measures stand for their mean over all orders of the
attributes; their moments are made of the law of the values of four attributes drawn without replacement
(``sampled_values``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.balls import Ball, add, exact, mul
from mmopt.numerics.split_arrays import Space, Split
from mmopt.sectors.equal.count_form import CountForm, count_form
from mmopt.sectors.equal.count_profiles import MOST_COUNTS, CountProfiles
from mmopt.sectors.equal.cut_densities import CutLaw, law_of_cut
from mmopt.sectors.equal.kinds_of_products import Kind, kinds_of_products
from mmopt.sectors.equal.largest_by_counts import largest_by_counts
from mmopt.sectors.equal.pair_coordinates import PairCoordinates
from mmopt.sectors.equal.pair_roots import root_rounding_of, roots_of
from mmopt.sectors.equal.sampled_values import counts_of, law_of, law_of_product, products_of
from mmopt.sectors.measures import CutDensity, Mixture
from mmopt.sectors.row_space import Largest, RowSpace
from mmopt.workloads import Workload

__all__ = ["EqualAttributes", "equal_attributes", "equal_space"]

ROUNDINGS = 80  # at most, of a term: 24 orders, 15 blocks, and products of some 30 factors


def equal_attributes(workload: Workload) -> bool:
    """Whether ``equal_space`` takes it: k >= 2 attributes alike in every product, at most two in each."""
    return kinds_of_products(workload) is not None


def equal_space(workload: Workload) -> EqualAttributes:
    """The row space of a workload of equal attributes.

    Raises
    ------
    OptionError : attributes that are not equal, values that can be swapped, or a product of more than two.
    TooLargeError : attributes of too many values.
    """
    kinds = kinds_of_products(workload)
    if kinds is None:
        raise OptionError(
            "the attributes are not equal: their sizes or the products on them differ, values can be "
            "swapped, or a product asks of more than two",
            hint="take the row space that asks for no equal attributes: plain_space",
        )
    return EqualAttributes(kinds, len(workload.domain.shape), workload.domain.shape[0])


class EqualAttributes(RowSpace):
    """The row space of products of these kinds on ``attributes`` attributes of ``size`` values.

    Components in the order of ``coordinates.components``: trivial, standard, (k-2, 2), (k-2, 1, 1).
    """

    def __init__(self, kinds: Sequence[Kind], attributes: int, size: int) -> None:
        order = max(1, *(len(kind.factors) for kind in kinds))
        self.kinds = tuple(kinds)
        self.coordinates = PairCoordinates(attributes, size, order)
        components = self.coordinates.components
        often = np.array([float(own.multiplicity) for own in components])
        self.space = Space(often, tuple(map(self.coordinates.dim, components)))
        parts = roots_of(self.coordinates, kinds)
        self.root = Split(self.space.abstract(tuple(map(len, parts))), self.space, parts)
        self.root_rounding = root_rounding_of(self.coordinates, kinds)
        self.shape = (size,) * attributes
        self._laws: WeakKeyDictionary[CutDensity, CutLaw] = WeakKeyDictionary()  # each is asked for often

    @cached_property
    def places(self) -> int:
        """Attributes that moments are of, at most."""
        return self.coordinates.places

    def moments(self, mixture: Mixture) -> tuple[Array, ...]:
        law = law_of(mixture, self.places)
        if mixture.density is not None:
            law += mixture.share * self._law(mixture.density).law
        return self.coordinates.moments(law)

    def moments_rounding(self, mixture: Mixture) -> tuple[float, ...]:
        """At least ‖Q_κ - exact‖₂ of each component, of the measure of rows divided by their exact sums.

        Every number on the way is a sum of products: computed moments are off by γ times the same with
        magnitudes in place of numbers, alternating signs of inclusion and exclusion too. The exact basis is
        orthonormal; that of floats is (I + Δ) times it on one attribute, each entry having three roundings,
        so ‖Δ‖ <= 3 u √d, which moves moments of w of k attributes by at most (1 + (1 + √k) ‖Δ‖)²ʷ - 1, as
        ``plain.moments_rounding`` says. Of a cut density the exact measure is that of its computed weights,
        of which moments and ``mass`` are sums.
        """
        rows = max(float(np.abs(f.sum(axis=1) - 1.0).max(initial=0.0)) for f in mixture.factors)
        basis = 1.5 * EPS * math.sqrt(self.shape[0]) * (1.0 + math.sqrt(len(self.shape)))
        off = np.expm1(self.places * np.log1p(1.01 * (rows + basis)))
        law, steps = law_of(mixture, self.places, absolute=True), mixture.count
        if mixture.density is not None:
            cut = self._law(mixture.density)
            law += mixture.share * cut.magnitudes
            steps += cut.roundings
        return self._roundings(law, len(self.shape) + steps + ROUNDINGS, float(off))

    def takes(self, mixture: Mixture) -> bool:
        d, density = self.shape[0], mixture.density
        if density is not None:
            is_few = math.comb(len(self.shape) + d - 1, d - 1) <= MOST_COUNTS
            fits = density.function.shape == (d,) * self.places and density.measure.shape == (d,)
            return (
                is_few
                and fits
                and bool((density.measure > 0).all())
                and super().takes(replace(mixture, density=None))
            )
        return super().takes(mixture)

    def mass(self, mixture: Mixture) -> Ball:
        found = super().mass(mixture)
        if mixture.density is None:
            return found
        return add(found, mul(exact(mixture.share), self._law(mixture.density).mass))

    def _law(self, density: CutDensity) -> CutLaw:
        if density not in self._laws:
            form = count_form(density.function, np.abs(density.function), 0, len(self.shape))
            self._laws[density] = law_of_cut(form, density.measure)
        return self._laws[density]

    def _roundings(self, magnitudes: Array, steps: int, relative: float) -> tuple[float, ...]:
        """Of moments made of a law that is off by so many roundings, and by ``relative``, of magnitudes."""
        d, order = self.shape[0], self.coordinates.order
        # A law is summed thrice over values; a block of moments is a sum over all pairs of values, twice.
        all_steps = 1.01 * (steps + 3 * d + 2 * d**order + ROUNDINGS) * EPS
        basis = np.expm1(2 * order * np.log1p(2 * EPS * np.sqrt(d)))
        sizes = [float(np.linalg.norm(q)) for q in self.coordinates.moments(magnitudes, absolute=True)]
        return tuple(1.01 * float(relative + all_steps + basis) * size for size in sizes)

    def moments_of_each(self, mixture: Mixture, parts: Sequence[Array]) -> Array:
        return self._integrals(mixture, self.coordinates.function(parts), self.form(parts))

    def means(self, mixture: Mixture, parts: Sequence[Array]) -> tuple[Array, ...]:
        function = self.coordinates.function(parts)
        whole = self._integrals(mixture, function, self.form(parts))
        share = self.places / len(self.shape)  # of the choices of attributes, those with a given one
        given = np.reshape(function, (self.shape[0], -1))
        laws = [law_of_product(own, self.places - 1).ravel() for own in products_of(mixture)]
        found = share * np.array(laws) @ given.T + (1.0 - share) * whole[:, None]
        return (found,) * len(self.shape)

    def lengths(self, parts: Sequence[Array], cells: Ints) -> Array:
        return self.form(parts).values(
            np.stack([(cells == v).sum(axis=1) for v in range(self.shape[0])], axis=1)
        )

    def largest(self, parts: Sequence[Array], seconds: float) -> Largest:
        return largest_by_counts(self.form(parts), seconds)

    def profiles(self, measures: Sequence[Array]) -> CountProfiles:
        """The squared lengths f in coordinates orthonormal under the product of one measure: their mean."""
        return CountProfiles(self.coordinates, np.mean(measures, axis=0))

    def form(self, parts: Sequence[Array]) -> CountForm:
        """f as a form in the counts of values, and what it is off by; N and the contrasts as they are."""
        function = self.coordinates.function(parts)
        magnitudes = self.coordinates.function(parts, absolute=True)
        roundings = 2 * self.space.largest + ROUNDINGS  # both sums over a component
        return count_form(function, magnitudes, roundings, len(self.shape))

    def _integrals(self, mixture: Mixture, function: Array, form: CountForm) -> Array:
        counts = counts_of(mixture)
        is_cell = np.isfinite(counts[:, 0])
        found = np.empty(mixture.count)
        found[is_cell] = form.values(counts[is_cell])
        products = products_of(mixture)
        for at in np.flatnonzero(~is_cell):
            found[at] = float(np.vdot(law_of_product(products[at], self.places), function))
        return found
