"""The kinds of noise, a row each: what a noise costs, how it is drawn, and the law of what is drawn.

A noise is one row of ``NOISES``, read wherever noise decides anything; OpenDP draws it. An imitation is
seeded, and protects nothing. How much noise a privacy needs is in ``mechanism.release_plan``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.numerics.arrays import AnyInts, Array
from mmopt.privacy.epsilon_delta_rho import (
    THEOREM_EXACT,
    Privacy,
    allowed_epsilon,
    allowed_rho,
    continuous_gaussian_scale,
    discrete_gaussian_delta,
    float_above,
    gaussian_delta,
)
from mmopt.privacy.rounding.norms_and_measured_integers import Parts, root_above

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
        """Epsilon or rho of one part at a scale, rounded up with room for OpenDP's own rounding.

        Raises
        ------
        PrivacyError : a scale that is not finite and positive.
        """
        _check_positive(scale)
        return float_above(self.exact_cost(squared_sensitivity, Fraction(scale)) * (1 + _OPENDP_SLACK))


def cost(noise: Noise, parts: Parts, scale: float) -> float:
    """Epsilon or rho of all parts together, at noise of parameter ``part.relative * scale``, rounded up."""
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
    """PrivacyError unless the scale is finite and positive."""
    if not (math.isfinite(scale) and scale > 0):
        same = (
            "no query of the strategy differs between neighbours; take another strategy, such as 'identity'"
        )
        raise PrivacyError(
            f"the noise scale is {scale!r}, expected a finite number above 0", hint=same if scale == 0 else ""
        )


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
    """The answers as an array; WorkloadError unless they are one axis of integers."""
    answers = np.asarray(answers)
    if answers.ndim != 1 or answers.dtype not in (np.int64, object):
        raise WorkloadError(
            f"answers of shape {answers.shape} and type {answers.dtype}, expected one axis of int64"
        )
    return answers


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
    """``Noise.tail`` of discrete Laplace noise, from that of continuous noise.

    A Laplace variable L = X - Y of two exponential ones is z + V, z = ⌊X⌋ - ⌊Y⌋ discrete Laplace, and V,
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


# P(z) ~ exp(-|z| / scale): epsilon is the sensitivity over the scale.
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
        """The delta of continuous noise, and what the distance of discrete noise adds."""
        if epsilon > _MOST_EPSILON:
            return Decimal(1)
        squared = 2 * Fraction(cost(GAUSSIAN, parts, scale))
        mu = context.divide(Decimal(squared.numerator), Decimal(squared.denominator)).sqrt(context)
        apart = (1 + Decimal(epsilon).exp(context)) * Decimal(_gaussian_distance(parts, scale))
        return gaussian_delta(epsilon, mu.next_plus(context)) + apart * (1 + Decimal("1e-20"))

    def exact(epsilon: float, scale: float) -> Decimal:
        """The delta of discrete noise on one integer."""
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


# P(z) ~ exp(-z² / 2 scale²): rho is half the squared sensitivity over the squared scale.
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


# -- all


NOISES: tuple[Noise, ...] = (LAPLACE, GAUSSIAN)


def noise_for(norm: int, privacy: Privacy | None = None) -> Noise:
    """The first noise for a norm that takes this privacy; if none does, the first, whose error says why."""
    rows = [noise for noise in NOISES if noise.norm == norm]
    return next((noise for noise in rows if privacy is None or noise.takes(privacy)), rows[0])
