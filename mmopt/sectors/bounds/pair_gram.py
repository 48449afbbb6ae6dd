"""Queries of at most two attributes under a product measure: K = D^½ WᵀW D^½, by pairs of attributes.

With ⊗ μᵢ as measure every attribute splits into √μᵢ and its complement, and K into sectors {}, {i}, {i, j}.
No product looks at two pairs, so K is an arrow: a low block of size 1 + Σ(dᵢ - 1), and for each pair a block
w Λᵢ ⊗ Λⱼ, diagonal in the eigenvectors of its two factors, that touches {}, {i} and {j} alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import EPS, Array, require_memory
from mmopt.sectors.residual.products_of_few import FewProduct

__all__ = ["PairGram", "PairProduct", "Reduced", "TurnedFactor", "pair_gram"]

LEAST_SHARE = 1e-6
"""Of the trace: eigenvalues below it matter little where no pair says how small they are."""


@dataclass(frozen=True, eq=False)
class TurnedFactor:
    """A factor D^½ G D^½ in its own eigenvectors.

    mean : its entry at √μ. slopes : (c,) between √μ and each vector. values : (c,) at each vector.
    vectors : (d, c), orthonormal, orthogonal to √μ. turn : (c, c) from them to the attribute's basis.
    """

    mean: float
    slopes: Array
    values: Array
    vectors: Array
    turn: Array


@dataclass(frozen=True, eq=False)
class PairProduct:
    """The product on attributes i < j: its weight and two factors."""

    attributes: tuple[int, int]
    weight: float
    factors: tuple[TurnedFactor, TurnedFactor]


@dataclass(frozen=True, eq=False)
class Reduced:
    """Of a symmetric matrix N on all sectors what the mean of b(x)ᵀ N b(x) given one value needs.

    trace : of the whole. slopes : (cᵢ,) an attribute: over sectors T without i entries between T and T ∪ i,
    where the indices in T agree, summed. squares : (cᵢ, cᵢ) an attribute: the same of blocks at T ∪ i.
    """

    trace: float
    slopes: tuple[Array, ...]
    squares: tuple[Array, ...]

    def plus(self, other: Reduced, times: float) -> Reduced:
        """The sum with a multiple of another one."""
        slopes = tuple(a + times * b for a, b in zip(self.slopes, other.slopes, strict=True))
        squares = tuple(a + times * b for a, b in zip(self.squares, other.squares, strict=True))
        return Reduced(self.trace + times * other.trace, slopes, squares)


@dataclass(frozen=True, eq=False)
class PairGram:
    """K under a product measure. bases : (dᵢ, cᵢ) an attribute, the basis of the complement of √μᵢ.

    low : (1 + Σ cᵢ, 1 + Σ cᵢ), the block of {} and the attributes. places : of each attribute in it.
    """

    bases: tuple[Array, ...]
    low: Array
    places: tuple[slice, ...]
    pairs: tuple[PairProduct, ...]

    @property
    def trace(self) -> float:
        """tr K, at least its largest eigenvalue."""
        of_pairs = (p.weight * math.prod(f.values.sum() for f in p.factors) for p in self.pairs)
        return float(self.low.trace()) + math.fsum(of_pairs)

    @property
    def least(self) -> float:
        """The least positive eigenvalue of the pairs' blocks; of none, so much less than the trace."""
        smallest = (
            p.weight
            * math.prod(
                f.values[f.values > EPS * f.values.max(initial=0)].min(initial=np.inf) for f in p.factors
            )
            for p in self.pairs
        )
        return min((value for value in smallest if math.isfinite(value)), default=LEAST_SHARE * self.trace)

    def identity(self) -> Reduced:
        """The identity."""
        counts = np.ones(len(self.places))
        for p in self.pairs:
            i, j = p.attributes
            counts[i] += len(p.factors[1].values)
            counts[j] += len(p.factors[0].values)
        widths = [place.stop - place.start for place in self.places]
        total = len(self.low) + sum(len(p.factors[0].values) * len(p.factors[1].values) for p in self.pairs)
        return Reduced(
            float(total),
            tuple(np.zeros(width) for width in widths),
            tuple(count * np.eye(width) for count, width in zip(counts, widths, strict=True)),
        )

    def whole(self) -> Reduced:
        """K itself."""
        slopes = [self.low[0, place].copy() for place in self.places]
        squares = [self.low[place, place].copy() for place in self.places]
        for p in self.pairs:
            for (i, own), other in zip(
                zip(p.attributes, p.factors, strict=True), reversed(p.factors), strict=True
            ):
                sum_of_others = p.weight * other.values.sum()
                slopes[i] += sum_of_others * (own.turn @ own.slopes)
                squares[i] += sum_of_others * (own.turn * own.values) @ own.turn.T
        return Reduced(self.trace, tuple(slopes), tuple(squares))


