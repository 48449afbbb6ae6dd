"""Queries of few of many attributes: a program in the space of the queries, neither cells nor orbits listed.

Theorem. Let W = R B, the rows of B functions of the cells that span the queries, and X ≻ 0 any strategy. Then
N = (B X⁻¹ Bᵀ)⁻¹ has Bᵀ N B ⪯ X, so that no column is longer, and R N⁻¹ Rᵀ = W X⁻¹ Wᵀ, so that no query's
variance is another (Schur complements; of a singular X by X + εI). Nothing is lost by strategies Bᵀ N B, and
multipliers d of the cells enter a bound by their moments B diag(d) Bᵀ alone. With values or attributes that
can be swapped B splits into components besides. Which programs are looked at so is what kernels claim.

As ``split_by_symmetry`` it leaves the workload as it is and changes what stands for its arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.reductions.split_by_symmetry import SECTOR_TOTALS, TARGET_SOURCES, obstacle
from mmopt.language import Checked
from mmopt.numerics.split_arrays import Level, Split
from mmopt.sectors.choose_space import why_not_of_few
from mmopt.sectors.measured.asked_queries import as_targets, asked_sources, matrix_of
from mmopt.sectors.row_space import row_space_of
from mmopt.sectors.sector_cells import SECONDS_OF_LARGEST, SectorCells
from mmopt.workloads import Workload

__all__ = ["by_sectors", "on_row_space"]


def by_sectors(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], seconds: float = SECONDS_OF_LARGEST
) -> tuple[Instance, str] | str:
    """The program bound to the workload's row space, and one line on its size; or why it is not.

    ``seconds``: that a largest entry of a diagonal is searched for.

    Raises
    ------
    TooLargeError : a component that does not fit in memory.
    """
    why = obstacle(checked, givens, totals=SECTOR_TOTALS) or why_not_of_few(workload)
    if why:
        return why
    taken = {d.source for d in checked.program.givens if d.name not in givens}
    of_targets = bool(taken & TARGET_SOURCES)
    if of_targets and not workload.has_all_targets:
        return "queries without a target are not known there"
    asked = as_targets(workload) if of_targets else workload
    cells = SectorCells.of(row_space_of(asked), asked, seconds)
    return on_row_space(checked, workload, givens, cells)


def on_row_space(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], cells: SectorCells
) -> tuple[Instance, str] | str:
    """The program bound to a row space, and the line on its size; or why it is not."""
    sources: dict[str, Split | Level] | str
    taken = {d.source for d in checked.program.givens}
    if taken & TARGET_SOURCES:
        sources = asked_sources(cells.rows, cells, workload)
    else:
        sources = {"workload.root": Split(cells.rows.root.rows, cells, cells.rows.root.parts)}
        if "workload.matrix" in taken:
            matrix = matrix_of(cells.rows, cells, workload)
            sources = matrix if isinstance(matrix, str) else {**sources, "workload.matrix": matrix}
    if isinstance(sources, str):
        return sources
    return bind(checked, workload, givens, sources), f"space of the queries: {cells.words}"
