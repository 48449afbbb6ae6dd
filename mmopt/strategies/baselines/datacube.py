"""The marginals to measure for asked marginals: BMAX of the data cube method."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.optimize

from mmopt.numerics.arrays import Array
from mmopt.strategies.baselines.asked import asked_marginals
from mmopt.strategies.baselines.design import Design
from mmopt.strategies.marginals import MarginalStrategy, volumes
from mmopt.workloads.workload import Workload

Truths = npt.NDArray[np.bool_]

__all__ = ["MOST_CANDIDATES", "MOST_EXACT", "bmax", "candidates", "datacube"]

MOST_CANDIDATES = 512
"""Unions of asked marginals among which those to measure are sought."""

MOST_EXACT = 128
"""Unions up to which the covers are the smallest ones; above, greedy ones."""


def datacube(workload: Workload, norm: int) -> Design:
    """The marginals of ``bmax``, each measured once, all with the same noise.

    Ding, Winslett, Han, Li (SIGMOD 2011, §4). They answer each marginal from one measured marginal and may
    then make all consistent; here least squares over all measured ones answer, which is never worse.
    """
    sizes = workload.domain.shape
    asked = sorted(set(asked_marginals(workload) or ()))
    chosen = bmax(asked, sizes, norm)
    weights = np.zeros(2 ** len(sizes))
    weights[chosen] = 1.0
    strategy = MarginalStrategy(sizes, weights, norm)

    def own_error(workload: Workload) -> float | None:
        return None if workload.products is None else strategy.total_error(workload) / strategy.sensitivity**2

    def own_variances(workload: Workload) -> Array | None:
        return None if workload.products is None else strategy.variances(workload)

    is_greedy = len(candidates(asked)) > MOST_EXACT
    names = [_name(mask, [attribute.name for attribute in workload.domain.attributes]) for mask in chosen]
    count = f"{len(names)} marginal{'' if len(names) == 1 else 's'}"
    how = ", by greedy covers" if is_greedy else ""
    return Design(strategy.implicit(), f"{count}{how}: {', '.join(names)}", own_error, own_variances)


def _name(mask: int, attributes: Sequence[str]) -> str:
    return " × ".join(name for i, name in enumerate(attributes) if mask >> i & 1) or "total"


def bmax(asked: Sequence[int], sizes: Sequence[int], norm: int) -> list[int]:
    """The marginals (bit masks) with the least largest variance of an asked one.

    Answering S from a measured T ⊇ S adds up Π_{i ∈ T \\ S} nᵢ noisy counts; with k marginals measured the
    noise of each has variance k² (norm 1; k under norm 2) per unit of sensitivity. For each largest sum θ in
    question a smallest cover of the asked marginals is found by integer programming, and the best k² θ (k θ)
    is kept: exact. With more than ``MOST_EXACT`` candidates the covers are the paper's greedy ones, at most
    1 + ln (asked marginals) times as large. The unions of asked marginals are candidates enough: of what T
    answers, the union is answered from fewer counts by itself.
    """
    found = candidates(asked)
    cells = volumes(sizes)
    sums = np.array([[cells[s] / cells[t] if s & ~t == 0 else math.inf for t in found] for s in asked])
    best, chosen = math.inf, list(asked)
    for limit in np.unique(sums[np.isfinite(sums)]):
        most = math.sqrt(best / limit) if norm == 1 else best / limit  # marginals, to be any better
        if most <= 1:
            break
        covers = sums <= limit
        if len(asked) / covers.sum(axis=0).max() >= most:
            continue  # even the widest ones are too many
        cover = _greedy_cover(covers) if len(found) > MOST_EXACT else _least_cover(covers)
        cost = float(limit) * len(cover) ** (2 if norm == 1 else 1)
        if cost < best:
            best, chosen = cost, [found[at] for at in cover]
    return sorted(chosen)


def candidates(asked: Sequence[int]) -> list[int]:
    """All unions of asked marginals; more than ``MOST_CANDIDATES`` end the list there."""
    found: set[int] = set()
    for mask in asked:
        found |= {mask} | {mask | other for other in found}
        if len(found) > MOST_CANDIDATES:
            break
    return sorted(found)


def _least_cover(covers: Truths) -> list[int]:
    """Columns, as few as can be, of which one at least is true in every row."""
    _, count = covers.shape
    found = scipy.optimize.milp(
        np.ones(count),
        integrality=np.ones(count),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=scipy.optimize.LinearConstraint(covers.astype(np.float64), lb=1),
    )
    return np.flatnonzero(found.x > 0.5).tolist()


def _greedy_cover(covers: Truths) -> list[int]:
    """The same, each time the column that is true in most of the rows that are left; the first of equals."""
    left = np.ones(len(covers), dtype=bool)
    chosen = []
    while left.any():
        chosen.append(int(np.argmax(covers[left].sum(axis=0))))
        left &= ~covers[:, chosen[-1]]
    return chosen
