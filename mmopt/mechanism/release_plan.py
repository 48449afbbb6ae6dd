"""``plan``: the noise, cost and accuracy of a release before any data; covariances of its errors.

A ``Plan`` holds the integer matrix to measure, the noise, and the privacy claim that follows. The noise is
the least that a privacy allows, or the most that targets allow, if a privacy covers its cost.

Noise proves the same of every integer strategy: the parts are measured one after the other, so that their
costs add up; the least noise is the least whose cost is allowed (``least_scale``). A part may be measured on
a finer lattice (``fineness``): 2^b times its integers with 2^b times the noise costs the same, and may be
nearer to continuous noise.
"""

import math
import re
from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

import numpy as np

from mmopt.display_base_classes import Tabular
from mmopt.errors import PrivacyError, TooLargeError, WorkloadError, whole
from mmopt.limits import require_memory
from mmopt.mechanism.standard_errors_and_intervals import (
    BEYOND,
    NEARLY_NORMAL,
    Intervals,
    coefficients,
    deviations,
    has_coefficients,
    intervals,
    standard_errors,
)
from mmopt.numerics.arrays import Array, Ints, frozen, rounded
from mmopt.privacy.epsilon_delta_rho import (
    THEOREM_EXACT,
    Privacy,
    PrivacyLike,
    privacy_warning,
    within_decimal,
    zcdp_epsilon,
    zcdp_rho,
)
from mmopt.privacy.noise import Noise, check_scales, cost, noise_for
from mmopt.privacy.rounding.integer_dense import WORTH_SAYING, IntegerStrategy
from mmopt.privacy.rounding.norms_and_measured_integers import (
    MAX_ROWS,
    Measured,
    Part,
    check_type,
    finer,
    finest,
)
from mmopt.privacy.rounding.table_of_forms import check_arguments, round_any
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import Frame, Solution, why_not_released
from mmopt.strategies import ADD_REMOVE, Neighbours, NeighboursLike, StrategyForm
from mmopt.workloads import (
    Workload,
    attribute_uses,
    query_columns,
    wishes,
)


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
    allowed : the rho that `privacy` allows, or the epsilon, as a double that is not above the decimal stated
        (``within_decimal``), or that double itself for targets; None when only the targets decide.
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
        return frozen(standard_errors(self.law, self.integer, self.scale, self.fineness))

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
        if np.any(self.integer.of_total):
            dropped = "; the number of rows, which no replaced row changes, is used without noise"
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
        return not_covered(self.workload, self.neighbours, bool(np.any(self.integer.of_total)))

    @property
    def allowed_words(self) -> str:
        """The privacy that was allowed, in words."""
        if self.privacy is None:
            return "set by the targets (max_variance)"
        return f"{self.privacy}{'; the targets need less' * self.absolute}"

    @property
    def warning(self) -> str:
        """The warning for a claim that protects next to nothing, or nothing; else ""."""
        return privacy_warning(self.epsilon, self.delta, self.rho)

    @property
    def rounding(self) -> str:
        """In words, how far the integers are from the strategy; "" where they are close."""
        if (grown := self.integer.loss) <= WORTH_SAYING:
            return ""
        more = f"{100 * (grown - 1):.2g} %" if grown < 2 else f"a factor of {grown:.3g}"
        return f"a variance is larger by up to {more}, as integers are measured; all figures include it"

    @property
    def why_bounds(self) -> str:
        """In words, why standard errors are upper bounds; "" where they are those of the estimates."""
        is_bound = self.integer.bounds_errors and not has_coefficients(self.integer)
        return "an upper bound, as each standard error is: answers use all parts by least squares" * is_bound

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
        """Noise scale on the unrounded strategy: 1 is the scale that targets refer to."""
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
        words = [
            *([] if self.rho is None else [f"rho {rounded(str(self.rho), 6, up=True)}"]),
            *(
                []
                if self.epsilon is None
                else [f"epsilon {rounded(str(self.epsilon), 6, up=True)} at delta {self.delta!r}"]
            ),
            str(self.neighbours),
        ]
        return f"Plan({self.workload.m} queries, {', '.join(words)}, rmse {rounded(self.rmse, 6, up=True)})"


