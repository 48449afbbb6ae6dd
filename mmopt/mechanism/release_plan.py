"""``plan``: the noise, cost and accuracy of a release before any data; covariances of its errors.

A ``Plan`` holds the integer matrix to measure, the noise, and the privacy claim that follows. The noise is
the least that a privacy allows, or the most that targets and wishes allow, if a privacy covers its cost.

All estimates are linear in one vector of k noisy answers that determines one estimate of B x, so they
are consistent: a linear relation between queries holds between their estimates. The error of an estimate
is Σ a_j z_j with the drawn noise z and coefficients a that are independent of the data. Standard errors,
intervals and ``covariance``, the covariance matrix of these errors, follow from the law that was drawn.
"""

import math
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from numbers import Real
from statistics import NormalDist
from typing import Any

import numpy as np

from mmopt.display_base_classes import Tabular
from mmopt.errors import OptionError, PrivacyError, TooLargeError, WorkloadError, whole
from mmopt.limits import require_memory
from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.outward import rounded
from mmopt.privacy.guarantee import THEOREM_EXACT, Privacy, privacy_warning
from mmopt.privacy.noise import (
    Noise,
    approximate_epsilon,
    check_scales,
    cost,
    finer,
    finest,
    least_scale,
    noise_for,
)
from mmopt.privacy.rounding.integer_dense import WORTH_SAYING, IntegerStrategy, common_step
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, Measured, Part, check_type
from mmopt.privacy.rounding.table_of_forms import check_arguments, round_any
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Solution, why_not_released
from mmopt.strategies import ADD_REMOVE, Neighbours, NeighboursLike, StrategyForm
from mmopt.workloads import Workload, attribute_uses
from mmopt.workloads.query_product import LEAST_MISSED, wishes

_MOST = 2**21  # coefficients, of queries or cells by measured rows, up to which each query has its own width
NEARLY_NORMAL = 1e-6
"""The largest distance, in probability, at which drawn noise is taken for normal noise."""

_SAME = 1e-7  # of a standard error: widths that differ by less have the same coverage, as printed

BEYOND = 1e-9
"""An interval ends this far, relatively, beyond its last number, against rounding, unless errors are whole
numbers; an interval with a wish may end twice as far beyond."""

_GRID, _BLUR = 2**14, 16  # cells of the law of an error; half the width of the blur of one without a lattice


@dataclass(frozen=True, eq=False)
class Intervals:
    """Half widths (m,) of the queries' intervals, and the probability (m,) that each holds the truth.

    Both are read-only. is_exact : the coverage is computed from the law drawn, for every query; otherwise it
    is a lower bound.
    """

    widths: Array
    coverage: Array
    is_exact: bool

    def __post_init__(self) -> None:
        """Make the arrays read-only: ``intervals`` returns the same ones again."""
        self.widths.flags.writeable = self.coverage.flags.writeable = False


def deviations(noise: Noise, integer: Measured, scale: float, fineness: int = 0) -> Array:
    """Standard deviation of the noise of each part, (parts,), as drawn at noise of parameter `scale`."""
    variances = [noise.variance(part.relative * scale) for part in finer(integer.parts, fineness)]
    return np.ldexp(np.sqrt(variances), -fineness)


def standard_errors(noise: Noise, integer: Measured, scale: float, fineness: int = 0) -> Array:
    """Standard errors (m,) of the queries' estimates, in counts, at integer noise of parameter `scale`.

    Several measured parts are combined by least squares. Where there are too many coefficients for that
    (``has_coefficients``), these are upper bounds.
    """
    sigmas = deviations(noise, integer, scale, fineness)
    if len(sigmas) == 1 or not has_coefficients(integer):
        return integer.standard_errors(sigmas)
    terms = _coefficients(noise, integer, scale, fineness) * np.repeat(
        sigmas, [p.rows for p in integer.parts]
    )
    return np.asarray(np.sqrt(np.square(terms).sum(axis=1)))


def has_coefficients(integer: Measured) -> bool:
    """Whether queries and cells are few enough for the law of the error of each query."""
    return integer.rows * max(len(integer.variances), integer.workload.n, integer.rows) <= _MOST


