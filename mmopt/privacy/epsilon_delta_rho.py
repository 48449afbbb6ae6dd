"""Epsilon, delta and rho: the privacy that an analyst states, and the parameters that noise proves.

``Privacy`` holds the parameters that are stated. A noise scale proves a guarantee, rounded outward:
(epsilon, delta) and rho for Gaussian noise, epsilon for Laplace noise.

A release adds *discrete* noise, so its claims rest on theorems for that noise. Discrete Gaussian noise
satisfies rho-zCDP with rho = (sensitivity / scale)² / 2 (Canonne, Kamath and Steinke 2020, Theorem 14). Its
delta at an epsilon is at most each of three: the one from zCDP (the same, Corollary 13); where a row changes
a single count, the exact one (the same, Theorem 7: ``discrete_gaussian_delta``); that of continuous noise
(Balle and Wang 2018, Theorem 8: ``gaussian_delta``) plus (1 + e^epsilon) times the distance of the two
noises (``noise.py``). Discrete Laplace noise proves epsilon = sensitivity / scale (Ghosh,
Roughgarden and Sundararajan 2009).

The functions ``continuous_gaussian_…`` (in floating point) are for comparison with publications only, and for
bounds: the claims of a release are about the discrete noise.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from numbers import Real
from typing import TypeAlias, TypedDict

from scipy.optimize import brentq

from mmopt.display_base_classes import Displayed
from mmopt.errors import PrivacyError, suggest
from mmopt.numerics.arrays import EPS

_BOTH = "give epsilon, epsilon with delta, or rho"

# Largest epsilon or rho.
#
# The standard deviation of a count is then below 1/70 at rho and far below at epsilon: noise on integers is
# zero in every draw. exp(epsilon), which calibration needs, has no exponent from 1e19 on.
MOST_COST = 1e4


@dataclass(frozen=True)
class PrivacyFault:
    """A mistake in a set of parameters, and which of them has it (``""``: all of them)."""

    field: str
    message: str
    hint: str = ""


def privacy_fault(epsilon: float | None, delta: float | None, rho: float | None) -> PrivacyFault | None:
    """The first rule that the parameters break, or None. One place for code and workload files."""
    other, value = ("epsilon", epsilon) if epsilon is not None else ("delta", delta)
    without = rho is None and epsilon is None
    rules = (  # whether it is broken, and the mistake
        (
            rho is not None and value is not None,
            PrivacyFault("rho", f"both rho ({rho!r}) and {other} ({value!r}) are given", _BOTH),
        ),
        (without and delta is None, PrivacyFault("", "no privacy parameter is given", _BOTH)),
        (without, PrivacyFault("delta", f"delta ({delta!r}) is given without epsilon", _BOTH)),
        *(
            (
                cost is not None and not (math.isfinite(cost) and cost > 0.0),
                PrivacyFault(name, f"{name} must be a finite number > 0, not {cost!r}"),
            )
            for name, cost in (("epsilon", epsilon), ("rho", rho))
        ),
        *(
            (
                cost is not None and cost > MOST_COST,
                PrivacyFault(
                    name, f"{name} must be at most {MOST_COST:g}, not {cost!r}", "it protects nobody"
                ),
            )
            for name, cost in (("epsilon", epsilon), ("rho", rho))
        ),
        (
            delta is not None and not 0.0 < delta < 1.0,
            PrivacyFault(
                "delta",
                f"delta must lie strictly between 0 and 1, not be {delta!r}",
                "for pure epsilon (Laplace noise) leave delta out"
                if delta == 0.0
                else "a usual delta is well below 1 / (number of rows), such as 1.0e-6",
            ),
        ),
    )
    return next((fault for is_broken, fault in rules if is_broken), None)


def privacy_warning(epsilon: float | None, delta: float | None, rho: float | None) -> str:
    """A warning for a claim that protects next to nothing, or ""; rho counts without epsilon."""
    # The largest release published, the US census of 2020, took epsilon 19.6 at delta 1e-10 (rho 2.6).
    # At rho 10 the best test of whether the data have a row is right in 98.7 % of cases.
    limits = (
        ("epsilon", epsilon, 20.0, "the odds of a guess at a row may change by a factor of exp(epsilon)"),
        ("delta", delta, 1e-3, "with that chance a row may be published as it is"),
        ("rho", rho if epsilon is None else None, 10.0, "whether a row is there can be told almost surely"),
    )
    return next(
        (
            f"{name} {value:g} gives no protection in practice: {why}"
            for name, value, most, why in limits
            if value is not None and value > most
        ),
        "",
    )


class PrivacyParameters(TypedDict, total=False):
    """A privacy: ``{"epsilon": 1.0}``, ``{"epsilon": 1.0, "delta": 1e-6}`` or ``{"rho": 0.5}``."""

    epsilon: float
    delta: float
    rho: float


@dataclass(frozen=True)
class Privacy(Displayed):
    """``epsilon`` or ``(epsilon, delta)`` differential privacy, or ``rho`` zero-concentrated (zCDP).

    >>> print(Privacy(epsilon=1.0, delta=1e-6))
    epsilon = 1, delta = 1e-06

    Raises
    ------
    PrivacyError : both kinds or neither, delta without epsilon, epsilon or rho outside (0, 10000], delta
        outside (0, 1), NaN or infinite.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        """Make floats of the parameters, and check them."""
        for name, value in vars(self).items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                raise PrivacyError(f"{name} must be a number, not {value!r}")
            object.__setattr__(self, name, None if value is None else float(value))
        if fault := privacy_fault(self.epsilon, self.delta, self.rho):
            raise PrivacyError(fault.message, hint=fault.hint)

    @staticmethod
    def of(value: object) -> "Privacy":
        """The privacy that a value states: a Privacy, a dictionary of its parameters, or that of a request.

        Raises
        ------
        PrivacyError : a number (of what?), an unknown parameter (the nearest is named), a request without
            privacy, anything else; parameters that are invalid.

        >>> Privacy.of({"epsilon": 1, "delta": 1e-6})
        Privacy(epsilon=1.0, delta=1e-06, rho=None)
        >>> Privacy.of(1.0)
        Traceback (most recent call last):
        ...
        mmopt.errors.PrivacyError: privacy is the number 1.0, and does not say of what
          write Privacy(epsilon=1.0), Privacy(epsilon=1.0, delta=1e-6) or Privacy(rho=1.0)
        """
        if isinstance(value, Privacy):
            return value
        if isinstance(value, Mapping):
            names = tuple(field.name for field in fields(Privacy))
            if unknown := [name for name in value if name not in names]:
                near = suggest(str(unknown[0]), names)
                raise PrivacyError(
                    f"privacy has no parameter {unknown[0]!r}, expected {', '.join(names)}",
                    hint=near if near.startswith("did") else _BOTH,
                )
            return Privacy(**value)
        if isinstance(value, Real):
            number = float(value)
            raise PrivacyError(
                f"privacy is the number {number}, and does not say of what",
                hint=f"write Privacy(epsilon={number}), Privacy(epsilon={number}, delta=1e-6) "
                f"or Privacy(rho={number})",
            )
        # A Request has it, whose folder is above this one.
        if isinstance(requested := getattr(value, "privacy", None), Privacy):
            return requested
        kind = f"the text {value!r}" if isinstance(value, str) else f"a {type(value).__name__}"
        what = "no privacy is given" if value is None else f"{kind} is no privacy"
        if hasattr(value, "privacy"):
            what = f"the {type(value).__name__} asks for no privacy"
        raise PrivacyError(what, hint="write Privacy(epsilon=1.0), or {'epsilon': 1.0, 'delta': 1e-6}")

    @property
    def is_pure(self) -> bool:
        """Whether epsilon is given alone: only Laplace noise satisfies it."""
        return self.epsilon is not None and self.delta is None

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho = {self.rho:g} (zCDP)"
        return f"epsilon = {self.epsilon:g}" + ("" if self.delta is None else f", delta = {self.delta:g}")


