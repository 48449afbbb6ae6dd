"""Noises, a row each, and the least noise for a privacy, on integers or in floating point.

A noise is one row of ``NOISES``, read wherever noise decides anything; OpenDP draws it. An imitation is
seeded, and protects nothing.

On an integer strategy noise proves the same for any noise: the parts are measured one after the other, so
that their costs add up; the least noise is the least whose cost is allowed. A part may be measured on a finer
lattice (``finer``): 2^b times its integers with 2^b times the noise costs the same, and may be nearer to
continuous noise.

The calibrations in floating point (continuous Gaussian noise, an older formula) are for comparison with
publications only: the claims of a release are about the discrete noise, and rest on `guarantee.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.numerics.arrays import AnyInts, Array
from mmopt.privacy.guarantee import (
    THEOREM_EXACT,
    Privacy,
    allowed_epsilon,
    allowed_rho,
    discrete_gaussian_delta,
    float_above,
    gaussian_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from mmopt.privacy.rounding.integer_arithmetic import root_above
from mmopt.privacy.rounding.integer_strategy import Measured, Part

Parts = Sequence[Part]

_TAIL = 64  # scales; a draw is beyond this range with probability exp(-2000), Laplace noise exp(-64)
_OPENDP_SLACK = Fraction(1, 2**48)  # OpenDP rounds each of its three operations up; leave room for that


@dataclass(frozen=True)
class Continuous:
    """The noise on real numbers, as in publications: for simulations, never for a release.

    scale : of a privacy and a sensitivity, for neighbours that add or remove a row; PrivacyError as
        ``Noise.allowed``. variance : at scale 1. draw : at scale 1, from numpy, for a shape.
    mean : E |error| of any query, over its standard error; None where it is not the same for all.
    """

    scale: Callable[[Privacy, float], float]
    variance: float
    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    mean: float | None = None

    def deviation(self, privacy: Privacy) -> float:
        """The standard deviation at a privacy, per unit of sensitivity; errors as ``scale``."""
        return self.scale(privacy, 1.0) * math.sqrt(self.variance)


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise:
    """A noise on integers, independent on each, of one parameter: its scale.

    Attributes
    ----------
    name : in options it is in lower case. sampler : of OpenDP, as in the manifest.
    norm : of sensitivities. unit : of its costs, which add up over parts.
    allowed : the cost that a privacy allows; PrivacyError for a privacy of another kind.
    example : a privacy that it takes, as in a workload file.
    takes_targets : unit noise, to which targets refer, has scale 1.
    theorem : the basis of its cost. implied : that of the (epsilon, delta) implied by rho, added to it.
    exact_cost : of a part, for a squared sensitivity and a scale.
    least_scale : the scale of a cost, over that of cost 1, for one over the cost.
    deltas : for (epsilon, delta), of parts: theorems that may prove less than rho implies, each with its
        upper bound on delta at (epsilon, scale).
    distance : a bound on the total variation, over all rows, between drawn noise and rounded normal noise,
        of parts and scale; None for noise that on a finer lattice is no nearer to it.
    measurement : that adds it, from OpenDP's prelude, a domain and the scale. root : of a squared
        sensitivity, in OpenDP's type.
    variance : at a scale. imitate : draws from numpy, at scales (p,).
    log_transform : logarithm of the characteristic function E cos(x z) for x and scales; it is positive.
    tail : for any coefficients, a width that |error| exceeds with at most some probability, in standard
        errors of noise of variance scale² times that of its continuous law at scale 1; it takes the least
        scale too.
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
        """Whether a privacy is of its kind; a noise that costs epsilon ignores a delta."""
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

    Answers of 64-bit integers fit 62 bits too, and their sum with the noise is below 2^63.
    """
    for part in parts:
        part_scale = part.relative * scale
        _check_positive(part_scale)
        if _TAIL * part_scale >= 2**62:
            raise PrivacyError(
                f"noise of scale {part_scale:.4g} may exceed 2^62, the limit of 64-bit integers",
                hint="so little privacy budget gives answers of noise only; raise epsilon or rho",
            )


def _check_positive(scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise PrivacyError(f"the noise scale is {scale!r}, expected a finite number above 0")


def add_noise(
    noise: Noise, answers: AnyInts, scale: float, squared_sensitivity: int, claimed: float
) -> AnyInts:
    """`answers` (p,) plus independent noise of parameter `scale`, drawn by OpenDP.

    To Python integers the noise that OpenDP adds to zeros is added: it depends on no answer.

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
    return np.asarray(np.add(answers, noise.imitate(np.random.default_rng(seed), scales).astype(np.int64)))


def _checked(answers: AnyInts) -> AnyInts:
    answers = np.asarray(answers)
    if answers.ndim != 1 or answers.dtype not in (np.int64, object):
        raise WorkloadError(
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )
    return answers


def continuous_gaussian_delta(epsilon: float, mu: float) -> float:
    """Exact delta at epsilon of continuous Gaussian noise with mu = sensitivity / scale, that is of mu-GDP.

    ``guarantee.gaussian_delta`` (also Dong, Roth and Su 2022, Corollary 2.13) to float accuracy.
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

    def excess(log_mu: float) -> float:
        return continuous_gaussian_delta(epsilon, math.exp(log_mu)) - delta

    return math.exp(float(brentq(excess, -700.0, 700.0, xtol=1e-14, rtol=4 * float(np.finfo(float).eps))))


def continuous_gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Standard deviation of continuous Gaussian noise for exactly (epsilon, delta) (Balle and Wang 2018)."""
    return sensitivity / continuous_gaussian_mu(epsilon, delta)


def pvldb2012_rmse_factor(epsilon: float, delta: float) -> float:
    """sqrt(log2(2/delta)) / epsilon: the factor of an objective's root in the tables of PVLDB 2012.

    For reproducing those tables only: it is not a calibration proved for all epsilon.
    """
    Privacy(epsilon=epsilon, delta=delta)  # refuses what is out of range
    return math.sqrt(math.log2(2 / delta)) / epsilon


_STEPS = 40  # halvings of the interval in a search for an epsilon or a scale


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
    noise: Noise, integer: Measured, fineness: int, scale: float, delta: float, wanted: float
) -> tuple[float, str]:
    """The smallest epsilon at `delta`, rounded up, that one of the theorems proves, and that theorem.

    It is at most the epsilon `wanted`, where that is proved.
    """
    rho = cost(noise, integer.parts, scale)
    implied = zcdp_epsilon(rho, delta)
    # In floats a smaller rho may imply an epsilon that is larger by some last digits.
    if wanted < implied and rho <= zcdp_rho(wanted, delta):
        implied = wanted
    proofs = [
        (_least(partial(bound, scale=scale), delta, 0.0, implied, min(wanted, implied)), theorem)
        for theorem, bound in (noise.deltas(finer(integer.parts, fineness)) if implied else [])
    ]
    return min([(implied, noise.theorem + noise.implied), *proofs], key=itemgetter(0))


def least_scale(
    noise: Noise, integer: Measured, fineness: int, allowed: float, delta: float | None = None
) -> float:
    """The scale of a cost; at a delta the smallest, to ten digits, at which a theorem proves this epsilon.

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

    A bound on delta need not fall: the distance of discrete noise counts e^epsilon times. So the bound is
    also tried at `first` before the search gives up.
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
    """The largest fineness at which answers and noise leave two of 62 bits free, 0 or above."""
    largest = max(part.largest_answer + 64 * part.relative * scale for part in parts)
    return max(0, 60 - math.ceil(math.log2(largest)))


# -- the table of noises: a row for each, after the functions in it


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
