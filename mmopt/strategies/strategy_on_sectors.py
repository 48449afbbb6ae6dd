"""A strategy on the row space of few attributes, as a program has it; its longest column is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mmopt.numerics.arrays import EPS
from mmopt.numerics.balls import gamma
from mmopt.numerics.outward import root_up
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.sector_cells import SectorCells
from mmopt.strategies.measured_parts import measured_parts
from mmopt.strategies.sector_strategy import SectorStrategy
from mmopt.strategies.sectorwise_strategy import SectorwiseStrategy
from mmopt.strategies.set_cells import SetCells

__all__ = ["strategy_on"]


def strategy_on(factor: Split) -> SectorStrategy | SectorwiseStrategy:
    """The strategy with the matrix ``factor``, from any rows to ``SectorCells`` or ``SetCells``.

    The squared column ‖C b‖² is the profile of CᵀC, which is rounded by γ |C|ᵀ |C|.
    """
    cells = factor.columns
    if isinstance(cells, SetCells):
        return replace(cells.unit, weights=np.array([float(np.linalg.norm(part)) for part in factor.parts]))
    assert isinstance(cells, SectorCells)
    found = measured_parts(cells.rows, factor.parts)
    size = max(float(np.linalg.norm(part)) ** 2 for part in factor.parts)
    rows = max(map(len, factor.parts))
    off = (gamma(rows + 2) * size + found.added) * cells.longest
    square = cells.largest_entry([part.T @ part for part in factor.parts]) + off
    largest = float(root_up(square * (1 + 4 * EPS)))
    return SectorStrategy(found.layout, found.core, largest, rests=found.rests)
