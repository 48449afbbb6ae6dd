"""What noise proves, and how much is needed: guarantees, calibration, noise, rounding. Never data."""

from mmopt.privacy.guarantee import allowed_rho, zcdp_epsilon, zcdp_rho
from mmopt.privacy.parameters import Privacy
from mmopt.privacy.rounding.integer_dense import IntegerStrategy, round_strategy

__all__ = [
    "IntegerStrategy",
    "Privacy",
    "allowed_rho",
    "round_strategy",
    "zcdp_epsilon",
    "zcdp_rho",
]
