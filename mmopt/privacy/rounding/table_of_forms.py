"""The table of forms: how a strategy of each form is rounded to integers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mmopt.privacy.rounding.integer_components_and_sectors import round_by_component, round_sectors
from mmopt.privacy.rounding.integer_dense import round_dense
from mmopt.privacy.rounding.integer_factors import round_marginals, round_sectorwise, round_union
from mmopt.privacy.rounding.norms_and_measured_integers import Measured, check_type
from mmopt.strategies import ADD_REMOVE, FORMS, Neighbours, NeighboursLike, StrategyForm
from mmopt.workloads import Workload

ROUNDED: Mapping[type[StrategyForm], Callable[..., Measured]] = MappingProxyType(
    {
        FORMS["dense"]: round_dense,
        FORMS["by_component"]: round_by_component,
        FORMS["product"]: round_union,
        FORMS["union"]: round_union,
        FORMS["marginals"]: round_marginals,
        FORMS["sectors"]: round_sectors,
        FORMS["sectorwise"]: round_sectorwise,
    }
)


def check_arguments(strategy: object, workload: object) -> None:
    """OptionError for types that ``round_any`` does not take."""
    check_type("the workload", workload, Workload, "a Workload")
    check_type("the strategy", strategy, tuple(ROUNDED), "a strategy, as solution.strategy")


def round_any(
    strategy: StrategyForm, workload: Workload, neighbours: NeighboursLike = ADD_REMOVE, **options: bool
) -> Measured:
    """Round a strategy of any form to integers.

    options : ``uses_total``, for forms whose integers may use the number of rows.

    Errors as the function of its form, ``check_arguments``, ``Neighbours.of`` and ``Neighbours.over``.
    """
    check_arguments(strategy, workload)
    return ROUNDED[type(strategy)](strategy, workload, Neighbours.of(neighbours).over(workload), **options)
