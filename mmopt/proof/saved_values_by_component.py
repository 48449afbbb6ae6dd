"""A saved solution by component put onto the components of its workload, to be rechecked there.

How the values of a file split is not believed: matrices and vectors by component are put onto the spaces from
the symmetries of the workload, and have to fit in number and size.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.compiler import Instance, by_components, by_sectors, by_sets
from mmopt.driver.judge import bound_of, l2_by_component, l2_of_few
from mmopt.errors import ResultError
from mmopt.language import (
    Checked,
    Dim,
)
from mmopt.numerics.component_arrays import Level, Measure, Space, Spanned, Split, same_array
from mmopt.results import Solution
from mmopt.strategies import AnyStrategy, ComponentStrategy, RowSpaceStrategy, SetStrategy, StrategyOfFew
from mmopt.symmetry.components import Cells
from mmopt.workloads import Workload

SECONDS_OF_RECHECK = 300.0  # for the search of a diagonal's largest entry: more than a solve has


def instance_by_component(
    solution: Solution, strategy: ComponentStrategy | StrategyOfFew, checked: Checked, workload: Workload
) -> Instance:
    """The program on the components of the workload, with the solution's givens and basis.

    Raises
    ------
    ResultError : the workload has none for this program, or others than the solution's strategy.
    WorkloadError : a basis that is not one of the workload.
    """
    givens = {name: float(value) for name, value in solution.givens.items() if not value.ndim}
    basis = solution.bases.get("basis")
    if givens.keys() != solution.givens.keys() or not isinstance(basis, Split | None):
        raise ResultError("arrays are passed, of which nothing is known by component")
    split: tuple[Instance, str] | str | None
    if isinstance(strategy, RowSpaceStrategy):  # in the space of the queries
        split = by_sectors(checked, workload, givens, SECONDS_OF_RECHECK)
    elif isinstance(strategy, SetStrategy):  # by the sets and rows of the strategy
        split = by_sets(checked, workload, givens, strategy)
    else:
        split = by_components(checked, workload, givens, basis) or "the workload has none for this program"
    if isinstance(split, str):
        raise ResultError(split)
    if isinstance(strategy, ComponentStrategy):
        splits = (value for value in split[0].env.values() if isinstance(value, Split))
        if not _same_cells(
            strategy.cells, next(value.columns for value in splits if isinstance(value.columns, Cells))
        ):
            raise ResultError("not those of the workload")
    return split[0]


def gram_of(strategy: AnyStrategy) -> Split | None:
    """AᵀA by component; None for a strategy that is a matrix."""
    if isinstance(strategy, RowSpaceStrategy):
        # Up to the scale, which is by the largest column: another proof of that may be tighter.
        grams = [component.core.T @ component.core for component in strategy.components]
        space = Space(np.ones(len(grams)), tuple(map(len, grams)))
        return Split(space, space, tuple(grams))
    if isinstance(strategy, SetStrategy):
        space = Space(np.ones(len(strategy.sets)), (1,) * len(strategy.sets))
        return Split(space, space, tuple(np.square(strategy.weights).reshape(-1, 1, 1)))
    if not isinstance(strategy, ComponentStrategy):
        return None
    return Split(strategy.cells, strategy.cells, tuple(part.T @ part for part in strategy.split.parts))


def same_functions(one: StrategyOfFew, other: StrategyOfFew) -> bool:
    """Whether the components have the same functions of the cells: equal cores may have other columns."""
    if isinstance(one, SetStrategy) and isinstance(other, SetStrategy):
        return one.sets == other.sets and all(map(same_array, one.matrices, other.matrices))
    return (
        isinstance(one, RowSpaceStrategy)
        and isinstance(other, RowSpaceStrategy)
        and len(one.components) == len(other.components)
        and all(
            a.rests == b.rests
            and a.layout.sets == b.layout.sets
            and all(map(np.array_equal, a.layout.labels, b.layout.labels))
            and all(map(same_array, a.layout.functions, b.layout.functions))
            for a, b in zip(one.components, other.components, strict=True)
        )
    )


def placed_variables(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The chosen variables on the instance's spaces; None when one does not fit, is missing or unknown."""
    dims = {d.name: d.dims for d in instance.program.choose}
    placed = _placed(instance, values, dims)
    return placed if dims.keys() == values.keys() == placed.keys() else None


def placed_multipliers(instance: Instance, values: Mapping[str, Any]) -> dict[str, Any]:
    """The multipliers of the certificate on the instance's spaces, where they fit."""
    return _placed(instance, values, {m.key: m.declaration.dims for m in instance.program.multipliers})


def _placed(
    instance: Instance, values: Mapping[str, Any], dims: Mapping[str, Sequence[Dim]]
) -> dict[str, Any]:
    """The values that fit on the instance's spaces, by their dimensions ``dims``."""
    spaces = _spaces(instance)
    placed = {
        name: _on(values[name], [spaces.get(str(dim)) for dim in of_value])
        for name, of_value in dims.items()
        if name in values
    }
    return {name: value for name, value in placed.items() if value is not None}


def _on(value: Any, spaces: list[Space | None]) -> Any:
    """The value on these spaces; None where it does not fit."""
    match value, spaces:
        case Split(), [Space() as rows, Space() as columns]:
            sizes = list(zip(rows.dims, columns.dims, strict=True))
            return Split(rows, columns, value.parts) if sizes == list(map(np.shape, value.parts)) else None
        case Measure(), [Spanned() as space]:
            return Measure(space, value.mixture) if space.takes(value.mixture) else None
        case Level(), [Space() as space] if space.sizes is not None:
            return Level(space, value.values) if np.shape(value.values) == space.sizes.shape else None
        case _, [] if np.shape(value) == ():
            return value
    return None


def _spaces(instance: Instance) -> dict[str, Space]:
    """The space of each dimension, by the givens that split."""
    spaces: dict[str, Space] = {}
    for d in instance.program.givens:
        match instance.env[d.name]:
            case Split(rows=rows, columns=columns):
                spaces = {**dict(zip(map(str, d.dims), (rows, columns), strict=True)), **spaces}
            case Level(space=space):
                spaces.setdefault(str(d.dims[0]), space)
    return spaces


def _same_cells(one: Cells, two: Cells) -> bool:
    """Whether two spaces come from the same symmetries and keep the same components."""
    first, second = (
        (
            [(a.classes.tolist(), a.mirror.tolist()) for a in cells.joint.attributes],
            [(c.key, c.kept.tolist()) for c in cells.chosen],
        )
        for cells in (one, two)
    )
    return first == second


def proved_by_component(
    workload: Workload, multipliers: Any, strategy: ComponentStrategy | StrategyOfFew
) -> float | None:
    """The bound by ``l2_strategy``'s certificate at the multipliers of ``bound_in_form``."""
    offered = {"sensitivity": multipliers}
    is_split = True
    if not isinstance(multipliers, Measure):
        instance, is_split = l2_by_component(workload)
    else:
        by_sets = strategy if isinstance(strategy, SetStrategy) else None
        instance = l2_of_few(workload, by_sets is not None, by_sets)
    return bound_of(instance, placed_multipliers(instance, offered) if is_split else offered)
