"""Accuracy at a privacy, the least privacy cost of targets, and the strategy used when no program is named.

The default strategy is that of least predicted error at the privacy. Pure epsilon satisfies (epsilon, delta),
so at the latter both noises are considered: a strategy of norm 2 with Gaussian noise, one of norm 1 with
Laplace noise. Under rho alone Gaussian noise is never worse: pure epsilon implies rho = epsilon² / 2 (Bun and
Steinke 2016, Proposition 1.4), at which Laplace noise has twice the variance, and no column is shorter in the
L1 norm.

A strategy of norm 1 for targets is found by total error, with weights that follow the targets. The least
epsilon at which all targets hold is that of the strategy whose largest ratio of variance and target is least.
That ratio is at least every weighted mean of the ratios, so total error is minimised again and again, the
weight of a query multiplied by a power of its ratio. Nothing proves that the result is best.

``mmopt.accuracy`` predicts the accuracy of each answer at a privacy, before any data is read.
``mmopt.budget`` finds the least privacy cost at which every target holds (``max_variance``, ``within``). Both
take a workload and a privacy, which a workload file may state, too; arguments have priority over the file.

For Gaussian noise the program ``fitness_for_use`` finds the least cost: the least squared sensitivity Δ² of a
strategy whose unit noise meets all targets, with a proved bound (PVLDB 2021, Problem 1); rho = Δ² / 2. With
its multipliers q, query j has the share q_j c_j / (c @ q) of the cost. The certificate bounds the least Δ² by
a number over c @ q, for any q >= 0: with c_j times 1 + h the bound is the former one over 1 + h share_j.

An L1 norm is no less than the L2 norm. On integers a row changes some answer by 1 at least, so the noise of
every part has a scale t >= 1 / epsilon. Its variance v(t) = 1 / (2 sinh²(1 / 2t)) is 2 t² times a factor that
grows with t and is at least its value at 1 / epsilon. So Laplace noise that meets the targets costs an
epsilon with v(1 / epsilon) Δ² <= 1, at least 2 asinh(Δ / √2); on reals, or on a lattice of any fineness, √2
Δ.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.display_base_classes import Tabular
from mmopt.driver import solve
from mmopt.driver.accepted_options_and_inputs import as_program
from mmopt.driver.templates import MOST_ATTRIBUTES, TEMPLATES, template_bound, templates
from mmopt.errors import Error, OptionError, PrivacyError, TooLargeError, WorkloadError, counted
from mmopt.language import Program
from mmopt.limits import deadline, fits_memory
from mmopt.mechanism import Plan, plan
from mmopt.mechanism.release_plan import accuracy_columns
from mmopt.mechanism.standard_errors_and_intervals import check_confidence
from mmopt.numerics.arrays import Array, rounded
from mmopt.numerics.component_arrays import Level, lift
from mmopt.privacy.epsilon_delta_rho import (
    MOST_COST,
    Privacy,
    PrivacyLike,
    PrivacyParameters,
    continuous_gaussian_epsilon,
)
from mmopt.privacy.noise import GAUSSIAN, LAPLACE
from mmopt.report import (
    accuracy_by_group,
    accuracy_by_query,
    display,
    in_order,
    privacy_rows,
    shares_by_group,
    shares_by_query,
)
from mmopt.report.charts import accuracy_figure
from mmopt.request import TableOptions, WorkloadLike, as_request, as_workload, default_program
from mmopt.request.workload_file_and_arguments import P_IDENTITY_CELLS, suits_p_identity
from mmopt.results import Answered, Frame, Solution, gap_between
from mmopt.results.solution import FOR_TARGETS
from mmopt.sectors.row_space_cells_and_targets import why_not_of_few
from mmopt.solvers import Options, SolverLike
from mmopt.strategies import ADD_REMOVE, Neighbours, NeighboursLike, unit_of
from mmopt.workloads import (
    Explicit,
    Product,
    Workload,
    wishes,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# In ``laplace_for_targets``:
_ROUNDS, _FEW_ROUNDS = 8, 3  # the latter above so many cells, where a round takes seconds:
_FEW_CELLS = 64
_FEW_QUERIES = 1000  # above this a template takes many seconds, and is not searched again
_POWER = 0.7  # the power of a ratio by which a weight is multiplied


def laplace_for_targets(
    workload: Workload, best: Callable[[Workload, str | None], Solution], most_cells: int
) -> Solution:
    """The strategy of norm 1, among several, that meets all targets at the least epsilon.

    Parameters
    ----------
    workload : every query has a target. best : gives a solution of least total error with Laplace noise for
        a workload with other weights; of one template only where it is named.
    most_cells : the most cells over which the queries of products get weights one by one.

    Errors as ``best``.
    """
    targets = np.asarray(workload.targets)
    # With many queries over many cells every product gets one.
    is_each = (  # whether every query gets a weight of its own
        workload.n <= most_cells and fits_memory((workload.m, workload.n), 64)
    ) or workload.products is None
    groups = (
        [slice(i, i + 1) for i in range(workload.m)] if is_each else [rows for _, rows in workload.groups()]
    )
    weights = np.array([1.0 / targets[rows].min() for rows in groups])
    tried: list[tuple[float, Solution]] = []  # the largest ratio of variance and target, with its solution
    template: str | None = None
    for _ in range(_ROUNDS if workload.n <= _FEW_CELLS else _FEW_ROUNDS):
        solution = best(_weighted(workload, weights, is_each), template)
        strategy = solution.strategy
        ratios = strategy.sensitivity**2 * strategy.variances(workload) / targets
        tried.append((float(ratios.max()), solution))
        template = solution.template or template
        if solution.status.is_interrupted or (template and workload.m > _FEW_QUERIES):
            break
        weights *= np.array([ratios[rows].max() for rows in groups]) ** _POWER
        weights /= weights.mean()
    # The best strategy, as one for this workload, though it was solved for other weights.
    solution = min(tried, key=lambda one: one[0])[1]
    bound, source = template_bound(workload, 1e-4)
    return Solution.of_template(
        template=f"{solution.program.removeprefix('template ')}{FOR_TARGETS}",
        strategy=solution.strategy,
        error=solution.strategy.total_error(workload),
        rmse=solution.strategy.rmse(workload),
        error_bound=bound,
        bound_from=source,
        seconds=solution.seconds["total"],
        workload_hash=workload.hash,
    )


def _weighted(workload: Workload, weights: Array, is_each: bool) -> Workload:
    """The queries with these weights: one for each query, or one for each product."""
    if is_each or workload.products is None:
        return Workload.from_matrix(workload.queries, weights=weights)
    products = zip(workload.products, weights, strict=True)
    return replace(workload, blocks=tuple(replace(p.unweighted(), weight=float(w)) for p, w in products))


Solve = Callable[..., Solution]  # of a workload, a program and, by name, its givens

#: Cells up to which a program of its own is tried for rows that are replaced: it takes some 20 seconds there.
MOST_REPLACED = 128

#: Values of an attribute above which the search for the best product of strategies takes minutes.
MOST_VALUES = 512


@dataclass(frozen=True, eq=False)
class Offer:
    """A strategy, and the plan of its release at the stated privacy."""

    solution: Solution
    plan: Plan

    @property
    def cost(self) -> float:
        """The criterion: the epsilon (rho) that targets take; else the weighted mean squared error."""
        plan = self.plan
        if plan.absolute:
            return plan.spent[1]
        weights = plan.workload.weights
        return float(weights @ np.square(plan.standard_errors) / weights.sum())

    @property
    def figure(self) -> str:
        """The cost in words; for errors the rmse."""
        plan = self.plan
        if plan.absolute:
            return f"{plan.spent[0]} {rounded(self.cost, 5, up=True)} for all targets"
        return f"rmse {rounded(plan.rmse, 5, up=True)}"

    @property
    def words(self) -> str:
        """Program and noise, in words."""
        return f"{self.solution.program} with {self.plan.law.name} noise"


@dataclass(frozen=True, eq=False)
class Choice:
    """The best offer, the others considered, and the reasons why there are no more."""

    best: Offer
    others: tuple[Offer, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """One line with the best offer, and what the others would give."""
        others = [
            f"{other.words} would {'need' if other.plan.absolute else 'give'} {other.figure}"
            for other in self.others
        ]
        if others and not self.others[0].plan.absolute and np.ptp(self.best.plan.workload.weights) > 0:
            others.append("compared by weighted squares")
        return "; ".join([f"{self.best.words}: {self.best.figure}", *others, *self.reasons])


def offer(
    workload: Workload, solution: Solution, privacy: Privacy | None, neighbours: Neighbours | None = None
) -> Offer:
    """The offer of a solution: by targets where its program sets the noise by them. Errors as ``plan``."""
    return Offer(solution, plan(workload, solution, privacy, neighbours, absolute=solution.by_targets))


def default_strategy(
    workload: Workload,
    privacy: Privacy | None,
    neighbours: Neighbours | None = None,
    solved: Solve | None = None,
    say: Callable[[str], None] | None = None,
    *,
    refuse: bool = True,
) -> Choice:
    """Solve for the noises that the privacy allows, and take the one of least predicted error.

    Where every query has a target (``max_variance``, ``within``) the targets set the noise, and the criterion
    is the epsilon, or rho, that they take.

    Parameters
    ----------
    privacy : None where targets set the noise. solved : solves a workload and a program, as ``mmopt.solve``.
    say : called with a text before each step that takes time. refuse : whether targets that cost more than
        the privacy allows are refused; else the noise is the least that it allows, and some are missed.

    Raises
    ------
    mmopt.Error : that of the first noise, where none is possible. PrivacyError : targets that cost too much.
    """
    # First the cost of the targets is found, then compared with the limit.
    is_by_cost = workload.has_all_targets and privacy is not None and privacy.epsilon is not None
    limit = privacy
    if is_by_cost and privacy is not None:
        privacy = Privacy(epsilon=MOST_COST, delta=privacy.delta)
    solving, saying = solved or solve, say or (lambda _: None)
    ways: list[Callable[[], Offer]] = []
    if privacy is None or GAUSSIAN.takes(privacy):
        ways.append(lambda: _gaussian(workload, privacy, neighbours, solving, saying))
    reasons = () if ways else ("Gaussian noise satisfies no pure epsilon",)
    if (
        ways
        and (neighbours or ADD_REMOVE).kind == "replace-one"
        and workload.n <= MOST_REPLACED
        and not workload.has_all_targets
    ):
        ways.append(
            lambda: offer(workload, solving(workload, Program.load("replace_one")), privacy, neighbours)
        )
    if privacy is not None and LAPLACE.takes(privacy):
        ways.append(lambda: _laplace(workload, privacy, neighbours, solving, saying))
    offers: list[Offer] = []
    errors: list[Error] = []
    for way in ways:
        if (reason := _why_not_laplace(offers, privacy, neighbours)) is not None:
            reasons = (reason,)
            break
        try:
            offers.append(way())
        except OptionError:  # an option that one of the ways does not read
            raise
        except Error as error:
            errors.append(error)
        if offers and offers[-1].solution.status.is_interrupted:
            break
    if not offers:
        raise (
            errors[0] if errors else PrivacyError("no privacy parameters, and no targets that set the noise")
        )
    best, *others = sorted(offers, key=lambda one: one.cost)
    reasons = (*reasons, *(error.message for error in errors))
    if is_by_cost:
        best, missed = offer_and_misses(workload, best.solution, limit, neighbours, refuse=refuse)
        reasons = (*missed, *reasons)
    return Choice(best, tuple(others), reasons)


def offer_and_misses(
    workload: Workload,
    solution: Solution,
    privacy: Privacy | None,
    neighbours: Neighbours | None = None,
    *,
    refuse: bool = True,
) -> tuple[Offer, tuple[str, ...]]:
    """The offer of a solution, and in words what it misses: nothing where its targets hold at the privacy.

    Else it is planned at the privacy all the same, or, with ``refuse``, the PrivacyError is raised.
    """
    try:
        return offer(workload, solution, privacy, neighbours), ()
    except PrivacyError as error:
        if refuse or privacy is None or not solution.by_targets:
            raise
        return Offer(solution, plan(workload, solution, privacy, neighbours)), (error.message,)


def _gaussian(
    workload: Workload,
    privacy: Privacy | None,
    neighbours: Neighbours | None,
    solved: Solve,
    say: Callable[[str], None],
) -> Offer:
    """The program for Gaussian noise; templates where it is too large and total error is minimised.

    Where no template can be measured over that many cells either, the error is that of the program.
    """
    name, _ = default_program(workload)
    try:
        return offer(workload, solved(workload, Program.load(name)), privacy, neighbours)
    except TooLargeError:
        if (
            workload.products is None
            or workload.has_all_targets
            or not _measured_templates(workload, GAUSSIAN.norm)
        ):
            raise
        return offer(workload, _in_factors(workload, GAUSSIAN.norm, say), privacy, neighbours)


def _laplace(
    workload: Workload,
    privacy: Privacy,
    neighbours: Neighbours | None,
    solved: Solve,
    say: Callable[[str], None],
) -> Offer:
    """Programs for Laplace noise, or templates over many cells; for targets, with weights that follow.

    l1_strategy has the least error at equal noise; but noise on whole numbers has less than 2 / epsilon²,
    where a strategy of small ones, as the cells, is p_identity's end.
    """

    def strategy(weighted: Workload, template: str | None = None) -> Solution:
        """The solution of least total error; of one template only where it is named."""
        if suits_p_identity(weighted):
            return solved(weighted, Program.load("p_identity"))
        return _in_factors(weighted, LAPLACE.norm, say, template)

    if not workload.has_all_targets:
        best = offer(workload, strategy(workload), privacy, neighbours)
        name, _ = default_program(workload, pure=True)
        if name == "p_identity" or best.solution.status.is_interrupted or not suits_p_identity(workload):
            return best
        other = offer(workload, solved(workload, Program.load(name)), privacy, neighbours)
        return other if other.cost < best.cost * (1.0 - 1e-6) else best
    return offer(workload, laplace_for_targets(workload, strategy, P_IDENTITY_CELLS), privacy, neighbours)


def _in_factors(
    workload: Workload, norm: int, say: Callable[[str], None], template: str | None = None
) -> Solution:
    """The best of all templates; or only the named one, with other weights and without a bound.

    TooLargeError, before any search, where none can be measured.
    """
    bound = None if template is None else (0.0, "nothing")  # None: computed
    names = _measured_templates(workload, norm) if template is None else [template]
    if not names:
        way = "allow Gaussian noise, which takes queries of few attributes over any number of cells: "
        raise TooLargeError(
            f"Laplace noise has no strategy over {counted(workload.n, 'cell')} of "
            f"{len(workload.domain.shape)} attributes: products of strategies list the cells, weights of "
            f"marginals go up to {MOST_ATTRIBUTES} attributes",
            hint=f"{way}'privacy: {{epsilon: 1.0, delta: 1e-6}}' or 'privacy: {{rho: 0.5}}'",
            in_python=f"{way}privacy={{'epsilon': 1.0, 'delta': 1e-6}} or {{'rho': 0.5}}",
        )
    return templates(
        workload, norm, names, report=lambda name: say(f"template: {name}"), bound=bound
    ).solution(workload)


def _measured_templates(workload: Workload, norm: int) -> list[str]:
    """The templates whose strategies can be measured: only a few where cells are not listed."""
    names = [name for name in TEMPLATES if not TEMPLATES[name].why_not(norm)]
    if max(workload.domain.shape) > MOST_VALUES:
        # All attributes at once are one of the marginals: the identity is no better.
        names = ["marginals"] if len(workload.domain.shape) <= MOST_ATTRIBUTES else ["identity"]
    elif norm == GAUSSIAN.norm and not why_not_of_few(workload):
        names = ["product", "sectorwise"]
    if not fits_memory((workload.n,)):
        names = [name for name in names if TEMPLATES[name].of_any_size]
    if len(workload.domain.shape) > MOST_ATTRIBUTES:
        names = [name for name in names if name != "marginals"]
    return names


def _why_not_laplace(
    offers: list[Offer], privacy: Privacy | None, neighbours: Neighbours | None
) -> str | None:
    """The reason why Laplace noise cannot be better than the offered Gaussian noise, by the bound on every
    strategy; None where it may be better.

    An L1 norm is no less than the L2 norm, so the bound on the total error of every strategy holds for norm
    1, too. On integers whose largest column is S >= 1 noise has the variance v(k S / epsilon) for k rows of
    one person, where v(t) is 2 t² times a factor that grows with t: at least S² v(k / epsilon).
    """
    times = (neighbours or ADD_REMOVE).times
    if not offers or privacy is None or times is None or offers[0].plan.absolute:
        return None
    best = offers[0]
    least_error = LAPLACE.variance(LAPLACE.continuous.scale(privacy, times)) * best.solution.error_bound
    least_error /= best.plan.workload.weights.sum()
    if least_error <= best.cost:
        return None
    kind = "weighted rmse" if np.ptp(best.plan.workload.weights) > 0 else "rmse"
    figure = rounded(math.sqrt(least_error), 5, up=False)
    return f"Laplace noise: {kind} {figure} or more ({best.solution.error_bound_grade})"


@dataclass(frozen=True, eq=False)
class WorkloadAtPrivacy:
    """A workload at a privacy. ``file``: name and sha256 of the workload file, where there is one.

    neighbours : None where none are stated: those of the program. totals : as of a ``Request``.
    """

    workload: Workload
    privacy: Privacy | None
    neighbours: Neighbours | None
    table: TableOptions = field(default_factory=TableOptions)
    file: Mapping[str, str] | None = None
    totals: Mapping[str | int | None, float] = field(default_factory=dict)


def at_privacy(
    workload: WorkloadLike,
    privacy: PrivacyLike = None,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
) -> WorkloadAtPrivacy:
    """Resolve a workload, a privacy and neighbours; a Request or workload file may state the latter two.

    Raises
    ------
    WorkloadError, PrivacyError, OptionError : as ``as_workload``, ``Privacy.of`` and ``Neighbours.of``; a
        unit of privacy together with neighbours, as it is a set of neighbours.
    """
    if isinstance(workload, Privacy) or (
        isinstance(workload, Mapping) and workload and set(workload) <= set(PrivacyParameters.__annotations__)
    ):
        raise WorkloadError(
            "a privacy was passed in place of the workload",
            hint="the privacy comes after it: accuracy(workload, privacy), release(data, workload, privacy)",
        )
    request = as_request(workload)
    given_privacy = None if privacy is None else Privacy.of(privacy)
    if neighbours is not None and unit is not None:
        raise OptionError(
            f"neighbours is {neighbours!r} and unit is {unit!r}: both say what is protected",
            hint="keep one of them",
        )
    protected = None if neighbours is None else Neighbours.of(neighbours)
    protected = protected if unit is None else unit_of(unit)
    if request is None:
        return WorkloadAtPrivacy(as_workload(workload), given_privacy, protected)
    if protected is not None:
        protected.refuse_totals(request.totals, OptionError)
    return WorkloadAtPrivacy(
        request.workload,
        given_privacy or request.privacy,
        protected or request.neighbours,
        request.table,
        {"name": Path(request.path).name, "sha256": request.text_hash},
        request.totals,
    )


@dataclass(frozen=True, eq=False)
class Accuracy(Answered):
    """The accuracy of the answers of a release; it holds for a release of the same plan.

    words : one line with the strategy chosen, and the others considered. others : their offers.
    """

    plan: Plan
    solution: Solution
    confidence: float
    words: str
    others: tuple[Offer, ...] = ()

    @property
    def chosen(self) -> str:
        """The line that a notebook and ``mmopt accuracy`` show as "chosen": ``words``."""
        return self.words

    @property
    def rmse(self) -> float:
        """The root mean square of the queries' standard errors, in counts: the plan's."""
        return self.plan.rmse

    @cached_property
    def errors(self) -> Frame:
        """A row for each query: ``accuracy_columns``."""
        return accuracy_columns(self.plan, self.confidence)

    def frame(self) -> Frame:
        """``errors``."""
        return self.errors

    def plot(self) -> Figure:
        """A matplotlib figure of the half widths of all queries; OptionError where it is not installed."""
        return accuracy_figure(self.plan, self.confidence)

    def __repr__(self) -> str:
        return f"Accuracy({self.words})"

    def _repr_html_(self) -> str:
        return display(
            accuracy_by_group(self.plan, self.confidence),
            accuracy_by_query(self.plan, self.confidence),
            in_order([("chosen", self.words), *privacy_rows(self.plan)]),
        )


def accuracy(
    workload: WorkloadLike,
    privacy: PrivacyLike = None,
    *,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
    program: str | Path | Program | None = None,
    givens: Mapping[str, Any] | None = None,
    strategy: Solution | str | Path | None = None,
    solver: SolverLike = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    max_iterations: int | None = None,
    threads: int | None = None,
    confidence: float = 0.95,
    refuse: bool = False,
    solved: Solve | None = None,
    say: Callable[[str], None] | None = None,
) -> Accuracy:
    """Predict the accuracy of a release at this privacy, for a solution or the default strategy.

    Parameters
    ----------
    workload, privacy, neighbours, unit, program, givens, strategy : as for ``release``. If every query has a
        target, the targets set the noise, only what they need is spent, and no privacy is required.
    solver, tolerance, time_limit, max_iterations, threads : as for ``solve``, for whatever is solved here.
    confidence : the confidence of the intervals.
    refuse : whether to refuse targets that cost more than the privacy allows, as a release does. Otherwise
        all that it allows is spent, and ``errors`` shows which targets are missed.
    solved : as for ``default_strategy``. say : called with each step that takes time, and with the choice.

    Raises
    ------
    PrivacyError : neither privacy nor targets. OptionError : a strategy, and options of solving for one.
    mmopt.Error : as ``solve`` and ``plan``.
    """
    check_confidence(confidence)
    request = at_privacy(workload, privacy, neighbours, unit)
    options: dict[str, Any] = {
        "solver": solver,
        "tolerance": tolerance,
        "time_limit": time_limit,
        "max_iterations": max_iterations,
        "threads": threads,
    }
    given = {name: value for name, value in options.items() if value is not None}
    Options(**{name: value for name, value in given.items() if name != "solver"})  # refused before any work
    solving = partial(solved or solve, **given)
    if strategy is not None:
        for name, value in {"program": program, "givens": givens, **options}.items():
            if value is not None:
                raise OptionError(
                    f"the strategy is already solved, and {name} is an option of a solve", hint="keep one"
                )
        strategy = as_solution(strategy)
    elif program is not None:
        strategy = (partial(solving, givens=givens) if givens else solving)(
            request.workload, as_program(program)
        )
    elif givens:
        raise OptionError(
            "givens belong to a program, and no program is solved here", hint="name it: program=…"
        )
    if strategy is not None:
        offer, misses = offer_and_misses(
            request.workload, strategy, request.privacy, request.neighbours, refuse=refuse
        )
        return Accuracy(
            offer.plan, strategy, confidence, "; ".join([f"{offer.words}: {offer.figure}", *misses])
        )
    with deadline(time_limit):  # searches of templates take no option
        choice = default_strategy(
            request.workload, request.privacy, request.neighbours, solving, say, refuse=refuse
        )
    if say is not None:
        say(f"chosen: {choice.words} (choose another with --program; program= in Python)")
    return Accuracy(choice.best.plan, choice.best.solution, confidence, choice.words, choice.others)


def as_solution(strategy: object) -> Solution:
    """The solution that a caller gives, or that of a file.

    Raises
    ------
    ResultError : as ``Solution.load``. OptionError : neither a solution nor a file.
    """
    if isinstance(strategy, str | Path) and Path(strategy).is_file():
        return Solution.load(strategy)
    if not isinstance(strategy, Solution):
        what = f"'{strategy}'" if isinstance(strategy, str | Path) else f"of type {type(strategy).__name__}"
        raise OptionError(
            f"strategy is {what}, expected a solution, or the file of a saved one",
            hint="certify makes one from a matrix, a Strategy or a baseline: mmopt.certify(workload, 'haar')",
        )
    return strategy


#: Part of a half width by which a target is relaxed where savings are stated.
WIDER = 0.1

SHARES = "for the best Gaussian strategy, from its multipliers"
_PROGRAM = "fitness_for_use"
_ROOM = 1e-9  # relative: more than the error of roots, and than a variance on integers is below scale²


@dataclass(frozen=True, eq=False)
class Budget(Tabular):
    """The least cost found for all targets, the release that has it, and the queries on which it is spent.

    With Gaussian noise it is within the gap of the least; a strategy for Laplace noise comes from a
    heuristic.

    Attributes
    ----------
    choice : the strategy and its plan, the others considered, and why there is no more. Its workload is the
        queries with a target.
    fitness : the solution of ``fitness_for_use`` for these queries. delta : the requested one, or None.
    bound : no strategy needs less with noise of the kind chosen, rounded down, where the bound of ``fitness``
        is proved; an epsilon at a delta only with continuous Gaussian noise. None for Laplace noise where a
        half width is a target, for replaced rows, and where Gaussian noise on integers may need less than
        continuous noise.
    shares : (m,) shares of the cost of the best Gaussian noise, by query with noise; they sum to 1.
    left_out : the number of queries without a target. A release that answers them too spends on them, and may
        miss targets at this cost; where they have a target as well, however loose, it misses none.
    """

    choice: Choice
    fitness: Solution
    delta: float | None
    bound: float | None
    shares: Array
    left_out: int = 0

    @property
    def plan(self) -> Plan:
        """The release at the least cost."""
        return self.choice.best.plan

    @property
    def unit(self) -> str:
        """The unit of the cost: "epsilon", or "rho"."""
        return self.plan.spent[0]

    @property
    def cost(self) -> float:
        """The least epsilon (at ``plan.delta``), or rho, that was found: the claim of that release."""
        return self.choice.best.cost

    @property
    def gap(self) -> float | None:
        """cost / bound - 1, or None without a bound."""
        return gap_between(self.cost, self.bound)

    @property
    def words(self) -> str:
        """One line with the strategy chosen, and the cost with the other noise."""
        return self.choice.words

    def savings(self, shares: Sequence[float] | Array) -> Array:
        """Bound the part of the cost that is saved where queries of these shares are ``WIDER``.

        The cost is that of ``fitness`` with continuous Gaussian noise, its epsilon at a delta, or rho where
        the budget has none; that of the release, where it has Gaussian noise and costs more. A gap counts as
        saved. With v targets and p(v) the least squared sensitivity, 1 / p is concave: it is homogeneous, and
        p is convex. So p(v + dv) is at least p(v) / (1 + Σ shareᵢ dvᵢ / vᵢ).
        """
        reached = (self.fitness.bound or 0.0) / float(self.fitness.objective)
        left = reached / (
            1 + ((1 + WIDER) ** 2 - 1) * np.asarray(shares)
        )  # of the squared sensitivity, in parts
        costs = (
            float(self.fitness.objective) * np.array([1.0, *left]) * (self.plan.neighbours.times or 1) ** 2
        )
        if self.delta is None:
            costs /= 2
        else:
            costs[:] = [
                continuous_gaussian_epsilon(math.sqrt(part), self.delta) if part > 0 else 0.0
                for part in costs
            ]
        whole = costs[0] if self.plan.rho is None else max(costs[0], self.cost)
        return 1 - costs[1:] / whole if whole > 0 else np.zeros(len(left))

    @property
    def errors(self) -> Frame:
        """A row for each query: ``accuracy_columns`` and its share of the cost."""
        return Frame({**accuracy_columns(self.plan, 0.95).columns, "share_of_cost": self.shares})

    def frame(self) -> Frame:
        """``errors``."""
        return self.errors

    def rows(self) -> list[tuple[str, str]]:
        """The most important figures, as (name, text)."""
        at = "" if not self.plan.delta else f" at delta {self.plan.delta:g}"
        noise = f"{'continuous ' if self.plan.rho is not None and self.delta else ''}{self.plan.law.name}"
        grade = self.fitness.bound_grade
        bound = "none (only known for variances, continuous noise, and rows added or removed)"
        if self.bound is not None:
            bound = f"{rounded(self.bound, 8, up=False)}   ({grade}: for every strategy with {noise} noise)"
        gap = [] if self.gap is None else [("gap", rounded(self.gap, 2, up=True, layout="e"))]
        cost = f"{self.unit} = {rounded(str(self.cost), 8, up=True)}{at}"
        alone = f", for the {counted(self.plan.workload.m, 'query')} with a target"
        left_out = (
            f"{counted(self.left_out, 'query')} without a target: a release of all spends on them too, "
            "and may miss targets at this budget; to include them, give each a target, however loose"
        )
        return [
            ("least found", cost + alone * bool(self.left_out)),
            ("bound", bound),
            *gap,
            *([("left out", left_out)] if self.left_out else []),
            ("chosen", self.words),
        ]

    def tables(self) -> list[Any]:
        """For a terminal: accuracy and shares of the cost by group of queries, and the queries that bind."""
        plan, shares = self.plan, self.shares
        groups = [float(shares[part].sum()) for _, part in plan.workload.groups()]
        # Where the cost has no bound, or one with other noise, none of its part has.
        is_bounded = self.bound is not None and plan.rho is not None and self.fitness.bound_grade == "proved"
        remark = f"shares and savings: {SHARES}"
        if not is_bounded:
            laplace = ", a rough guide to the chosen Laplace noise" if plan.rho is None else ""
            remark = f"shares: {SHARES}{laplace}\nsavings: not known for this noise"
        return [
            accuracy_by_group(plan, 0.95),
            shares_by_group(plan, shares, self.savings(groups) if is_bounded else None),
            shares_by_query(plan, shares, self.savings(shares) if is_bounded else None),
            remark,
        ]

    def summary(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            "unit": self.unit,
            "cost": self.cost,
            "bound": self.bound,
            "gap": self.gap,
            "left_out": self.left_out,
            "chosen": self.words,
            **self.plan.summary(),
            "queries": self.errors.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Budget({self.choice.words})"

    def _repr_html_(self) -> str:
        return display(self.rows(), *self.tables())


def budget(
    workload: WorkloadLike,
    *,
    delta: float | None = None,
    pure: bool = False,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
    solved: Solve | None = None,
    say: Callable[[str], None] | None = None,
) -> Budget:
    """The least rho, epsilon at a delta, or pure epsilon found, at which every target of the workload holds.

    Parameters
    ----------
    workload : one whose queries have targets (``max_variance``, ``within``). Queries without a target are
        left out, and counted (``Budget.left_out``).
    delta : for epsilon at this delta, with the better of both noises. pure : for epsilon alone, with Laplace
        noise. By default the kind of the privacy that a workload file states, or rho.
    solved, say : as for ``default_strategy``.

    Raises
    ------
    OptionError : both delta and pure. WorkloadError : no query has a target. PrivacyError : no budget meets
    them. mmopt.Error : as ``solve``.
    """
    if pure and delta is not None:
        raise OptionError("delta and pure are two kinds of budget", hint="leave one of them out")
    request = at_privacy(workload, None, neighbours, unit)
    if request.privacy is not None and delta is None and not pure:
        delta, pure = request.privacy.delta, request.privacy.is_pure
    targeted, neighbours = _targeted(request.workload), request.neighbours or ADD_REMOVE
    privacy = Privacy(epsilon=MOST_COST, delta=delta) if pure or delta is not None else None
    try:
        choice = default_strategy(targeted, privacy, neighbours, solved, say)
    except PrivacyError as error:
        if privacy is None:
            raise
        raise PrivacyError(
            f"no epsilon up to {MOST_COST:g} meets the targets: {error.message}",
            hint="loosen the targets: larger values of within or max_variance",
        ) from None
    solutions = (offer.solution for offer in (choice.best, *choice.others))
    fitness = next((solution for solution in solutions if solution.program == _PROGRAM), None)
    if fitness is None:
        fitness = (solved or solve)(targeted, Program.load(_PROGRAM))
    multipliers = fitness.multipliers["accuracy"]
    shares = (
        lift(multipliers) if isinstance(multipliers, Level) else np.asarray(multipliers, dtype=float)
    ) * np.where(choice.best.plan.standard_errors > 0, targeted.targets, 0.0)
    return Budget(
        choice=choice,
        fitness=fitness,
        delta=delta,
        bound=_bound(choice, fitness, delta, neighbours),
        shares=shares / (shares.sum() or 1.0),
        left_out=request.workload.m - targeted.m,
    )


def _targeted(workload: Workload) -> Workload:
    """The workload of the queries that have a target, alone; WorkloadError where none has."""
    blocks = []
    for block in workload.blocks:
        is_asked = np.isfinite(block.target if isinstance(block, Product) else block.targets)
        if np.all(is_asked):
            blocks.append(block)
        elif isinstance(block, Explicit) and np.any(is_asked):
            queries = block.queries.take(np.flatnonzero(is_asked))
            names = list(itertools.compress(block.labels(workload.domain), is_asked))
            blocks.append(Explicit.read(queries, block.targets[is_asked], block.weights[is_asked], names))
    if not blocks:
        raise WorkloadError(
            "no query says how accurate its answer must be, so there is nothing to find a budget for",
            hint="add 'within: 50' (counts, at 95 %) or 'max_variance: 600' to the queries",
        )
    return replace(workload, blocks=tuple(blocks))


def _bound(choice: Choice, fitness: Solution, delta: float | None, neighbours: Neighbours) -> float | None:
    """A lower bound on the cost with noise of the kind chosen; None where the program gives none."""
    if not fitness.bound or neighbours.times is None:
        return None
    times = neighbours.times
    if choice.best.plan.rho is None:
        has_wishes = bool(wishes(choice.best.plan.workload.blocks))
        return None if has_wishes else times * 2 * math.asinh(math.sqrt(fitness.bound / 2)) * (1 - _ROOM)
    # On integers of sensitivity 1 or more the scale is at least this, and the variance may be below scale².
    if fitness.bound * GAUSSIAN.variance(1 / math.sqrt(fitness.bound)) < 1 - _ROOM:
        return None
    if delta is None:
        return times**2 * fitness.bound / 2 * (1 - _ROOM)
    bound = continuous_gaussian_epsilon(times * math.sqrt(fitness.bound), delta) * (1 - _ROOM)
    # The exact delta of noise on integers may be below that of continuous noise.
    return bound if bound <= choice.best.cost else None
