"""Answers at a stated privacy: the default strategy, accuracy before any data, the least budget, one call.

- ``default_strategy.py``: the strategy of least predicted error at a privacy, both noises considered
- ``laplace_for_targets.py``: a strategy of norm 1 for targets, by weights that follow them
- ``accuracy_at_privacy.py``: ``accuracy``: the standard error of each answer, before any data
- ``least_budget.py``: ``budget``: the least privacy cost at which every target holds
- ``what_is_asked.py``: what callers pass for a workload and a privacy
- ``counted_data.py``: the rows of a table, counted by cells or by few attributes
- ``charged_release.py``: a release that is charged to a ledger
- ``one_call.py``: ``release``: from data and a workload to private answers
- ``release_result.py``: ``Release``: the answers, how they were got, and how their errors go together
- ``refined_answers.py``: ``Release.refine``: non-negative answers with known totals, beside the unbiased ones
- ``nearest_counts.py``: the program ``refine_counts`` solved, made exact, certified
- ``refined_figures.py``: what is proved of refined answers as they are written
- ``whole_counts.py``: counts rounded to whole numbers so that totals and hierarchies still add up
- ``read_folder.py``: the folder of a release, read back and checked against its manifest
- ``derived_figures.py``: what a manifest says that follows from what stands beside it, with the plan of it
"""

from mmopt.answers.accuracy_at_privacy import Accuracy, accuracy
from mmopt.answers.least_budget import Budget, budget
from mmopt.answers.one_call import release
from mmopt.answers.release_result import Release, load_release

__all__ = ["Accuracy", "Budget", "Release", "accuracy", "budget", "load_release", "release"]
