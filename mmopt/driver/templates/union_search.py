"""Several product strategies side by side, each with a share of the privacy budget.

Let θ_g be the shares, of sum 1 (of squares of sum 1 for Gaussian noise), and E_gj the error of product j by
part g at sensitivity 1. Product j is answered by a mean of what the parts say, with weights α_gj of sum 1:
the total is Σ_g Σⱼ wⱼ α_gj² E_gj / θ_g². Its three unknowns take turns, the others fixed: the part's strategy
for the weights wⱼ α_gj² (``product``), then θ_g ∝ (Σⱼ wⱼ α_gj² E_gj)^⅓ (or ^¼), then α_gj ∝ θ_g² / E_gj.
With α of 0 and 1 this is OPT₊ (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018), whose groups are given.

Turns begin with groups: one is split in two as long as that helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter

import numpy as np

from mmopt.driver.templates.product_search import FEW_FACTORS, Effort, product
from mmopt.driver.templates.union_terms import Terms
from mmopt.errors import OptionError, TooLargeError
from mmopt.limits import time_left
from mmopt.numerics.split_arrays import Array, Ints
from mmopt.strategies.union_strategy import UnionStrategy
from mmopt.workloads import Product, Workload

__all__ = ["shares_of", "union"]


GROUPS = 4
ROUNDS = 12  # of strategies, shares and means by turns
SETTLED = 1e-3  # a round that lowers the error by less is the last
LEAST = 1e-3  # part of a mean below which it is left out
WORTH = 1e-3  # a further group that lowers the error by less is not made
QUICK = Effort(starts=2, later=2, rounds=2)  # for choosing between groupings


def shares_of(errors: Array, norm: int = 1) -> Array:
    """The best shares of the budget, of norm 1, for groups with these errors (groups,) at sensitivity 1.

    They make Σ errors / shares² least: (Σ errors^⅓)³ for norm 1, (Σ errors^½)² for norm 2. Equal ones where
    a group has no finite error yet: queries of next to no weight may lie beyond what one product measures.
    """
    roots = (errors if np.isfinite(errors).all() else np.ones_like(errors)) ** (1.0 / (2 + norm))
    return np.asarray(roots / np.linalg.norm(roots, norm))


def union(workload: Workload, groups: int = GROUPS, *, norm: int = 1, seed: int = 0) -> UnionStrategy:
    """The best union of at most so many products of strategies found, of sensitivity at most 1.

    A group is split in two as long as that helps: of all ways to tell its products apart by what they ask
    of one attribute, the one that promises most is tried.

    Parameters
    ----------
    workload : a union of products.
    groups : how many parts at most.
    norm : as for ``product``.
    seed : of the random numbers.

    Raises
    ------
    OptionError : no group, or another norm.
    UnsuitableError : a workload that is no union of products. TooLargeError : one of too many factors.
    """
    if groups < 1:
        raise OptionError(f"'groups' is at least 1, not {groups}")
    Terms.of(workload)  # says what is wrong with the workload as a whole
    workload = workload.weighed  # only total error matters here
    products = workload.products or ()
    if (count := len(products) * len(workload.domain.shape)) > FEW_FACTORS:
        raise TooLargeError(
            f"a union is searched for up to {FEW_FACTORS:,} factors of products, and {len(products):,} "
            f"products over {len(workload.domain.shape)} attributes have {count:,}"
        )
    best, grouping = _turns(workload, products, np.zeros(len(products), dtype=np.int64), norm, seed)
    while len(best.parts) < groups and time_left() > 0:
        following = _split(workload, products, grouping, norm, seed)
        if following is None:
            break
        found, settled = _turns(workload, products, following, norm, seed)
        if not found.total_error(workload) < best.total_error(workload) * (1.0 - WORTH):
            break
        best, grouping = found, settled
    return best


def _split(
    workload: Workload, products: Sequence[Product], grouping: Ints, norm: int, seed: int
) -> Ints | None:
    """The grouping with one group more that promises most; None where none promises less error."""

    @cache
    def root(rows: tuple[int, ...]) -> float:
        """What a group adds to the root of the total error: that of its error, cubic or square."""
        part = Workload.from_products(workload.domain, [products[j] for j in rows])
        strategy = product(part, norm=norm, starts=1, seed=seed, effort=QUICK)
        return float(strategy.total_error(part) ** (norm / (2 + norm)))

    ways: list[tuple[float, Ints]] = []
    for g in np.unique(grouping):
        rows = np.flatnonzero(grouping == g)
        for away in _halves(products, rows):
            stay = np.setdiff1d(rows, away)
            gain = root(tuple(rows)) - root(tuple(stay)) - root(tuple(away))
            if not gain <= 0:  # of no number where neither is measured yet
                ways.append((gain, away))
    if not ways:
        return None
    _, away = max(ways, key=itemgetter(0))
    following = grouping.copy()
    following[away] = grouping.max() + 1
    return following


def _halves(products: Sequence[Product], rows: Ints) -> list[Ints]:
    """Parts of these products, each told from the rest by what it asks of one attribute."""
    found: dict[bytes, Ints] = {}
    for at in range(len(products[0].factors)):
        asked = [products[j].factors[at] for j in rows]
        order = sorted(dict.fromkeys(asked), key=lambda factor: factor.rows)
        for cut in range(1, len(order)):
            away = rows[[factor in order[cut:] for factor in asked]]
            found[away.tobytes()] = away
    return list(found.values())


def _turns(
    workload: Workload, products: Sequence[Product], grouping: Ints, norm: int, seed: int
) -> tuple[UnionStrategy, Ints]:
    """Strategies, shares and means by turns from a grouping; the best, and which part counts most in it."""
    weights = np.array([p.weight for p in products])
    means = (np.unique(grouping)[:, None] == grouping).astype(float)
    ends: list[tuple[float, UnionStrategy, Ints]] = []
    before = np.inf
    for turn in range(ROUNDS):
        means = means[means.any(axis=1)]
        asked = [weights * np.square(own) for own in means]
        parts = [
            product(_part(workload, products, own), norm=norm, starts=1, seed=seed + turn) for own in asked
        ]
        each = np.array([part.errors(workload) for part in parts])
        used = np.where(means > 0, each, 0.0)
        shares = shares_of(np.array([own @ e for own, e in zip(asked, used, strict=True)]), norm)
        strategy = UnionStrategy(tuple(parts), tuple(shares.tolist()))
        while strategy.sensitivity > 1.0:
            strategy = strategy.divided(strategy.sensitivity)
        error = strategy.total_error(workload)
        means = np.square(shares)[:, None] / each
        means = np.where(means > LEAST * means.sum(axis=0), means, 0.0)
        means /= np.maximum(means.sum(axis=0), np.finfo(float).tiny)
        ends.append((error, strategy, np.argmax(means, axis=0)))
        if len(parts) == 1 or error > before * (1.0 - SETTLED):
            break
        before = error
    _, best, grouping = min(ends, key=itemgetter(0))
    return best, grouping


def _part(workload: Workload, products: Sequence[Product], weights: Array) -> Workload:
    """The products with these weights, without those of weight zero."""
    kept = [replace(p, weight=float(w)) for p, w in zip(products, weights, strict=True) if w > 0]
    return Workload.from_products(workload.domain, kept)
