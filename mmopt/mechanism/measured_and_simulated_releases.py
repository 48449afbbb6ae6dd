"""Releases measured on data, and simulated ones.

``measure`` is the only step that sees data: measure, add noise, reconstruct.

``simulate_errors`` gives relative errors on true data, for choosing between strategies. NOT private. The
relative error of an estimate is |estimate - true| / max(|true|, s). The sanity bound s keeps queries that
count next to nothing from deciding the mean; it is 0.1 % of the rows, as for Privelet (Xiao, Wang, Gehrke:
ICDE 2010), unless given. PVLDB 2012 reports average relative errors (Figure 3, Table 2) without a definition.

The noise is numpy's, continuous, of the scale of a planned release, whose predicted errors are shown next to
the simulated ones. All plans, and all strategies with as many rows, get the same draws, times their scale.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.display_base_classes import Tabular
from mmopt.errors import DataError, OptionError, PrivacyError
from mmopt.mechanism.release_plan import Plan, claim_again
from mmopt.mechanism.standard_errors_and_intervals import Intervals, coefficients, deviations
from mmopt.numerics.arrays import AnyInts, Array
from mmopt.privacy.epsilon_delta_rho import Privacy
from mmopt.privacy.noise import Noise, add_noise, check_scales, simulate
from mmopt.privacy.rounding.integer_dense import unsupported
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS, CountedTables, Measured
from mmopt.strategies import ComponentStrategy, Strategy, StrategyForm
from mmopt.workloads import (
    Block,
    Explicit,
    Ranges,
    Workload,
    require_table,
    tidy_columns,
)

Bools = npt.NDArray[np.bool_]

FIGURES = ("estimate", "standard_error", "low", "high", "coverage")
# Columns of answers that no column of an attribute may be called.
# Names of the columns of numbers in published answers.
RESERVED = ("query", "label", *FIGURES, "refined", "private")

_ROUNDED = 1e-14  # relative: some 90 roundings of an answer
_MOST_ENTRIES = 2**22  # of a factor, up to which they are read


@dataclass(frozen=True, eq=False)
class Answers(Tabular):
    """Noisy answers to the m queries of a workload, in counts.

    ``groups`` and ``labels`` name each query; ``low`` and ``high`` are the ends of intervals of at least the
    given ``confidence``, each query taken alone, and ``coverage`` the probability with which they hold the
    truth, under the law of the noise (``Plan.intervals``). ``private`` is False for simulated noise:
    such answers must not be published. ``columns`` (m,) describe each query by attribute (``tidy_columns``).
    """

    groups: tuple[str, ...]
    labels: tuple[str, ...]
    estimates: Array
    standard_errors: Array
    low: Array
    high: Array
    coverage: Array
    confidence: float
    private: bool
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        kind = "private" if self.private else "SIMULATED NOISE, not private"
        return f"Answers({len(self.labels):,} answers, {kind})"


def measure(
    plan: Plan,
    x: "npt.ArrayLike | CountedTables",
    simulate: int | None = None,
    confidence: float = 0.95,
) -> Answers:
    """Answer the plan's workload on the data vector `x` (n,) with OpenDP's noise.

    Where ``plan.integer.tables`` suffice, `x` may be counts by them (``marginal_counts``). It counts each row
    in the cell that the domain's rules give; a row without one may be left out where they say drop, or
    nothing. Where a query has whole numbers only, an answer that is whole up to rounding errors is given as a
    whole number. With ``simulate``, a seed, numpy's noise is added, and answers are marked ``private=False``.

    Raises
    ------
    DataError : `x` of the wrong length or type, masked, NaN, negative, or of more than MAX_ROWS rows; tables
        that are not enough, or do not fit together.
    TooLargeError : more queries than a table has memory for.
    OptionError : a confidence outside (0, 1), a seed below 0, arguments of other types.
    PrivacyError : the noise costs more than the plan claims, or of another kind, or OpenDP's accounting does
        not confirm that.
    """
    return counted_exactly(plan, x, simulate, confidence).answers()


@dataclass(frozen=True, eq=False, repr=False)
class Exact:
    """The exact answers (rows,) in integers, before noise is drawn, and the number of rows: CONFIDENTIAL."""

    plan: Plan
    exact: AnyInts
    total: int
    simulate_seed: int | None
    confidence: float
    intervals: Intervals

    def answers(self) -> Answers:
        """The answers with noise, drawn anew at each call: each call costs the full price to the caller.

        Raises PrivacyError where OpenDP's accounting does not confirm the plan's cost.
        """
        plan, integer, intervals = self.plan, self.plan.integer, self.intervals
        if self.simulate_seed is None:
            noisy = _with_noise(plan, self.exact)
        else:
            relative = np.repeat([p.relative for p in plan.parts], [p.rows for p in plan.parts])
            noisy = simulate(plan.law, self.exact, plan.scale * relative, self.simulate_seed)
        drawn = deviations(plan.law, integer, plan.scale, plan.fineness)
        measured = np.ldexp(noisy.astype(np.float64), -plan.fineness)
        is_whole = np.concatenate([_are_whole(block) for block in plan.workload.blocks])
        # The last is zeros, unless all neighbours have as many rows.
        estimates = _whole(integer.estimate(measured, drawn) + integer.of_total * float(self.total), is_whole)
        # More than the rounding of Σ a y, which is at most √(Σ a² s²) √(Σ (y/s)²) (Cauchy and Schwarz).
        size = float(np.linalg.norm(measured / np.repeat(drawn, [part.rows for part in plan.parts])))
        slack = _ROUNDED * size * plan.standard_errors
        return Answers(
            **described(plan.workload),
            estimates=estimates,
            standard_errors=plan.standard_errors,
            low=_whole(estimates - intervals.widths, is_whole, -slack),
            high=_whole(estimates + intervals.widths, is_whole, slack),
            coverage=intervals.coverage,
            confidence=self.confidence,
            private=self.simulate_seed is None,
        )


def described(workload: Workload) -> dict[str, Any]:
    """The fields of ``Answers`` that describe the queries: groups, labels and columns."""
    return {
        "groups": tuple(name for name, rows in workload.groups() for _ in range(rows.stop - rows.start)),
        "labels": tuple(workload.labels()),
        "columns": tidy_columns(workload, RESERVED),
    }


def counted_exactly(
    plan: Plan,
    x: npt.ArrayLike | CountedTables,
    simulate_seed: int | None = None,
    confidence: float = 0.95,
) -> Exact:
    """All of ``measure`` but the noise: every refusal is here, and nothing is spent yet.

    Arguments and errors are those of ``measure``.
    """
    if simulate_seed is not None and simulate_seed < 0:
        raise OptionError(f"the seed is {simulate_seed}, expected 0 or above")
    require_table(plan.workload)
    integer = plan.integer
    data = _checked_tables(plan, x) if isinstance(x, CountedTables) else checked_counts(x, plan.workload.n)
    intervals = plan.intervals(confidence)
    check_scales(plan.parts, plan.scale)
    if simulate_seed is None:
        check_claim(plan)
    answers = integer.answers(data) if isinstance(data, np.ndarray) else integer.answers_of(data)
    return Exact(
        plan=plan,
        exact=np.left_shift(answers, plan.fineness),
        total=int(np.sum(data if isinstance(data, np.ndarray) else data.of(()))),
        simulate_seed=simulate_seed,
        confidence=confidence,
        intervals=intervals,
    )


def _with_noise(plan: Plan, exact: AnyInts) -> AnyInts:
    """The answers with OpenDP's noise, part by part; it confirms the costs that ``check_claim`` adds up."""
    parts, noise, noisy = plan.parts, plan.law, []
    for part, answers in zip(parts, np.split(exact, np.cumsum([p.rows for p in parts])[:-1]), strict=True):
        scale, squared = part.relative * plan.scale, part.squared_sensitivity
        noisy.append(add_noise(noise, answers, scale, squared, noise.cost(squared, scale)))
    return np.concatenate(noisy)


