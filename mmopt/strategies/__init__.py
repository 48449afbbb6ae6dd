"""What is measured: strategies of every form, their sensitivity and error. Never scales of noise.

Each form is a row of ``FORMS`` and a file.

- ``strategy_form.py``: what a form has to say, and all that follows from it
- ``neighbours.py``: which tables are neighbours, and the sensitivity to such a set
- ``dense_strategy.py``: a matrix
- ``component_strategy.py``: a strategy that splits into components
- ``strategy_on_sectors.py``: from a program's parts to a strategy on a row space
- ``product_strategy.py``: a Kronecker product, one strategy per attribute
- ``union_strategy.py``: products side by side
- ``marginals_strategy.py``: weighted marginals
- ``sector_strategy.py``: one on the row space of queries of few attributes; ``measured_parts.py``: made of
  the components that a program knows
- ``sectorwise_strategy.py``: sets of attributes one by one, of row spaces of any size
- ``set_cells.py``: these as a space that programs are evaluated on
- ``sets_for_targets.py``: such sets for queries with targets
- ``baselines/``: what people use without optimising
"""

from collections.abc import Mapping
from types import MappingProxyType

from mmopt.strategies.component_strategy import AnyStrategy, ComponentStrategy, StrategyOfFew
from mmopt.strategies.dense_strategy import Strategy, as_dense
from mmopt.strategies.marginals_strategy import MarginalStrategy
from mmopt.strategies.neighbours import ADD_REMOVE, Neighbours, NeighboursLike, unit_of
from mmopt.strategies.product_strategy import ProductStrategy, one_attribute, products_of
from mmopt.strategies.sector_strategy import SectorStrategy
from mmopt.strategies.sectorwise_strategy import SectorwiseStrategy
from mmopt.strategies.strategy_form import StrategyForm, largest_ratio, normalise, privacy_cost
from mmopt.strategies.union_strategy import UnionStrategy

__all__ = [
    "ADD_REMOVE",
    "FORMS",
    "AnyStrategy",
    "ComponentStrategy",
    "MarginalStrategy",
    "Neighbours",
    "NeighboursLike",
    "ProductStrategy",
    "SectorStrategy",
    "SectorwiseStrategy",
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

FORMS: Mapping[str, type[StrategyForm]] = MappingProxyType(
    {
        "dense": Strategy,
        "by_component": ComponentStrategy,
        "product": ProductStrategy,
        "union": UnionStrategy,
        "marginals": MarginalStrategy,
        "sectors": SectorStrategy,
        "sectorwise": SectorwiseStrategy,
    }
)
"""Every form by its name; ``privacy.rounding.table_of_forms`` rounds each of them."""
