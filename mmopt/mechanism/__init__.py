"""From a strategy and data to released answers: plan, measure, answer, write; simulate. Never solves.

OpenDP is imported only when noise is drawn.

- ``make_plan.py``: ``plan`` decides everything before data is read: privacy, noise, predicted errors
- ``release_plan.py``: ``Plan``: what was decided, and the claim that its noise proves
- ``noise_for_targets.py``: the scale that targets and wishes ask for
- ``accuracy.py``: standard errors and intervals, before any data
- ``accuracy_columns.py``: they as columns, a value a query, for tables and files
- ``measurement.py``: ``measure`` is the only step that sees data
- ``answer_columns.py``: answers as columns, rounded as they are published
- ``release_folder.py``: ``write_release`` writes what may be published: answers, manifest, more files
- ``covariances.py``: how the errors of released estimates go together
- ``simulated_releases.py``: relative errors on true data, for choosing between strategies; not private
"""

from mmopt.mechanism.make_plan import plan
from mmopt.mechanism.measurement import Answers, measure
from mmopt.mechanism.release_folder import build_manifest, write_release
from mmopt.mechanism.release_plan import Plan

__all__ = [
    "Answers",
    "Plan",
    "build_manifest",
    "measure",
    "plan",
    "write_release",
]
