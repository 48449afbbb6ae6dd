"""Programs side by side, each in a process of its own. Solving and judging stand in ``mmopt.driver``.

- ``compare.py``: ``mmopt.compare`` and its result: programs, solvers and tolerances on one workload
- ``isolate.py``: tasks of a comparison, each in a process of its own, and their outcomes
- ``worker.py``: the process that does these tasks, what the two say to each other, and limits of memory
- ``predicted_errors.py``: predictions for a release of a strategy at a stated privacy
- ``ranking.py``: programs, templates and baselines in one order, and the factors by which they differ
"""

from mmopt.comparison.compare import (
    Combination,
    Comparison,
    combinations,
    compare,
    outcomes,
    with_formulations,
)
from mmopt.comparison.isolate import Isolated, Outcome
from mmopt.comparison.predicted_errors import Predicted, Stated
from mmopt.comparison.ranking import (
    Baselines,
    Factors,
    Place,
    Ranking,
    TemplatePlace,
    at_privacy,
    baseline_factors,
    ranking,
    standards,
    template_places,
)

__all__ = [
    "Baselines",
    "Combination",
    "Comparison",
    "Factors",
    "Isolated",
    "Outcome",
    "Place",
    "Predicted",
    "Ranking",
    "Stated",
    "TemplatePlace",
    "at_privacy",
    "baseline_factors",
    "combinations",
    "compare",
    "outcomes",
    "ranking",
    "standards",
    "template_places",
    "with_formulations",
]
