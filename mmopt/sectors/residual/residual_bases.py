"""Residual spaces at their best bases: strategies near the optimum over any number of cells.

Where the mean of a query is taken, under the base β of each attribute, decides what sectors have in common
and so what a strategy that is block-diagonal by sectors loses: on prefixes of one and two of ten attributes a
tenth of the error with uniform bases, a few thousandths with the best. The error is (Σ √E_S)² and

    E_S = Σ over products  w Π γ Π tr(Pᵀ G P X⁻),   dγ = 2 (G β)ᵀ dβ,   d tr(Pᵀ G P X⁻) = -2 (G P X⁻ 1)ᵀ dβ

where the strategies X are the best, so that their change does not matter: a smooth problem in Σ dᵢ numbers.
Bases may have negative entries. A bound of the largest squared length stays known in closed form.

Two values have one contrast, whose larger entry is 1: the error has a kink at the uniform base, mostly its
least, where a quasi-Newton method would stop. These bases stay uniform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import scipy.optimize

from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.residual.attribute_design import contrast_gram
from mmopt.sectors.residual.products_of_few import FewProduct, products_of_few
from mmopt.sectors.residual.residual_spaces import ResidualStrategy, strategy_at
from mmopt.workloads import Workload

__all__ = ["best_residual_strategy", "slopes_of_error", "with_best_bases"]

SHARE_OF_TIME = 0.25  # what is left of a time limit, for a search that others start from


class _TimeIsOver(Exception):
    """Leaves the search, whose best strategy is kept."""


def best_residual_strategy(workload: Workload) -> ResidualStrategy:
    """The block-diagonal strategy at the best bases found. Raises as ``residual_strategy``."""
    return with_best_bases(products_of_few(workload), workload.domain.shape)


def with_best_bases(
    products: Sequence[FewProduct],
    sizes: Sequence[int],
    steps: int = 60,
    last: ResidualStrategy | None = None,
) -> ResidualStrategy:
    """The same for products over attributes of these sizes, by steps of L-BFGS-B from uniform bases.

    Under a time limit the search has a share of what is left: where it starts from, or ends, is valid too.

    last : a strategy of products nearby, at whose bases it starts.
    """
    ends = np.cumsum(sizes)[:-1]
    best: list[ResidualStrategy] = []
    least_left = (1.0 - SHARE_OF_TIME) * time_left()

    def loss(free: Array) -> tuple[float, Array]:
        if best and time_left() <= least_left < math.inf:
            raise _TimeIsOver
        bases = tuple(part + (1 - part.sum()) / len(part) for part in np.split(free, ends))
        found = strategy_at(products, bases, best[0] if best else last, is_rough=True)
        if not best or found.error < best[0].error:
            best[:] = [found]
        slopes = [slope - slope.mean() for slope in slopes_of_error(products, found)]
        slopes = [slope if len(slope) > 2 else 0.0 * slope for slope in slopes]
        return math.log(found.error), np.concatenate(slopes) / found.error

    start = np.concatenate([np.full(size, 1 / size) for size in sizes] if last is None else last.bases)
    with suppress(_TimeIsOver):
        scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxfun": steps})
    return best[0]


def slopes_of_error(products: Sequence[FewProduct], strategy: ResidualStrategy) -> tuple[Array, ...]:
    """(dᵢ,) an attribute: the derivative of the error in its base."""
    slopes = tuple(np.zeros(len(base)) for base in strategy.bases)
    spaces = {space.attributes: space for space in strategy.spaces}
    known: dict[tuple[int, int, int], tuple[float, Array]] = {}
    for product in products:
        own = list(enumerate(product.attributes))
        means = [
            known.setdefault((i, id(product.grams[at]), 0), _mean(product.grams[at], strategy.bases[i]))
            for at, i in own
        ]
        for size in range(len(own) + 1):
            for chosen in itertools.combinations(own, size):
                space = spaces.get(tuple(i for _, i in chosen))
                if space is None:
                    continue
                parts = list(means)
                for (at, i), design in zip(chosen, space.designs, strict=True):
                    key = (i, id(product.grams[at]), id(design))
                    if key not in known:
                        known[key] = _cost(product.grams[at], strategy.bases[i], design.inverse)
                    parts[at] = known[key]
                # (Σ √E)² has the derivative Σ √E / √E_S in E_S, one over the sector's share
                factor = product.weight / space.share
                for at, i in own:
                    others = math.prod(value for k, (value, _) in enumerate(parts) if k != at)
                    slopes[i][:] += factor * others * parts[at][1]
    return slopes


def _mean(gram: Array, base: Array) -> tuple[float, Array]:
    """βᵀ G β and its derivative."""
    along = gram @ base
    return float(base @ along), 2 * along


def _cost(gram: Array, base: Array, inverse: Array) -> tuple[float, Array]:
    """tr(Pᵀ G P X⁻) and its derivative in the base."""
    sums = inverse.sum(axis=1)
    slope = -2 * (gram @ (sums - base * sums.sum()))
    return float(np.vdot(contrast_gram(gram, base), inverse)), slope
