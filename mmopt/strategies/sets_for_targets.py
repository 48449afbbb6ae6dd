"""Strategies by sets of attributes for queries with targets: the largest variance next to its target.

The least of the largest is the largest, over weights of the queries of sum 1, of the least weighted sum
(minimax). Here the weights are products: one number for each product of the workload, and one for each row of
a factor, the same in all products on as many attributes, so that weighted queries are products, too. All are
multiplied by the means of the variances that they weigh, to a power, again and again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mmopt.errors import OptionError
from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.residual.products_of_few import FewProduct
from mmopt.sectors.residual.residual_bases import with_best_bases
from mmopt.strategies.sectorwise_strategy import SectorwiseStrategy
from mmopt.strategies.set_cells import UNSUPPORTED, SetCells, root_trace_of, strategy_by_sets
from mmopt.strategies.strategy_form import normalise
from mmopt.workloads import Implicit, Workload
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["best_for_targets"]

ROUNDS = 20
FIRST_STEPS, STEPS = 40, 6  # of the search for bases, in the first round and in each further one
POWER = 0.9
LEAST_WEIGHT = 1e-9  # of the largest of a factor's rows
SHARE_OF_TIME = 0.3  # of what is left of a time limit

Key = tuple[int, Implicit, int]
"""An attribute, a factor on it, and on how many attributes the product is."""


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Queries with weights: one for each product (P,), and for each row of a factor, of sum 1.

    keys : of the factors of each product, by its attributes.
    """

    workload: Workload
    keys: tuple[tuple[Key, ...], ...]
    of_products: Array
    of_rows: dict[Key, Array]

    @staticmethod
    def evenly(workload: Workload) -> _Weighed:
        """All queries alike."""
        products = workload.products or ()
        keys = tuple(tuple((i, p.factors[i], len(p.looked_at)) for i in p.looked_at) for p in products)
        rows = {key: np.full(key[1].rows, 1.0 / key[1].rows) for own in keys for key in own}
        counts = np.array([float(p.m) for p in products])
        return _Weighed(workload, keys, counts / counts.sum(), rows)

    @property
    def weights(self) -> Iterator[Array]:
        """By product (r₁, r₂, …) the weight of each of its queries."""
        for weight, own in zip(self.of_products, self.keys, strict=True):
            shape = [len(self.of_rows[key]) for key in own]
            yield kron([np.full(1, weight), *(self.of_rows[key] for key in own)]).reshape(shape)

    def products(self) -> list[FewProduct]:
        """The weighted queries."""
        grams = {key: key[1].gram_of_weighted(own) for key, own in self.of_rows.items()}
        each = zip(self.workload.products or (), self.keys, self.of_products, strict=True)
        return [
            FewProduct(tuple(i for i, _, _ in own), tuple(grams[key] for key in own), product.weight * weight)
            for product, own, weight in each
        ]

    def moved(self, variances: Sequence[Array]) -> _Weighed:
        """With more weight where the variances (by product, as ``weights``) are large."""
        sums: dict[Key, list[Array]] = defaultdict(list)
        means = []
        for own, weights, found in zip(self.keys, self.weights, variances, strict=True):
            means.append(float((weights * found).sum() / weights.sum()))
            for axis, key in enumerate(own):
                others = tuple(at for at in range(len(own)) if at != axis)
                sums[key].append(np.stack([(weights * found).sum(axis=others), weights.sum(axis=others)]))
        of_products = self.of_products * np.array(means) ** POWER
        of_rows = {}
        for key, each in sums.items():
            total = np.sum(each, axis=0)
            new = self.of_rows[key] * (total[0] / total[1] / (total[0].sum() / total[1].sum())) ** POWER
            new = np.maximum(new, LEAST_WEIGHT * new.max())
            of_rows[key] = new / new.sum()
        return replace(self, of_products=of_products / of_products.sum(), of_rows=of_rows)


def best_for_targets(workload: Workload) -> SetCells:
    """A strategy by sets whose largest variance is small, as a space.

    workload : each query weighted by one over its target. Weights of the queries and measures that prove a
    good bound come with it. Under a time limit the search has a share of what is left.

    Raises
    ------
    WorkloadError : queries given as a matrix. OptionError : queries too far apart in size.
    TooLargeError : queries of too many attributes, or an attribute beyond the memory limit.
    """
    sizes, least_left = workload.domain.shape, (1.0 - SHARE_OF_TIME) * time_left()
    weighed, last = _Weighed.evenly(workload.weighed), None
    best: tuple[float, SectorwiseStrategy] | None = None
    bound, proof = -1.0, (weighed, tuple[Array, ...]())  # not of the last weights: these get extreme
    for turn in range(ROUNDS):
        products = weighed.products()
        last = with_best_bases(products, sizes, STEPS if turn else FIRST_STEPS, last)
        strategy = normalise(strategy_by_sets(products, sizes, last.bases))
        shapes = [own.shape for own in weighed.weights]
        each = zip(weighed.workload.products or (), shapes, strict=True)
        variances = [p.weight * strategy.product_variances(p).reshape(shape) for p, shape in each]
        largest = max(float(own.max()) for own in variances)
        if not largest < np.inf:  # queries too far apart in size: some are lost in rounding
            break
        if best is None or largest < best[0]:
            best = largest, strategy
        found = root_trace_of(products, sizes, last.measures, 0.0)
        if found > bound:
            bound, proof = found, (weighed, last.measures)
        if turn == ROUNDS - 1 or time_left() <= least_left < math.inf:
            break
        weighed = weighed.moved(variances)
    if best is None:
        raise OptionError(UNSUPPORTED)
    cells = SetCells.of(best[1], workload)
    weights = np.concatenate([own.ravel() for own in proof[0].weights])
    return replace(cells, measures=proof[1], weights=weights)
