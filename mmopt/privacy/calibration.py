"""What noise on an integer strategy proves, and the least noise for that; any noise, all parts together.

The parts of a strategy are measured one after the other, so that their costs add up.

A part may be measured on a finer lattice (``finer``): 2^b times its integers with 2^b times the noise costs
the same, and may be nearer to continuous noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from operator import itemgetter

from mmopt.errors import PrivacyError
from mmopt.privacy.guarantee import zcdp_epsilon, zcdp_rho
from mmopt.privacy.noise import Noise, Parts, cost
from mmopt.privacy.rounding.integer_strategy import Measured, Part

__all__ = [
    "approximate_epsilon",
    "finer",
    "finest",
    "least_scale",
    "least_scale_by_cost",
]

_STEPS = 40  # halvings of the interval that an epsilon or a scale is sought in


def least_scale_by_cost(noise: Noise, integer: Measured, allowed: float) -> float:
    """The smallest scale, to a few units in the last place, whose rounded-up cost is at most `allowed`.

    Raises
    ------
    PrivacyError : a sensitivity of 0.
    """
    if not any(part.squared_sensitivity for part in integer.parts):
        raise PrivacyError(
            f"the sensitivity is 0 under {integer.neighbours}: the queries are the same on all "
            "neighbouring tables, no noise can be calibrated",
            hint="use 'neighbours: add-remove', or give every query a max_variance",
        )
    scale = noise.least_scale(cost(noise, integer.parts, 1.0) / allowed)
    while cost(noise, integer.parts, scale) > allowed:
        scale *= 1 + 2.0**-50
    return scale


def approximate_epsilon(
    noise: Noise, integer: Measured, fineness: int, scale: float, delta: float, asked: float
) -> tuple[float, str]:
    """The smallest epsilon at `delta`, rounded up, that one of the theorems proves, and that theorem.

    It is at most the epsilon `asked` for, where that is proved.
    """
    rho = cost(noise, integer.parts, scale)
    implied = zcdp_epsilon(rho, delta)
    # In floats a smaller rho may imply an epsilon that is larger by some last digits.
    if asked < implied and rho <= zcdp_rho(asked, delta):
        implied = asked
    found = [(implied, noise.theorem + noise.implied)]
    found += [
        (_least(partial(bound, scale=scale), delta, 0.0, implied, min(asked, implied)), theorem)
        for theorem, bound in (noise.deltas(finer(integer.parts, fineness)) if implied else [])
    ]
    return min(found, key=itemgetter(0))


def least_scale(
    noise: Noise, integer: Measured, fineness: int, allowed: float, delta: float | None = None
) -> float:
    """That of a cost; at a delta the smallest scale, to ten digits, at which a theorem proves this epsilon.

    Errors as ``least_scale_by_cost``.
    """
    if delta is None:
        return least_scale_by_cost(noise, integer, allowed)
    implied = least_scale_by_cost(noise, integer, zcdp_rho(allowed, delta))
    lower = [
        _least(partial(bound, allowed), delta, implied / 8, implied, implied / 2)
        for _, bound in noise.deltas(finer(integer.parts, fineness))
    ]
    return min([implied, *lower])


def _least(bound: Callable[[float], Decimal], delta: float, low: float, high: float, first: float) -> float:
    """A number at which the bound is at most delta, the least by halving with `first` tried first; or `high`.

    A bound on delta need not fall: what discrete noise is off by counts e^epsilon times. So it is looked at
    `first` too before it is given up.
    """
    if bound(high) > delta:
        if bound(first) > delta:
            return high
        high, first = first, (low + first) / 2
    for _ in range(_STEPS):
        low, high = (low, first) if bound(first) <= delta else (first, high)
        first = (low + high) / 2
    return high


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
