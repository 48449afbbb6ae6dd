"""From a strategy and data to released answers: plan, measure, answer, write. Never solves.

``plan`` decides everything before data is read; ``measure`` is the only step that sees data;
``write_release`` writes what may be published. OpenDP is imported only when noise is drawn.
"""

from mmopt.mechanism.measurement import Answers, measure
from mmopt.mechanism.planning import Plan, plan
from mmopt.mechanism.release_folder import build_manifest, write_release

__all__ = [
    "Answers",
    "Plan",
    "build_manifest",
    "measure",
    "plan",
    "write_release",
]
