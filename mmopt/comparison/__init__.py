"""Programs side by side, each in a process of its own. Solving and judging stand in ``mmopt.driver``.

- ``program_comparison.py``: ``mmopt.compare`` and its result: programs, solvers, tolerances on one workload
- ``isolated_tasks.py``: tasks, each run in a process of its own with limits, and their outcomes
- ``worker.py``: the program of these processes: it does the tasks that arrive
- ``predicted_errors.py``: predictions for a release of a strategy at a stated privacy
- ``baselines_against_programs.py``: ``mmopt.baseline_factors``: the factors by which baselines cost more
- ``ranked_places.py``: programs, templates and baselines in one order
"""

from mmopt.comparison.baselines_against_programs import (
    Baselines,
    Factors,
    at_privacy,
    baseline_factors,
    ratio,
    standards,
)
from mmopt.comparison.isolated_tasks import Isolated, Outcome
from mmopt.comparison.predicted_errors import Predicted, Stated
from mmopt.comparison.program_comparison import (
    Combination,
    Comparison,
    combinations,
    compare,
    outcomes,
    with_formulations,
)
from mmopt.comparison.ranked_places import (
    Place,
    Ranking,
    TemplatePlace,
    best_first,
    ranking,
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
    "best_first",
    "combinations",
    "compare",
    "outcomes",
    "ranking",
    "ratio",
    "standards",
    "template_places",
    "with_formulations",
]
