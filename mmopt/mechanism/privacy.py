"""What a noise scale proves, rounded outward: zCDP to (epsilon, delta) for Gaussian, epsilon for Laplace.

A release adds *discrete* Gaussian noise, so what it claims rests on the theorem for that noise:
rho-zCDP with rho = (sensitivity / scale)² / 2 (Canonne, Kamath and Steinke 2020, Theorem 14), turned
into (epsilon, delta) by their Proposition 12 / Corollary 13. Discrete Laplace noise proves
epsilon = sensitivity / scale (Ghosh, Roughgarden and Sundararajan 2009). `continuous.py` holds the
calibrations of other noises, for comparison only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from mmopt.errors import PrivacyError

if TYPE_CHECKING:
    from mmopt.spec.privacy import Privacy

__all__ = [
    "PURE_HINT",
    "THEOREM_APPROX",
    "THEOREM_PURE",
    "THEOREM_ZCDP",
    "allowed_epsilon",
    "allowed_rho",
    "float_above",
    "gaussian_rho",
    "laplace_epsilon",
    "zcdp_epsilon",
    "zcdp_rho",
]

THEOREM_ZCDP = "discrete Gaussian is rho-zCDP (Canonne, Kamath, Steinke 2020, Theorem 14)"
THEOREM_APPROX = THEOREM_ZCDP + "; zCDP to (epsilon, delta) (the same, Corollary 13)"
THEOREM_PURE = (
    "discrete Laplace is epsilon-DP, delta 0 (Ghosh, Roughgarden, Sundararajan 2009; L1 sensitivity: "
    "Dwork, McSherry, Nissim, Smith 2006)"
)
PURE_HINT = (
    "Gaussian noise satisfies no pure epsilon: give a delta in (0, 1), or rho; or solve a program for "
    "Laplace noise: p_identity, laplace_weighting (weighs a baseline: --given Q=haar) or min_error"
)

_DIGITS = 60  # Decimal's ln is correctly rounded to this many digits: far below one float ulp.
_GUARD = Decimal("1e-40")  # relative allowance for the dozen roundings of one formula at 60 digits
_OPENDP_SLACK = Fraction(1, 2**48)  # OpenDP rounds each of its three operations up; leave room for that


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon such that rho-zCDP implies (epsilon, delta), rounded up.

    epsilon = min over a > 1 of a rho + ln(1 - 1/a) - (ln a + ln delta) / (a - 1).  Every a gives a valid
    epsilon, so a float search finds a and only that one point is evaluated with outward rounding.

    Raises PrivacyError when rho is not finite and >= 0 or delta is outside (0, 1).
    """
    _check_rho(rho)
    _check_delta(delta)
    if rho == 0.0:
        return 0.0
    order = _best_order(lambda u: -_epsilon_at(u, rho, delta))
    with localcontext(_context()):
        exact = (1 + order) * Decimal(rho) + _tail(order, delta)
        return max(0.0, float_above(Fraction(exact + _GUARD * (1 + abs(exact)))))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho such that rho-zCDP implies (epsilon, delta), rounded down.

    The returned rho satisfies ``zcdp_epsilon(rho, delta) <= epsilon``.
    Raises PrivacyError when epsilon is not finite and > 0 or delta is outside (0, 1).
    """
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise PrivacyError(f"epsilon is {epsilon!r}, expected a finite number above 0")
    _check_delta(delta)
    order = _best_order(lambda u: (epsilon - _tail_float(u, delta)) / (1 + u))
    with localcontext(_context()):
        exact = (Decimal(epsilon) - _tail(order, delta)) / (1 + order)
        rho = -float_above(-Fraction(exact - _GUARD * (1 + abs(exact))))
    # The two searches stop at slightly different orders: step down until both directions agree.
    while rho > 0 and zcdp_epsilon(rho, delta) > epsilon:
        rho *= 1 - 2.0**-51
    if not rho > 0:
        raise PrivacyError(
            f"epsilon {epsilon!r} with delta {delta!r} leaves no positive rho in double precision"
        )
    return rho


def allowed_rho(privacy: Privacy) -> float:
    """The largest rho that `privacy` permits: its rho, or `zcdp_rho` of its (epsilon, delta)."""
    if privacy.rho is not None:
        _check_rho(privacy.rho)
        return privacy.rho
    if privacy.epsilon is None or privacy.delta is None:
        raise PrivacyError(
            f"privacy has epsilon {privacy.epsilon!r} and delta {privacy.delta!r}, expected both, or rho",
            hint=PURE_HINT,
        )
    return zcdp_rho(privacy.epsilon, privacy.delta)


def gaussian_rho(squared_sensitivity: int, scale: float) -> float:
    """rho = squared sensitivity / (2 scale²) exactly, rounded up with room for OpenDP's own rounding."""
    if not (math.isfinite(scale) and scale > 0):
        raise PrivacyError(f"the noise scale is {scale!r}, expected a finite number above 0")
    exact = Fraction(squared_sensitivity) / (2 * Fraction(scale) ** 2)
    return float_above(exact * (1 + _OPENDP_SLACK))


def allowed_epsilon(privacy: Privacy) -> float:
    """The epsilon that Laplace noise may cost; a delta beside it is not used: epsilon-DP implies it."""
    if privacy.epsilon is None:
        raise PrivacyError(
            f"privacy is {privacy}, and Laplace noise (a strategy of norm 1) needs an epsilon",
            hint="give epsilon (delta is not used then), or solve a program for Gaussian noise: l2_strategy",
        )
    return privacy.epsilon


def laplace_epsilon(sensitivity: int, scale: float) -> float:
    """epsilon = sensitivity / scale exactly, rounded up with room for OpenDP's own rounding."""
    if not (math.isfinite(scale) and scale > 0):
        raise PrivacyError(f"the noise scale is {scale!r}, expected a finite number above 0")
    return float_above(Fraction(sensitivity) / Fraction(scale) * (1 + _OPENDP_SLACK))


def float_above(value: Fraction) -> float:
    """The smallest float >= value (inf when there is none)."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _check_rho(rho: float) -> None:
    if not (math.isfinite(rho) and rho >= 0):
        raise PrivacyError(f"rho is {rho!r}, expected a finite number, 0 or above")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise PrivacyError(f"delta is {delta!r}, expected a number above 0 and below 1")


def _context() -> Context:
    return Context(prec=_DIGITS, Emin=-999999, Emax=999999)


def _tail(order: Decimal, delta: float) -> Decimal:
    """ln(1 - 1/a) - (ln a + ln delta) / (a - 1) at a = 1 + order, to 60 digits."""
    a = 1 + order
    return (order / a).ln() - (a.ln() + Decimal(delta).ln()) / order


def _tail_float(u: float, delta: float) -> float:
    return -math.log1p(1 / u) - (math.log1p(u) + math.log(delta)) / u


def _epsilon_at(u: float, rho: float, delta: float) -> float:
    return (1 + u) * rho + _tail_float(u, delta)


def _best_order(value: Callable[[float], float]) -> Decimal:
    """a - 1 that maximises `value`: a grid on ln(a - 1), then golden sections around its best point.

    Quality matters only for tightness: a bad order gives a larger epsilon, never a wrong one.
    """
    grid = [t / 2 for t in range(-60, 161)]
    best = max(grid, key=lambda t: value(math.exp(t)))
    low, high = best - 0.5, best + 0.5
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if value(math.exp(left)) >= value(math.exp(right)):
            high = right
        else:
            low = left
    return Decimal(math.exp((low + high) / 2))
