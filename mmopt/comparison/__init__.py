"""Programs side by side, each in a process of its own. Solving and judging stand in ``mmopt.driver``.

- ``compare.py``: ``mmopt.compare`` and its result: programs, solvers and tolerances on one workload
- ``worker.py``: tasks of a comparison, each in a process of its own with limits, and their outcomes
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
from mmopt.comparison.worker import Isolated, Outcome

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
