"""From a strategy and data to released answers: plan, measure, answer, write; simulate. Solves nothing.

OpenDP is imported only when noise is drawn.

- ``release_plan.py``: ``plan``: the noise, cost and accuracy of a release before any data: calibration,
  columns of accuracy, covariances
- ``standard_errors_and_intervals.py``: standard errors of the queries, and their intervals by the law of the
  noise
- ``release_writing.py``: the folder of a release: columns of answers, manifest, strategy
- ``measured_and_simulated_releases.py``: ``measure`` is the only step that sees data; relative errors on true
  data, not private, for choosing between strategies
"""

from mmopt.mechanism.measured_and_simulated_releases import Answers, measure
from mmopt.mechanism.release_plan import Plan, plan
from mmopt.mechanism.release_writing import build_manifest, write_release

__all__ = [
    "Answers",
    "Plan",
    "build_manifest",
    "measure",
    "plan",
    "write_release",
]