def check_claim(plan: Plan) -> None:
    """Raise PrivacyError unless the claim covers the noise, computed anew: plans may be changed by hand."""
    plan.integer.check_total(plan.workload)
    squares = [part.squared_sensitivity for part in plan.integer.parts]
    exact = plan.integer.squared_sensitivities()
    if any(a < b for a, b in zip(squares, exact, strict=True)):
        raise PrivacyError(
            f"the squared sensitivities are {exact} under {plan.neighbours}, the release claims {squares}"
        )
    costs = claim_again(plan)[:3]
    for name, cost, claimed in zip(
        ("rho", "delta", "epsilon"), costs, (plan.rho, plan.delta, plan.epsilon), strict=True
    ):
        if cost != claimed and (cost is None or claimed is None or not cost <= claimed):  # also for NaN
            raise PrivacyError(f"this noise costs {name} {cost!r}, the release claims {claimed!r}")


def _whole(values: Array, is_whole: Bools, slack: Array | float = 0.0) -> Array:
    """The values plus slack; but the whole number itself where a query has whole entries, and its value is
    whole up to rounding.
    """
    nearest = np.rint(values) + 0.0  # no -0
    is_near = np.abs(values - nearest) <= 1e-8 + 1e-13 * np.abs(values)
    return np.where(is_whole & is_near & (np.abs(values) < 2**40), nearest, values + slack + 0.0)


