"""What a noise is: one row for each, asked wherever noise decides anything; drawn by OpenDP, or imitated.

The rows are in ``table_of_noises.py``. The imitation is seeded, and protects nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.numerics.arrays import AnyInts, Array
from mmopt.privacy.guarantee import float_above
from mmopt.privacy.privacy_parameters import Privacy
from mmopt.privacy.rounding.integer_strategy import Part

__all__ = ["Continuous", "Noise", "Parts", "add_noise", "check_scales", "cost", "simulate"]

Parts = Sequence[Part]

_TAIL = 64  # scales; a draw leaves this range with probability exp(-2000), Laplace noise exp(-64)
_OPENDP_SLACK = Fraction(1, 2**48)  # OpenDP rounds each of its three operations up; leave room for that


@dataclass(frozen=True)
class Continuous:
    """The noise on real numbers, as publications have it: for simulations, never for a release.

    scale : of a privacy and a sensitivity, for neighbours that add or remove a row; PrivacyError as
        ``Noise.allowed``. variance : at scale 1. draw : at scale 1, from numpy, for a shape.
    mean : E |error| of any query, over its standard error; None where it is not the same for all.
    """

    scale: Callable[[Privacy, float], float]
    variance: float
    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    mean: float | None = None

    def deviation(self, privacy: Privacy) -> float:
        """Its standard deviation at a privacy, per unit of sensitivity; errors as ``scale``."""
        return self.scale(privacy, 1.0) * math.sqrt(self.variance)


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise:
    """A noise on integers, independent on each, of one parameter: its scale.

    Attributes
    ----------
    name : as options have it in lower case. sampler : of OpenDP, as the manifest has it.
    norm : in which sensitivities are measured. unit : what its costs are, which add up over parts.
    allowed : what it may cost under a privacy; PrivacyError where that is of another kind.
    example : a privacy that it takes, as a workload file has it.
    takes_targets : unit noise, to which targets refer, has scale 1.
    theorem : what its cost rests on. implied : and beside it the (epsilon, delta) that rho implies.
    exact_cost : of a part, for a squared sensitivity and a scale.
    least_scale : the scale of a cost, over that of cost 1, for one over the cost.
    deltas : for (epsilon, delta), of parts: theorems that may prove less than rho implies, each with its
        upper bound on delta at (epsilon, scale).
    distance : a bound on the total variation, over all rows, between drawn noise and rounded normal noise,
        of parts and scale; None for noise that on a finer lattice is no nearer to it.
    measurement : that adds it, from OpenDP's prelude, a domain and the scale. root : of a squared
        sensitivity, as OpenDP takes it.
    variance : at a scale. imitate : draws from numpy, at scales (p,).
    log_transform : logarithm of the characteristic function E cos(x z) for x and scales; it is positive.
    tail : for any coefficients, what |error| exceeds with at most some probability, in standard errors of
        noise of variance scale² times that of its continuous law at scale 1; given the least scale too.
    """

    name: str
    norm: int
    unit: Literal["epsilon", "rho"]
    allowed: Callable[[Privacy], float]
    example: str
    theorem: str
    exact_cost: Callable[[int, Fraction], Fraction]
    least_scale: Callable[[float], float]
    sampler: str
    measurement: Callable[[Any, Any, float], Any]
    root: Callable[[int], float]
    variance: Callable[[float], float]
    imitate: Callable[[np.random.Generator, Array], Array]
    log_transform: Callable[[Array, Array], Array]
    tail: Callable[[float, float], float]
    continuous: Continuous
    takes_targets: bool = False
    implied: str = ""
    deltas: Callable[[Parts], list[tuple[str, Callable[..., Decimal]]]] = lambda _: []
    distance: Callable[[Parts, float], float] | None = None

    def takes(self, privacy: Privacy) -> bool:
        """Whether a privacy is of its kind; a delta beside epsilon is not used by one that costs epsilon."""
        return privacy.epsilon is not None if self.unit == "epsilon" else not privacy.is_pure

    def cost(self, squared_sensitivity: int, scale: float) -> float:
        """Epsilon or rho at a scale, rounded up with room for OpenDP's own rounding.

        Raises
        ------
        PrivacyError : a scale that is not finite and positive.
        """
        _check_positive(scale)
        return float_above(self.exact_cost(squared_sensitivity, Fraction(scale)) * (1 + _OPENDP_SLACK))


def cost(noise: Noise, parts: Parts, scale: float) -> float:
    """Epsilon or rho of all parts at noise of parameter ``part.relative * scale``, rounded up."""
    each = (Fraction(noise.cost(part.squared_sensitivity, part.relative * scale)) for part in parts)
    return float_above(sum(each, Fraction(0)))


def check_scales(parts: Parts, scale: float) -> None:
    """PrivacyError unless the noise of every part fits 62 bits: OpenDP saturates at the ends of int64.

    Answers of 64-bit integers do too, and their sum with it is below 2^63.
    """
    for part in parts:
        own = part.relative * scale
        _check_positive(own)
        if _TAIL * own >= 2**62:
            raise PrivacyError(
                f"noise of scale {own:.4g} may exceed 2^62, the limit of 64-bit integers",
                hint="so little privacy budget gives answers of noise only; raise epsilon or rho",
            )


def _check_positive(scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise PrivacyError(f"the noise scale is {scale!r}, expected a finite number above 0")


def add_noise(
    noise: Noise, answers: AnyInts, scale: float, squared_sensitivity: int, claimed: float
) -> AnyInts:
    """`answers` (p,) plus independent noise of parameter `scale`, drawn by OpenDP.

    To Python integers what OpenDP makes of zeros is added: noise that depends on no answer.

    Before a draw, OpenDP's own accounting must confirm that the noise costs at most the rho, or epsilon,
    `claimed` for answers of this squared sensitivity in the norm; PrivacyError otherwise. OpenDP 0.16 checks
    neither NaN nor the length of its input, so both are checked here.
    """
    answers = _checked(answers)
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"), len(answers))
    measurement = noise.measurement(dp, domain, float(scale))
    accounted = float(measurement.map(noise.root(squared_sensitivity)))
    if not accounted <= claimed:  # also true for NaN
        raise PrivacyError(
            f"OpenDP accounts {noise.unit} {accounted!r} for this noise, the release claims {claimed!r}"
        )
    is_wide = answers.dtype == object
    drawn = np.asarray(measurement([0] * len(answers) if is_wide else answers.tolist()), dtype=np.int64)
    if drawn.shape != answers.shape:
        raise PrivacyError(f"OpenDP returned {drawn.shape[0]} answers, expected {answers.shape[0]}")
    return np.add(answers, drawn) if is_wide else drawn


def simulate(noise: Noise, answers: AnyInts, scale: float | Array, seed: int) -> AnyInts:
    """`answers` plus noise of the drawn law, from numpy: NOT private.

    scale : of all, or of each answer (p,).
    """
    answers = _checked(answers)
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), answers.shape)
    drawn = noise.imitate(np.random.default_rng(seed), scales)
    return np.asarray(np.add(answers, drawn.astype(np.int64)))


def _checked(answers: AnyInts) -> AnyInts:
    answers = np.asarray(answers)
    if answers.ndim != 1 or answers.dtype not in (np.int64, object):
        raise WorkloadError(
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )
    return answers
