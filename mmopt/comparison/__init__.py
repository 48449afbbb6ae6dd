"""Programs side by side, each in a process of its own. Solving and judging stand in ``mmopt.driver``."""

from mmopt.comparison.baseline_factors import Factors, baseline_factors, standards
from mmopt.comparison.compare import Combination, combinations, compare, outcomes, with_formulations
from mmopt.comparison.isolate import Isolated
from mmopt.comparison.outcome import Outcome

__all__ = [
    "Combination",
    "Factors",
    "Isolated",
    "Outcome",
    "baseline_factors",
    "combinations",
    "compare",
    "outcomes",
    "standards",
    "with_formulations",
]
