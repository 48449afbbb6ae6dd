"""A strategy of norm 1 that meets targets at a small epsilon: total error, with weights that follow them.

The least epsilon at which all targets hold is that of the strategy whose largest ratio of variance and
target is least. That ratio is at least every weighted mean of the ratios, so total error is minimised again
and again, the weight of a query multiplied by a power of its ratio. Nothing proves the result best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mmopt.driver.templates import template_bound
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import Array
from mmopt.results import AnySolution, FactoredSolution
from mmopt.results.factored_solution import FOR_TARGETS
from mmopt.workloads import Workload

__all__ = ["laplace_for_targets"]

_ROUNDS, _FEW_ROUNDS = 8, 3  # the latter where each takes seconds
_FEW_CELLS = 64
_FEW_QUERIES = 1000  # above which a template takes many seconds, and is not searched again
_POWER = 0.7  # of a ratio, that multiplies the weight


def laplace_for_targets(
    workload: Workload, best: Callable[[Workload, str | None], AnySolution], most_cells: int
) -> AnySolution:
    """The strategy of norm 1, of several, that meets all targets at the least epsilon.

    Parameters
    ----------
    workload : every query has a target. best : a solution of least total error with Laplace noise for a
        workload with other weights; of this template alone where one is named.
    most_cells : over which queries of products may be taken from them, to have weights each.

    Errors as ``best``.
    """
    targets = np.asarray(workload.targets)
    # Of many queries over many cells only the products have weights of their own.
    is_few = workload.n <= most_cells and fits_memory((workload.m, workload.n), 64)
    is_each = is_few or workload.products is None
    groups = (
        [slice(i, i + 1) for i in range(workload.m)] if is_each else [rows for _, rows in workload.groups()]
    )
    weights = np.array([1.0 / targets[rows].min() for rows in groups])
    tried: list[tuple[float, AnySolution]] = []
    template: str | None = None
    for _ in range(_ROUNDS if workload.n <= _FEW_CELLS else _FEW_ROUNDS):
        solution = best(_weighted(workload, weights, is_each), template)
        strategy = solution.strategy
        ratios = strategy.sensitivity**2 * strategy.variances(workload) / targets
        tried.append((float(ratios.max()), solution))
        if isinstance(solution, FactoredSolution):
            template = solution.template
            if workload.m > _FEW_QUERIES:
                break
        elif solution.status.is_interrupted:
            break
        weights *= np.array([ratios[rows].max() for rows in groups]) ** _POWER
        weights /= weights.mean()
    return _of(workload, min(tried, key=lambda one: one[0])[1])


def _weighted(workload: Workload, weights: Array, is_each: bool) -> Workload:
    """The queries with these weights: one each, or one for each product."""
    if is_each or workload.products is None:
        return Workload.from_matrix(workload.queries, weights=weights)
    products = zip(workload.products, weights, strict=True)
    return replace(workload, blocks=tuple(replace(p.unweighted(), weight=float(w)) for p, w in products))


def _of(workload: Workload, solution: AnySolution) -> FactoredSolution:
    """Its strategy as one for this workload, whose own weights and targets it was not solved for."""
    strategy = solution.strategy
    bound, source = template_bound(workload, 1e-4)
    return FactoredSolution(
        template=f"{solution.program.removeprefix('template ')}{FOR_TARGETS}",
        strategy=strategy,
        error=strategy.total_error(workload),
        rmse=strategy.rmse(workload),
        error_bound=bound,
        bound_from=source,
        seconds=solution.seconds if isinstance(solution, FactoredSolution) else solution.seconds["total"],
        workload_hash=workload.hash,
    )
