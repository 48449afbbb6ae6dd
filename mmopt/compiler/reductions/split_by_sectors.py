"""Queries of few of many attributes: a program in the space of the queries, neither cells nor orbits listed.

Theorem. Let X = Bᵀ N B, the rows of B functions of the cells that span the queries. Total error asks of X
only how it acts on queries, and multipliers d enter a bound by their moments B diag(d) Bᵀ alone. At those of
an optimum, with the moments Q, N = Rᵀ (R Q Rᵀ)^{-½} R / tr (R Q Rᵀ)^½ is optimal too (Kiefer and Wolfowitz's
equivalence theorem, for the mean of order ½ of Pukelsheim, Optimal Design of Experiments, 1993), so that
nothing is lost by such X. With values or attributes that can be swapped B splits into components besides.

As ``split_by_symmetry`` it leaves the workload as it is and changes what stands for its arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.reductions.split_by_symmetry import obstacle
from mmopt.language import Checked
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.choose_space import row_space_of, why_not_of_few
from mmopt.sectors.sector_cells import SECONDS_OF_LARGEST, SectorCells
from mmopt.workloads import Workload

__all__ = ["SOURCES", "by_sectors"]

SOURCES = frozenset({"workload.root"})
"""What is known of a workload in the space of its queries."""


def by_sectors(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], seconds: float = SECONDS_OF_LARGEST
) -> tuple[Instance, str] | str:
    """The program bound to the workload's row space, and one line on its size; or why it is not.

    ``seconds``: that a largest entry of a diagonal is searched for.

    Raises
    ------
    TooLargeError : a component that does not fit in memory.
    """
    why = obstacle(checked, givens) or why_not_of_few(workload)
    if why:
        return why
    taken = {d.source for d in checked.program.givens if d.name not in givens} - SOURCES
    if taken:
        return f"it takes {min(map(str, taken))}, which is not known in the space of the queries"
    rows = row_space_of(workload)
    cells = SectorCells.of(rows, workload.n, seconds)
    root = Split(rows.root.rows, cells, rows.root.parts)
    return bind(checked, workload, givens, {"workload.root": root}), f"space of the queries: {cells.words}"
