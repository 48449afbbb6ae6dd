"""Baselines for marginals: the Fourier queries that they need, and BMAX of the data cube method."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.optimize

from mmopt.numerics.arrays import Array
from mmopt.strategies import MarginalStrategy
from mmopt.strategies.baselines.catalogue_row import Design
from mmopt.strategies.baselines.plain_baselines import OrthonormalRows
from mmopt.strategies.marginals_strategy import volumes
from mmopt.workloads import Dense, Kron, Stack, Workload

Truths = npt.NDArray[np.bool_]

__all__ = [
    "MOST_CANDIDATES",
    "MOST_EXACT_COVERS",
    "asked_marginals",
    "bmax",
    "candidates",
    "datacube",
    "fourier",
    "many_unions",
    "not_marginals",
    "real_fourier",
]

MOST_ATTRIBUTES = 16
"""Of a table with a number for every set of attributes."""

MOST_CANDIDATES = 512
"""Unions of asked marginals among which those to measure are sought."""

MOST_EXACT_COVERS = 128
"""Unions up to which the covers are the smallest ones; above, greedy ones."""


def asked_marginals(workload: Workload) -> list[int] | None:
    """The set of attributes of each product, as a bit mask (bit i: attribute i); None for other workloads.

    Every factor has to be the identity or the total.
    """
    masks = []
    for product in workload.products or ():
        if any(factor.kind not in ("identity", "total") for factor in product.factors):
            return None
        masks.append(sum(1 << i for i, factor in enumerate(product.factors) if factor.kind == "identity"))
    return masks or None


def not_marginals(workload: Workload) -> str | None:
    """Why a baseline for marginals does not apply to a workload; None where it does."""
    if asked_marginals(workload) is None:
        return "the queries are not marginals: products of identities and totals"
    d = len(workload.domain.shape)
    if d > MOST_ATTRIBUTES:
        return f"{d} attributes have 2^{d} marginals; the limit is {MOST_ATTRIBUTES} attributes"
    return None


def many_unions(workload: Workload) -> str | None:
    """Why ``datacube`` does not apply to a workload; None where it does."""
    reason = not_marginals(workload)
    if reason is None and len(candidates(sorted({*(asked_marginals(workload) or ())}))) > MOST_CANDIDATES:
        return f"more than {MOST_CANDIDATES} unions of asked marginals, too many to choose among"
    return reason


def fourier(workload: Workload, norm: int) -> Design:
    """Orthonormal products of Fourier queries, one set for each set of attributes below an asked marginal.

    Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (PODS 2007, §3) take binary attributes and the Hadamard
    basis, equal noise on every coefficient. Here an attribute of any size has ``real_fourier``, which for two
    values is theirs. The rows are orthonormal, and those on the other sets have nothing of what is asked.
    """
    asked = asked_marginals(workload) or []
    sizes = workload.domain.shape
    needed = [mask for mask in range(2 ** len(sizes)) if _is_needed(mask, asked, sizes)]
    parts = [(Dense(basis[:1]), Dense(basis[1:])) for basis in map(real_fourier, sizes)]
    rows = Stack([Kron([own[mask >> i & 1] for i, own in enumerate(parts)]) for mask in needed])
    detail = f"{len(needed)} of {2 ** len(sizes)} sets of attributes"
    return Design(rows, detail, OrthonormalRows())


def _is_needed(mask: int, asked: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a set is within one that is asked; an attribute of one value has the total only."""
    has_rows = all(size > 1 for i, size in enumerate(sizes) if mask >> i & 1)
    return has_rows and any(mask & ~own == 0 for own in asked)


def real_fourier(size: int) -> Array:
    """The real Fourier basis (size, size), orthonormal rows: constant, then cosine and sine by frequency.

    All columns have L2 norm 1. For size 2 it is the Hadamard basis.
    """
    cells = np.arange(size)
    rows = [np.full(size, 1.0 / math.sqrt(size))]
    for k in range(1, (size + 1) // 2):
        angle = 2.0 * math.pi * (k * cells % size) / size
        rows += [np.cos(angle) * math.sqrt(2.0 / size), np.sin(angle) * math.sqrt(2.0 / size)]
    if size % 2 == 0:
        rows.append((1.0 - 2.0 * (cells % 2)) / math.sqrt(size))
    return np.array(rows)


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

    is_greedy = len(candidates(asked)) > MOST_EXACT_COVERS
    names = [_name(mask, [attribute.name for attribute in workload.domain.attributes]) for mask in chosen]
    count = f"{len(names)} marginal{'' if len(names) == 1 else 's'}"
    how = ", by greedy covers" if is_greedy else ""
    return Design(strategy.implicit(), f"{count}{how}: {', '.join(names)}", strategy)


def _name(mask: int, attributes: Sequence[str]) -> str:
    return " × ".join(name for i, name in enumerate(attributes) if mask >> i & 1) or "total"


def bmax(asked: Sequence[int], sizes: Sequence[int], norm: int) -> list[int]:
    """The marginals (bit masks) with the least largest variance of an asked one.

    Answering S from a measured T ⊇ S adds up Π_{i ∈ T \\ S} nᵢ noisy counts; with k marginals measured the
    noise of each has variance k² (norm 1; k under norm 2) per unit of sensitivity. For each largest sum θ in
    question a smallest cover of the asked marginals is found by integer programming, and the best k² θ (k θ)
    is kept: exact. With more than ``MOST_EXACT_COVERS`` candidates the covers are the paper's greedy ones, at
    most 1 + ln (asked marginals) times as large. The unions of asked marginals are candidates enough: of what
    T answers, the union is answered from fewer counts by itself.
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
        cover = _greedy_cover(covers) if len(found) > MOST_EXACT_COVERS else _least_cover(covers)
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
