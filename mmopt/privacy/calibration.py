"""What noise on an integer strategy costs, and the least noise for a cost; both noises, all parts together.

The parts of a strategy are measured one after the other, so that their costs add up: epsilon for Laplace
noise, rho for Gaussian noise. Gaussian noise on several parts is one Gaussian mechanism, each part over its
noise, of squared sensitivity 2 rho; the distances of the rows' noise to rounded continuous noise add up too.

A part may be measured on a finer lattice (``finer``): 2^b times its integers with 2^b times the noise costs
the same rho, and is nearer to continuous noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from operator import itemgetter

from mmopt.errors import PrivacyError
from mmopt.privacy.guarantee import (
    THEOREM_ANALYTIC,
    THEOREM_APPROX,
    THEOREM_EXACT,
    discrete_gaussian_delta,
    float_above,
    gaussian_delta,
    gaussian_rho,
    laplace_epsilon,
    zcdp_epsilon,
    zcdp_rho,
)
from mmopt.privacy.noise import check_scale
from mmopt.privacy.rounding.integer_strategy import Measured, Part

__all__ = [
    "approximate_epsilon",
    "check_scales",
    "cost",
    "cost_of_part",
    "distance",
    "finer",
    "finest",
    "least_scale",
    "least_scale_approximate",
]

Parts = Sequence[Part]


_Bound = Callable[..., Decimal]  # of epsilon and scale

_MOST_SUMMED = 2.0**10  # scales up to which the exact delta is summed: beyond, continuous noise is as good
_MOST_EPSILON = 1e5  # whose e^epsilon has an exponent
_STEPS = 40  # halvings of the interval that an epsilon or a scale is sought in


def cost_of_part(norm: int, part: Part, scale: float) -> float:
    """Epsilon (norm 1) or rho (norm 2) of a part at noise of parameter ``part.relative * scale``, rounded up.

    Raises
    ------
    PrivacyError : a scale that is not finite and positive.
    """
    own = part.relative * scale
    if norm == 1:
        return laplace_epsilon(math.isqrt(part.squared_sensitivity), own)
    return gaussian_rho(part.squared_sensitivity, own)


def cost(norm: int, parts: Parts, scale: float) -> float:
    """Epsilon (norm 1) or rho (norm 2) of all parts, rounded up; errors as ``cost_of_part``."""
    return float_above(sum((Fraction(cost_of_part(norm, part, scale)) for part in parts), Fraction(0)))


def least_scale(integer: Measured, allowed: float) -> float:
    """The smallest scale, to a few units in the last place, whose rounded-up cost is at most `allowed`.

    Raises
    ------
    PrivacyError : a sensitivity of 0.
    """
    norm, parts = integer.norm, integer.parts
    if not any(part.squared_sensitivity for part in parts):
        raise PrivacyError(
            f"the sensitivity is 0 under {integer.neighbours}: the queries are the same on all "
            "neighbouring tables, no noise can be calibrated",
            hint="use 'neighbours: add-remove', or give every query a max_variance",
        )
    unit = cost(norm, parts, 1.0)
    scale = unit / allowed if norm == 1 else math.sqrt(unit / allowed)
    while cost(norm, parts, scale) > allowed:
        scale *= 1 + 2.0**-50
    return scale


def approximate_epsilon(
    integer: Measured, fineness: int, scale: float, delta: float, asked: float
) -> tuple[float, str]:
    """The smallest epsilon at `delta`, rounded up, that one of the theorems proves, and that theorem.

    It is at most the epsilon `asked` for, where that is proved.
    """
    implied = zcdp_epsilon(cost(2, integer.parts, scale), delta)
    first = min(asked, implied)
    found = [(implied, THEOREM_APPROX)]
    found += [
        (_least(partial(bound, scale=scale), delta, 0.0, implied, first), theorem)
        for theorem, bound in (_bounds(integer, fineness) if implied else [])
    ]
    return min(found, key=itemgetter(0))


def least_scale_approximate(integer: Measured, fineness: int, epsilon: float, delta: float) -> float:
    """The smallest scale, to ten digits, at which one of the theorems proves (epsilon, delta).

    Errors as ``least_scale``.
    """
    implied = least_scale(integer, zcdp_rho(epsilon, delta))
    bounds = [partial(bound, epsilon) for _, bound in _bounds(integer, fineness)]
    return min(_least(bound, delta, implied / 8, implied, implied / 2) for bound in bounds)


def _least(bound: Callable[[float], Decimal], delta: float, low: float, high: float, first: float) -> float:
    """The least number of a bound up to delta, by halving, with `first` tried first; or `high`."""
    for _ in range(_STEPS if bound(high) <= delta else 0):
        low, high = (low, first) if bound(first) <= delta else (first, high)
        first = (low + high) / 2
    return high


def _bounds(integer: Measured, fineness: int) -> list[tuple[str, _Bound]]:
    """Upper bounds on delta at (epsilon, scale), beside that of zCDP, with their theorems."""
    parts = finer(integer.parts, fineness)
    context = Context(prec=60)

    def analytic(epsilon: float, scale: float) -> Decimal:
        if epsilon > _MOST_EPSILON:
            return Decimal(1)
        squared = 2 * Fraction(cost(2, parts, scale))
        mu = context.divide(Decimal(squared.numerator), Decimal(squared.denominator)).sqrt(context)
        apart = (1 + Decimal(epsilon).exp(context)) * Decimal(distance(parts, scale))
        return gaussian_delta(epsilon, mu.next_plus(context)) + apart * (1 + Decimal("1e-20"))

    def exact(epsilon: float, scale: float) -> Decimal:
        own = parts[0].relative * scale
        if own > _MOST_SUMMED:
            return Decimal(1)
        return discrete_gaussian_delta(epsilon, math.isqrt(parts[0].squared_sensitivity), own)

    one_count = len(parts) == 1 and parts[0].is_one_count
    return [(THEOREM_ANALYTIC, analytic), *([(THEOREM_EXACT, exact)] if one_count else [])]


def distance(parts: Parts, scale: float) -> float:
    """A bound on the total variation between discrete Gaussian and rounded normal noise on all rows.

    For a row of parameter s >= 1 it is 1 / (16 s²). Let f be the density of N(0, s²) and S = Σ f(k) over the
    integers. ∫ (f(k + t) - f(k)) dt over |t| <= 1/2 is ∫ f''(k + t) (1/2 - |t|)²/2 dt (Taylor; odd terms
    cancel), so the probabilities of rounded noise differ from f(k) by at most ∫|f''| / 8 = φ(1) / (2 s²) =
    0.12099 / s² together. Those of discrete noise, f(k) / S, differ by |S - 1| = 2 Σ exp(-2π² s² m²) <=
    1e-8 / s² (Poisson summation). Half of the sum is the distance of a row; those of independent rows add up.

    Rounding continuous noise on integers is post-processing, so an (epsilon, delta) of continuous noise holds
    for discrete noise at delta + (1 + e^epsilon) times the distance.
    """
    scales = [(part.rows, part.relative * scale) for part in parts]
    return math.fsum(rows / (16 * s * s) if s >= 1 else rows for rows, s in scales) * (1 + 2.0**-48)


def finer(parts: Parts, fineness: int) -> tuple[Part, ...]:
    """The parts in integers 2^fineness times as large, with noise of as many times the scale."""
    return tuple(
        replace(
            part,
            squared_sensitivity=part.squared_sensitivity << 2 * fineness,
            largest_answer=part.largest_answer << fineness,
            relative=math.ldexp(part.relative, fineness),
        )
        for part in parts
    )


def finest(parts: Parts, scale: float) -> int:
    """The largest fineness at which answers and noise leave 62 bits two to spare, 0 or above."""
    largest = max(part.largest_answer + 64 * part.relative * scale for part in parts)
    return max(0, 60 - math.ceil(math.log2(largest)))


def check_scales(parts: Parts, scale: float) -> None:
    """PrivacyError unless answers and noise of every part fit 62 bits, as ``noise.check_scale``."""
    for part in parts:
        check_scale(part.relative * scale, part.largest_answer)
