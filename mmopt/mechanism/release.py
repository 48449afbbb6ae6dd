"""The only step that sees data: measure, add noise, reconstruct."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmopt.errors import DataError
from mmopt.mechanism.measured import MAX_ROWS
from mmopt.mechanism.noise import add_laplace_noise, add_noise, check_scale, simulate
from mmopt.mechanism.planning import Plan
from mmopt.mechanism.reconstruct import half_width

__all__ = ["Answers", "checked_counts", "measure"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Noisy answers to the m queries of a workload, in counts.

    ``groups`` and ``labels`` name each query; ``low`` and ``high`` are the ends of intervals of the given
    ``confidence``, each query taken alone: exact for Gaussian noise, with the discrete one treated as normal,
    and at least that confidence for Laplace noise (``reconstruct.half_width``). ``private`` is
    False for simulated noise: such answers must not be published.
    """

    groups: tuple[str, ...]
    labels: tuple[str, ...]
    estimates: Floats
    standard_errors: Floats
    low: Floats
    high: Floats
    confidence: float
    private: bool


def measure(
    plan: Plan, x: npt.ArrayLike, simulate_seed: int | None = None, confidence: float = 0.95
) -> Answers:
    """Answer the plan's workload on the data vector `x` (n,) with OpenDP's noise.

    With `simulate_seed`, the noise is numpy's and the answers are marked ``private=False``.

    Raises
    ------
    DataError : `x` of the wrong length or type, NaN, negative, or of more than MAX_ROWS rows.
    OptionError : a confidence outside (0, 1).
    PrivacyError : OpenDP's accounting does not confirm the plan's claim.
    """
    counts = checked_counts(x, plan.workload.n)
    integer = plan.integer
    width = half_width(confidence, integer.norm)
    check_scale(plan.scale, integer.largest_answer)
    exact = integer.answers(counts)
    if simulate_seed is not None:
        noisy = simulate(exact, plan.scale, simulate_seed, integer.norm)
    elif plan.rho is not None:
        noisy = add_noise(exact, plan.scale, integer.sensitivity, plan.rho)
    else:
        length = math.isqrt(integer.squared_sensitivity)
        noisy = add_laplace_noise(exact, plan.scale, length, plan.privacy_cost)
    estimates = integer.estimate(noisy)
    names = [name for name, rows in plan.workload.groups() for _ in range(rows.stop - rows.start)]
    return Answers(
        groups=tuple(names),
        labels=tuple(plan.workload.labels()),
        estimates=estimates,
        standard_errors=plan.standard_errors,
        low=estimates - width * plan.standard_errors,
        high=estimates + width * plan.standard_errors,
        confidence=confidence,
        private=simulate_seed is None,
    )


def checked_counts(x: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """The data vector (n,) as integers; DataError as ``measure``."""
    counts = np.asarray(x)
    if counts.shape != (n,):
        raise DataError(f"the data vector has shape {counts.shape}, the workload's domain has {n} cells")
    if counts.dtype.kind not in "iu":
        raise DataError(
            f"the data vector has type {counts.dtype}, expected integer counts",
            hint="counts of rows are integers: convert with .astype('int64') after checking for NaN",
        )
    negative = np.flatnonzero(counts < 0)
    if negative.size:
        raise DataError(
            f"cell {negative[0]} of the data vector is {int(counts[negative[0]])}, expected 0 or above"
        )
    total = sum(int(v) for v in counts)
    if total > MAX_ROWS:
        raise DataError(f"the data vector counts {total} rows, the limit is {MAX_ROWS}")
    return counts.astype(np.int64)
