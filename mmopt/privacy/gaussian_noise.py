"""Gaussian noise: what it costs in rho, or in delta, its law, and how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.privacy.continuous import continuous_gaussian_scale
from mmopt.privacy.guarantee import THEOREM_EXACT, allowed_rho, discrete_gaussian_delta, gaussian_delta
from mmopt.privacy.noise import Continuous, Noise, Parts, cost
from mmopt.privacy.parameters import Privacy
from mmopt.privacy.rounding.integer_arithmetic import root_above

__all__ = ["GAUSSIAN"]

_MOST_SUMMED = 2.0**10  # scales up to which the exact delta is summed: beyond, continuous noise is as good
_MOST_EPSILON = 1e5  # whose e^epsilon has an exponent


def _variance(scale: float) -> float:
    """At most scale², and that to a float's accuracy from 4 on.

    By Poisson summation it is scale² (1 - 8 π² scale² exp(-2 π² scale²) …). For scales below 1/20, whose
    draws are zeros, it is that of 1/20 (3e-87).
    """
    if scale >= 4:
        return scale * scale
    k, weights = _weights(max(scale, 0.05))
    return float(k**2 @ weights / weights.sum())


def _weights(scale: float) -> tuple[Array, Array]:
    """Integers and numbers in proportion to their probabilities."""
    k = np.arange(-math.ceil(16 * scale), math.ceil(16 * scale) + 1.0)
    return k, np.exp(-0.5 * np.square(k / scale))


def _log_transform(x: Array, scale: Array) -> Array:
    """By Poisson summation that of Σ exp(-scale² (x - 2πk)²/2) over the same sum at x = 0."""
    near = x - 2 * math.pi * np.rint(x / (2 * math.pi))
    count = math.ceil(2 / max(float(np.min(scale)), 0.05))
    shifts = 2 * math.pi * np.arange(-count, count + 1.0).reshape(-1, *[1] * x.ndim)
    # The largest term apart: at large scales it is below the least float.
    above = np.exp(-0.5 * scale**2 * (np.square(near - shifts) - np.square(near))).sum(axis=0)
    return np.asarray(
        -0.5 * np.square(scale * near) + np.log(above / np.exp(-0.5 * np.square(scale * shifts)).sum(axis=0))
    )


def _imitate(rng: np.random.Generator, scales: Array) -> Array:
    """By their probabilities; of a scale above 32 rounded normal noise."""
    noise = np.rint(rng.normal(0.0, scales))
    for own in np.unique(scales[scales < 32]):
        k, weights = _weights(max(float(own), 0.05))
        noise[scales == own] = rng.choice(k, (scales == own).sum(), p=weights / weights.sum())
    return noise


def _deltas(parts: Parts) -> list[tuple[str, Callable[..., Decimal]]]:
    """All parts are one Gaussian mechanism, each over its noise, of squared sensitivity 2 rho.

    Rounding continuous noise on integers is post-processing, so an (epsilon, delta) of continuous noise holds
    for discrete noise at delta + (1 + e^epsilon) times the distance.
    """
    context = Context(prec=60)

    def analytic(epsilon: float, scale: float) -> Decimal:
        if epsilon > _MOST_EPSILON:
            return Decimal(1)
        squared = 2 * Fraction(cost(GAUSSIAN, parts, scale))
        mu = context.divide(Decimal(squared.numerator), Decimal(squared.denominator)).sqrt(context)
        apart = (1 + Decimal(epsilon).exp(context)) * Decimal(_distance(parts, scale))
        return gaussian_delta(epsilon, mu.next_plus(context)) + apart * (1 + Decimal("1e-20"))

    def exact(epsilon: float, scale: float) -> Decimal:
        own = parts[0].relative * scale
        if own > _MOST_SUMMED:
            return Decimal(1)
        return discrete_gaussian_delta(epsilon, math.isqrt(parts[0].squared_sensitivity), own)

    one_count = len(parts) == 1 and parts[0].is_one_count
    theorem = (
        "analytic Gaussian mechanism (Balle and Wang 2018, Theorem 8), its delta plus (1 + e^epsilon) times "
        "the total variation between discrete and rounded Gaussian noise, at most rows / (16 scale²)"
    )
    return [(theorem, analytic), *([(THEOREM_EXACT, exact)] if one_count else [])]


def _distance(parts: Parts, scale: float) -> float:
    """A bound on the total variation between discrete Gaussian and rounded normal noise on all rows.

    For a row of parameter s >= 1 it is 1 / (16 s²). Let f be the density of N(0, s²) and S = Σ f(k) over the
    integers. ∫ (f(k + t) - f(k)) dt over |t| <= 1/2 is ∫ f''(k + t) (1/2 - |t|)²/2 dt (Taylor; odd terms
    cancel), so the probabilities of rounded noise differ from f(k) by at most ∫|f''| / 8 = φ(1) / (2 s²) =
    0.12099 / s² together. Those of discrete noise, f(k) / S, differ by |S - 1| = 2 Σ exp(-2π² s² m²) <=
    1e-8 / s² (Poisson summation). Half of the sum is the distance of a row; those of independent rows add up.
    """
    scales = [(part.rows, part.relative * scale) for part in parts]
    return math.fsum(rows / (16 * s * s) if s >= 1 else rows for rows, s in scales) * (1 + 2.0**-48)


def _continuous_scale(privacy: Privacy, sensitivity: float) -> float:
    """sensitivity / √(2 ρ), or that of Balle and Wang (2018) for (ε, δ)."""
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
    deltas=_deltas,
    distance=_distance,
    sampler="opendp make_gaussian",
    measurement=lambda dp, domain, scale: dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale),
    root=root_above,
    variance=_variance,
    imitate=_imitate,
    log_transform=_log_transform,
    # It is subgaussian of its parameter (Canonne, Kamath and Steinke 2020): P(|error| > t) <= 2 exp(-t²/2).
    tail=lambda missed, _: math.sqrt(2 * math.log(2 / missed)),
    continuous=Continuous(
        scale=_continuous_scale,
        variance=1.0,
        draw=lambda rng, shape: rng.normal(size=shape),
        mean=math.sqrt(2.0 / math.pi),
    ),
)
"""P(z) ~ exp(-z² / 2 scale²): rho is half the squared sensitivity over the squared scale."""
