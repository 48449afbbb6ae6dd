"""Strategies of every form: the queries measured, their sensitivity and error. Never scales of noise.

Each form is a row of ``FORMS`` and a file.

- ``protocol_and_dense_strategy.py``: the protocol of strategies, and a strategy as a matrix
- ``neighbours.py``: which tables are neighbours, and the sensitivity to such a set
- ``component_strategies.py``: strategies on the components of the cells, and of the row space of queries of
  few attributes
- ``factor_strategies.py``: Kronecker products of strategies, and unions of them; weighted marginals, and sums
  over sets of attributes
- ``set_strategy_and_cells.py``: sets of attributes one by one, over any number of cells; also as a space for
  programs; the search for such strategies
- ``baselines/``: strategies in use without optimising
"""

from collections.abc import Mapping
from types import MappingProxyType

from mmopt.strategies.component_strategies import ComponentStrategy, RowSpaceStrategy
from mmopt.strategies.factor_strategies import (
    MarginalStrategy,
    ProductStrategy,
    StrategyOfFew,
    UnionStrategy,
    one_attribute,
    products_of,
)
from mmopt.strategies.neighbours import ADD_REMOVE, Neighbours, NeighboursLike, unit_of
from mmopt.strategies.protocol_and_dense_strategy import (
    Strategy,
    StrategyForm,
    as_dense,
    largest_ratio,
    normalise,
    privacy_cost,
)
from mmopt.strategies.set_strategy_and_cells import SetStrategy

__all__ = [
    "ADD_REMOVE",
    "FORMS",
    "AnyStrategy",
    "ComponentStrategy",
    "MarginalStrategy",
    "Neighbours",
    "NeighboursLike",
    "ProductStrategy",
    "RowSpaceStrategy",
    "SetStrategy",
    "Strategy",
    "StrategyForm",
    "StrategyOfFew",
    "UnionStrategy",
    "as_dense",
    "largest_ratio",
    "normalise",
    "one_attribute",
    "privacy_cost",
    "products_of",
    "unit_of",
]

#: The forms of the strategy of a program's solution; that of a template may have any form.
AnyStrategy = Strategy | ComponentStrategy | StrategyOfFew | ProductStrategy

#: Every form by its name; ``privacy.rounding.table_of_forms`` rounds each of them.
FORMS: Mapping[str, type[StrategyForm]] = MappingProxyType(
    {
        "dense": Strategy,
        "by_component": ComponentStrategy,
        "product": ProductStrategy,
        "union": UnionStrategy,
        "marginals": MarginalStrategy,
        "sectors": RowSpaceStrategy,
        "sectorwise": SetStrategy,
    }
)