def pair_gram(products: Sequence[FewProduct], factors: Sequence[Array]) -> PairGram:
    """K for products of at most two attributes under a product measure, factors (dᵢ,) positive of sum 1.

    Raises
    ------
    WorkloadError : a product of more attributes, or two different products on the same two attributes.
    TooLargeError : a low block beyond the memory limit.
    """
    ends = np.cumsum([1, *(len(factor) - 1 for factor in factors)])
    places = tuple(itertools.starmap(slice, itertools.pairwise(map(int, ends))))
    require_memory((4 * int(ends[-1]), int(ends[-1])), "resolvent of the sectors of no or one attribute")
    known: dict[tuple[int, int], TurnedFactor] = {}
    bases: dict[int, Array] = {}
    pairs: dict[tuple[int, ...], PairProduct] = {}
    low = np.zeros((ends[-1], ends[-1]))
    for product in products:
        for i, gram in zip(product.attributes, product.grams, strict=True):
            if (i, id(gram)) not in known:
                known[i, id(gram)] = _turned(gram, factors[i], bases.get(i))
                bases.setdefault(i, known[i, id(gram)].vectors)
        own = tuple(known[i, id(gram)] for i, gram in zip(product.attributes, product.grams, strict=True))
        _add_low(low, places, product, own)
        if len(own) < 2:
            continue
        if len(own) > 2 or product.attributes in pairs:
            raise WorkloadError(
                f"attributes {', '.join(map(str, product.attributes))} are looked at together, "
                + ("expected two at most" if len(own) > 2 else "by products that differ"),
                hint="this bound takes products of one or two attributes, one for each two of them",
            )
        i, j = product.attributes
        pairs[i, j] = PairProduct((i, j), product.weight, (own[0], own[1]))
    for i, factor in enumerate(factors):
        if i not in bases:  # no query looks at it
            bases[i] = scipy.linalg.null_space(np.sqrt(factor)[None, :])
    return PairGram(tuple(bases[i] for i in range(len(factors))), low, places, tuple(pairs.values()))


def _turned(gram: Array, factor: Array, basis: Array | None) -> TurnedFactor:
    """The factor in its own eigenvectors; these are the basis where there is none yet."""
    root = np.sqrt(factor)
    scaled = root[:, None] * gram * root
    means = scaled @ root
    mean = float(root @ means)
    across = np.multiply.outer(root, means)
    inside = scaled - across - across.T + mean * np.multiply.outer(root, root)
    # The direction √μ itself, of eigenvalue 0, is told from the others by a value below all.
    values, vectors = scipy.linalg.eigh(inside - scaled.trace() * np.multiply.outer(root, root))
    vectors = vectors[:, 1:]
    values = np.maximum(values[1:], 0.0)
    turn = np.eye(len(values)) if basis is None else basis.T @ vectors
    return TurnedFactor(mean, vectors.T @ means, values, vectors, turn)


def _add_low(low: Array, places: Sequence[slice], product: FewProduct, own: Sequence[TurnedFactor]) -> None:
    """Add a product's part of the sectors of no or one attribute."""
    means = [factor.mean for factor in own]
    slopes = [factor.turn @ factor.slopes for factor in own]
    low[0, 0] += product.weight * math.prod(means)
    for at, i in enumerate(product.attributes):
        others = product.weight * math.prod(means[:at] + means[at + 1 :])
        place, turn = places[i], own[at].turn
        low[0, place] += others * slopes[at]
        low[place, 0] += others * slopes[at]
        low[place, place] += others * (turn * own[at].values) @ turn.T
        for before, j in enumerate(product.attributes[:at]):
            rest = product.weight * math.prod(m for k, m in enumerate(means) if k not in (at, before))
            block = rest * np.multiply.outer(slopes[before], slopes[at])
            low[places[j], place] += block
            low[place, places[j]] += block.T