def check_confidence(confidence: object) -> None:
    """Raise OptionError for a confidence outside (0, 1), or too near to 1 for the computed law."""
    if not (isinstance(confidence, Real) and 0 < float(confidence) < 1):
        raise OptionError(
            f"confidence is {confidence!r}, expected a number above 0 and below 1", hint="for example 0.95"
        )
    if float(confidence) > 1 - LEAST_MISSED:
        raise OptionError(f"confidence is {confidence!r}, the most that is computed is 1 - {LEAST_MISSED:g}")


@lru_cache(maxsize=4)
def intervals(noise: Noise, integer: Measured, scale: float, fineness: int, confidence: float) -> Intervals:
    """The shortest symmetric intervals that hold the truth with probability `confidence`, each query alone.

    Noise that is next to normal has the quantile of rounded normal noise; the distance between the two (its
    ``distance``) is added to the confidence. Rounding moves Σ a z by Σ |a| / 2 at most, and that is at most
    √(Σ a² s²) √(Σ 1/s²) / 2 (Cauchy and Schwarz), 2 √distance standard errors: the interval is wider by this.
    Otherwise the coverage is that of the law drawn, by ``_half_width``.

    With too many coefficients for that, the widths are upper bounds: the noise's ``tail``.

    Errors as ``check_confidence``.
    """
    check_confidence(confidence)
    errors = standard_errors(noise, integer, scale, fineness)
    parts, missed = finer(integer.parts, fineness), 1 - confidence
    scales, rows = np.array([p.relative * scale for p in parts]), [p.rows for p in parts]
    apart = noise.distance(parts, scale) if noise.distance else 1.0
    is_few = has_coefficients(integer)
    if apart <= min(NEARLY_NORMAL, missed / 2):
        moved = 2 * math.sqrt(apart)
        widths = (NormalDist().inv_cdf((1 + confidence + apart) / 2) + moved) * errors
        return Intervals(
            widths, np.full(len(errors), confidence), moved <= _SAME and (len(parts) == 1 or is_few)
        )
    if is_few:
        drawn = np.repeat(scales, rows)
        queries = _coefficients(noise, integer, scale, fineness)
        figures = np.array([_query(row, drawn, noise, confidence) for row in queries])
        return Intervals(np.ldexp(figures[:, 0], -fineness), figures[:, 1], bool(figures[:, 2].all()))
    # In parameters of the noise, not in its deviations: at small scales these are smaller.
    parameters = errors * np.max(np.ldexp(scales, -fineness) / deviations(noise, integer, scale, fineness))
    widths = parameters * math.sqrt(noise.continuous.variance) * noise.tail(missed, float(scales.min()))
    return Intervals(widths, np.full(len(errors), confidence), False)


@lru_cache(maxsize=4)
def _coefficients(noise: Noise, integer: Measured, scale: float, fineness: int) -> Array:
    """a (m, rows) of the queries' errors."""
    return coefficients(integer, deviations(noise, integer, scale, fineness))


def coefficients(integer: Measured, sigmas: Array, queries: Ints | slice = slice(None)) -> Array:
    """a (k, rows) of some queries' errors: their estimates from an answer of 1 to one measured row.

    sigmas : the ``deviations`` of the parts.
    """
    units = (np.eye(1, integer.rows, row)[0] for row in range(integer.rows))
    return np.column_stack([integer.estimate(unit, sigmas)[queries] for unit in units])


def _query(row: Array, scales: Array, noise: Noise, confidence: float) -> tuple[float, float, bool]:
    """Half width, coverage and whether that is exact for coefficients and scales (rows,).

    Whole coefficients make whole errors, and the interval ends on one of these.
    """
    size = float(np.abs(row).max(initial=0.0))
    if size == 0.0:
        return 0.0, 1.0, True
    mantissas, exponents = np.frexp(np.abs(row) / size)
    sizes = np.ldexp(np.round(mantissas, 13), exponents)
    # A small coefficient of much noise may be all that moves the error.
    terms = (sizes + 1j * scales)[(sizes > 1e-12) | (sizes * scales > 1e-12 * (sizes * scales).max())]
    pairs, counts = np.unique(terms, return_counts=True)
    distinct = tuple(pairs.real.tolist()), tuple(pairs.imag.tolist())
    least = _half_width(*distinct, tuple(counts.tolist()), noise, confidence)
    width = least[0] * size
    is_whole = bool((row == np.rint(row)).all())
    return math.floor(width) if is_whole else width, least[1], least[2]


