"""The Haar wavelet with Privelet's weights, one per attribute."""

from __future__ import annotations

from mmopt.numerics.arrays import require_memory
from mmopt.strategies.baselines.design import Design, by_attribute
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.blocks.matrices import Dense
from mmopt.workloads.blocks.trees import Haar
from mmopt.workloads.workload import Workload

__all__ = ["wavelet"]


def wavelet(workload: Workload, norm: int) -> Design:
    """The Kronecker product of one Haar wavelet per attribute (Xiao, Wang, Gehrke: ICDE 2010, §IV and VI).

    Privelet's coefficient of a block is half the difference of the averages of its halves; times Privelet's
    weight, the block's length, it is the difference of the sums: so equal noise on the rows with entries -1,
    0 and 1 is Privelet's noise (PODS 2010, Proposition E.43). An attribute whose size is no power of two is
    filled up with empty cells, that is, columns are dropped: rows that only split empty cells are left out,
    and a cell whose partners are empty is measured at each of those levels, as Privelet does.
    """
    return by_attribute([_block(size) for size in workload.domain.shape])


def _block(size: int) -> Implicit:
    filled = 1 << (size - 1).bit_length()
    if filled == size:
        return Haar(size)
    require_memory((filled, filled), "wavelet")
    rows = Haar(filled).matrix()[:, :size]
    return Dense(rows[rows.any(axis=1)])
