"""What people use without optimising: baselines as strategies, by name, each with its source.

``CATALOGUE`` lists them; ``baseline("hierarchical(branching=16)", workload, 1)`` is one as a strategy,
``evaluate(name, workload)`` tells what one costs.
"""

from mmopt.strategies.baselines.catalogue import ALIASES, CATALOGUE
from mmopt.strategies.baselines.evaluate import Cost, Evaluated, baseline, design_rows, evaluate
from mmopt.strategies.baselines.names import baseline_names, baseline_words, is_baseline, read
from mmopt.strategies.baselines.row import Baseline, Parameter

__all__ = [
    "ALIASES",
    "CATALOGUE",
    "Baseline",
    "Cost",
    "Evaluated",
    "Parameter",
    "baseline",
    "baseline_names",
    "baseline_words",
    "design_rows",
    "evaluate",
    "is_baseline",
    "read",
]
