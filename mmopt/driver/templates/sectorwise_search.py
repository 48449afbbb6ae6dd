"""The best strategy that measures sets of attributes one by one, for queries of few of any number of them."""

from __future__ import annotations

from collections.abc import Callable

from mmopt.errors import OptionError
from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.sectors.residual.residual_bases import best_residual_strategy
from mmopt.sectors.residual.residual_spaces import ResidualStrategy
from mmopt.strategies import SectorwiseStrategy, normalise
from mmopt.strategies.set_cells import strategy_by_sets
from mmopt.workloads import Workload

__all__ = ["sectorwise"]


def sectorwise(
    workload: Workload,
    *,
    norm: int = 2,
    seed: int = 0,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> SectorwiseStrategy:
    """The best found, scaled to sensitivity 1. Nothing is drawn: ``seed`` is for the table of templates.

    residual : the strategy whose bases it takes, from who knows it already.

    Raises
    ------
    OptionError : norm 1: short columns in the L2 norm are what it is best in.
    WorkloadError : queries given as a matrix. TooLargeError : queries of too many attributes.
    """
    if norm != 2:
        raise OptionError("sets of attributes are measured one by one with Gaussian noise (norm 2) only")
    return normalise(
        strategy_by_sets(products_of_few(workload), workload.domain.shape, residual(workload).bases)
    )