def _are_whole(block: Block) -> Bools:
    """Whether each query (m,) has whole entries; none of a block whose large factors are not all ranges."""
    if isinstance(block, Explicit):
        return np.concatenate([(rows == np.rint(rows)).all(axis=1) for _, rows in block.chunks(1024)])
    factors = [factor.plain for factor in block.factors if not isinstance(factor.plain, Ranges)]
    small = (factor.matrix() for factor in factors if math.prod(factor.shape) <= _MOST_ENTRIES)
    whole = [bool((entries == np.rint(entries)).all()) for entries in small]
    return np.full(block.m, all(whole) and len(whole) == len(factors))


def _checked_tables(plan: Plan, tables: CountedTables) -> CountedTables:
    """The tables, if they are over the plan's attributes and each counts the same rows."""
    shape = plan.workload.domain.shape
    if tables.sizes != shape:
        raise DataError(
            f"the tables of counts are over attributes of {_product(tables.sizes)} cells, the workload's "
            f"domain has {_product(shape)}"
        )
    rows = int(checked_counts(np.atleast_1d(tables.of(())), 1)[0])
    for attributes in plan.integer.tables or ():
        table = tables.of(attributes)
        sizes = tuple(shape[i] for i in attributes)
        if table.shape != sizes or int(checked_counts(table.ravel(), math.prod(sizes)).sum()) != rows:
            names = ", ".join(f"'{plan.workload.domain.names[i]}'" for i in attributes)
            raise DataError(
                f"the table of counts by {names} has shape {table.shape} and {int(table.sum())} rows, "
                f"expected {sizes} and {rows} (confidential, do not publish)"
            )
    return tables


def _product(sizes: tuple[int, ...]) -> str:
    """The sizes as a product in words, such as "2 × 3"."""
    return " × ".join(map(str, sizes))


