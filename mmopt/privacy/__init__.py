"""What noise proves, and how much is needed: guarantees, calibration, noise, rounding. Never data.

- ``privacy_parameters.py``: the privacy parameters that an analyst asks for
- ``guarantee.py``: what a noise scale proves, rounded outward
- ``calibration.py``: the least noise for a privacy cost
- ``noise.py``: what every noise has to say, and what all of them share
- ``table_of_noises.py``: the noises, a row each: OpenDP's samplers, costs, laws
- ``rounding/``: strategies rounded to integers
- ``continuous_noise.py``: older calibrations in floating point, to compare with publications
"""

from mmopt.privacy.guarantee import allowed_rho, zcdp_epsilon, zcdp_rho
from mmopt.privacy.privacy_parameters import Privacy
from mmopt.privacy.rounding.integer_dense import IntegerStrategy, round_strategy

__all__ = [
    "IntegerStrategy",
    "Privacy",
    "allowed_rho",
    "round_strategy",
    "zcdp_epsilon",
    "zcdp_rho",
]
