"""Guarantees that noise proves: privacy parameters, kinds of noise, strategies in integers. Never data.

- ``epsilon_delta_rho.py``: privacy parameters, and which of them follow from which
- ``noise.py``: the kinds of noise, a row each: OpenDP's samplers, costs, laws
- ``rounding/``: strategies rounded to integers
"""

from mmopt.privacy.epsilon_delta_rho import (
    Privacy,
    PrivacyLike,
    PrivacyParameters,
    allowed_rho,
    zcdp_epsilon,
    zcdp_rho,
)
from mmopt.privacy.rounding.integer_dense import IntegerStrategy, round_strategy

__all__ = [
    "IntegerStrategy",
    "Privacy",
    "PrivacyLike",
    "PrivacyParameters",
    "allowed_rho",
    "round_strategy",
    "zcdp_epsilon",
    "zcdp_rho",
]
