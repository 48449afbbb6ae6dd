"""Guarantees that noise proves, and how much noise they need: calibration, noise, rounding. Never data.

- ``guarantee.py``: privacy parameters, and the guarantee that a noise scale proves
- ``noise.py``: noises, a row each (OpenDP's samplers, costs, laws), and the least noise for a privacy
- ``rounding/``: strategies rounded to integers
"""

from mmopt.privacy.guarantee import Privacy, allowed_rho, zcdp_epsilon, zcdp_rho
from mmopt.privacy.rounding.integer_dense import IntegerStrategy, round_strategy

__all__ = [
    "IntegerStrategy",
    "Privacy",
    "allowed_rho",
    "round_strategy",
    "zcdp_epsilon",
    "zcdp_rho",
]