@lru_cache(maxsize=2**14)
def _half_width(
    sizes: tuple[float, ...],
    scales: tuple[float, ...],
    counts: tuple[int, ...],
    noise: Noise,
    confidence: float,
) -> tuple[float, float, bool]:
    """The least t with P(|error| <= t) >= `confidence`, that probability, and whether it is exact.

    The error has `counts` terms of each of the `sizes`, of which the largest is 1, with noise of the
    `scales`. Its law is that of its characteristic function, on a period beyond which it has less than 1e-9.

    Coefficients that are multiples of one number put the error on a lattice, where its probabilities are
    exact. Noise of large scales makes a law that is as good as a continuous one, rounded: it is cut into 512
    cells a standard deviation, and t is larger by the effect of rounding, half a unit of every term. Every
    other law is blurred by U, the sum of nine uniform variables, |U| <= b together, b a 31st of the
    deviation: P(|error| <= t + b) >= P(|error + U| <= t), the probability given.
    """
    variances = {scale: noise.variance(scale) for scale in set(scales)}
    spread = math.sqrt(np.dot(np.square(sizes) * counts, [variances[scale] for scale in scales]))
    span, step = max(32 * spread, 16.0), common_step(np.array(sizes), 1e-10)
    # Sizes that are tiny next to the largest are on no lattice with it.
    is_lattice = step is not None and span <= step * _GRID and min(sizes) > 1e-10
    unit = step if step is not None and is_lattice else span / _GRID
    count = 2 ** max(7, math.ceil(math.log2(span / unit)))
    frequencies = 2 * math.pi / (count * unit) * np.arange(count // 2 + 1)
    is_low = bool(frequencies[-1] <= math.pi)  # where each transform falls with the frequency
    transform = np.zeros(len(frequencies))
    for start in range(0, len(frequencies), 128):
        chunk = slice(start, start + 128)
        logarithms = (
            noise.log_transform(np.multiply.outer(frequencies[chunk], sizes), np.array(scales)) @ counts
        )
        transform[chunk] = np.exp(logarithms)
        if is_low and logarithms[-1] < -40:
            break
    # How far rounding moves an error of noise that is as good as continuous.
    moved = 0.0 if is_lattice else 0.5 * float(np.dot(sizes, counts))
    is_smooth = is_low and transform[-1] < NEARLY_NORMAL and moved < _BLUR * unit
    blur = 0 if is_lattice or is_smooth else _BLUR
    if not is_lattice:
        waves = frequencies[: start + 128] * unit / math.pi
        transform[: start + 128] *= np.sinc(waves / 2) * np.sinc(waves * blur / 8) ** 8
    chances = np.fft.irfft(transform, count)[: count // 2]
    covered = 2 * np.cumsum(chances) - chances[0]
    off = 0.0 if is_lattice else NEARLY_NORMAL
    at = min(int(np.searchsorted(covered, confidence + off)), len(covered) - 1)
    width = at * unit if is_lattice else (at + 0.5 + blur) * unit + (0.0 if blur else moved)
    # Below 1: the law has no end.
    coverage = max(confidence, min(1.0 - 2.0**-53, float(covered[at])) - off)
    return width * (1 + BEYOND), coverage, blur == 0 and moved <= _SAME * spread


@dataclass(frozen=True, eq=False)
class Plan(Tabular):
    """A calibrated release; nothing in it depends on data.

    Attributes
    ----------
    integer : the integer matrix to measure, and how to reconstruct from it.
    absolute : whether the targets set the noise, rather than `privacy`.
    scale : parameter of the noise, in units of the integer matrix; that of a part is this times its
        relative noise.
    fineness : the matrix is measured times 2^fineness, with as many times the noise.
    rho : zCDP cost that the release claims, rounded up; None for noise that costs epsilon (Laplace).
    delta, epsilon : the claimed (epsilon, delta), epsilon rounded up; None without a delta. For noise that
        costs epsilon delta is 0, also where `privacy` allows more. It need not follow from rho, which is
        kept for composition.
    allowed : the rho that `privacy` allows, or the epsilon; None when only the targets decide.
    theorem : the theorem behind epsilon; rho of Gaussian noise is always by Theorem 14 of Canonne, Kamath
        and Steinke 2020.
    chosen_for : the set of neighbours that the strategy was chosen for; the noise is for ``neighbours``.
    """

    workload: Workload
    integer: Measured
    privacy: Privacy | None
    absolute: bool
    scale: float
    fineness: int
    rho: float | None
    delta: float | None
    epsilon: float | None
    allowed: float | None
    theorem: str
    chosen_for: Neighbours = ADD_REMOVE

    @cached_property
    def standard_errors(self) -> Array:
        """(m,) predicted standard errors of the estimates, in counts; read-only."""
        errors = standard_errors(self.law, self.integer, self.scale, self.fineness)
        errors.flags.writeable = False
        return errors

    @property
    def neighbours(self) -> Neighbours:
        """The set of neighbouring tables."""
        return self.integer.neighbours

    @property
    def sensitivity_of(self) -> str:
        """In words, the bound on the change of the measured answers between neighbouring tables."""
        norm, neighbours = f"L{self.integer.norm} norm of a", self.neighbours
        if neighbours.times is not None:
            often = "" if neighbours.is_one_row else f"{neighbours.times} times the "
            return f"{often}largest {norm} column"
        if neighbours.kind == "participation":
            what = (
                "root of the largest sum of |aᵢ · aⱼ|"
                if self.integer.norm == 2
                else "largest sum of L1 norms"
            )
            return f"upper bound: {what} over the columns of the steps of one person"
        if not self.integer.compares_columns:
            return f"upper bound, from the longest column, on the {norm} difference of two"
        dropped = ", or a column, as a row may be dropped" if neighbours.may_drop else ""
        return f"largest {norm} difference of two columns{dropped}"

    @property
    def scaled_from(self) -> str:
        """In words, the other set of neighbours that the strategy was chosen for; "" where it is this one."""
        chosen, unit = str(self.chosen_for), str(replace(self.neighbours, column=""))
        if chosen == unit or (self.chosen_for.is_one_row and self.neighbours.times is not None):
            return ""
        return f"the strategy was chosen for {chosen}; its sensitivity to {unit} sets the noise"

    @property
    def not_covered(self) -> str:
        """In words, facts about the data that a release may reveal and the claim does not cover."""
        uses = attribute_uses(self.workload)
        read = (a for a in self.workload.domain.attributes if uses[a.name] != "none")
        names = ", ".join(a.name for a in read if {"", "refuse"} & {a.outside, a.missing})
        refused = f"; whether a row is refused, for {names}, and the message that says so" if names else ""
        person = "; whether a row names no person" if self.neighbours.column else ""
        return f"whether the table can be read, and has at most {MAX_ROWS} rows{refused}{person}"

    @property
    def warning(self) -> str:
        """The warning for a claim that protects next to nothing, or nothing; else ""."""
        return privacy_warning(self.epsilon, self.delta, self.rho)

    @property
    def rounding(self) -> str:
        """In words, how far the integers are from the strategy; "" where they are close."""
        grown = self.integer.loss
        if grown <= WORTH_SAYING:
            return ""
        more = f"{100 * (grown - 1):.2g} %" if grown < 2 else f"a factor of {grown:.3g}"
        return f"a variance is larger by up to {more}, as integers are measured; all figures include it"

    @property
    def law(self) -> Noise:
        """The noise that is drawn."""
        return noise_for(self.integer.norm, self.privacy)

    @property
    def kind(self) -> str:
        """The kind of the noise: "discrete Gaussian" or "discrete Laplace"."""
        return f"discrete {self.law.name}"

    @property
    def guarantee(self) -> str:
        """The kind of the claim: "pure epsilon", "(epsilon, delta)" or "zCDP"."""
        return guarantee_of(self.rho, self.delta)

    @property
    def privacy_cost(self) -> float:
        """The privacy cost Delta = sensitivity over noise scale; rho = Delta² / 2, or epsilon = Delta."""
        if self.rho is None:
            assert self.epsilon is not None
            return self.epsilon
        return math.sqrt(2 * self.rho)

    @property
    def spent(self) -> tuple[str, float]:
        """The claim as one number: ("epsilon", that at ``delta``), or ("rho", that) without a delta."""
        if self.epsilon is not None:
            return "epsilon", self.epsilon
        assert self.rho is not None
        return "rho", self.rho

    @property
    def set_by(self) -> str:
        """The origin of the noise scale: "targets" or "privacy parameters"."""
        return "targets" if self.absolute else "privacy parameters"

    @property
    def noise(self) -> float:
        """Noise scale on the unrounded strategy: 1 is the unit noise that targets refer to."""
        return math.ldexp(self.scale, -self.integer.bits)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The measured parts of the integer matrix, at this fineness."""
        return finer(self.integer.parts, self.fineness)

    def intervals(self, confidence: float) -> Intervals:
        """The queries' intervals, as the function ``intervals``.

        Where queries have no integer basis they are wider by the bias of rounding over MAX_ROWS rows.
        """
        drawn = intervals(self.law, self.integer, self.scale, self.fineness, confidence)
        if not self.integer.is_biased:
            return drawn
        bias = self.integer.bias * float(np.abs(self.workload.queries).max()) * MAX_ROWS
        return Intervals(drawn.widths + bias, drawn.coverage, drawn.is_exact and bias == 0)

    @property
    def rmse(self) -> float:
        """Predicted root mean squared error over the m queries, in counts."""
        return float(np.sqrt(np.mean(self.standard_errors**2)))

    def summary(self) -> dict[str, Any]:
        """Noise, cost and error as one JSON object."""
        return {
            "noise": self.kind,
            "guarantee": self.guarantee,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "neighbours": str(self.neighbours),
            "set_by": self.set_by,
            "rmse": self.rmse,
        }

    def __repr__(self) -> str:
        words = [] if self.rho is None else [f"rho {rounded(str(self.rho), 6, up=True)}"]
        if self.epsilon is not None:
            words.append(f"epsilon {rounded(str(self.epsilon), 6, up=True)} at delta {self.delta!r}")
        words.append(str(self.neighbours))
        return f"Plan({self.workload.m} queries, {', '.join(words)}, rmse {rounded(self.rmse, 6, up=True)})"


def claim(
    noise: Noise, integer: Measured, fineness: int, scale: float, delta: float | None, allowed: float
) -> tuple[float | None, float | None, float | None, str]:
    """The rho, delta, epsilon and theorem that noise of this scale proves, as ``Plan`` holds them.

    Errors, and `allowed`, as ``noise.approximate_epsilon``.
    """
    cheap = cost(noise, integer.parts, scale)
    if noise.unit == "epsilon":
        return None, 0.0, cheap, noise.theorem
    if delta is None:
        return cheap, None, None, noise.theorem
    return cheap, delta, *approximate_epsilon(noise, integer, fineness, scale, delta, allowed)


def guarantee_of(rho: float | None, delta: float | None) -> str:
    """The kind of a claim, as ``Plan.guarantee``."""
    if rho is None:
        return "pure epsilon"
    return "zCDP" if delta is None else "(epsilon, delta)"


def composed(theorem: str, parts: Sized) -> str:
    """The theorem, with a remark on composition where there are several measurements."""
    count = len(parts)
    return theorem if count == 1 else f"{theorem}; the costs of {count} measurements add up (composition)"


_TARGET_SLACK = 1e-6  # a certified strategy meets its targets to float accuracy; more is a wrong strategy


def scale_for_targets(workload: Workload, strategy: StrategyForm, integer: Measured, noise: Noise) -> float:
    """The scale, in integer units, at which rounding takes no query above its target.

    For noise whose unit targets refer to (``Noise.takes_targets``) it is that unit, shrunk where necessary;
    for other noise the largest such scale.

    Raises
    ------
    PrivacyError : no query has a target, and the noise has no unit.
    WorkloadError : unit noise on this strategy misses a target.
    """
    targeted = np.isfinite(workload.targets)
    if noise.takes_targets:
        unit = strategy.variances(workload)
        worst = int(np.argmax(np.where(targeted, unit / workload.targets, 0.0)))
        if targeted[worst] and unit[worst] > workload.targets[worst] * (1 + _TARGET_SLACK):
            raise WorkloadError(
                f"query '{workload.labels()[worst]}' has variance {unit[worst]:.6g} at unit noise on this "
                f"strategy, its max_variance is {workload.targets[worst]:.6g}",
                hint="solve the strategy with fitness_for_use for these targets",
            )
        limits = np.where(targeted, workload.targets, np.inf if targeted.any() else unit)
        factor = min(1.0, float(np.min(limits / integer.variances)))
    elif not targeted.any():
        raise PrivacyError(
            f"no query has a target that could set the scale of {noise.name} noise",
            hint="write max_variance or within beside the queries, or give an epsilon",
        )
    else:
        limits = np.where(targeted, workload.targets, np.inf)
        factor = float(np.min(limits / (noise.continuous.variance * integer.variances)))
    # A few units in the last place below, so that scale² x variance rounds to no more than the target.
    return math.ldexp(math.sqrt(factor) * (1 - 2.0**-49), integer.bits)


def excess_over_wishes(plan: Plan) -> float:
    """The largest ratio of a query's half width to that of its wish, or of its deviation to its target.

    0 without wishes and targets. Deviations count for noise without ``takes_targets`` only: other noise meets
    targets by ``scale_for_targets``.
    """
    widths = [
        float(plan.intervals(wish.confidence).widths[rows].max()) / (wish.half_width * (1 + 2 * BEYOND))
        for rows, wish in wishes(plan.workload.blocks)
    ]
    deviations = [] if plan.law.takes_targets else [plan.standard_errors / np.sqrt(plan.workload.targets)]
    return max([*widths, *(float(ratio.max()) for ratio in deviations)], default=0.0)


def check_cost(plan: Plan, privacy: Privacy) -> None:
    """Raise PrivacyError when the targets cost more than `privacy` allows."""
    assert plan.allowed is not None
    delta = None if plan.rho is None else privacy.delta
    name, spent = plan.spent
    if spent <= plan.allowed:
        return
    factor = (least_scale(plan.law, plan.integer, plan.fineness, plan.allowed, delta) / plan.scale) ** 2
    pairs = wishes(plan.workload.blocks)
    targets = np.array(plan.workload.targets)
    for rows, wish in pairs:
        targets[rows] = np.where(targets[rows] < wish.variance, targets[rows], np.inf)
    changes = [f"every max_variance by {_round_up(factor)}"] if np.isfinite(targets).any() else []
    changes += [f"every within by {_round_up(math.sqrt(factor))}"] if pairs else []
    at = f" at delta {delta:g}" if delta is not None else ""
    raise PrivacyError(
        f"the targets cost {name} {rounded(str(spent), 6, up=True)}{at}, "
        f"privacy allows {name} {plan.allowed:.6g}",
        hint=f"multiply {' and '.join(changes)}, or allow a larger privacy cost",
    )


def _round_up(value: float) -> str:
    """`value` to four significant digits, rounded up, so that the advice suffices."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{(math.floor(value / unit) + 1) * unit:.4g}"


_WORTH = 0.99  # answers that are not whole are worth it below this part of the variance or epsilon
_NO_NOISE = 1 / 200  # the scale on integers below which draws are zeros
_LEAST_STEP = 2.0**-10  # the least relative step by which noise is shrunk after the first step
_CLOSE = 1e-6  # relative precision of the largest noise that meets the wishes


def plan(
    workload: WorkloadLike,
    strategy: StrategyForm | Solution,
    privacy: Privacy | Mapping[str, float] | None,
    neighbours: NeighboursLike | None = None,
    absolute: bool = False,
) -> Plan:
    """Round `strategy`, or that of a solution, choose the noise and predict the errors.

    The sensitivity is that of the integers to these neighbours, by default those that the strategy was
    chosen for.

    With `absolute` unset, the noise is the least that `privacy` allows. With `absolute` the targets set it,
    and the cost follows: for norm 2 unit noise on the strategy (`fitness_for_use`), scaled down where a query
    exceeds its target after rounding; for norm 1 the most noise at which no query does. The intervals of
    queries with a wish (``within``) are then no wider than the wish.

    The norm of a strategy and `privacy` decide the noise (``noise_for``): for norm 1 Laplace noise at the
    epsilon, for norm 2 Gaussian noise. For (epsilon, delta) the integers are measured as they are, or times a
    power of two where no exact theorem holds for them and the theorem for continuous noise then saves 1 % of
    the variance (with targets: of epsilon); also where there are too many queries for the law of each one's
    error.

    Raises
    ------
    OptionError : arguments of other types, or no set of neighbours.
    PrivacyError : no privacy parameters and not `absolute`; epsilon without delta for a strategy of norm 2,
        rho for one of norm 1; targets that cost more than `privacy` allows
        (with both values and the factor by which the targets must grow); noise beyond 64-bit integers;
        a solution whose program bounds something else than the sensitivity to its neighbours; neighbours for
        which the strategy has no known sensitivity.
    WorkloadError : a strategy that does not support the workload, misses its targets or cannot be rounded.
    """
    workload = as_workload(workload)
    privacy = None if privacy is None else Privacy.of(privacy)
    if isinstance(strategy, Solution):
        strategy = _released(strategy)
    check_arguments(strategy, workload)
    check_type("absolute", absolute, bool, "True or False")
    noise = noise_for(strategy.norm, privacy)
    if privacy is None and not absolute:
        raise PrivacyError(
            "no privacy parameters, and the noise is not set by targets",
            hint=f"add a line such as 'privacy: {{{noise.example}}}' to the workload file",
        )
    budget = None if privacy is None else noise.allowed(privacy)
    allowed = budget if privacy is None else privacy.epsilon or budget
    integer = round_any(strategy, workload, strategy.neighbours if neighbours is None else neighbours)
    target = scale_for_targets(workload, strategy, integer, noise) if absolute else None
    delta = None if noise.unit == "epsilon" or privacy is None else privacy.delta

    def at_fineness(fineness: int, target: float | None) -> Plan:
        scale = target or least_scale(noise, integer, fineness, allowed or math.inf, delta)
        rho, claimed_delta, epsilon, theorem = claim(
            noise, integer, fineness, scale, delta, allowed or math.inf
        )
        return Plan(
            workload=workload,
            integer=integer,
            privacy=privacy,
            absolute=absolute,
            scale=scale,
            fineness=fineness,
            rho=rho,
            delta=claimed_delta,
            epsilon=epsilon,
            allowed=allowed,
            theorem=composed(theorem, integer.parts),
            chosen_for=strategy.neighbours,
        )

    def planned(target: float | None) -> Plan:
        chosen = at_fineness(0, target)
        check_scales(integer.parts, chosen.scale)
        most = finest(integer.parts, chosen.scale)
        # With many queries only the normal law of their errors is available.
        is_many = (
            noise.distance is not None
            and noise.distance(integer.parts, chosen.scale) > NEARLY_NORMAL
            and not has_coefficients(integer)
        )
        if most and (is_many or (delta is not None and chosen.theorem != THEOREM_EXACT)):
            fine = at_fineness(most, target)
            saved = (
                ((fine.epsilon or 1.0) / (chosen.epsilon or 1.0))
                if absolute
                else (fine.rmse / chosen.rmse) ** 2
            )
            if is_many or saved < _WORTH:
                chosen = fine
        return chosen

    if target is None:
        return planned(target)
    best = _shrunk(planned, target)
    if privacy is not None:
        check_cost(best, privacy)
    return best


def _shrunk(planned: Callable[[float], Plan], target: float) -> Plan:
    """The plan with the most noise whose intervals meet the wishes; Gaussian noise up to the scale `target`.

    Noise on integers may have wider intervals than the normal noise that wishes were turned into. Dividing
    by the excess shrinks the widest to its wish, but for the shape of its law: where errors are whole
    numbers, widths are too, and the scale at which one falls by 1 is found by halving. So is the scale of
    noise whose unit is not that of targets, where it varies less on integers than at ``target``.

    Raises
    ------
    PrivacyError : rounding the strategy alone makes an interval too wide.
    """
    best, wide, step = planned(target), math.inf, 0.0
    while (excess := excess_over_wishes(best)) > 1:
        if max(part.relative for part in best.parts) * best.scale < _NO_NOISE:
            raise PrivacyError(
                "no noise is small enough for the half widths that are asked for: rounding the strategy "
                "alone makes intervals wider",
                hint="ask for wider ones",
            )
        wide = target
        target /= max(excess * (1 + 2.0**-40), 1 + step)
        step = max(2 * step, _LEAST_STEP)
        best = planned(target)
    if wide == math.inf and 0 < excess < 1 - _CLOSE and not best.law.takes_targets:
        wide = 2 * target
        while excess_over_wishes(larger := planned(wide)) <= 1:
            best, target, wide = larger, wide, 2 * wide
    more = target * (1 + _CLOSE)
    while more < wide < math.inf:
        if excess_over_wishes(larger := planned(more)) > 1:
            wide = more
        else:
            best, target = larger, more
        more = max(math.sqrt(wide * target), target * (1 + _CLOSE))
    return best


def _released(solution: Solution) -> StrategyForm:
    """The strategy of a solution; PrivacyError without one, or where the program bounds something else."""
    if not solution.has_strategy:
        raise PrivacyError(
            f"the solution of '{solution.program}' is no strategy: the program says none",
            hint="write 'strategy' (factor(X) norm 2) or 'covariance' (Sigma on B)",
        )
    if solution.own_sensitivity is not None:
        raise PrivacyError(
            why_not_released(
                solution.program,
                solution.own_sensitivity,
                solution.covariance is not None,
                solution.strategy.neighbours,
            ),
            hint="let the program's lines bound the sensitivity of its strategy to its neighbours (by "
            "default the largest column norm) by 1, or let the objective be the privacy cost of its "
            "covariance",
        )
    return solution.strategy


_MOST_COEFFICIENTS = 2**28  # cells or queries by measured queries: all estimates are made for each of these


def covariance(plan: Plan, rows: Ints) -> Array:
    """Covariance matrix (k, k) of the estimates of the queries of these numbers, (k,); in squared counts.

    Every estimate's error is Σ a_j z_j with the drawn noise z and coefficients a that do not depend on the
    data. The diagonal is the square of the plan's standard errors up to rounding, except for strategies of
    several products with many coefficients, whose standard errors are upper bounds.

    Raises
    ------
    TooLargeError : the coefficients do not fit in memory, or take too long to compute.
    """
    require_memory((len(rows), max(len(rows), plan.integer.rows)), "coefficients of the queries' errors")
    sigmas = deviations(plan.law, plan.integer, plan.scale, plan.fineness)
    integer, (m, n) = plan.integer, plan.workload.shape
    # a (k, measured): the estimates of these queries from an answer of 1 to one measured query.
    if isinstance(integer, IntegerStrategy):
        reconstruction = integer.reconstruction
        terms = np.asarray(reconstruction.left.take(rows) @ reconstruction.right)
    elif integer.rows * max(m, n) > _MOST_COEFFICIENTS:
        raise TooLargeError(
            f"the covariance of estimates of {m:,} queries over {whole(n)} cells from {integer.rows:,} "
            "measured ones would take too long",
            hint="release a workload of the queries that are compared, or one whose sum or difference is a "
            "query: its standard error says how far that is off",
        )
    else:
        terms = coefficients(integer, sigmas, rows)
    terms = terms * np.repeat(sigmas, [part.rows for part in integer.parts])
    return np.asarray(terms @ terms.T)