# None where a workload file states it.
PrivacyLike: TypeAlias = Privacy | PrivacyParameters | None

THEOREM_EXACT = "exact delta of the discrete Gaussian (Canonne, Kamath, Steinke 2020, Theorem 7)"
PURE_HINT = (
    "Gaussian noise satisfies no pure epsilon: give a delta in (0, 1), or rho; or solve a program for "
    "Laplace noise: l1_strategy, p_identity, laplace_weighting (weighs a baseline: --given Q=haar, in "
    "Python givens={'Q': 'haar'}) or min_error"
)

# Decimal's ln is correctly rounded to this many digits: far below one float ulp.
_CONTEXT = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
_GUARD = Decimal("1e-40")  # relative allowance for the dozen roundings of one formula at 60 digits
_ROOT_OF_TWO_PI = Decimal("2.506628274631000502415765284811045253006986740609938316629923576")


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon such that rho-zCDP implies (epsilon, delta), rounded up.

    epsilon = min over a > 1 of a rho + ln(1 - 1/a) - (ln a + ln delta) / (a - 1).  Every a gives a valid
    epsilon, so a float search finds a and only that one point is evaluated with outward rounding.

    Raises PrivacyError when rho is not finite and >= 0 or delta is outside (0, 1).
    """
    if not (math.isfinite(rho) and rho >= 0):
        raise PrivacyError(f"rho is {rho!r}, expected a finite number, 0 or above")
    if not 0 < delta < 1:
        raise PrivacyError(f"delta is {delta!r}, expected a number above 0 and below 1")
    if rho == 0.0:
        return 0.0
    order = _best_order(lambda u: -(1 + u) * rho - _tail_float(u, delta))
    with localcontext(_CONTEXT):
        exact = (1 + order) * Decimal(rho) + _tail(order, delta)
        return max(0.0, float_above(Fraction(exact + _GUARD * (1 + abs(exact)))))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho such that rho-zCDP implies (epsilon, delta), rounded down.

    The returned rho satisfies ``zcdp_epsilon(rho, delta) <= epsilon``.
    Raises PrivacyError when epsilon is outside (0, 10000] or delta outside (0, 1).
    """
    Privacy(epsilon=epsilon, delta=delta)  # refuses what is out of range
    order = _best_order(lambda u: (epsilon - _tail_float(u, delta)) / (1 + u))
    with localcontext(_CONTEXT):
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


