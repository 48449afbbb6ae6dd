"""Strategies in use without optimising: baselines by name, each with its source. No programs.

- ``baseline_catalogue.py``: baselines by name, in the order in which they are listed
- ``attribute_baselines.py``: cells and answers, trees of ranges, and noise filters for streams
- ``marginal_baselines.py``: baselines for marginals and for queries of few attributes
"""

from mmopt.strategies.baselines.attribute_baselines import Baseline, Parameter
from mmopt.strategies.baselines.baseline_catalogue import (
    ALIASES,
    CATALOGUE,
    NOISE_NAMES,
    Cost,
    Evaluated,
    baseline,
    baseline_names,
    baseline_strategy,
    baseline_words,
    design_rows,
    evaluate,
    is_baseline,
    read,
)

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "NOISE_NAMES",
    "Baseline",
    "Cost",
    "Evaluated",
    "Parameter",
    "baseline",
    "baseline_names",
    "baseline_strategy",
    "baseline_words",
    "design_rows",
    "evaluate",
    "is_baseline",
    "read",
]