def not_covered(workload: Workload, neighbours: Neighbours, uses_total: bool) -> str:
    """In words, facts about the table that a release of these queries may reveal without noise.

    uses_total : whether the number of rows may be used without noise.
    """
    names = ", ".join(
        name
        for name, rules in row_rules(workload).items()
        if "refuse" in (rules["outside"], rules["missing"])
    )
    refused = f"; whether a row is refused, for {names}, and the message that says so" if names else ""
    name = neighbours.column
    unit = (
        name
        and f"; whether a row has no '{name}'; a '{name}' spelled in several ways, which counts as several"
    )
    return (
        "whether the table can be read, its weights (if it has any) are counts, and it has at most "
        f"{MAX_ROWS} rows{refused}{unit}"
    ) + uses_total * (
        "; the number of rows of this table, which may be published as it is: of a selection from another "
        "table (a filter, a region) it is a fact about that one"
    )


def row_rules(workload: Workload) -> dict[str, dict[str, str]]:
    """By attribute whose column is read: that column, its use, and the rules for rows without a cell."""
    uses = attribute_uses(workload)
    return {
        a.name: {
            "column": ", ".join((*a.above, a.column)),
            "use": uses[a.name],
            "outside": a.outside or "refuse",
            "missing": a.missing or "refuse",
        }
        for a in workload.domain.attributes
        if uses[a.name] != "none"
    }


# The names of the columns of accuracy that are not attributes.
NAMES = (
    *("query", "label", "standard_error", "half_width", "noise", "max_variance", "within"),
    *("within_confidence", "meets", "share_of_cost"),
)


def accuracy_columns(plan: Plan, confidence: float) -> Frame:
    """One row for each query, in their order; nothing in them depends on data.

    query, label : its group and its label; then a column for each attribute (``tidy_columns``).
    standard_error, half_width : in counts, the latter of the interval of this confidence; noise : its kind.
    max_variance, within, within_confidence : its targets, or NaN (a max_variance that a half width
    implies is left out); meets : whether they are met, NaN without one. These columns are left out where no
    query has a target.

    Raises
    ------
    OptionError : a confidence outside (0, 1). TooLargeError : more queries than a table has memory for.
    """
    return Frame({**query_columns(plan.workload, NAMES), **accuracy_figures(plan, confidence)})


def accuracy_figures(plan: Plan, confidence: float) -> dict[str, Array]:
    """The columns of numbers, and the kind of the noise: all but the texts of the queries.

    Raises
    ------
    OptionError : a confidence outside (0, 1).
    """
    workload = plan.workload
    targets = np.array(workload.targets)
    is_targeted = np.isfinite(targets)
    meets = np.square(plan.standard_errors) <= targets
    half_widths, confidences = np.full(workload.m, np.inf), np.full(workload.m, np.nan)
    for rows, wish in wishes(workload.blocks):
        half_widths[rows], confidences[rows] = wish.half_width, wish.confidence
        is_stricter = targets[rows] < wish.variance  # a max_variance besides
        widths = plan.intervals(wish.confidence).widths[rows]
        meets[rows] = (widths <= wish.half_width * (1 + 2 * BEYOND)) & (meets[rows] | ~is_stricter)
        targets[rows] = np.where(is_stricter, targets[rows], np.inf)
    columns = {
        "standard_error": plan.standard_errors,
        "half_width": plan.intervals(confidence).widths,
        "noise": np.full(workload.m, plan.kind, dtype=object),
    }
    if is_targeted.any():
        columns |= {
            "max_variance": np.where(np.isfinite(targets), targets, np.nan),
            "within": np.where(np.isfinite(half_widths), half_widths, np.nan),
            "within_confidence": confidences,
            "meets": np.where(is_targeted, meets, np.nan),
        }
    return columns


def wishes_and_missed(plan: Plan) -> list[dict[str, float]]:
    """``Workload.wishes_by_group``, and where something is asked how many queries of the group miss it."""
    wanted, rows = plan.workload.wishes_by_group(), [rows for _, rows in plan.workload.groups()]
    if not any(wanted):
        return wanted
    meets = accuracy_figures(plan, 0.95)["meets"]  # independent of the confidence
    return [
        {**each, "missed": int((meets[part] == 0).sum())} if each else {}
        for each, part in zip(wanted, rows, strict=True)
    ]


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


