"""The search for strategies that measure sets of attributes one by one (``set_strategy_and_cells.py``).

For total error it is that for the best bases, and for designs that all sets share
(``sectors.residual_strategies``).

For queries with targets the largest ratio of a variance to its target counts. The least of
the largest is the largest, over weights of the queries of sum 1, of the least weighted sum (minimax). Here
the weights are products: one number for each product of the workload, and one for each row of a factor, the
same in all products on as many attributes, so that weighted queries are products, too. In each round every
weight is multiplied by a power of the mean of the variances that it weighs.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from mmopt.errors import OptionError
from mmopt.limits import time_left
from mmopt.numerics.arrays import Array
from mmopt.sectors.residual_strategies import FewProduct, products_of_few, shared_designs, with_best_bases
from mmopt.sectors.total_error_bounds import root_trace_in_parts
from mmopt.strategies.protocol_and_dense_strategy import normalise
from mmopt.strategies.set_strategy_and_cells import UNSUPPORTED, SetCells, SetStrategy
from mmopt.workloads import Implicit, Workload
from mmopt.workloads.blocks.combined_blocks import kron

#: Eigenvalues of an attribute's strategy below this part of the largest count as zero.
RANK = 1e-10


def best_by_sets(workload: Workload) -> SetCells:
    """A strategy by sets near the least total error, as a space.

    Raises
    ------
    WorkloadError : queries given as a matrix.
    TooLargeError : queries of too many attributes, or an attribute beyond the memory limit.
    """
    products, sizes = products_of_few(workload), workload.domain.shape
    residual = with_best_bases(products, sizes)
    return replace(
        SetCells.of(strategy_by_sets(products, sizes, residual.bases), workload), measures=residual.measures
    )


def strategy_by_sets(
    products: Sequence[FewProduct], sizes: Sequence[int], bases: Sequence[Array]
) -> SetStrategy:
    """The best strategy of a search with the same rows of an attribute in all sets, at bases (dᵢ,) of sum 1.

    Raises
    ------
    TooLargeError : an attribute beyond the memory limit.
    """
    shared = shared_designs(products, bases)
    rows = tuple(
        _rows(shared.designs[i].strategy) if i in shared.designs else np.zeros((0, size))
        for i, size in enumerate(sizes)
    )
    shares = {one: share for one, share in shared.shares.items() if all(len(rows[i]) for i in one)}
    return SetStrategy(rows, tuple(shares), np.sqrt(list(shares.values())))


def _rows(strategy: Array) -> Array:
    """A (r, d) of full row rank with AᵀA = X."""
    values, vectors = scipy.linalg.eigh(strategy)
    kept = values > RANK * max(values[-1], 0.0)
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)


ROUNDS = 20  # of bases and weights of the queries in turn
FIRST_STEPS, STEPS = 40, 6  # of the search for bases, in the first round and in each further one
POWER = 0.9  # of the mean variance, by which a weight is multiplied
LEAST_WEIGHT = 1e-9  # of the largest of a factor's rows
SHARE_OF_TIME = 0.3  # of the rest of a time limit

#: An attribute, a factor on it, and the number of attributes of the product.
FactorKey = tuple[int, Implicit, int]


@dataclass(frozen=True, eq=False)
class _WeightedQueries:
    """Queries with weights: one for each product (P,), and for each row of a factor, of sum 1.

    keys : of the factors of each product, by its attributes. of_products, of_rows : the weights.
    """

    workload: Workload
    keys: tuple[tuple[FactorKey, ...], ...]
    of_products: Array
    of_rows: dict[FactorKey, Array]

    @staticmethod
    def evenly(workload: Workload) -> "_WeightedQueries":
        """The queries with equal weights."""
        products = workload.products or ()
        keys = tuple(tuple((i, p.factors[i], len(p.looked_at)) for i in p.looked_at) for p in products)
        rows = {key: np.full(key[1].rows, 1.0 / key[1].rows) for factors in keys for key in factors}
        counts = np.array([float(p.m) for p in products])
        return _WeightedQueries(workload, keys, counts / counts.sum(), rows)

    @property
    def weights(self) -> Iterator[Array]:
        """The weight of each query, by product (r₁, r₂, …)."""
        for weight, factors in zip(self.of_products, self.keys, strict=True):
            shape = [len(self.of_rows[key]) for key in factors]
            yield kron([np.full(1, weight), *(self.of_rows[key] for key in factors)]).reshape(shape)

    def products(self) -> list[FewProduct]:
        """The weighted queries."""
        grams = {key: key[1].gram_of_weighted(weights) for key, weights in self.of_rows.items()}
        each = zip(self.workload.products or (), self.keys, self.of_products, strict=True)
        return [
            FewProduct(
                tuple(i for i, _, _ in factors), tuple(grams[key] for key in factors), product.weight * weight
            )
            for product, factors, weight in each
        ]

    def moved(self, variances: Sequence[Array]) -> "_WeightedQueries":
        """The queries with more weight where the variances (by product, as ``weights``) are large."""
        sums: dict[FactorKey, list[Array]] = defaultdict(list)
        means = []
        for factors, weights, variance in zip(self.keys, self.weights, variances, strict=True):
            means.append(float((weights * variance).sum() / weights.sum()))
            for axis, key in enumerate(factors):
                others = tuple(at for at in range(len(factors)) if at != axis)
                sums[key].append(np.stack([(weights * variance).sum(axis=others), weights.sum(axis=others)]))
        of_products = self.of_products * np.array(means) ** POWER
        of_rows = {}
        for key, each in sums.items():
            total = np.sum(each, axis=0)
            new = self.of_rows[key] * (total[0] / total[1] / (total[0].sum() / total[1].sum())) ** POWER
            new = np.maximum(new, LEAST_WEIGHT * new.max())
            of_rows[key] = new / new.sum()
        return replace(self, of_products=of_products / of_products.sum(), of_rows=of_rows)


def best_for_targets(workload: Workload) -> SetCells:
    """A strategy by sets with a small largest variance, as a space.

    workload : each query weighted by one over its target. The space has weights of the queries and
    measures that prove a good bound. Under a time limit the search has a share of the rest.

    Raises
    ------
    WorkloadError : queries given as a matrix. OptionError : queries too far apart in size.
    TooLargeError : queries of too many attributes, or an attribute beyond the memory limit.
    """
    sizes, least_left = workload.domain.shape, (1.0 - SHARE_OF_TIME) * time_left()
    weighed, last = _WeightedQueries.evenly(workload.weighed), None
    best: tuple[float, SetStrategy] | None = None
    bound, proof = -1.0, (weighed, tuple[Array, ...]())  # not of the last weights: these become extreme
    for turn in range(ROUNDS):
        products = weighed.products()
        last = with_best_bases(products, sizes, STEPS if turn else FIRST_STEPS, last)
        strategy = normalise(strategy_by_sets(products, sizes, last.bases))
        variances = [
            product.weight * strategy.product_variances(product).reshape(weights.shape)
            for product, weights in zip(weighed.workload.products or (), weighed.weights, strict=True)
        ]
        largest = max(float(one.max()) for one in variances)
        if not largest < np.inf:  # queries too far apart in size: some are lost in rounding
            break
        if best is None or largest < best[0]:
            best = largest, strategy
        trace = root_trace_in_parts(products, sizes, last.measures, 0.0)
        if trace > bound:
            bound, proof = trace, (weighed, last.measures)
        if turn == ROUNDS - 1 or time_left() <= least_left < math.inf:
            break
        weighed = weighed.moved(variances)
    if best is None:
        raise OptionError(UNSUPPORTED)
    cells = SetCells.of(best[1], workload)
    weights = np.concatenate([one.ravel() for one in proof[0].weights])
    return replace(cells, measures=proof[1], weights=weights)
