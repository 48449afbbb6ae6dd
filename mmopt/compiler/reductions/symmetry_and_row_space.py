"""Programs whose arrays are by component: of value symmetries, of the row space, or of sets of attributes.

They leave the workload as it is and change the form of its arrays, which only a kernel can take.

**Value symmetry.** With value symmetry or reflection a program is over components with multiplicities
instead of cells.

Theorem. Let a group of permutations of the cells leave the workload alone (for accuracy targets: with
permutations and signs of the queries that keep their targets), and let the program go with permutations of
cells and queries and with rotations of root and basis. Then the average of all images of an optimal point is
optimal too, by convexity, and so are averaged multipliers: both are given by one matrix per component of
the space of cells and one number per orbit (``mmopt.symmetry``). Every line of the program is
evaluated on these components, exactly as on the whole.

A workload of very many cells stays by component; else the solution is lifted.

**Row space.** With queries of few of many attributes a program is in the space of the queries; neither cells
nor orbits are listed.

Theorem. Let W = R B, the rows of B functions of the cells that span the queries, and X ≻ 0 any strategy. Then
N = (B X⁻¹ Bᵀ)⁻¹ has Bᵀ N B ⪯ X, so that no column is longer, and R N⁻¹ Rᵀ = W X⁻¹ Wᵀ, so that every query
keeps its variance (Schur complements; of a singular X by X + εI). Nothing is lost by strategies Bᵀ N B, and
multipliers d of the cells enter a bound by their moments B diag(d) Bᵀ alone. With values or attributes that
can be swapped B splits into components as well. The kernels decide which programs are solved in this way.

**Sets of attributes.** Where there is no time or room for that, or before it, strategies that measure sets of
attributes one by one (``strategies.set_strategy_and_cells``) are feasible points of the same program, in the
space of one number a set.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler.actions_on_expressions import PERMUTED
from mmopt.compiler.bind import Instance, bind, is_shipped
from mmopt.compiler.equivariance import Equivariance
from mmopt.compiler.reductions.reduction_step import ReductionStep, SolvedPart, Traits, traits
from mmopt.language import (
    Checked,
    evaluate,
    names_in,
    without_form,
)
from mmopt.numerics.component_arrays import Level, Split, lift
from mmopt.sectors.residual_strategies import MOST_ATTRIBUTES as MOST_OF_SETS
from mmopt.sectors.row_space import row_space_of
from mmopt.sectors.row_space_cells_and_targets import (
    MOST_OF_A_ROW_SPACE,
    SECONDS_OF_LARGEST,
    RowSpaceCells,
    as_targets,
    matrix_of,
    sources_with_targets,
    why_not_of_few,
)
from mmopt.strategies import SetStrategy, as_dense
from mmopt.strategies.set_strategy_and_cells import SetCells, best_by_sets, best_for_targets
from mmopt.symmetry import symmetry
from mmopt.workloads import Workload

TOTAL_SOURCES = frozenset({"workload.root", "workload.gram"})
SECTOR_TOTALS = frozenset({"workload.root", "workload.matrix"})  # in the space of the queries
TARGET_SOURCES = frozenset({"workload.targets", "workload.representation", "workload.basis"})
# A largest component of more than this part of the cells saves too little to be worth the detour.
LARGEST_COMPONENT = 0.8


def obstacle(
    checked: Checked,
    givens: Mapping[str, Any],
    acts: Equivariance | None = None,
    totals: frozenset[str] = TOTAL_SOURCES,
) -> str:
    """Why a program, with these givens, cannot be taken to the components of any workload; "" if it can.

    ``acts``: the actions that the program goes with, if computed already. ``totals``: the sources that it may
    take without targets.
    """
    program = checked.program
    if program.problem_class != "convex":
        name = program.problem_class
        return f"it is of class {name}, where no solution needs to have the workload's symmetries"
    if program.neighbours is not None and program.neighbours.kind != "add-remove":
        return f"its guarantee is for '{program.neighbours.kind}', and columns alone are known by component"
    if arrays := [name for name, value in givens.items() if np.ndim(value)]:
        return f"'{arrays[0]}' is passed as an array, which need not have the workload's symmetries"
    sources = _sources(checked, givens)
    if other := sorted(sources - (TARGET_SOURCES if sources & TARGET_SOURCES else totals)):
        return f"it takes {other[0]}, which is not known by component"
    if acts is None:
        numbers = _defaults(checked, {name: float(value) for name, value in givens.items()})
        acts = traits(checked, frozenset(givens), frozenset(numbers.items())).acts
    if why := acts.why_not(*PERMUTED):
        return f"it does not go with the symmetries: {why}"
    form = without_form(program)
    return f"{form} has no form by components" if form else ""


def by_components(
    checked: Checked,
    workload: Workload,
    givens: Mapping[str, Any],
    basis: Split | None = None,
    largest: int | None = None,
    acts: Equivariance | None = None,
) -> tuple[Instance, str] | None:
    """The program bound to the workload's components, and one line on their sizes.

    ``givens`` are those that the caller passes; ``basis`` takes the place of the workload's basis. None where
    there is an ``obstacle``, or no worthwhile symmetry: no component may have more cells than ``largest``.

    Raises
    ------
    WorkloadError : the program asks for targets, and the workload lacks them; another basis of another space.
    """
    if obstacle(checked, givens, acts):
        return None
    sources = _sources(checked, givens)
    most = min(LARGEST_COMPONENT * workload.n, math.inf if largest is None else largest)
    if (split := symmetry(workload, bool(sources & TARGET_SOURCES), most)) is None:
        return None
    if basis is not None:
        split = split.in_basis(basis)
    return bind(checked, workload, givens, split.sources_named(sources)), str(split)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueSymmetry(ReductionStep):
    """The step whose one part is the program by component."""

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The strategy and the multipliers over all cells."""
        (part,) = parts
        values = part.multipliers.items()
        return SolvedPart(
            as_dense(part.strategy),
            {n: lift(v) if isinstance(v, Split | Level) else v for n, v in values},
            part.bound,
        )