def claim(
    noise: Noise, integer: Measured, fineness: int, scale: float, delta: float | None, allowed: float
) -> tuple[float | None, float | None, float | None, str]:
    """The rho, delta, epsilon and theorem that noise of this scale proves, as ``Plan`` holds them.

    `allowed` is ``approximate_epsilon``'s `wanted`.
    """
    added_up = cost(noise, integer.parts, scale)
    if noise.unit == "epsilon":
        return None, 0.0, added_up, noise.theorem
    if delta is None:
        return added_up, None, None, noise.theorem
    return added_up, delta, *approximate_epsilon(noise, integer, fineness, scale, delta, allowed)


def claim_again(plan: Plan) -> tuple[float | None, float | None, float | None, str]:
    """``claim`` of a plan's noise, computed anew."""
    allowed = plan.epsilon if plan.epsilon and plan.epsilon > 0 else math.inf
    return claim(plan.law, plan.integer, plan.fineness, plan.scale, plan.delta, allowed)


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
        (_least_at_delta(partial(bound, scale=scale), delta, 0.0, implied, min(wanted, implied)), theorem)
        for theorem, bound in (noise.deltas(finer(integer.parts, fineness)) if implied else [])
    ]
    return min([(implied, noise.theorem + noise.implied), *proofs], key=itemgetter(0))


def guarantee_of(rho: float | None, delta: float | None) -> str:
    """The kind of a claim, as ``Plan.guarantee``."""
    if rho is None:
        return "pure epsilon"
    return "zCDP" if delta is None else "(epsilon, delta)"


def composed(theorem: str, parts: Sized) -> str:
    """The theorem, with a remark on composition where there are several measurements."""
    count = len(parts)
    return theorem if count == 1 else f"{theorem}; the costs of {count} measurements add up (composition)"


def least_scale(
    noise: Noise, integer: Measured, fineness: int, allowed: float, delta: float | None = None
) -> float:
    """The smallest scale whose cost is at most ``allowed``; with a delta, at which a theorem proves that
    epsilon.

    With a delta it has ten digits. Errors as ``least_scale_by_cost``.
    """
    if delta is None:
        return least_scale_by_cost(noise, integer, allowed)
    implied = least_scale_by_cost(noise, integer, zcdp_rho(allowed, delta))
    lower = [
        _least_at_delta(partial(bound, allowed), delta, implied / 8, implied, implied / 2)
        for _, bound in noise.deltas(finer(integer.parts, fineness))
    ]
    return min([implied, *lower])


def least_scale_by_cost(noise: Noise, integer: Measured, allowed: float) -> float:
    """The smallest scale, to a few units in the last place, whose rounded-up cost is at most `allowed`."""
    scale = noise.least_scale(cost(noise, integer.parts, 1.0) / allowed)
    while cost(noise, integer.parts, scale) > allowed:
        scale *= 1 + 2.0**-50
    return scale


_STEPS = 40  # halvings of the interval in a search for an epsilon or a scale


