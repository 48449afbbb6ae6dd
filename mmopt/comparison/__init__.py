"""Programs side by side, each in a process of its own. Solving and judging stand in ``mmopt.driver``.

- ``compare.py``: ``mmopt.compare``: which combinations of program, solver and tolerance, and their outcomes
- ``compared_outcome.py``: what became of one combination, in words where it failed
- ``compared_programs.py``: what ``compare`` returns: these in their order, as a frame and on display
- ``isolate.py``: tasks run one after another in processes that cannot take the rest along
- ``worker.py``: the process that does these tasks
- ``worker_processes.py``: what the two say to each other, and limits of memory
- ``predicted_errors.py``: what a release of a strategy would be like at a stated privacy
- ``ranking.py``: programs and baselines, best first
- ``baseline_factors.py``: by which factor the errors of baselines are larger
- ``template_places.py``: templates of both noises in one list
- ``least_costs.py``: what it costs at unit noise that every query meets its target
"""

from mmopt.comparison.baseline_factors import Baselines, Factors, at_privacy, baseline_factors, standards
from mmopt.comparison.compare import Combination, combinations, compare, outcomes, with_formulations
from mmopt.comparison.compared_outcome import Outcome
from mmopt.comparison.compared_programs import Comparison
from mmopt.comparison.isolate import Isolated
from mmopt.comparison.predicted_errors import Predicted, Stated
from mmopt.comparison.ranking import Place, Ranking, ranking
from mmopt.comparison.template_places import TemplatePlace, template_places

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
