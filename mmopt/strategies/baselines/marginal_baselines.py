"""Baselines for marginals: the Fourier queries that they need, and BMAX of the data cube method."""

import math
from collections.abc import Sequence

import numpy as np
import scipy.optimize

from mmopt.numerics.arrays import Array
from mmopt.strategies import MarginalStrategy
from mmopt.strategies.baselines.baseline_design import BaselineDesign, OrthonormalRows
from mmopt.strategies.marginal_strategy import volumes
from mmopt.workloads import Dense, Kron, Stack, Workload

Truths = np.typing.NDArray[np.bool_]


MOST_OF_MARGINALS = 16
"""The most attributes of a table with a number for every set of them."""

MOST_CANDIDATES = 512
"""The most unions of requested marginals in the search for those to measure."""

MOST_EXACT_COVERS = 128
"""Unions up to which the covers are the smallest ones; above, greedy ones."""


def marginal_masks(workload: Workload) -> list[int] | None:
    """The set of attributes of each product, as a bit mask (bit i: attribute i); None for other workloads.

    Every factor has to be the identity or the total.
    """
    kinds = [[factor.kind for factor in product.factors] for product in workload.products or ()]
    if not all(kind in ("identity", "total") for each in kinds for kind in each):
        return None
    return [sum(1 << i for i, kind in enumerate(each) if kind == "identity") for each in kinds] or None


def why_not_marginals(workload: Workload) -> str | None:
    """Why a baseline for marginals does not apply to a workload; None where it does."""
    if marginal_masks(workload) is None:
        return "the queries are not marginals: products of identities and totals"
    d = len(workload.domain.shape)
    if d > MOST_OF_MARGINALS:
        return f"{d} attributes have 2^{d} marginals; the limit is {MOST_OF_MARGINALS} attributes"
    return None


def why_not_datacube(workload: Workload) -> str | None:
    """Why ``datacube`` does not apply to a workload; None where it does."""
    reason = why_not_marginals(workload)
    if reason is None and len(candidates(sorted({*(marginal_masks(workload) or ())}))) > MOST_CANDIDATES:
        return f"more than {MOST_CANDIDATES} unions of asked marginals, too many to choose among"
    return reason


def fourier(workload: Workload, norm: int) -> BaselineDesign:
    """Orthonormal products of Fourier queries, one set for each set of attributes below a requested marginal.

    Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (PODS 2007, §3) take binary attributes and the Hadamard
    basis, equal noise on every coefficient. Here an attribute of any size has ``real_fourier``, which for two
    values is theirs. The rows are orthonormal, and those on the other sets are orthogonal to the queries.
    """
    requested = marginal_masks(workload) or []
    sizes = workload.domain.shape
    needed = [mask for mask in range(2 ** len(sizes)) if _is_needed(mask, requested, sizes)]
    parts = [(Dense(basis[:1]), Dense(basis[1:])) for basis in map(real_fourier, sizes)]
    rows = Stack([Kron([part[mask >> i & 1] for i, part in enumerate(parts)]) for mask in needed])
    detail = f"{len(needed)} of {2 ** len(sizes)} sets of attributes"
    return BaselineDesign(rows, detail, OrthonormalRows())


def _is_needed(mask: int, requested: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a set is within a requested one; an attribute of one value has the total only."""
    has_rows = all(size > 1 for i, size in enumerate(sizes) if mask >> i & 1)
    return has_rows and any(mask & ~other == 0 for other in requested)


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


def datacube(workload: Workload, norm: int) -> BaselineDesign:
    """The marginals of ``bmax``, each measured once, all with the same noise.

    Ding, Winslett, Han, Li (SIGMOD 2011, §4). They answer each marginal from one measured marginal and may
    then make all consistent; here least squares over all measured ones answer, which is never worse.
    """
    sizes = workload.domain.shape
    requested = sorted(set(marginal_masks(workload) or ()))
    chosen = bmax(requested, sizes, norm)
    weights = np.zeros(2 ** len(sizes))
    weights[chosen] = 1.0
    strategy = MarginalStrategy(sizes, weights, norm)

    names = [_name(mask, [attribute.name for attribute in workload.domain.attributes]) for mask in chosen]
    count = f"{len(names)} marginal{'' if len(names) == 1 else 's'}"
    how = ", by greedy covers" if len(candidates(requested)) > MOST_EXACT_COVERS else ""
    return BaselineDesign(strategy.implicit(), f"{count}{how}: {', '.join(names)}", strategy)


def _name(mask: int, attributes: Sequence[str]) -> str:
    """A marginal in words."""
    return " × ".join(name for i, name in enumerate(attributes) if mask >> i & 1) or "total"


def bmax(requested: Sequence[int], sizes: Sequence[int], norm: int) -> list[int]:
    """The marginals (bit masks) with the least largest variance of a requested one.

    Answering S from a measured T ⊇ S adds up Π_{i ∈ T \\ S} nᵢ noisy counts; with k marginals measured the
    noise of each has variance k² (norm 1; k under norm 2) per unit of sensitivity. For each possible largest
    sum θ integer programming gives a smallest cover of the requested marginals, and the best k² θ (k θ)
    is kept: exact. With more than ``MOST_EXACT_COVERS`` candidates the covers are the paper's greedy ones, at
    most 1 + ln (requested marginals) times as large. The unions of requested marginals are enough candidates:
    the union of the marginals that T answers answers them from fewer counts.
    """
    unions = candidates(requested)
    cells = volumes(sizes)
    sums = np.array([[cells[s] / cells[t] if s & ~t == 0 else math.inf for t in unions] for s in requested])
    best, chosen = math.inf, list(requested)
    for limit in np.unique(sums[np.isfinite(sums)]):
        most = math.sqrt(best / limit) if norm == 1 else best / limit  # marginals, to be any better
        if most <= 1:
            break
        covers = sums <= limit
        if len(requested) / covers.sum(axis=0).max() >= most:
            continue  # too many even of the widest ones
        cover = _greedy_cover(covers) if len(unions) > MOST_EXACT_COVERS else _least_cover(covers)
        cost = float(limit) * len(cover) ** (2 if norm == 1 else 1)
        if cost < best:
            best, chosen = cost, [unions[at] for at in cover]
    return sorted(chosen)


def candidates(requested: Sequence[int]) -> list[int]:
    """All unions of requested marginals; the list ends when it has more than ``MOST_CANDIDATES``."""
    unions: set[int] = set()
    for mask in requested:
        unions |= {mask} | {mask | other for other in unions}
        if len(unions) > MOST_CANDIDATES:
            break
    return sorted(unions)


def _least_cover(covers: Truths) -> list[int]:
    """The fewest columns of which at least one is true in every row."""
    _, count = covers.shape
    result = scipy.optimize.milp(
        np.ones(count),
        integrality=np.ones(count),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=scipy.optimize.LinearConstraint(covers.astype(np.float64), lb=1),
    )
    return np.flatnonzero(result.x > 0.5).tolist()


def _greedy_cover(covers: Truths) -> list[int]:
    """A cover by the column that is true in most of the rows left, step by step; the first of equals."""
    left = np.ones(len(covers), dtype=bool)
    chosen = []
    while left.any():
        chosen.append(int(np.argmax(covers[left].sum(axis=0))))
        left &= ~covers[:, chosen[-1]]
    return chosen
