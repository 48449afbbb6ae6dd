"""Exact reductions of an instance to smaller ones of the same program: one explicit table, in order.

Each reduction states its theorem and has a function that decides by the program's tree and the workload
whether it applies, and gives a step whose ``lift`` leads back. After each step the table is read again from
the top.

- ``reduction_step.py``: what every reduction has in common
- ``merge_and_split.py``: merging of cells that no query tells apart, and of queries that are multiples of
  each other; independent blocks, and factors of a Kronecker product, solved apart
- ``symmetry_and_row_space.py``: arrays by component: of value symmetries, of the space of queries of few
  attributes, or of sets of attributes

Cells, zeros and factors are compared as they were given; multiples of queries, degrees and the zeros of a
lift are decided up to rounding. None of it is trusted: the lifted point and multipliers are scored over all
cells (``driver.solve_convex``). A solution by component is not scored again, so symmetries are decided
exactly (``symmetry.attribute_queries``, ``symmetry.workload_by_component``).
"""

from collections.abc import Callable
from dataclasses import dataclass

from mmopt.compiler.actions_on_expressions import (
    CHANGE_BASIS,
    PERMUTE_CELLS,
    PERMUTE_QUERIES,
    PERMUTED,
    REPEAT_CELLS,
    ROTATE_BASIS,
    ROTATE_ROOT,
    SPLIT_QUERIES,
)
from mmopt.compiler.bind import Instance
from mmopt.compiler.reductions.merge_and_split import (
    in_factors,
    merge_cells,
    merge_parallel_queries,
    split_blocks,
    split_kronecker_factors,
    workloads_of_factors,
)
from mmopt.compiler.reductions.reduction_step import ReductionStep, SolvedPart, Traits, reducible, traits_of
from mmopt.compiler.reductions.symmetry_and_row_space import (
    SECTOR_TOTALS,
    by_components,
    by_sectors,
    by_sets,
    obstacle,
    of_each_query,
    split_by_symmetry,
)

__all__ = [
    "REDUCTIONS",
    "SECTOR_TOTALS",
    "Reduction",
    "ReductionStep",
    "SolvedPart",
    "Traits",
    "by_components",
    "by_sectors",
    "by_sets",
    "first_step",
    "in_factors",
    "obstacle",
    "of_each_query",
    "reducible",
    "traits_of",
    "workloads_of_factors",
]


@dataclass(frozen=True)
class Reduction:
    """A row of the table.

    goes_with : the actions that have to leave the program as it is. place : why it comes where it does.
    is_for_kernels : whether only a kernel can take its parts.
    """

    name: str
    goes_with: tuple[str, ...]
    applies: Callable[[Instance, Traits], ReductionStep | None]
    place: str
    is_for_kernels: bool = False


REDUCTIONS = (
    Reduction(
        "merge cells",
        (PERMUTE_CELLS, REPEAT_CELLS, ROTATE_ROOT, CHANGE_BASIS),
        merge_cells,
        "first: it keeps products, and all others get smaller",
    ),
    Reduction(
        "Kronecker product",
        PERMUTED,
        split_kronecker_factors,
        "before what makes a matrix of a product",
    ),
    Reduction(
        "independent blocks",
        PERMUTED,
        split_blocks,
        "before queries are looked at: there are fewer in each",
    ),
    Reduction(
        "parallel queries",
        (PERMUTE_QUERIES, SPLIT_QUERIES, ROTATE_ROOT, ROTATE_BASIS),
        merge_parallel_queries,
        "it leaves the cells as they are",
    ),
    Reduction(
        "symmetry between attribute values",
        PERMUTED,
        split_by_symmetry,
        "last: it leaves the workload as it is and changes what stands for its arrays",
        is_for_kernels=True,
    ),
)

# Left out:
# - the Gram root (only W.T @ W matters): programs of total error take workload.root, which has at most n rows
# - queries without a target, in programs that take targets: they are in no line of the program
# - merging cells in programs of class rank: a search, which proves no more than the bound of l2_strategy;
#   their number of rows p = n counts the cells, and with fewer rows than n a strategy may be worse
# - merging cells in p_identity: over merged cells its strategy is no worse, but the identity over fewer cells
#   is no point of the program over all of them, by whose lines a lifted solution is scored
# - Kronecker products of weighting programs: their design queries are arrays from outside, or eigenvectors


def first_step(
    instance: Instance, traits: Traits, has_kernel: Callable[[Instance], bool]
) -> ReductionStep | None:
    """The step of the first row that applies; ``has_kernel``: whether a kernel takes an instance."""
    rows = (row for row in REDUCTIONS if traits.acts.allows(*row.goes_with))
    steps = (row.applies(instance, traits) for row in rows if not row.is_for_kernels or has_kernel(instance))
    return next((step for step in steps if step is not None), None)
