"""Groups of products, each with a product strategy of its own and a share of the privacy budget.

With errors E_g of the groups at sensitivity 1 and shares θ_g of sum 1 the total is Σ E_g / θ_g², least for
θ_g ∝ E_g^⅓ (pure privacy), where it is (Σ E_g^⅓)³. Groups come from splitting one in two, again and again, and
then by turns: each group gets its strategy and share, then each product goes to the group that answers it best
(McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018, OPT₊, whose groups are given).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmopt.errors import OptionError
from mmopt.highdim.product import Effort, product
from mmopt.highdim.terms import Terms
from mmopt.queries import Product, UnionStrategy, Workload

__all__ = ["shares_of", "union"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUPS = 4
ROUNDS = 6  # of strategies and groups by turns
WORTH = 1e-3  # a further group that lowers the error by less is not made
QUICK = Effort(first=4, later=2, rounds=2)  # for choosing between groupings


def shares_of(errors: Array) -> Array:
    """The best shares of the budget, of sum 1, for groups with these errors (groups,) at sensitivity 1."""
    roots = np.cbrt(errors)
    return np.asarray(roots / roots.sum())


def union(workload: Workload, groups: int = GROUPS, *, seed: int = 0) -> UnionStrategy:
    """The best union of at most so many products of p-identities found, of L1 sensitivity at most 1.

    One group is split in two as long as that helps: of all ways to tell its products apart by what they ask of
    one attribute, the one that promises most is tried.

    Parameters
    ----------
    workload : a union of products.
    groups : how many parts at most.
    seed : of the random numbers.

    Raises
    ------
    OptionError : no group.
    UnsuitableError : a workload that is no union of products.
    """
    if groups < 1:
        raise OptionError(f"'groups' is at least 1, not {groups}")
    Terms.of(workload)  # says what is wrong with the workload as a whole
    products = workload.products or ()
    best, grouping = _turns(workload, products, np.zeros(len(products), dtype=np.int64), seed)
    while len(best.parts) < groups:
        following = _split(workload, products, grouping, seed)
        if following is None:
            break
        found, settled = _turns(workload, products, following, seed)
        if not found.total_error(workload) < best.total_error(workload) * (1.0 - WORTH):
            break
        best, grouping = found, settled
    return best


def _split(workload: Workload, products: Sequence[Product], grouping: Ints, seed: int) -> Ints | None:
    """The grouping with one group more that promises most; None where no group can be split."""
    known: dict[bytes, float] = {}

    def root(rows: Ints) -> float:
        """The cubic root of the error of a group."""
        if rows.tobytes() not in known:
            part = _part(workload, products, rows)
            strategy = product(part, starts=1, seed=seed, effort=QUICK)
            known[rows.tobytes()] = float(np.cbrt(strategy.total_error(part)))
        return known[rows.tobytes()]

    best: tuple[float, Ints] | None = None
    for g in np.unique(grouping):
        rows = np.flatnonzero(grouping == g)
        for away in _halves(products, rows):
            stay = np.setdiff1d(rows, away)
            gained = root(rows) - root(stay) - root(away)
            if best is None or gained > best[0]:
                following = grouping.copy()
                following[away] = grouping.max() + 1
                best = gained, following
    return None if best is None else best[1]


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
    workload: Workload, products: Sequence[Product], grouping: Ints, seed: int
) -> tuple[UnionStrategy, Ints]:
    """Strategies and groups by turns from a grouping; the best on the way, and its groups."""
    weights = np.array([p.weight for p in products])
    best: tuple[UnionStrategy, Ints] | None = None
    for turn in range(ROUNDS):
        kept = [np.flatnonzero(grouping == g) for g in np.unique(grouping)]
        parts = [product(_part(workload, products, rows), starts=1, seed=seed + turn) for rows in kept]
        each = np.array([part.errors(workload) for part in parts])
        total = np.array([weights[rows] @ e[rows] for rows, e in zip(kept, each, strict=True)])
        shares = shares_of(total)
        strategy = _scaled(UnionStrategy(tuple(parts), shares))
        if best is None or strategy.total_error(workload) < best[0].total_error(workload):
            best = strategy, grouping
        following = np.argmin(each / np.square(shares)[:, None], axis=0)
        if len(kept) == 1 or np.array_equal(following, grouping):
            break
        grouping = following
    assert best is not None
    return best


def _part(workload: Workload, products: Sequence[Product], rows: Ints) -> Workload:
    return Workload.from_products(workload.domain, [products[j] for j in rows])


def _scaled(strategy: UnionStrategy) -> UnionStrategy:
    """Of sensitivity at most 1."""
    while strategy.sensitivity > 1.0:
        strategy = UnionStrategy(strategy.parts, strategy.shares / strategy.sensitivity)
    return strategy
