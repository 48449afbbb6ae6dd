"""What is asked of the row space of a workload, whatever its symmetries: components, moments, lengths."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.balls import Ball
from mmopt.numerics.split_arrays import Space, Split
from mmopt.sectors.measures import CutDensity, Mixture

__all__ = ["Largest", "Profiles", "RowSpace"]


@dataclass(frozen=True, eq=False)
class Largest:
    """The largest f over the cells: ``upper`` is proved, whatever time there was; ``lower`` is f at ``cell``.

    cell : (k,) orbit numbers. is_closed : whether every cell was ruled out or looked at, so that ``upper`` is
    ``lower`` but for rounding and 1e-9 of it; else it is the largest upper bound still open.
    """

    upper: float
    lower: float
    cell: Ints
    is_closed: bool


class Profiles(Protocol):
    """Functions on the cells that squared lengths are, in coordinates orthonormal under a product measure."""

    def coordinates(self, parts: Sequence[Array]) -> Array:
        """(size,) those of f, with N = ``parts``; the first is its mean."""
        ...

    def moments(self, coordinates: Array) -> tuple[Array, ...]:
        """Q_κ of the signed measure with this density to the product measure."""
        ...

    @property
    def counts(self) -> float:
        """So many values of a density have to be summed for its positive part; infinity where none is."""
        ...

    def positive_part(self, coordinates: Array) -> CutDensity | None:
        """The positive part of this density; None where ``counts`` is infinite."""
        ...


class RowSpace(ABC):
    """The row space of a workload by components; a basis that is orthonormal under the uniform measure.

    Component κ of dimension d = ``space.dims[κ]`` stands in it μ = ``space.multiplicities[κ]`` times: N and Q
    are ⊕ N_κ ⊗ I_μ, known by tuples of symmetric matrices (d, d). What stands for a cell is the mean of its
    orbit: Q(x) the mean of b bᵀ, f(x) = Σ μ tr(N_κ Q_κ(x)). Of the uniform measure all Q_κ are identities.
    """

    space: Space
    root: Split
    """The queries L up to rotation, from abstract rows to ``space``: LᵀL by component, weighted."""
    root_rounding: float
    """At least ‖root - an exact one‖ / ‖root‖ (Frobenius, all components), in an exact basis near ours."""
    shape: tuple[int, ...]
    """Orbits of the values of each attribute."""

    @abstractmethod
    def moments(self, mixture: Mixture) -> tuple[Array, ...]:
        """Q_κ (d, d) of each component: Σ over the cells of their measure times Q_κ(x)."""

    @abstractmethod
    def moments_rounding(self, mixture: Mixture) -> tuple[float, ...]:
        """At least ‖Q_κ - exact‖₂ of each component, for the measure of rows divided by their exact sums.

        The exact basis is any orthonormal one near the computed one. See ``moments_rounding.py``.
        """

    def takes(self, mixture: Mixture) -> bool:
        """Whether it is a measure on these attributes, of a kind whose moments are known."""
        return mixture.density is None and tuple(own.shape[1] for own in mixture.factors) == self.shape

    def mass(self, mixture: Mixture) -> Ball:
        """The exact mass of the measure that ``moments`` are of."""
        total = math.fsum(mixture.weights)
        return Ball(np.asarray(total), np.asarray(EPS * total))

    @abstractmethod
    def moments_of_each(self, mixture: Mixture, parts: Sequence[Array]) -> Array:
        """(J,) the integral of f, with N = ``parts``, under each product alone."""

    @abstractmethod
    def means(self, mixture: Mixture, parts: Sequence[Array]) -> tuple[Array, ...]:
        """(J, oᵢ) an attribute: the mean of f under each product, given the attribute's orbit.

        Of attributes that may be swapped the mean over all of them, in each.
        """

    @abstractmethod
    def lengths(self, parts: Sequence[Array], cells: Ints) -> Array:
        """(c,) f at cells (c, k), each a row of orbit numbers."""

    def profile(self, parts: Sequence[Array]) -> Callable[[Ints], Array]:
        """f as a function of cells (c, k), what it takes computed once: ``lengths`` for who asks often."""
        return functools.partial(self.lengths, parts)

    @property
    def uniform(self) -> tuple[Array, ...]:
        """(o,) an attribute: the share of its values that each orbit has; equal where no value is swapped."""
        return tuple(np.full(o, 1.0 / o) for o in self.shape)

    def vectors(self, cells: Ints) -> tuple[Array, ...] | None:
        """Per component (c, d) vectors v with Q_κ(x) = v vᵀ at cells (c, k); None where it is no square."""
        return None

    def profiles(self, measures: Sequence[Array]) -> Profiles | None:
        """The squared lengths f as functions in coordinates; None where nobody has written that.

        Orthonormal under the product of ``measures``, positive, (o,) an attribute.
        """
        return None

    @abstractmethod
    def largest(self, parts: Sequence[Array], seconds: float) -> Largest:
        """The largest f over all cells, with an upper bound that is proved and rounded up."""
