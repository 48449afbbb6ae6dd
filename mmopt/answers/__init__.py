"""Answers at a stated privacy: the default strategy, accuracy before any data, the least budget, one call.

- ``accuracy_budget_and_default_strategy.py``: ``mmopt.accuracy`` and ``mmopt.budget``: accuracy at a privacy,
  and the least privacy cost of targets; the strategy of least predicted error, used when no program is named
- ``private_release.py``: ``mmopt.release`` and its result: counts, charge and noise in their order; answers,
  charts, folder
- ``refined_answers.py``: ``Release.refine``: the nearest answers that non-negative counts of known totals
  can have; these counts, chosen, rounded to whole numbers, proved
- ``refined_tables.py``: the counts of tables whose answers are nearest, where a count for each cell would be
  too many
- ``read_and_recheck_folder.py``: the folder of a release read back, the figures of its manifest derived again
"""

from mmopt.answers.accuracy_budget_and_default_strategy import Accuracy, Budget, accuracy, budget
from mmopt.answers.private_release import Release, load_release, release

__all__ = ["Accuracy", "Budget", "Release", "accuracy", "budget", "load_release", "release"]
