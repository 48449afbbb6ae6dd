"""The Fourier basis for marginals, without the queries that no marginal needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.strategies.baselines.asked import asked_marginals
from mmopt.strategies.baselines.design import Design
from mmopt.strategies.marginals import energies
from mmopt.workloads.blocks.kron import Kron, Stack
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.workload import Workload

__all__ = ["fourier", "real_fourier"]


def fourier(workload: Workload, norm: int) -> Design:
    """Orthonormal products of Fourier queries, one set for each set of attributes below an asked marginal.

    Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (PODS 2007, §3) take binary attributes and the Hadamard
    basis, equal noise on every coefficient. Here an attribute of any size has ``real_fourier``, which for two
    values is theirs. The rows are orthonormal, so the error is Σ tr(G Π_T) over the sets T that are measured.
    """
    asked = asked_marginals(workload) or []
    sizes = workload.domain.shape
    needed = [mask for mask in range(2 ** len(sizes)) if _is_needed(mask, asked, sizes)]
    bases = [real_fourier(size) for size in sizes]
    parts = [(Dense(basis[:1]), Dense(basis[1:])) for basis in bases]
    rows = Stack([Kron([own[mask >> i & 1] for i, own in enumerate(parts)]) for mask in needed])

    def own_error(workload: Workload) -> float | None:
        if workload.products is None:
            return None
        found = energies(workload)
        others = np.delete(found, needed)
        return math.inf if others.any() else math.fsum(found[needed])

    def own_variances(workload: Workload) -> Array | None:
        """Orthonormal rows that determine a query have its length for a variance."""
        if workload.products is None or np.delete(energies(workload), needed).any():
            return None
        require_memory((workload.m,), "list of the queries' variances")
        return workload.squared_norms()

    return Design(rows, f"{len(needed)} of {2 ** len(sizes)} sets of attributes", own_error, own_variances)


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