def split_by_symmetry(instance: Instance, traits: Traits) -> ValueSymmetry | None:
    """The step to components, if there are symmetries and all that the program takes has components."""
    split = (
        None if instance.passed else by_components(instance.checked, instance.workload, {}, acts=traits.acts)
    )
    return None if split is None else ValueSymmetry(text=split[1], parts=(split[0],))


def _sources(checked: Checked, givens: Mapping[str, Any]) -> set[str]:
    """The sources that the program takes from the workload."""
    return {d.source for d in checked.program.givens if d.name not in givens}


def _defaults(checked: Checked, passed: Mapping[str, float]) -> dict[str, float]:
    """The parameters that are numbers, as passed or as the file has them."""
    scalars = [p for p in checked.program.parameters if p.declared is None or p.declared.kind == "scalar"]
    plain = {p.name: p for p in scalars if not names_in(p.expr)}
    return {n: passed.get(n, float(evaluate(p.expr, {}))) for n, p in plain.items()}


def by_sectors(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], seconds: float = SECONDS_OF_LARGEST
) -> tuple[Instance, str] | str:
    """The program bound to the workload's row space, and one line on its size; or why it is not.

    ``seconds``: the time for the search of a diagonal's largest entry.

    Raises
    ------
    TooLargeError : a component that does not fit in memory.
    """
    queries = _weighted_queries(checked, workload, givens, MOST_OF_A_ROW_SPACE)
    return (
        queries
        if isinstance(queries, str)
        else on_row_space(
            checked, workload, givens, RowSpaceCells.of(row_space_of(queries), queries, seconds)
        )
    )


def by_sets(
    checked: Checked,
    workload: Workload,
    givens: Mapping[str, Any],
    strategy: SetStrategy | None = None,
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
    queries = _weighted_queries(checked, workload, givens, MOST_OF_SETS)
    if not is_shipped(checked):  # its certificate may need arrays that do not exist here
        queries = "by sets of attributes only shipped programs are solved"
    if isinstance(queries, str):
        return queries
    if strategy is None and not is_quick and of_each_query(checked, givens):
        instance, words = on_sets(checked, workload, givens, best_for_targets(queries))
        return instance, f"{words}, with rows for the largest variance"
    cells = best_by_sets(queries) if strategy is None else SetCells.of(strategy, queries)
    return on_sets(checked, workload, givens, cells)


def of_each_query(checked: Checked, givens: Mapping[str, Any]) -> bool:
    """Whether the program needs the variance of each query, and not their sum alone."""
    return bool(_sources(checked, givens) & (TARGET_SOURCES | {"workload.matrix"}))


def on_sets(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], cells: SetCells
) -> tuple[Instance, str]:
    """The program bound to sets of attributes, and the line on their number."""
    wanted = {d.source for d in checked.program.givens}
    is_of_targets = bool(wanted & TARGET_SOURCES)
    cells = replace(cells, workload=workload.unweighted if is_of_targets else workload)
    if is_of_targets:
        inner, queries = cells.abstract(cells.dims), cells.queries
        sources: dict[str, Split | Level] = {
            "workload.representation": Split(queries.rows, inner, queries.parts),
            "workload.basis": Split(inner, cells, tuple(np.ones((1, 1)) for _ in cells.dims)),
            "workload.targets": Level(queries.rows, workload.targets),
        }
    else:
        sources = {"workload.root": cells.root}
        if "workload.matrix" in wanted:
            sources["workload.matrix"] = cells.queries
    return bind(checked, workload, givens, sources), cells.words


def _weighted_queries(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], most: int
) -> Workload | str:
    """The queries with the weights that count, or why they cannot be solved in such a space.

    most : attributes that a query may look at.
    """
    if why := obstacle(checked, givens, totals=SECTOR_TOTALS) or why_not_of_few(workload, most):
        return why
    if not _sources(checked, givens) & TARGET_SOURCES:
        return workload
    return (
        as_targets(workload) if workload.has_all_targets else "queries without a target are not known there"
    )


def on_row_space(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], cells: RowSpaceCells
) -> tuple[Instance, str] | str:
    """The program bound to a row space, and the line on its size; or why it is not."""
    wanted = {d.source for d in checked.program.givens}
    if wanted & TARGET_SOURCES:
        sources: dict[str, Split | Level] | str = sources_with_targets(cells.rows, cells, workload)
    else:
        sources = {"workload.root": Split(cells.rows.root.rows, cells, cells.rows.root.parts)}
        if "workload.matrix" in wanted:
            matrix = matrix_of(cells.rows, cells, workload)
            sources = matrix if isinstance(matrix, str) else {**sources, "workload.matrix": matrix}
    if isinstance(sources, str):
        return sources
    return bind(checked, workload, givens, sources), f"space of the queries: {cells.words}"
