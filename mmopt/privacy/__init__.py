"""What noise proves, and how much is needed: guarantees, calibration, noise, rounding. Never data.

- ``parameters.py``: the privacy parameters that an analyst asks for
- ``guarantee.py``: what a noise scale proves, rounded outward
- ``calibration.py``: the least noise for a privacy cost
- ``noise.py``: integer noise: OpenDP's samplers, and a seeded imitation
- ``rounding/``: strategies rounded to integers
- ``continuous.py``: older calibrations in floating point, to compare with publications
"""

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
