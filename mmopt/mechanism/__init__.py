"""From a strategy to released answers: privacy calibration, rounding, noise, reconstruction, release.

``plan`` decides everything before data is read; ``measure`` is the only step that sees data;
``write_release`` writes what may be published. OpenDP is imported only when noise is drawn.
"""

from mmopt.mechanism.folder import build_manifest, write_release
from mmopt.mechanism.planning import Plan, plan
from mmopt.mechanism.privacy import allowed_rho, zcdp_epsilon, zcdp_rho
from mmopt.mechanism.release import Answers, measure
from mmopt.mechanism.rounding import IntegerStrategy, round_strategy

__all__ = [
    "Answers",
    "IntegerStrategy",
    "Plan",
    "allowed_rho",
    "build_manifest",
    "measure",
    "plan",
    "round_strategy",
    "write_release",
    "zcdp_epsilon",
    "zcdp_rho",
]
