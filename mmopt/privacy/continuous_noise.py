"""Calibrations in floating point, to compare with publications: continuous Gaussian noise, an older formula.

What a release claims, of the discrete noise that `noise.py` draws, is in `guarantee.py` and `calibration.py`.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
from scipy.optimize import brentq

from mmopt.errors import PrivacyError
from mmopt.privacy.guarantee import check_approximate, gaussian_delta

__all__ = [
    "continuous_gaussian_delta",
    "continuous_gaussian_epsilon",
    "continuous_gaussian_mu",
    "continuous_gaussian_scale",
    "pvldb2012_rmse_factor",
]


def continuous_gaussian_delta(epsilon: float, mu: float) -> float:
    """Exact delta at epsilon of continuous Gaussian noise with mu = sensitivity / scale, that is of mu-GDP.

    ``guarantee.gaussian_delta`` (also Dong, Roth and Su 2022, Corollary 2.13) to float accuracy.
    """
    if not (math.isfinite(mu) and mu > 0):
        raise PrivacyError(f"mu is {mu!r}, expected a finite number above 0")
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise PrivacyError(f"epsilon is {epsilon!r}, expected a finite number, 0 or above")
    return float(gaussian_delta(epsilon, Decimal(mu)))


def continuous_gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon at which mu-GDP implies (epsilon, delta); absolute accuracy 1e-14, relative 1e-12."""
    if continuous_gaussian_delta(0.0, mu) <= delta:
        return 0.0
    most = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))  # by zCDP
    return float(
        brentq(lambda e: continuous_gaussian_delta(e, mu) - delta, 0.0, most, xtol=1e-14, rtol=1e-12)
    )


def continuous_gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP implies (epsilon, delta); relative accuracy about 1e-12."""
    check_approximate(epsilon, delta)

    def excess(log_mu: float) -> float:
        return continuous_gaussian_delta(epsilon, math.exp(log_mu)) - delta

    return math.exp(float(brentq(excess, -700.0, 700.0, xtol=1e-14, rtol=4 * float(np.finfo(float).eps))))


def continuous_gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Standard deviation of continuous Gaussian noise for exactly (epsilon, delta) (Balle and Wang 2018)."""
    return sensitivity / continuous_gaussian_mu(epsilon, delta)


def pvldb2012_rmse_factor(epsilon: float, delta: float) -> float:
    """sqrt(log2(2/delta)) / epsilon: what PVLDB 2012 multiplies an objective's root by in its tables.

    For reproducing those tables only: it is not a calibration proved for all epsilon.
    """
    check_approximate(epsilon, delta)
    return math.sqrt(math.log2(2 / delta)) / epsilon
