"""Vectors over cells too many to list: diagonals, and measures by their moments, in a span of functions.

Let the rows of B (r, n) be functions of n cells, orthonormal under the uniform measure: B Bᵀ = n I. A space
of such cells (``Spanned``) splits into components like any other (``component_arrays.py``), without
coordinates:

- The matrix X = Bᵀ N B is a ``Split`` on it with the parts of N, queries W = R B one with those of R. Then
  W X⁺ Wᵀ = R N⁻¹ Rᵀ, as if B were orthonormal. No other product runs over the cells: it would take n.
- The diagonal of X is an ``UnlistedDiagonal``, a function of the cells: only its largest entry is bounded.
- Multipliers of the cells are a ``Measure`` d. Only their sum and moments Q = B diag(d) Bᵀ are computed, by a
  root J of these: the singular values of W diag(√d) are those of R J.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball
from mmopt.numerics.component_arrays import Space, Unlisted


class Moments(NamedTuple):
    """Roots J of a measure's moments Q, with proved errors: (1 - e) J Jᵀ ⪯ Q ⪯ (1 + e) J Jᵀ by component.

    roots : J (d, d) of each component. offs : its e; infinity where nothing is proved. total : the sum of
    the measure.
    """

    roots: tuple[Array, ...]
    offs: tuple[float, ...]
    total: Ball


class Spanned(Space, ABC):
    """The span of functions of cells that are not listed, by component; ``total`` is the number of cells."""

    is_listed = False
    is_restricted: ClassVar[bool] = False  # True: a family of strategies, not all on these functions

    @abstractmethod
    def largest_entry(self, parts: Sequence[Array]) -> float:
        """An upper bound on the entries of the diagonal of Bᵀ N B, N = ``parts`` symmetric; rounded up."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """An upper bound on the squared length of a column of B: ``largest_entry`` of the identity."""

    @abstractmethod
    def moments(self, mixture: Any) -> Moments:
        """The moments of the measure with this ``Measure.mixture``."""

    def root_trace(self, parts: Sequence[Array], mixture: Any) -> float | None:
        """A lower bound on ‖W diag(√d)‖∗ for queries W with these parts and the measure d of this mixture.

        None where it follows from the roots of the moments.
        """
        return None

    @abstractmethod
    def takes(self, mixture: Any) -> bool:
        """Whether a mixture is a measure of these cells, of a kind whose moments can be computed."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """γ such that queries on it are (R + E) B with ‖E‖ <= γ ‖R‖ (Frobenius, multiplicities counted)."""


@dataclass(frozen=True, eq=False)
class UnlistedDiagonal(Unlisted):
    """The diagonal of a matrix on cells that are not listed.

    largest : an upper bound on its largest entry, or a ball that contains the entry.
    """

    largest: float | Ball

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.largest,)


class NumberLessDiagonal(Unlisted):
    """A number less a diagonal: a function of the cells of which nothing is computed."""


@dataclass(frozen=True, eq=False)
class Measure(Unlisted):
    """Multipliers d >= 0 of cells that are not listed: a mixture of products of measures of the attributes.

    space : of the cells; of a saved measure only its sizes. mixture : ``weights`` (J,), and ``factors``, one
    (J, oᵢ) an attribute (``sectors.moments_and_column_lengths.Mixture``).

    Raises
    ------
    OptionError : weights or factors that are negative or not finite, or do not fit together; no weight.
    """

    mixture: Any

    def __post_init__(self) -> None:
        shapes = {np.shape(f)[0] if np.ndim(f) == 2 else -1 for f in self.mixture.factors}
        if np.ndim(self.mixture.weights) != 1 or shapes != {len(self.mixture.weights)}:
            raise OptionError("a measure has one weight for each product, and a row in every factor")
        if not all(np.isfinite(a).all() and (a >= 0).all() for a in self.arrays):
            raise OptionError("a measure has weights and factors that are finite and not negative")

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.mixture.weights, *self.mixture.factors)

    @cached_property
    def moments(self) -> Moments:
        """The proved moments, computed once. The space has to be that of the cells."""
        assert isinstance(self.space, Spanned)
        return self.space.moments(self.mixture)


@dataclass(frozen=True, eq=False)
class WeighedQueries(Unlisted):
    """Queries times √d, W diag(√d), with a lower bound on their nuclear norm.

    Only ``nuclear`` takes them. least : the bound, or a ball of it.
    """

    least: float | Ball


@dataclass(frozen=True, eq=False)
class RootOfMeasure(Unlisted):
    """√d of a measure, entry by entry; only ``diag`` of it is of use, in a product with queries."""

    measure: Measure

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.measure.arrays