def _least_at_delta(
    bound: Callable[[float], Decimal], delta: float, low: float, high: float, first: float
) -> float:
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
    is_noisy = integer.variances > 0
    targeted = np.isfinite(workload.targets) & is_noisy
    if noise.takes_targets:
        unit = strategy.variances(workload)
        worst = int(np.argmax(np.where(targeted, unit / workload.targets, 0.0)))
        if targeted[worst] and unit[worst] > workload.targets[worst] * (1 + _TARGET_SLACK):
            raise WorkloadError(
                f"query '{workload.labels()[worst]}' has variance {unit[worst]:.6g} at noise of scale 1 on "
                f"this strategy, its max_variance is {workload.targets[worst]:.6g}",
                hint="solve the strategy with fitness_for_use for these targets",
            )
        limits = np.where(targeted, workload.targets, np.where(is_noisy & ~targeted.any(), unit, np.inf))
        factor = min(1.0, float(np.min(limits / integer.variances)))
    elif not targeted.any():
        raise PrivacyError(
            f"no query has a target that could set the scale of {noise.name} noise",
            hint="add max_variance or within to the queries, or give an epsilon",
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


_WORTHWHILE = 0.99  # answers that are not whole are worth it below this part of the variance or epsilon
_NO_NOISE = 1 / 200  # the scale on integers below which draws are zeros
_LEAST_STEP = 2.0**-10  # the least relative step by which noise is shrunk after the first step
_CLOSE = 1e-6  # relative precision of the largest noise that meets the wishes


def plan(
    workload: "WorkloadLike",
    strategy: StrategyForm | Solution,
    privacy: PrivacyLike,
    neighbours: NeighboursLike | None = None,
    absolute: bool = False,
) -> Plan:
    """Round `strategy`, or that of a solution, choose the noise and predict the errors.

    The sensitivity is that of the integers to these neighbours, by default those that the strategy was
    chosen for.

    With `absolute` unset, the noise is the least that `privacy` allows. With `absolute` the targets set it,
    and the cost follows: for norm 2 noise of scale 1 on the strategy (`fitness_for_use`), scaled down where a
    query exceeds its target after rounding; for norm 1 the most noise at which no query does. The intervals
    of queries with a target ``within`` are then no wider than the target.

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
            in_python="pass one, such as privacy={" + re.sub(r"(\w+):", r"'\1':", noise.example) + "}",
        )
    # An epsilon where one is stated, else rho; None where only the targets decide.
    budget = None if privacy is None else noise.allowed(privacy)
    allowed = budget if privacy is None else privacy.epsilon or budget
    if allowed is not None and not absolute:  # what targets cost is computed, not stated
        allowed = within_decimal(allowed)
    integer = round_any(strategy, workload, strategy.neighbours if neighbours is None else neighbours)
    target = (
        (scale_for_targets(workload, strategy, integer, noise) if absolute else None)
        if integer.sensitivity or not np.any(integer.of_total)
        else 1.0  # multiples of the number of rows alone: no answer has noise
    )
    delta = None if noise.unit == "epsilon" or privacy is None else privacy.delta

    def at_fineness(fineness: int, target: float | None) -> Plan:
        """The plan on a lattice, with noise of the scale ``target``, or the least that is allowed."""
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
        """``at_fineness`` 0, or on a finer lattice where that is worth it."""
        chosen = at_fineness(0, target)
        check_scales(integer.parts, chosen.scale)
        most_fineness = finest(integer.parts, chosen.scale) if chosen.rmse else 0
        # With many queries only the normal law of their errors is available.
        is_many = (
            noise.distance is not None
            and noise.distance(integer.parts, chosen.scale) > NEARLY_NORMAL
            and not has_coefficients(integer)
        )
        if most_fineness and (is_many or (delta is not None and chosen.theorem != THEOREM_EXACT)):
            fine = at_fineness(most_fineness, target)
            saved = (
                ((fine.epsilon or 1.0) / (chosen.epsilon or 1.0))
                if absolute
                else (fine.rmse / chosen.rmse) ** 2
            )
            if is_many or saved < _WORTHWHILE:
                chosen = fine
        return chosen

    if target is None:
        return planned(target)
    best = _within_wishes(planned, target)
    if privacy is not None:
        check_cost(best, privacy)
    return best


def _within_wishes(planned: Callable[[float], Plan], target: float) -> Plan:
    """The plan with the most noise whose intervals meet the wishes; Gaussian noise up to the scale `target`.

    Noise on integers may have wider intervals than the normal noise that wishes were turned into. Dividing
    by the excess shrinks the widest to its wish, but for the shape of its law: where errors are whole
    numbers, widths are too, and the scale at which one falls by 1 is found by halving. So is the scale of
    noise whose unit is not that of targets, where it varies less on integers than at ``target``.

    Raises
    ------
    PrivacyError : rounding the strategy alone makes an interval too wide.
    """
    # ``target``: the scale of ``best``; ``wide``: a larger one, at which intervals are too wide.
    best, wide, step = planned(target), math.inf, 0.0
    while (excess := excess_over_wishes(best)) > 1:
        if max(part.relative for part in best.parts) * best.scale < _NO_NOISE:
            raise PrivacyError(
                "no noise is small enough for the requested half widths: rounding the strategy "
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
            f"the solution of '{solution.program}' has no strategy: the program does not define one",
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
            hint="let the program's constraints bound the sensitivity of its strategy to its neighbours (by "
            "default the largest column norm) by 1, or let the objective be the privacy cost of its "
            "covariance",
        )
    return solution.strategy