def checked_counts(x: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """The data vector (n,) as integers; DataError as ``measure``."""
    if np.ma.isMaskedArray(x):
        raise DataError("the data vector is a masked array, and what it masks would be counted")
    counts = np.asarray(x)
    if counts.shape != (n,):
        raise DataError(f"the data vector has shape {counts.shape}, the workload's domain has {n} cells")
    if counts.dtype.kind not in "iu":
        raise DataError(
            f"the data vector has type {counts.dtype}, expected integer counts",
            hint="counts of rows are integers: convert with .astype('int64') after checking for NaN",
        )
    if (negative := np.flatnonzero(counts < 0)).size:
        raise DataError(
            f"cell {negative[0]} of the data vector is {int(counts[negative[0]])} (confidential, do not "
            "publish), expected 0 or above"
        )
    if sum(int(v) for v in counts) > MAX_ROWS:
        raise DataError(
            f"the data vector counts more rows than the limit, {MAX_ROWS} (confidential, do not publish)"
        )
    return counts.astype(np.int64)


# The default sanity bound as a part of the number of rows; it is one row at least.
SANITY = 1e-3

_ENTRIES = 2**22  # of the errors in memory at a time


@dataclass(frozen=True)
class GroupErrors:
    """The errors of some queries, in counts where not relative.

    relative : mean over queries and trials of the relative error; ``spread`` is the standard error of that
        mean, over the trials.
    expected : the mean of ``relative``, in closed form; None where there is none (Laplace noise).
    absolute : mean of |estimate - true|. rmse : root mean square of it; ``predicted`` : that before any data.
    """

    name: str
    queries: int
    relative: float
    spread: float
    expected: float | None
    absolute: float
    rmse: float
    predicted: float


@dataclass(frozen=True)
class Simulated:
    """Errors of one strategy under one privacy, on true data: never to be published.

    scale : the noise's, standard deviation (Gaussian) or scale (Laplace), on the strategy's queries.
    groups : those of the workload. whole : all queries.
    """

    privacy: Privacy | None
    noise: str
    scale: float
    sanity: float
    trials: int
    groups: tuple[GroupErrors, ...]
    whole: GroupErrors

    private = False


def simulate_errors(
    workload: Workload,
    strategy: StrategyForm,
    x: npt.ArrayLike,
    plans: Sequence[Plan],
    *,
    trials: int = 100,
    seed: int = 0,
    sanity: float | None = None,
) -> tuple[Simulated, ...]:
    """Simulate a strategy's errors on a data vector (n,), over trials, for each planned release. NOT private.

    Parameters
    ----------
    plans : of this strategy and workload, to the same neighbours. sanity : s above, in counts.

    Raises
    ------
    OptionError : fewer than two trials, no plan, or a sanity bound that is not positive.
    DataError : as ``measure``.
    WorkloadError : a strategy that does not support the workload, or one for another number of cells.
    TooLargeError : a strategy whose matrix does not fit in memory.
    """
    if trials < 2:
        raise OptionError(f"a simulation of {trials} trials has no spread, expected 2 or more")
    if not plans:
        raise OptionError("a simulation needs planned releases, found none")
    counts = checked_counts(x, workload.n)
    bound = max(1.0, SANITY * float(counts.sum())) if sanity is None else sanity
    if not (math.isfinite(bound) and bound > 0):
        raise OptionError(f"the sanity bound is {bound:g}, expected a number above 0")
    integer = plans[0].integer
    variances = integer.variances if np.any(integer.of_total) else strategy.variances(workload)
    if not np.isfinite(variances).all():
        raise unsupported()
    true = np.maximum(np.abs(workload.answers(counts)), bound)
    parts = [*workload.groups(), ("all queries", slice(0, workload.m))]
    # By noise at scale 1, for each trial and group: mean relative, absolute and squared error.
    means = {plan.law: np.zeros((trials, len(parts), 3)) for plan in plans}
    for noise, by_trial in means.items():
        for start, errors in _unit_errors(workload, strategy, integer, noise, trials, seed):
            for at, (_, rows) in enumerate(parts):
                sizes = np.abs(errors[:, rows])
                figures = [
                    (sizes / true[rows]).mean(axis=1),
                    sizes.mean(axis=1),
                    np.square(sizes).mean(axis=1),
                ]
                by_trial[start : start + len(sizes), at] = np.column_stack(figures)

    def errors_of(at: int, plan: Plan) -> GroupErrors:
        """The errors of a group, the one at this place of ``parts``, at the scale of a plan."""
        noise, scale = plan.law, plan.noise
        name, rows = parts[at]
        by_trial, mean = means[noise], noise.continuous.mean
        roots = np.sqrt(noise.continuous.variance * variances)
        relative, absolute, squared = by_trial[:, at].mean(axis=0)
        return GroupErrors(
            name=name,
            queries=rows.stop - rows.start,
            relative=scale * float(relative),
            spread=scale * float(by_trial[:, at, 0].std(ddof=1)) / math.sqrt(trials),
            expected=None if mean is None else scale * mean * float((roots[rows] / true[rows]).mean()),
            absolute=scale * float(absolute),
            rmse=scale * math.sqrt(float(squared)),
            predicted=math.sqrt(float(np.square(plan.standard_errors[rows]).mean())),
        )

    return tuple(
        Simulated(
            privacy=plan.privacy,
            noise=plan.law.name,
            scale=plan.noise,
            sanity=bound,
            trials=trials,
            groups=tuple(errors_of(at, plan) for at in range(len(parts) - 1)),
            whole=errors_of(len(parts) - 1, plan),
        )
        for plan in plans
    )


def _unit_errors(
    workload: Workload, strategy: StrategyForm, integer: Measured, noise: Noise, trials: int, seed: int
) -> Iterator[tuple[int, Array]]:
    """Errors (some trials, m) of the answers for noise of scale 1, with the number of the first trial.

    They are W A⁺ z, since the data cancel; where the number of rows is used, those of the integers.
    """
    rng = np.random.default_rng(seed)
    uses_total, size = bool(np.any(integer.of_total)), np.ldexp(integer.parts[0].relative, integer.bits)
    back = size * coefficients(integer, np.ones(1)).T if uses_total else np.zeros((strategy.p, 0))
    step = max(1, _ENTRIES // max(workload.m, workload.n))
    for start in range(0, trials, step):
        drawn = noise.continuous.draw(rng, (min(step, trials - start), len(back)))
        if uses_total:
            yield start, drawn @ back
        else:
            rows = (
                strategy.estimate(drawn)
                if isinstance(strategy, Strategy | ComponentStrategy)  # forms in factors take one at a time
                else np.stack([*map(strategy.estimate, drawn)])
            )
            yield start, workload.answers(rows.T).T
