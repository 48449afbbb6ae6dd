"""What is measured: strategies of every form, their sensitivity and error. Never scales of noise.

Each form is a row of ``FORMS`` and a file.

- ``strategy_form.py``: what a form has to say, and all that follows from it
- ``dense.py``: a matrix
- ``by_component.py``: a strategy that splits into components
- ``product.py``: a Kronecker product, one strategy per attribute
- ``union.py``: products side by side
- ``marginals.py``: weighted marginals
- ``baselines/``: what people use without optimising
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