def gaussian_delta(epsilon: float, mu: Decimal) -> Decimal:
    """An upper bound, to 20 digits, on the delta at epsilon of continuous Gaussian noise: of mu-GDP.

    mu is the sensitivity over the standard deviation. delta = Q(epsilon/mu - mu/2) - e^epsilon
    Q(epsilon/mu + mu/2) with Q(x) = P(N > x)  (Balle and Wang 2018, Theorem 8). It grows with mu.
    """
    with localcontext(_CONTEXT):
        ratio = Decimal(epsilon) / mu
        first, second = _normal_tail(ratio - mu / 2)[1], _normal_tail(ratio + mu / 2)[0]
        return first * (1 + _GUARD) - Decimal(epsilon).exp() * second * (1 - _GUARD)


def discrete_gaussian_delta(epsilon: float, sensitivity: int, scale: float) -> Decimal:
    """An upper bound, to 20 digits, on the delta at epsilon of discrete Gaussian noise on one integer.

    The exact one of a change D = sensitivity is P[Y > epsilon s²/D - D/2] - e^epsilon P[Y > epsilon s²/D +
    D/2] (Canonne, Kamath and Steinke 2020, Theorem 7); that of smaller changes is no larger: the shifts of a
    discrete Gaussian by integers are an exponential family, so P[Y + d > c] grows with d for every c. It is
    summed as w(k) (1 - exp(epsilon - D (2k + D) / 2s²)), w(k) = exp(-k²/2s²), over Σ w >= s √(2π) (Poisson
    summation); all terms are positive, and the rest is at most a geometric series.
    """
    least = Fraction(epsilon) * Fraction(scale) ** 2 / sensitivity - Fraction(sensitivity, 2)
    k = math.floor(least) + 1
    with localcontext(_CONTEXT):
        twice = 2 * Decimal(scale) ** 2
        weight, ratio = (-(k * k) / twice).exp(), (-(2 * k + 1) / twice).exp()
        odds = (Decimal(epsilon) - sensitivity * (2 * k + sensitivity) / twice).exp()
        shrink, fall = (-2 / twice).exp(), (-2 * sensitivity / twice).exp()
        total, guard = Decimal(0), Decimal(0)
        while k <= 0 or weight > total * Decimal("1e-25"):
            total += weight * (1 - odds)
            guard += _GUARD * weight
            weight, ratio, odds, k = weight * ratio, ratio * shrink, odds * fall, k + 1
        # Both are lower bounds of Σ w. From a scale of 2 on the second one is within 1e-33 of it.
        summed = 1 + 2 * sum(((-(j * j) / twice).exp() for j in range(1, 50 if scale < 2 else 1)), Decimal(0))
        whole = max(summed, _ROOT_OF_TWO_PI * Decimal(scale))
        return (total + weight / (1 - ratio) + guard) / (whole * (1 - _GUARD))


