"""What noise on an integer strategy costs, and the least noise for a cost; both noises, all parts together.

The parts of a strategy are measured one after the other, so that their costs add up: epsilon for Laplace
noise, rho for Gaussian noise.
"""

from __future__ import annotations

import math
from fractions import Fraction

from mmopt.errors import PrivacyError
from mmopt.mechanism.measured import Measured, Part
from mmopt.mechanism.noise import check_scale
from mmopt.mechanism.privacy import float_above, gaussian_rho, laplace_epsilon

__all__ = ["check_scales", "cost", "cost_of_part", "least_scale"]


def cost_of_part(norm: int, part: Part, scale: float) -> float:
    """Epsilon (norm 1) or rho (norm 2) of a part at noise of parameter ``part.relative * scale``, rounded up.

    Raises
    ------
    PrivacyError : a scale that is not finite and positive.
    """
    own = part.relative * scale
    if norm == 1:
        return laplace_epsilon(math.isqrt(part.squared_sensitivity), own)
    return gaussian_rho(part.squared_sensitivity, own)


def cost(integer: Measured, scale: float) -> float:
    """Epsilon (norm 1) or rho (norm 2) of all parts, rounded up; errors as ``cost_of_part``."""
    each = (cost_of_part(integer.norm, part, scale) for part in integer.parts)
    return float_above(sum(map(Fraction, each), Fraction(0)))


def least_scale(integer: Measured, allowed: float) -> float:
    """The smallest scale, to a few units in the last place, whose rounded-up cost is at most `allowed`.

    Raises
    ------
    PrivacyError : a sensitivity of 0.
    """
    if not any(part.squared_sensitivity for part in integer.parts):
        raise PrivacyError(
            f"the sensitivity is 0 under {integer.neighbours}: the queries are the same on all "
            "neighbouring tables, no noise can be calibrated",
            hint="use 'neighbours: add-remove', or give every query a max_variance",
        )
    scale = integer.sensitivity / (allowed if integer.norm == 1 else math.sqrt(2 * allowed))
    while cost(integer, scale) > allowed:
        scale *= 1 + 2.0**-50
    return scale


def check_scales(integer: Measured, scale: float) -> None:
    """PrivacyError unless answers and noise of every part fit 62 bits, as ``noise.check_scale``."""
    for part in integer.parts:
        check_scale(part.relative * scale, part.largest_answer)
