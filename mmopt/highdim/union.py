"""A union of product strategies (OPT₊ of the slides): which products of the workload go together.

Products that sum over the same attributes start together; then the two groups are joined that cost least by
one strategy for both, down to one group. On the way costs are estimated by strategies in closed form (the
symmetric root of each attribute's Gram matrix); the groupings that look best are then optimised.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from mmopt.highdim.kron import ROUNDS, Block, Descent, Solve, product_strategy
from mmopt.language.numeric import eigh
from mmopt.queries import Strategy, Workload, normalise
from mmopt.queries.product_strategy import ProductStrategy, products_of
from mmopt.queries.union_strategy import UnionStrategy, combined_error, shares

__all__ = ["union_strategy"]

MOST_GROUPS = 12  # compared pair by pair; of more, the two that cost least are joined unseen
TRIED = 2  # groupings that are optimised
TRIAL = 2  # rounds of descent for an estimate
TINY = 1e-12  # of the largest eigenvalue: less counts as zero

Group = tuple[int, ...]


@dataclass
class _Costs:
    """The descent of each group of products that was looked at."""

    workload: Workload
    solve: Solve
    rounds: int = ROUNDS
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
    groupings = sorted(_path(_start(workload), estimates, norm), key=lambda g: estimates.error(g, norm))
    costs = _Costs(workload, solve)
    groups = min(groupings[:TRIED], key=lambda g: costs.error(g, norm))
    done = [costs.of(group) for group in groups]
    if len(done) == 1:
        return done[0].strategy
    split = shares([found.error for found in done], norm)
    scaled = tuple(s * (1.0 - TINY) for s in split)  # so that the sensitivity, rounded upwards, is at most 1
    return UnionStrategy(tuple(found.strategy for found in done), scaled, tuple(groups))


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