def _normal_tail(x: Decimal) -> tuple[Decimal, Decimal]:
    """A lower and an upper bound on P(N > x), up to the rounding of 60 digits.

    Below 2 by the series 1/2 - φ(x) (x + x³/3 + x⁵/15 + …); above by two successive convergents of
    φ(x) / (x + 1/(x + 2/(x + …))), whose limit lies between them (Laplace's continued fraction).
    """
    if x < 0:
        low, high = _normal_tail(-x)
        return 1 - high, 1 - low
    density = (-x * x / 2).exp() / _ROOT_OF_TWO_PI
    if x < 2:
        term, total, n = x, x, 1
        while term > _GUARD * _GUARD:
            n += 2
            term *= x * x / n
            total += term
        return Decimal("0.5") - density * total, Decimal("0.5") - density * total
    count = 30 + int(700 / (x * x))
    ends = [x, x + count / x]
    for k in range(count - 1, 0, -1):
        ends = [x + k / end for end in ends]
    low, high = sorted(density / end for end in ends)
    return low, high


def continuous_gaussian_delta(epsilon: float, mu: float) -> float:
    """Exact delta at epsilon of continuous Gaussian noise with mu = sensitivity / scale, that is of mu-GDP.

    ``gaussian_delta`` (also Dong, Roth and Su 2022, Corollary 2.13) to float accuracy.
    """
    if not (math.isfinite(mu) and mu > 0):
        raise PrivacyError(f"mu is {mu!r}, expected a finite number above 0")
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise PrivacyError(f"epsilon is {epsilon!r}, expected a finite number, 0 or above")
    return float(gaussian_delta(epsilon, Decimal(mu)))


def continuous_gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon at which mu-GDP implies (epsilon, delta); absolute accuracy 1e-14, relative 1e-12."""
    if continuous_gaussian_delta(0.0, mu) <= delta:
        return 0.0
    most = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))  # by zCDP
    return float(
        brentq(lambda e: continuous_gaussian_delta(e, mu) - delta, 0.0, most, xtol=1e-14, rtol=1e-12)
    )


def continuous_gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP implies (epsilon, delta); relative accuracy about 1e-12."""
    Privacy(epsilon=epsilon, delta=delta)  # refuses what is out of range
    root = brentq(  # in ln mu
        lambda t: continuous_gaussian_delta(epsilon, math.exp(t)) - delta,
        -700.0,
        700.0,
        xtol=1e-14,
        rtol=4 * EPS,
    )
    return math.exp(float(root))


def continuous_gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Standard deviation of continuous Gaussian noise for exactly (epsilon, delta) (Balle and Wang 2018)."""
    return sensitivity / continuous_gaussian_mu(epsilon, delta)


def allowed_rho(privacy: Privacy) -> float:
    """The largest rho that `privacy` permits: its rho, or `zcdp_rho` of its (epsilon, delta)."""
    if privacy.rho is not None:
        return privacy.rho
    if privacy.epsilon is None or privacy.delta is None:
        raise PrivacyError(
            f"privacy has epsilon {privacy.epsilon!r} and delta {privacy.delta!r}, expected both, or rho",
            hint=PURE_HINT,
        )
    return zcdp_rho(privacy.epsilon, privacy.delta)


def allowed_epsilon(privacy: Privacy) -> float:
    """The epsilon that Laplace noise may cost; a delta with it is not used: epsilon-DP implies it."""
    if privacy.epsilon is None:
        raise PrivacyError(
            f"privacy is {privacy}, and Laplace noise (a strategy of norm 1) needs an epsilon",
            hint="give epsilon (delta is not used then), or solve a program for Gaussian noise: l2_strategy",
        )
    return privacy.epsilon


def float_above(value: Fraction) -> float:
    """The smallest float >= value (inf when there is none)."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def within_decimal(stated: float) -> float:
    """The largest double not above the decimal that a stated one is read as: 0.2 is 1/5, and its double more.

    >>> within_decimal(0.2), within_decimal(0.25)
    (0.19999999999999998, 0.25)
    """
    return -float_above(-Fraction(repr(stated)))


def _tail(order: Decimal, delta: float) -> Decimal:
    """ln(1 - 1/a) - (ln a + ln delta) / (a - 1) at a = 1 + order, to 60 digits."""
    a = 1 + order
    return (order / a).ln() - (a.ln() + Decimal(delta).ln()) / order


def _tail_float(u: float, delta: float) -> float:
    """``_tail`` in floating point, at the order u."""
    return -math.log1p(1 / u) - (math.log1p(u) + math.log(delta)) / u


def _best_order(value: Callable[[float], float]) -> Decimal:
    """a - 1 that maximises `value`: a grid on ln(a - 1), then golden sections around its best point.

    Quality matters only for tightness: a bad order gives a larger epsilon, never a wrong one.
    """
    best = max([t / 2 for t in range(-60, 161)], key=lambda t: value(math.exp(t)))
    low, high = best - 0.5, best + 0.5
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if value(math.exp(left)) >= value(math.exp(right)) else (left, high)
    return Decimal(math.exp((low + high) / 2))
