"""The table of noises: a row for each, after the functions in it; and which of them a strategy gets."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from mmopt.numerics.arrays import Array
from mmopt.privacy.guarantee import (
    THEOREM_EXACT,
    Privacy,
    allowed_epsilon,
    allowed_rho,
    discrete_gaussian_delta,
    gaussian_delta,
)
from mmopt.privacy.noise import Continuous, Noise, Parts, continuous_gaussian_scale, cost
from mmopt.privacy.rounding.integer_arithmetic import root_above

MOST_SUMMED = 2.0**10  # scales up to which the exact delta is summed: beyond, continuous noise is as good
_MOST_EPSILON = 1e5  # whose e^epsilon has an exponent


# -- Laplace


def _laplace_variance(scale: float) -> float:
    """2 e^u / (e^u - 1)², u = 1 / scale; a little below 2 scale².

    It grows with the scale; for scales below 1/200, whose draws are zeros, it is that of 1/200 (3e-87).
    """
    return 0.5 / math.sinh(min(0.5 / scale, 100.0)) ** 2


def _laplace_log_transform(x: Array, scale: Array) -> Array:
    """The logarithm of 1 / (1 + sin²(x/2) / sinh²(1 / 2 scale))."""
    return np.asarray(-np.log1p(np.square(np.sin(x / 2) / np.sinh(np.minimum(0.5 / scale, 300.0)))))


def _laplace_imitate(rng: np.random.Generator, scales: Array) -> Array:
    """The difference of two geometric variables."""
    chance = -np.expm1(-1.0 / scales)
    return np.asarray(rng.geometric(chance) - rng.geometric(chance))


def _laplace_tail(missed: float, least: float) -> float:
    """A Laplace variable L = X - Y of two exponential ones is z + V, z = ⌊X⌋ - ⌊Y⌋ discrete Laplace, and V,
    the difference of the fractions, symmetric, below 1 and independent of z (no memory). So |Σ a z| > t
    implies |Σ a L| > t with probability 1/2 at least, and |Σ a L| > t - |Σ a V| always, where Σ a V is beyond
    v |a| with probability 2 exp(-v²/2) at most (Hoeffding); quantiles of Σ a L are those of
    ``laplace_quantile``.
    """
    rest = math.sqrt(math.log(2e3 / missed)) / least  # v over √2 scale, at missed / 1000
    return min(laplace_quantile(missed * 0.999) + rest, laplace_quantile(missed / 2))


def laplace_quantile(missed: float) -> float:
    """Standard errors of Σ a_j L_j that it exceeds with probability `missed` at most, for every a.

    It holds whether a query has one term or thousands. A Laplace variable is a normal one whose variance
    is exponentially distributed, so that the error, in standard errors, is √Y times a standard normal, and Y
    is a weighted mean of independent exponential variables of mean 1. With g(y) = P(|√y N| > t), for any
    convex h >= g, P(|error| > t) <= E h(Y) <= E h(E₁) by Jensen, for one exponential variable E₁. h is g up
    to its inflection at t²/3, and the tangent from there on. For 5 % it is 2.16 (one Laplace variable needs
    2.12, very many 1.96).
    """
    width = float(brentq(lambda t: _laplace_exceeded(t) - missed, 1e-3, 60.0 - math.log(missed), xtol=1e-9))
    return width * (1 + 1e-6)  # beyond the accuracy of root and integral


def _laplace_exceeded(t: float) -> float:
    """E h(E₁) of ``laplace_quantile``: at least the probability of an error of t standard errors or more."""
    from scipy.integrate import quad  # takes a tenth of a second, and few need it

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
    variance=_laplace_variance,
    imitate=_laplace_imitate,
    log_transform=_laplace_log_transform,
    tail=_laplace_tail,
    continuous=Continuous(
        scale=lambda privacy, sensitivity: sensitivity / allowed_epsilon(privacy),
        variance=2.0,
        draw=lambda rng, shape: rng.laplace(size=shape),
    ),
)
"""P(z) ~ exp(-|z| / scale): epsilon is the sensitivity over the scale."""


# -- Gaussian


def _gaussian_variance(scale: float) -> float:
    """The variance: at most scale², and from a scale of 4 on that to the accuracy of a float.

    By Poisson summation it is scale² (1 - 8 π² scale² exp(-2 π² scale²) …). For scales below 1/20, whose
    draws are zeros, it is that of 1/20 (3e-87).
    """
    if scale >= 4:
        return scale * scale
    k, weights = _gaussian_weights(max(scale, 0.05))
    return float(k**2 @ weights / weights.sum())


def _gaussian_weights(scale: float) -> tuple[Array, Array]:
    """Integers and numbers in proportion to their probabilities."""
    k = np.arange(-math.ceil(16 * scale), math.ceil(16 * scale) + 1.0)
    return k, np.exp(-0.5 * np.square(k / scale))


def _gaussian_log_transform(x: Array, scale: Array) -> Array:
    """The logarithm, by Poisson summation, of Σ exp(-scale² (x - 2πk)²/2) over the same sum at x = 0."""
    near = x - 2 * math.pi * np.rint(x / (2 * math.pi))
    count = math.ceil(2 / max(float(np.min(scale)), 0.05))
    shifts = 2 * math.pi * np.arange(-count, count + 1.0).reshape(-1, *[1] * x.ndim)
    # The largest term apart: at large scales it is below the least float.
    above = np.exp(-0.5 * scale**2 * (np.square(near - shifts) - np.square(near))).sum(axis=0)
    return np.asarray(
        -0.5 * np.square(scale * near) + np.log(above / np.exp(-0.5 * np.square(scale * shifts)).sum(axis=0))
    )


def _gaussian_imitate(rng: np.random.Generator, scales: Array) -> Array:
    """Draws by their probabilities; at scales above 32 rounded normal noise."""
    noise = np.rint(rng.normal(0.0, scales))
    for small in np.unique(scales[scales < 32]):
        k, weights = _gaussian_weights(max(float(small), 0.05))
        noise[scales == small] = rng.choice(k, (scales == small).sum(), p=weights / weights.sum())
    return noise


def _gaussian_deltas(parts: Parts) -> list[tuple[str, Callable[..., Decimal]]]:
    """The theorems for parts: over their noise they are one Gaussian mechanism of squared sensitivity 2 rho.

    Rounding continuous noise on integers is post-processing, so an (epsilon, delta) of continuous noise holds
    for discrete noise at delta + (1 + e^epsilon) times the distance.
    """
    context = Context(prec=60)

    def analytic(epsilon: float, scale: float) -> Decimal:
        if epsilon > _MOST_EPSILON:
            return Decimal(1)
        squared = 2 * Fraction(cost(GAUSSIAN, parts, scale))
        mu = context.divide(Decimal(squared.numerator), Decimal(squared.denominator)).sqrt(context)
        apart = (1 + Decimal(epsilon).exp(context)) * Decimal(_gaussian_distance(parts, scale))
        return gaussian_delta(epsilon, mu.next_plus(context)) + apart * (1 + Decimal("1e-20"))

    def exact(epsilon: float, scale: float) -> Decimal:
        part_scale = parts[0].relative * scale
        if part_scale > MOST_SUMMED:
            return Decimal(1)
        return discrete_gaussian_delta(epsilon, math.isqrt(parts[0].squared_sensitivity), part_scale)

    one_count = len(parts) == 1 and parts[0].is_one_count
    theorem = (
        "analytic Gaussian mechanism (Balle and Wang 2018, Theorem 8), its delta plus (1 + e^epsilon) times "
        "the total variation between discrete and rounded Gaussian noise, at most rows / (16 scale²)"
    )
    return [(theorem, analytic), *([(THEOREM_EXACT, exact)] if one_count else [])]


def _gaussian_distance(parts: Parts, scale: float) -> float:
    """A bound on the total variation between discrete Gaussian and rounded normal noise on all rows.

    For a row of parameter s >= 1 it is 1 / (16 s²). Let f be the density of N(0, s²) and S = Σ f(k) over the
    integers. ∫ (f(k + t) - f(k)) dt over |t| <= 1/2 is ∫ f''(k + t) (1/2 - |t|)²/2 dt (Taylor; odd terms
    cancel), so the probabilities of rounded noise differ from f(k) by at most ∫|f''| / 8 = φ(1) / (2 s²) =
    0.12099 / s² together. Those of discrete noise, f(k) / S, differ by |S - 1| = 2 Σ exp(-2π² s² m²) <=
    1e-8 / s² (Poisson summation). Half of the sum is the distance of a row; those of independent rows add up.
    """
    scales = [(part.rows, part.relative * scale) for part in parts]
    return math.fsum(rows / (16 * s * s) if s >= 1 else rows for rows, s in scales) * (1 + 2.0**-48)


def _gaussian_continuous_scale(privacy: Privacy, sensitivity: float) -> float:
    """sensitivity / √(2 ρ), or the scale of Balle and Wang (2018) for (ε, δ)."""
    rho = allowed_rho(privacy)
    if privacy.epsilon is not None and privacy.delta is not None:
        return continuous_gaussian_scale(privacy.epsilon, privacy.delta, sensitivity)
    return sensitivity / math.sqrt(2.0 * rho)


GAUSSIAN = Noise(
    name="Gaussian",
    norm=2,
    unit="rho",
    allowed=allowed_rho,
    example="epsilon: 1.0, delta: 1.0e-6",
    takes_targets=True,
    theorem="discrete Gaussian is rho-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14)",
    implied="; zCDP to (epsilon, delta) (the same, Corollary 13)",
    exact_cost=lambda squared, scale: Fraction(squared) / (2 * scale**2),
    least_scale=math.sqrt,
    deltas=_gaussian_deltas,
    distance=_gaussian_distance,
    sampler="opendp make_gaussian",
    measurement=lambda dp, domain, scale: dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale),
    root=root_above,
    variance=_gaussian_variance,
    imitate=_gaussian_imitate,
    log_transform=_gaussian_log_transform,
    # It is subgaussian of its parameter (Canonne, Kamath and Steinke 2020): P(|error| > t) <= 2 exp(-t²/2).
    tail=lambda missed, _: math.sqrt(2 * math.log(2 / missed)),
    continuous=Continuous(
        scale=_gaussian_continuous_scale,
        variance=1.0,
        draw=lambda rng, shape: rng.normal(size=shape),
        mean=math.sqrt(2.0 / math.pi),
    ),
)
"""P(z) ~ exp(-z² / 2 scale²): rho is half the squared sensitivity over the squared scale."""


# -- all


NOISES: tuple[Noise, ...] = (LAPLACE, GAUSSIAN)


def noise_for(norm: int, privacy: Privacy | None = None) -> Noise:
    """The first noise for a norm that takes this privacy; if none does, the first, whose error says why."""
    rows = [noise for noise in NOISES if noise.norm == norm]
    return next((noise for noise in rows if privacy is None or noise.takes(privacy)), rows[0])
