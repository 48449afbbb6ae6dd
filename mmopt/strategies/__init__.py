"""What is measured: strategies of every form, their sensitivity and error. Never scales of noise."""

from mmopt.strategies.by_component import AnyStrategy, ComponentStrategy, as_dense
from mmopt.strategies.dense import Strategy, normalise
from mmopt.strategies.privacy_cost import largest_ratio, privacy_cost

__all__ = [
    "AnyStrategy",
    "ComponentStrategy",
    "Strategy",
    "as_dense",
    "largest_ratio",
    "normalise",
    "privacy_cost",
]
