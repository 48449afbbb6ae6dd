"""Cells that are too many to list: matrices and vectors over them, known by a span of functions of the cells.

Let the rows of B (r, n) be functions of n cells, orthonormal under the uniform measure: B Bᵀ = n I. A space
of such cells splits into components as any other does (``split_arrays``), without coordinates:

- The matrix X = Bᵀ N B is a ``Split`` on it with the parts of N, queries W = R B one with those of R. Then
  W X⁺ Wᵀ = R N⁻¹ Rᵀ, as if B were orthonormal. No other product runs over the cells: it would take n.
- The diagonal of X is a ``Profile``. It is a function of the cells whose largest entry alone is known.
- Multipliers of the cells are a ``Measure`` d. Known are their sum and moments Q = B diag(d) Bᵀ, by a root J
  of these: the singular values of W diag(√d) are those of R J.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.balls import Ball
from mmopt.numerics.split_arrays import Array, Space, Unlisted

__all__ = ["Beside", "Measure", "Moments", "Profile", "RootOfMeasure", "Spanned", "WeighedQueries"]


class Moments(NamedTuple):
    """What is proved of a measure: (1 - e) J Jᵀ ⪯ Q ⪯ (1 + e) J Jᵀ of every component, J (d, d) its root.

    offs : e of each component; infinity where nothing is proved. total : the sum of the measure.
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
        """At least the largest entry of the diagonal of Bᵀ N B, N = ``parts`` symmetric; rounded up."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """At least the largest squared length of a column of B: ``largest_entry`` of the identity."""

    @abstractmethod
    def moments(self, mixture: Any) -> Moments:
        """Of a measure, as ``Measure`` has it."""

    def root_trace(self, parts: Sequence[Array], mixture: Any) -> float | None:
        """At most ‖W diag(√d)‖∗ for queries W with these parts, where that is known as one number; None where
        it is asked of the roots of the moments."""
        return None

    @abstractmethod
    def takes(self, mixture: Any) -> bool:
        """Whether it is a measure of these cells, of a kind whose moments are known."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """γ such that queries on it are (R + E) B with ‖E‖ <= γ ‖R‖ (Frobenius, multiplicities counted)."""


@dataclass(frozen=True, eq=False)
class Profile(Unlisted):
    """The diagonal of a matrix on cells that are not listed.

    largest : of its entries, a number that is at least that, or a ball that has it.
    """

    space: Space
    largest: float | Ball

    @property
    def arrays(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (self.largest,)


@dataclass(frozen=True, eq=False)
class Beside(Unlisted):
    """A number less a diagonal: a function of the cells of which nothing else is known."""

    space: Space
    arrays: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Measure(Unlisted):
    """Multipliers d >= 0 of cells that are not listed: a mixture of products of measures of the attributes.

    space : of the cells; of a saved measure only its sizes. mixture : ``weights`` (J,), and ``factors``, one
    (J, oᵢ) an attribute (``sectors.measures.Mixture``).

    Raises
    ------
    OptionError : weights or factors that are negative or not finite, or do not fit together; no weight.
    """

    space: Space
    mixture: Any

    def __post_init__(self) -> None:
        shapes = {np.shape(f)[0] if np.ndim(f) == 2 else -1 for f in self.mixture.factors}
        if np.ndim(self.mixture.weights) != 1 or shapes != {len(self.mixture.weights)}:
            raise OptionError("a measure has one weight for each product, and a row in every factor")
        if not all(np.isfinite(a).all() and (a >= 0).all() for a in self.arrays):
            raise OptionError("a measure has weights and factors that are finite and not negative")

    @property
    def arrays(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (self.mixture.weights, *self.mixture.factors)

    @cached_property
    def moments(self) -> Moments:
        """What is proved of it, computed once. The space has to be that of the cells."""
        assert isinstance(self.space, Spanned)
        return self.space.moments(self.mixture)


@dataclass(frozen=True, eq=False)
class WeighedQueries(Unlisted):
    """Queries times √d, W diag(√d), of which a number is known that their nuclear norm is not below.

    ``nuclear`` alone takes them. least : that number, or a ball of it.
    """

    space: Space
    least: float | Ball
    arrays: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class RootOfMeasure(Unlisted):
    """√d of a measure, entry by entry; only ``diag`` of it is of use, beside queries."""

    measure: Measure

    @property
    def space(self) -> Space:  # type: ignore[override]
        return self.measure.space

    @property
    def arrays(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.measure.arrays
