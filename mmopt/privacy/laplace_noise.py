"""Laplace noise: what it costs in epsilon, its law, and how it is drawn."""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

from mmopt.numerics.arrays import Array
from mmopt.privacy.guarantee import allowed_epsilon
from mmopt.privacy.noise import Continuous, Noise

__all__ = ["LAPLACE", "quantile"]


def _variance(scale: float) -> float:
    """2 e^u / (e^u - 1)², u = 1 / scale; a little below 2 scale².

    It grows with the scale; for scales below 1/200, whose draws are zeros, it is that of 1/200 (3e-87).
    """
    return 0.5 / math.sinh(min(0.5 / scale, 100.0)) ** 2


def _log_transform(x: Array, scale: Array) -> Array:
    """That of 1 / (1 + sin²(x/2) / sinh²(1 / 2 scale))."""
    return np.asarray(-np.log1p(np.square(np.sin(x / 2) / np.sinh(np.minimum(0.5 / scale, 300.0)))))


def _imitate(rng: np.random.Generator, scales: Array) -> Array:
    """The difference of two geometric variables."""
    chance = -np.expm1(-1.0 / scales)
    return np.asarray(rng.geometric(chance) - rng.geometric(chance))


def _tail(missed: float, least: float) -> float:
    """A Laplace variable L = X - Y of two exponential ones is z + V, z = ⌊X⌋ - ⌊Y⌋ discrete Laplace, and V,
    the difference of what was cut off, symmetric, below 1 and independent of z (no memory). So |Σ a z| > t
    implies |Σ a L| > t with probability 1/2 at least, and |Σ a L| > t - |Σ a V| always, where Σ a V is beyond
    v |a| with probability 2 exp(-v²/2) at most (Hoeffding); quantiles of Σ a L are those of ``quantile``.
    """
    rest = math.sqrt(math.log(2e3 / missed)) / least  # v over √2 scale, at missed / 1000
    return min(quantile(missed * 0.999) + rest, quantile(missed / 2))


def quantile(missed: float) -> float:
    """Standard errors of Σ a_j L_j that it exceeds with probability `missed` at most, for every a.

    It covers whether a query has one term or thousands. A Laplace variable is a normal one whose variance
    is exponentially distributed, so that the error, in standard errors, is √Y times a standard normal, and Y
    is a weighted mean of independent exponential variables of mean 1. With g(y) = P(|√y N| > t), for any
    convex h >= g, P(|error| > t) <= E h(Y) <= E h(E₁) by Jensen, for one exponential variable E₁. h is g up
    to its inflection at t²/3, and the tangent from there on. For 5 % it is 2.16 (one Laplace variable needs
    2.12, very many 1.96).
    """
    width = float(brentq(lambda t: _exceeded(t) - missed, 1e-3, 60.0 - math.log(missed), xtol=1e-9))
    return width * (1 + 1e-6)  # beyond the accuracy of root and integral


def _exceeded(t: float) -> float:
    """E h(E₁) of ``quantile``: at least the probability of an error of more than t standard errors."""
    bend = t * t / 3
    below = quad(lambda y: 2 * ndtr(-t / math.sqrt(y)) * math.exp(-y), 0.0, bend, epsabs=1e-14)[0]
    slope = math.exp(-1.5) / math.sqrt(2 * math.pi) * t * bend**-1.5
    return float(below + math.exp(-bend) * (2 * ndtr(-math.sqrt(3)) + slope))


LAPLACE = Noise(
    name="Laplace",
    norm=1,
    unit="epsilon",
    allowed=allowed_epsilon,
    example="epsilon: 1.0",
    theorem="discrete Laplace is epsilon-DP, delta 0 (Ghosh, Roughgarden, Sundararajan 2009; L1 sensitivity: "
    "Dwork, McSherry, Nissim, Smith 2006)",
    exact_cost=lambda squared, scale: math.isqrt(squared) / scale,
    least_scale=float,
    sampler="opendp make_laplace",
    measurement=lambda dp, domain, scale: dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale),
    root=math.isqrt,
    variance=_variance,
    imitate=_imitate,
    log_transform=_log_transform,
    tail=_tail,
    continuous=Continuous(
        scale=lambda privacy, sensitivity: sensitivity / allowed_epsilon(privacy),
        variance=2.0,
        draw=lambda rng, shape: rng.laplace(size=shape),
    ),
)
"""P(z) ~ exp(-|z| / scale): epsilon is the sensitivity over the scale."""
