"""One product of strategies for a union of products: attribute by attribute, the others held fixed.

For A = A₁ ⊗ … ⊗ A_d the total error at sensitivity 1 is Σⱼ wⱼ ∏ᵢ tr(Gᵢⱼ (AᵢᵀAᵢ)⁻¹), and the sensitivity is
the product of the factors'. With all factors but one fixed it is tr(G (AᵢᵀAᵢ)⁻¹) for one Gram matrix G, the
sum of the Gᵢⱼ with the others' errors as weights: the problem of a single attribute (McKenna, Miklau, Hay,
Machanavajjhala: PVLDB 2018, OPT⊗). The factors take turns until none gets better.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmopt.errors import OptionError
from mmopt.highdim.terms import Side, Terms
from mmopt.queries import ProductStrategy, Workload
from mmopt.solvers.p_identity import Start, search

__all__ = ["Effort", "product"]

Array = NDArray[np.float64]

STARTS = 5
SETTLED = 1e-5  # a round that improves the error by less is the last


@dataclass(frozen=True)
class Effort:
    """Starts of an attribute's search in the first round and in later ones, and rounds of all."""

    first: int = 9
    later: int = 4
    rounds: int = 30


THOROUGH = Effort()


@dataclass(frozen=True)
class _Factor:
    """Θ (k, r) over the merged values of an attribute."""

    theta: Array

    def matrix(self) -> Array:
        """[I; Θ] with each column divided by its sum; rows of zeros are left out."""
        used = self.theta[self.theta.any(axis=1)]
        whole = np.vstack([np.eye(self.theta.shape[1]), used])
        return np.asarray(whole / whole.sum(axis=0))

    def errors(self, side: Side) -> Array:
        """tr(G (AᵀA)⁻¹) for every product, (products,)."""
        inverse = np.linalg.pinv(self.matrix())
        each = [float(np.sum((gram @ inverse) * inverse)) for gram in side.grams]
        return np.array(each)[side.used]


def product(
    workload: Workload,
    *,
    starts: int = STARTS,
    seed: int = 0,
    time_limit: float = np.inf,
    effort: Effort = THOROUGH,
) -> ProductStrategy:
    """The best product of p-identities found, of L1 sensitivity at most 1, for total error.

    Parameters
    ----------
    workload : a union of products.
    starts : how often the factors begin anew; the best end is kept.
    seed : of the random numbers.
    time_limit : seconds after which no factor is searched any more.
    effort : how thorough each search is.

    Raises
    ------
    OptionError : no start.
    UnsuitableError : a workload that is no union of products.
    """
    if starts < 1:
        raise OptionError(f"'starts' is at least 1, not {starts}")
    terms = Terms.of(workload)
    end = time.monotonic() + time_limit
    ends = [_descend(terms, effort, seed, number, end) for number in range(starts)]
    factors, _ = min(ends, key=lambda found: found[1])
    matrices = [side.spread(f.matrix()) for side, f in zip(terms.sides, factors, strict=True)]
    return ProductStrategy(tuple(matrices), 1)


def _descend(terms: Terms, effort: Effort, seed: int, number: int, end: float) -> tuple[list[_Factor], float]:
    """Rounds over the attributes from one start, and the error at their end."""
    rng = np.random.default_rng([seed, number])
    factors = [_Factor(np.zeros((1, side.size))) for side in terms.sides]
    errors = [f.errors(side) for f, side in zip(factors, terms.sides, strict=True)]
    if number:  # the first start begins with noise on each value, the others as if some queries cost less
        draws = [rng.uniform(0.1, 1.0, len(side.grams))[side.used] for side in terms.sides]
        errors = [e * draw for e, draw in zip(errors, draws, strict=True)]
    before = np.inf
    for turn in range(effort.rounds):
        for at in rng.permutation(len(terms.sides)).tolist():
            side = terms.sides[at]
            if time.monotonic() < end and side.size > 1:
                count = effort.first if turn == 0 else effort.later
                factors[at] = _improved(terms, errors, at, factors[at], count, int(rng.integers(2**31)))
            errors[at] = factors[at].errors(side)
        now = float(terms.weights @ np.prod(errors, axis=0))
        if not now < before * (1.0 - SETTLED):
            break
        before = now
    return factors, now


def _improved(
    terms: Terms, errors: Sequence[Array], at: int, known: _Factor, count: int, seed: int
) -> _Factor:
    """The factor that a search finds, the known one being its first start."""
    side = terms.sides[at]
    gram = terms.surrogate(errors, at)
    most = max(1, side.size // 2, len(known.theta))
    first = (Start("known", known.theta),)
    *_, found = search(gram, most, queries=side.queries, count=count, seed=seed, first=first)
    return _Factor(found.rows)
