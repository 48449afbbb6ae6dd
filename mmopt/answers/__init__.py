"""Answers at a stated privacy: the default strategy, accuracy before any data, the least budget, one call.

- ``default_strategy.py``: the strategy used when no program is named: that of least predicted error at a
  privacy
- ``accuracy_and_budget.py``: ``mmopt.accuracy`` and ``mmopt.budget``: accuracy at a privacy, and the least
  privacy cost of targets
- ``private_release.py``: ``mmopt.release`` and its result: counts, charge and noise in their order; answers,
  charts, folder
- ``refined_answers.py``: ``Release.refine``: the nearest answers that non-negative counts of known totals
  can have; these counts, chosen, rounded to whole numbers, proved
- ``read_and_recheck_folder.py``: the folder of a release read back, the figures of its manifest derived again
"""

from mmopt.answers.accuracy_and_budget import Accuracy, Budget, accuracy, budget
from mmopt.answers.private_release import Release, load_release, release

__all__ = ["Accuracy", "Budget", "Release", "accuracy", "budget", "load_release", "release"]
