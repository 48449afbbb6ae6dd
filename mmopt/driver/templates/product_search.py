"""One product of strategies for a union of products: attribute by attribute, the others held fixed.

For A = A₁ ⊗ … ⊗ A_d the total error at sensitivity 1 is Σⱼ wⱼ ∏ᵢ tr(Gᵢⱼ (AᵢᵀAᵢ)⁻¹), and the sensitivity is
the product of the factors'. With all factors but one fixed it is tr(G (AᵢᵀAᵢ)⁻¹) for one Gram matrix G, the
sum of the Gᵢⱼ with the others' errors as weights: the problem of a single attribute (McKenna, Miklau, Hay,
Machanavajjhala: PVLDB 2018, OPT⊗). The factors take turns until none gets better. For Gaussian noise the
problem of one attribute is convex.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from mmopt.driver.templates.attribute_strategy import Factor, Identities, Rows
from mmopt.driver.templates.union_terms import Terms
from mmopt.errors import OptionError, TooLargeError
from mmopt.limits import time_left
from mmopt.numerics.outward import check_norm
from mmopt.strategies import Strategy
from mmopt.strategies.product_strategy import ProductStrategy, products_of
from mmopt.workloads import Workload

__all__ = ["FEW_FACTORS", "Effort", "product"]

STARTS = 5
FEW_FACTORS = 2**11  # of the products of the workload together, up to which there are several starts
MOST_FACTORS = 2**14  # up to which there is one, of some ten seconds
SETTLED = 1e-5  # a round that improves the error by less is the last


@dataclass(frozen=True)
class Effort:
    """Starts of an attribute's search, at first and once nothing gets better, in later rounds, and rounds."""

    starts: int = 4
    later: int = 1
    rounds: int = 30


THOROUGH = Effort()
KINDS: Mapping[int, type[Factor]] = MappingProxyType({1: Identities, 2: Rows})


def product(
    workload: Workload,
    *,
    norm: int = 1,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float = np.inf,
    effort: Effort = THOROUGH,
) -> ProductStrategy:
    """The best product of strategies found, of sensitivity at most 1, for total error.

    Parameters
    ----------
    workload : a union of products.
    norm : 1 for Laplace noise: the factors are p-identities. 2 for Gaussian noise: any strategies.
    starts : how often the factors begin anew; the best end is kept. By default 5, and once where products
        over many attributes have more than ``FEW_FACTORS`` factors together.
    seed : of the random numbers.
    time_limit : seconds after which no factor is searched any more; ``limits.deadline`` bounds it, too.
    effort : how thorough each search is.

    Raises
    ------
    OptionError : no start, or another norm.
    UnsuitableError : a workload that is no union of products. TooLargeError : one of too many factors.
    """
    if starts is not None and starts < 1:
        raise OptionError(f"'starts' is at least 1, not {starts}")
    check_norm(norm, "the strategy's norm")
    products = products_of(workload)
    attributes = len(workload.domain.shape)
    if (count := len(products) * attributes) > MOST_FACTORS:
        raise TooLargeError(
            f"one product is searched for up to {MOST_FACTORS:,} factors of products, and "
            f"{len(products):,} products over {attributes} attributes have {count:,}",
            hint="solve l2_strategy, which takes queries of few attributes over any number of cells",
        )
    terms = Terms.of(workload)
    if starts is None:
        starts = STARTS if count <= FEW_FACTORS else 1
    end = time.monotonic() + min(time_limit, time_left())
    ends = [_descend(terms, KINDS[norm], effort, seed, number, end) for number in range(starts)]
    factors, _ = min(ends, key=lambda found: found[1])
    matrices = [side.spread(f.matrix()) for side, f in zip(terms.sides, factors, strict=True)]
    return ProductStrategy(tuple(Strategy(matrix, norm) for matrix in matrices))


def _descend(
    terms: Terms, kind: type[Factor], effort: Effort, seed: int, number: int, end: float
) -> tuple[list[Factor], float]:
    """Rounds over the attributes from one start, and the error at their end."""
    rng = np.random.default_rng([seed, number])
    factors = [kind.first(side) for side in terms.sides]
    errors = [f.errors(side) for f, side in zip(factors, terms.sides, strict=True)]
    if number:  # the first start begins with noise on each value, the others as if some queries cost less
        draws = [rng.uniform(0.1, 1.0, len(side.grams))[side.used] for side in terms.sides]
        errors = [e * draw for e, draw in zip(errors, draws, strict=True)]
    before, count = np.inf, effort.starts
    for _ in range(effort.rounds):
        for at in rng.permutation(len(terms.sides)).tolist():
            side = terms.sides[at]
            if time.monotonic() < end and side.size > 1:
                gram = terms.surrogate(errors, at)
                factors[at] = factors[at].improved(side, gram, count, int(rng.integers(2**31)))
            errors[at] = factors[at].errors(side)
        now = float(terms.weights @ np.prod(errors, axis=0))
        is_settled = not now < before * (1.0 - SETTLED)
        if is_settled and count > 1:
            break
        before, count = now, effort.starts if is_settled else effort.later
    return factors, now
