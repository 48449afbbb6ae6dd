"""Integer noise: OpenDP's exact samplers, and a seeded imitation that protects nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.numerics.arrays import Array, Ints

__all__ = [
    "add_noise",
    "check_scale",
    "gaussian_variance",
    "laplace_variance",
    "log_transform",
    "simulate",
]


_TAIL = 64  # scales; a draw leaves this range with probability exp(-2000), Laplace noise exp(-64)


def check_scale(scale: float, largest_answer: int) -> None:
    """PrivacyError unless answers up to `largest_answer` plus their noise fit 62 bits.

    OpenDP saturates at the ends of int64. That would keep the privacy but bias the answers.
    """
    if not (math.isfinite(scale) and scale > 0):
        raise PrivacyError(f"the noise scale is {scale!r}, expected a finite number above 0")
    if largest_answer + _TAIL * scale >= 2**62:
        raise PrivacyError(
            f"answers up to {largest_answer} with noise of scale {scale:.4g} may exceed 2^62, "
            "the limit of 64-bit integers",
            hint="so little privacy budget gives answers of noise only; raise epsilon or rho",
        )


def add_noise(answers: Ints, scale: float, sensitivity: float, claimed: float, norm: int = 2) -> Ints:
    """`answers` (p,) plus independent discrete noise of parameter `scale`, drawn by OpenDP.

    Gaussian (norm 2), or Laplace, P(z) ~ exp(-|z| / scale) (norm 1, with an integer sensitivity). Before a
    draw, OpenDP's own accounting must confirm that the noise costs at most the rho, or epsilon, `claimed` for
    answers of this sensitivity in the norm; PrivacyError otherwise. OpenDP 0.16 checks neither NaN nor the
    length of its input, so both are checked here.
    """
    answers = _checked(answers)
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"), len(answers))
    if norm == 1:
        measurement: Any = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
        name, accounted = "epsilon", float(measurement.map(int(sensitivity)))
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(scale))
        name, accounted = "rho", float(measurement.map(float(sensitivity)))
    if not accounted <= claimed:  # also true for NaN
        raise PrivacyError(
            f"OpenDP accounts {name} {accounted!r} for this noise, the release claims {claimed!r}"
        )
    drawn = np.asarray(measurement([int(v) for v in answers]), dtype=np.int64)
    if drawn.shape != answers.shape:
        raise PrivacyError(f"OpenDP returned {drawn.shape[0]} answers, expected {answers.shape[0]}")
    return drawn


def laplace_variance(scale: float) -> float:
    """Variance of discrete Laplace noise: 2 e^u / (e^u - 1)², u = 1 / scale; a little below 2 scale².

    It grows with the scale; for scales below 1/200, whose draws are zeros, it is that of 1/200 (3e-87).
    """
    return 0.5 / math.sinh(min(0.5 / scale, 100.0)) ** 2


def gaussian_variance(scale: float) -> float:
    """Variance of discrete Gaussian noise: at most scale², and that to a float's accuracy from 4 on.

    By Poisson summation it is scale² (1 - 8 π² scale² exp(-2 π² scale²) …). For scales below 1/20, whose
    draws are zeros, it is that of 1/20 (3e-87).
    """
    if scale >= 4:
        return scale * scale
    k, weights = _weights(max(scale, 0.05))
    return float(k**2 @ weights / weights.sum())


def _weights(scale: float) -> tuple[Array, Array]:
    """Integers and numbers in proportion to their probabilities under the discrete Gaussian."""
    k = np.arange(-math.ceil(16 * scale), math.ceil(16 * scale) + 1.0)
    return k, np.exp(-0.5 * np.square(k / scale))


def log_transform(norm: int, x: Array, scale: Array) -> Array:
    """Logarithm of the characteristic function E cos(x z) of the drawn noise; it is positive.

    Laplace noise: 1 / (1 + sin²(x/2) / sinh²(1 / 2 scale)). Gaussian noise, by Poisson summation:
    Σ exp(-scale² (x - 2πk)²/2) over the same sum at x = 0.
    """
    if norm == 1:
        return np.asarray(-np.log1p(np.square(np.sin(x / 2) / np.sinh(np.minimum(0.5 / scale, 300.0)))))
    near = x - 2 * math.pi * np.rint(x / (2 * math.pi))
    count = math.ceil(2 / max(float(np.min(scale)), 0.05))
    shifts = 2 * math.pi * np.arange(-count, count + 1.0).reshape(-1, *[1] * x.ndim)
    # The largest term apart: at large scales it is below the least float.
    above = np.exp(-0.5 * scale**2 * (np.square(near - shifts) - np.square(near))).sum(axis=0)
    return np.asarray(
        -0.5 * np.square(scale * near) + np.log(above / np.exp(-0.5 * np.square(scale * shifts)).sum(axis=0))
    )


def simulate(answers: Ints, scale: float | Array, seed: int, norm: int = 2) -> Ints:
    """`answers` plus noise of the drawn law, discrete Gaussian or (norm 1) Laplace, from numpy: NOT private.

    Gaussian noise of a scale above 32 is rounded normal noise. scale : of all, or of each answer (p,).
    """
    answers = _checked(answers)
    rng = np.random.default_rng(seed)
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), answers.shape)
    if norm == 1:
        chance = -np.expm1(-1.0 / scales)
        return np.asarray(answers + rng.geometric(chance) - rng.geometric(chance), dtype=np.int64)
    noise = np.rint(rng.normal(0.0, scales))
    for own in np.unique(scales[scales < 32]):
        k, weights = _weights(max(float(own), 0.05))
        noise[scales == own] = rng.choice(k, (scales == own).sum(), p=weights / weights.sum())
    return np.asarray(answers + noise.astype(np.int64), dtype=np.int64)


def _checked(answers: Ints) -> Ints:
    answers = np.asarray(answers)
    if answers.ndim != 1 or answers.dtype != np.int64:
        raise WorkloadError(
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )
    return answers
