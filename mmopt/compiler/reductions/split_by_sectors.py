"""Queries of few of many attributes: a program in the space of the queries, neither cells nor orbits listed.

Theorem. Let W = R B, the rows of B functions of the cells that span the queries, and X ≻ 0 any strategy. Then
N = (B X⁻¹ Bᵀ)⁻¹ has Bᵀ N B ⪯ X, so that no column is longer, and R N⁻¹ Rᵀ = W X⁻¹ Wᵀ, so that no query's
variance is another (Schur complements; of a singular X by X + εI). Nothing is lost by strategies Bᵀ N B, and
multipliers d of the cells enter a bound by their moments B diag(d) Bᵀ alone. With values or attributes that
can be swapped B splits into components besides. Which programs are looked at so is what kernels claim.

Where there is no time or room for that, or before it, strategies that measure sets of attributes one by one
(``strategies.set_cells``) are feasible points of the same program, in the space of one number for each set.

As ``split_by_symmetry`` it leaves the workload as it is and changes what stands for its arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.reductions.split_by_symmetry import SECTOR_TOTALS, TARGET_SOURCES, obstacle
from mmopt.compiler.same_program import is_shipped
from mmopt.language import Checked
from mmopt.numerics.split_arrays import Level, Split
from mmopt.sectors.choose_space import MOST_OF_A_ROW_SPACE, MOST_OF_SETS, why_not_of_few
from mmopt.sectors.measured.asked_queries import as_targets, asked_sources, matrix_of
from mmopt.sectors.row_space import row_space_of
from mmopt.sectors.sector_cells import SECONDS_OF_LARGEST, SectorCells
from mmopt.strategies import SectorwiseStrategy
from mmopt.strategies.set_cells import SetCells, best_by_sets
from mmopt.strategies.sets_for_targets import best_for_targets
from mmopt.workloads import Workload

__all__ = ["by_sectors", "by_sets", "of_each_query", "on_row_space"]


def by_sectors(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], seconds: float = SECONDS_OF_LARGEST
) -> tuple[Instance, str] | str:
    """The program bound to the workload's row space, and one line on its size; or why it is not.

    ``seconds``: that a largest entry of a diagonal is searched for.

    Raises
    ------
    TooLargeError : a component that does not fit in memory.
    """
    asked = _asked(checked, workload, givens, MOST_OF_A_ROW_SPACE)
    if isinstance(asked, str):
        return asked
    cells = SectorCells.of(row_space_of(asked), asked, seconds)
    return on_row_space(checked, workload, givens, cells)


def by_sets(
    checked: Checked,
    workload: Workload,
    givens: Mapping[str, Any],
    strategy: SectorwiseStrategy | None = None,
    *,
    is_quick: bool = True,
) -> tuple[Instance, str] | str:
    """The program bound to the sets of attributes of a strategy, and one line on their number; or why not.

    The strategy is by default one near the least total error; ``is_quick`` False: for a program of each
    query's variance one near the least of the largest, which takes some ten times as long.

    Raises
    ------
    TooLargeError : an attribute with too many values, or more queries than fit in memory.
    """
    asked = _asked(checked, workload, givens, MOST_OF_SETS)
    if not is_shipped(checked):  # whose certificate may ask for more than is known here
        asked = "by sets of attributes only shipped programs are solved"
    if isinstance(asked, str):
        return asked
    if strategy is None and not is_quick and of_each_query(checked, givens):
        instance, words = on_sets(checked, workload, givens, best_for_targets(asked))
        return instance, f"{words}, with rows for the largest variance"
    cells = best_by_sets(asked) if strategy is None else SetCells.of(strategy, asked)
    return on_sets(checked, workload, givens, cells)


def of_each_query(checked: Checked, givens: Mapping[str, Any]) -> bool:
    """Whether the program asks for the variance of each query, and not for their sum alone."""
    taken = {d.source for d in checked.program.givens if d.name not in givens}
    return bool(taken & (TARGET_SOURCES | {"workload.matrix"}))


def on_sets(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], cells: SetCells
) -> tuple[Instance, str]:
    """The program bound to sets of attributes, and the line on their number."""
    taken = {d.source for d in checked.program.givens}
    is_of_targets = bool(taken & TARGET_SOURCES)
    cells = replace(cells, workload=workload.unweighted if is_of_targets else workload)
    sources: dict[str, Split | Level] = {}
    if is_of_targets:
        inner, queries = cells.abstract(cells.dims), cells.queries
        sources = {
            "workload.representation": Split(queries.rows, inner, queries.parts),
            "workload.basis": Split(inner, cells, tuple(np.ones((1, 1)) for _ in cells.dims)),
            "workload.targets": Level(queries.rows, workload.targets),
        }
    else:
        sources["workload.root"] = cells.root
        if "workload.matrix" in taken:
            sources["workload.matrix"] = cells.queries
    return bind(checked, workload, givens, sources), cells.words


def _asked(checked: Checked, workload: Workload, givens: Mapping[str, Any], most: int) -> Workload | str:
    """The queries with the weights that count, or why such a space is no way for them.

    most : attributes that a query may look at.
    """
    why = obstacle(checked, givens, totals=SECTOR_TOTALS) or why_not_of_few(workload, most)
    if why:
        return why
    taken = {d.source for d in checked.program.givens if d.name not in givens}
    if not taken & TARGET_SOURCES:
        return workload
    return (
        as_targets(workload) if workload.has_all_targets else "queries without a target are not known there"
    )


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
