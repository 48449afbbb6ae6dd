"""What is measured: strategies of every form, their sensitivity and error. Never scales of noise.

``protocol`` says what a form gives, and derives the rest; each form is a row of ``FORMS`` and a file.
"""

from collections.abc import Mapping
from types import MappingProxyType

from mmopt.strategies.by_component import AnyStrategy, ComponentStrategy
from mmopt.strategies.dense import Strategy, as_dense
from mmopt.strategies.marginals import MarginalStrategy
from mmopt.strategies.product import ProductStrategy, one_attribute, products_of
from mmopt.strategies.strategy_form import StrategyForm, largest_ratio, normalise, privacy_cost
from mmopt.strategies.union import UnionStrategy

__all__ = [
    "FORMS",
    "AnyStrategy",
    "ComponentStrategy",
    "MarginalStrategy",
    "ProductStrategy",
    "Strategy",
    "StrategyForm",
    "UnionStrategy",
    "as_dense",
    "largest_ratio",
    "normalise",
    "one_attribute",
    "privacy_cost",
    "products_of",
]

FORMS: Mapping[str, type[StrategyForm]] = MappingProxyType(
    {
        "dense": Strategy,
        "by_component": ComponentStrategy,
        "product": ProductStrategy,
        "union": UnionStrategy,
        "marginals": MarginalStrategy,
    }
)
"""Every form, by the name of its file; ``privacy.rounding`` has the same ones."""
