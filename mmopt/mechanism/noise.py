"""Integer noise: OpenDP's exact samplers, and a seeded imitation that protects nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.errors import PrivacyError, WorkloadError

__all__ = ["add_noise", "check_scale", "simulate"]

Integers = npt.NDArray[np.int64]

_TAIL = 64  # scales; a discrete Gaussian leaves this range with probability below exp(-2000)


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


def add_noise(answers: Integers, scale: float, sensitivity: float, rho: float) -> Integers:
    """`answers` (p,) plus independent discrete Gaussian noise of parameter `scale`, drawn by OpenDP.

    Before a draw, OpenDP's own accounting must confirm that the noise costs at most `rho` for answers
    of L2 `sensitivity`; PrivacyError otherwise. OpenDP 0.16 checks neither NaN nor the length of its
    input, so both are checked here.
    """
    answers = _checked(answers)
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"), len(answers))
    measurement: Any = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(scale))
    confirmed = float(measurement.map(float(sensitivity)))
    if not confirmed <= rho:  # also true for NaN
        raise PrivacyError(f"OpenDP accounts rho {confirmed!r} for this noise, the release claims {rho!r}")
    drawn = np.asarray(measurement([int(v) for v in answers]), dtype=np.int64)
    if drawn.shape != answers.shape:
        raise PrivacyError(f"OpenDP returned {drawn.shape[0]} answers, expected {answers.shape[0]}")
    return drawn


def simulate(answers: Integers, scale: float, seed: int) -> Integers:
    """`answers` plus rounded numpy normal noise from `seed`: for experiments, NOT private."""
    answers = _checked(answers)
    noise = np.rint(np.random.default_rng(seed).normal(0.0, scale, len(answers)))
    return np.asarray(answers + noise.astype(np.int64), dtype=np.int64)


def _checked(answers: Integers) -> Integers:
    answers = np.asarray(answers)
    if answers.ndim != 1 or answers.dtype != np.int64:
        raise WorkloadError(
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )
    return answers
