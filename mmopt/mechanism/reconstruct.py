"""From noisy integer answers to estimates of the queries.

All estimates are linear in one vector of k noisy answers that determines one estimate of B x, so they
are consistent: a linear relation between queries holds between their estimates.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

from mmopt.errors import OptionError
from mmopt.mechanism.measured import Measured
from mmopt.mechanism.noise import laplace_variance

__all__ = ["deviations", "half_width", "standard_errors"]

Floats = npt.NDArray[np.float64]


def deviations(integer: Measured, scale: float) -> Floats:
    """Standard deviation of the noise of each part, (parts,), at noise of parameter `scale`.

    Slightly conservative for Gaussian noise: the discrete one's variance is at most scale² (Canonne, Kamath
    and Steinke 2020, Corollary 9). Laplace noise has its exact variance.
    """
    scales = [part.relative * scale for part in integer.parts]
    if integer.norm == 2:
        return np.array(scales)
    return np.sqrt([laplace_variance(own) for own in scales])


def standard_errors(integer: Measured, scale: float) -> Floats:
    """Standard errors (m,) at integer noise of parameter `scale`."""
    return integer.standard_errors(deviations(integer, scale))


def half_width(confidence: float, norm: int = 2) -> float:
    """Standard errors either side of an estimate for an interval of this `confidence`.

    Gaussian noise (norm 2): the normal quantile. The integer noise has a scale above 2^20 for every rho up
    to 30,000; at such scales discrete noise differs from continuous by far less than any digit printed.

    Laplace noise (norm 1): an estimate's error is Σ a_j z_j, in which some queries have one term and others
    thousands, so the width is one that covers for every a. A Laplace variable is a normal one whose variance
    is exponentially distributed, so that the error, in standard errors, is √Y times a standard normal, and Y
    is a weighted mean of independent exponential variables of mean 1. With g(y) = P(|√y N| > t), for any
    convex h >= g, P(|error| > t) <= E h(Y) <= E h(E₁) by Jensen, for one exponential variable E₁. h is g up
    to its inflection at t²/3, and the tangent from there on. For 95 % it is 2.16 (one Laplace variable
    needs 2.12, very many 1.96).
    """
    if not 0 < confidence < 1:
        raise OptionError(f"confidence is {confidence!r}, expected a number above 0 and below 1")
    if norm == 2:
        return NormalDist().inv_cdf((1 + confidence) / 2)
    missed = 1 - confidence
    width = float(brentq(lambda t: _laplace_tail(t) - missed, 1e-3, 60.0 - math.log(missed), xtol=1e-9))
    return width * (1 + 1e-6)  # beyond the accuracy of root and integral


def _laplace_tail(t: float) -> float:
    """E h(E₁) of ``half_width``: at least the probability of an error of more than t standard errors."""
    bend = t * t / 3
    below = quad(lambda y: 2 * ndtr(-t / math.sqrt(y)) * math.exp(-y), 0.0, bend, epsabs=1e-14)[0]
    slope = math.exp(-1.5) / math.sqrt(2 * math.pi) * t * bend**-1.5
    return float(below + math.exp(-bend) * (2 * ndtr(-math.sqrt(3)) + slope))
