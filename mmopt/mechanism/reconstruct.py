"""From noisy integer answers to estimates of the queries.

All estimates are linear in one vector of k noisy answers that determines one estimate of B x, so they
are consistent: a linear relation between queries holds between their estimates.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError
from mmopt.mechanism.measured import Measured

__all__ = ["half_width", "standard_errors"]

Floats = npt.NDArray[np.float64]


def standard_errors(integer: Measured, scale: float) -> Floats:
    """Standard errors (m,) at integer noise of parameter `scale`.

    Slightly conservative: a discrete Gaussian's variance is at most scale² (Canonne, Kamath and Steinke
    2020, Corollary 9).
    """
    return np.asarray(np.sqrt(integer.variances) * np.ldexp(scale, -integer.bits), dtype=np.float64)


def half_width(confidence: float) -> float:
    """Standard errors either side of an estimate for an interval of this `confidence`.

    The normal quantile. The integer noise has a scale above 2^20 for every rho up to 30,000; at such
    scales a discrete Gaussian differs from a normal by far less than any digit printed.
    """
    if not 0 < confidence < 1:
        raise OptionError(f"confidence is {confidence!r}, expected a number above 0 and below 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)
