"""A union of product strategies (OPT₊ of the slides), with shares of the sensitivity and means of estimates.

With shares θ_g and errors E_gj of product j under part g at sensitivity 1, and a mean with weights α_gj for
product j, total error is Σ_g Σⱼ wⱼ α_gj² E_gj / θ_g². Its unknowns take turns: each part's strategy, for
the weights wⱼ α_gj² (``product_strategy``); the shares, in closed form; then α_gj ∝ θ_g² / E_gj. With α of
0 and 1 it is OPT₊, whose groups of products are given.

The first groups: products that sum over the same attributes start together; then the two groups are joined
that cost least by one strategy for both, down to one group. Costs on the way are estimated by strategies in
closed form (the symmetric root of each attribute's Gram matrix); the groupings that look best are optimised.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from mmopt.highdim.kron import Block, Descent, Solve, product_strategy
from mmopt.language.numeric import eigh
from mmopt.queries import Strategy, Workload, normalise
from mmopt.queries.arrays import Array
from mmopt.queries.product_strategy import ProductStrategy, products_of
from mmopt.queries.union_strategy import UnionStrategy, combined_error, shares

__all__ = ["union_strategy"]

MOST_GROUPS = 12  # compared pair by pair; of more, the two that cost least are joined unseen
TRIED = 2  # groupings that are optimised
TRIAL = 2  # rounds of descent for an estimate
SETTLED = 1e-4  # a turn that gains less, relatively, is the last
LEAST = 1e-3  # part of a mean below which it is left out
TINY = 1e-12  # of the largest eigenvalue: less counts as zero

Group = tuple[int, ...]


@dataclass
class _Costs:
    """The descent of each group of products that was looked at."""

    workload: Workload
    solve: Solve
    rounds: int
    known: dict[Group, Descent] = field(default_factory=dict)

    def of(self, group: Group) -> Descent:
        if group not in self.known:
            products = products_of(self.workload)
            part = Workload(self.workload.domain, tuple(products[j] for j in group))
            self.known[group] = product_strategy(part, self.solve, rounds=self.rounds)
        return self.known[group]

    def error(self, groups: Sequence[Group], norm: int) -> float:
        return combined_error([self.of(group).error for group in groups], norm)


def union_strategy(workload: Workload, solve: Solve, norm: int) -> UnionStrategy | ProductStrategy:
    """The best union found, of sensitivity at most 1; one product where no union is better.

    Parameters
    ----------
    workload : from products. solve : as for ``product_strategy``. norm : of its strategies.

    Raises
    ------
    OptionError : a workload from a matrix.
    """
    estimates = _Costs(workload, cache(_closed_form), TRIAL)
    path = _path(_start(workload), estimates, norm)
    groupings = sorted(path, key=lambda groups: estimates.error(groups, norm))[:TRIED]
    if len(path[-1]) == 1 and path[-1] not in groupings:
        groupings.append(path[-1])
    found = [_turns(workload, groups, solve, norm) for groups in groupings]
    return min(found, key=lambda strategy: strategy.total_error(workload))


def _turns(
    workload: Workload, groups: Sequence[Group], solve: Solve, norm: int
) -> UnionStrategy | ProductStrategy:
    """Strategies, shares and means by turns from a grouping; the best that comes by."""
    products = products_of(workload)
    weights = np.array([product.weight for product in products])
    means = np.array([[float(j in group) for j in range(len(products))] for group in groups])
    best: tuple[float, UnionStrategy | ProductStrategy] | None = None
    while True:
        parts = [_part(workload, weights * np.square(own), solve) for own in means]
        if len(parts) == 1:
            return parts[0]
        each = np.array([_errors(part, workload) for part in parts])
        used = np.where(means > 0, means, 0.0) ** 2 * weights
        split = shares((used * np.where(used > 0, each, 0.0)).sum(axis=1).tolist(), norm)
        # Scaled so that the sensitivity, rounded upwards, is at most 1.
        strategy = UnionStrategy(tuple(parts), tuple(s * (1.0 - TINY) for s in split), means)
        error = strategy.total_error(workload)
        if best is not None and error > best[0] * (1.0 - SETTLED):
            return min(best, (error, strategy), key=lambda pair: pair[0])[1]
        best = error, strategy
        means = np.square(split)[:, None] / each
        means = np.where(means > LEAST * means.sum(axis=0), means, 0.0)
        means = means[means.any(axis=1)] / means.sum(axis=0)


def _part(workload: Workload, weights: Array, solve: Solve) -> ProductStrategy:
    """One product strategy for the products with these weights, those of weight zero left out."""
    products = zip(products_of(workload), weights.tolist(), strict=True)
    asked = tuple(replace(product, weight=weight) for product, weight in products if weight > 0)
    return product_strategy(Workload(workload.domain, asked), solve).strategy


def _errors(part: ProductStrategy, workload: Workload) -> Array:
    """Total error of each product, unweighted, at sensitivity 1; infinity where it is not supported."""
    alone = [Workload(workload.domain, (replace(p, weight=1.0),)) for p in products_of(workload)]
    return np.array([part.total_error(own) for own in alone])


def _path(groups: list[Group], costs: _Costs, norm: int) -> list[list[Group]]:
    """Groupings from these down to one group of all, one joined pair after the other."""
    found = []
    while True:
        if len(groups) <= MOST_GROUPS:
            found.append(groups)
        if len(groups) == 1:
            return found
        if len(groups) > MOST_GROUPS:
            a, b = sorted(groups, key=lambda group: costs.of(group).error)[:2]
        else:
            pairs = itertools.combinations(groups, 2)
            a, b = min(pairs, key=lambda pair: costs.error(_join(groups, *pair), norm))
        groups = _join(groups, a, b)


def _join(groups: Sequence[Group], a: Group, b: Group) -> list[Group]:
    return [group for group in groups if group not in (a, b)] + [tuple(sorted((*a, *b)))]


def _start(workload: Workload) -> list[Group]:
    """Products by the attributes that they do not sum over."""
    groups: dict[tuple[bool, ...], list[int]] = {}
    for j, product in enumerate(products_of(workload)):
        groups.setdefault(tuple(f.kind != "total" for f in product.factors), []).append(j)
    return [tuple(group) for group in groups.values()]


def _closed_form(workload: Workload) -> Block:
    """A = G^(1/4): the best strategy where its columns are equally long."""
    values, vectors = eigh(workload.root.T @ workload.root)
    kept = values > TINY * values[-1]
    matrix = values[kept][:, None] ** 0.25 * vectors.T[kept]
    return Block(normalise(Strategy(matrix)), np.ones(workload.n))
