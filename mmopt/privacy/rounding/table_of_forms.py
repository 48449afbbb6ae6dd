"""The table of forms: how a strategy of each form is rounded to integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mmopt.privacy.privacy_parameters import Neighbours, check_neighbours
from mmopt.privacy.rounding.integer_by_component import round_by_component
from mmopt.privacy.rounding.integer_dense import round_dense
from mmopt.privacy.rounding.integer_marginals import round_marginals
from mmopt.privacy.rounding.integer_strategy import Measured, check_type
from mmopt.privacy.rounding.integer_union import round_union
from mmopt.strategies import FORMS, StrategyForm
from mmopt.workloads import Workload

__all__ = ["ROUNDED", "check_arguments", "round_any"]

ROUNDED: Mapping[type[StrategyForm], Callable[[Any, Workload, Neighbours], Measured]] = MappingProxyType(
    {
        FORMS["dense"]: round_dense,
        FORMS["by_component"]: round_by_component,
        FORMS["product"]: round_union,
        FORMS["union"]: round_union,
        FORMS["marginals"]: round_marginals,
    }
)


def check_arguments(strategy: object, workload: object, neighbours: object) -> None:
    """OptionError for other types than ``round_any`` takes, and for unknown neighbours."""
    check_type("the workload", workload, Workload, "a Workload")
    check_type("the strategy", strategy, tuple(ROUNDED), "a strategy, as solution.strategy")
    check_neighbours(neighbours)


def round_any(strategy: StrategyForm, workload: Workload, neighbours: Neighbours = "add-remove") -> Measured:
    """A strategy of any form in integers; errors as its form's function, and ``check_arguments``."""
    check_arguments(strategy, workload, neighbours)
    return ROUNDED[type(strategy)](strategy, workload, neighbours)
