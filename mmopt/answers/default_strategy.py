"""The strategy used when no program is named: that of least predicted error at a privacy.

Pure epsilon satisfies (epsilon, delta), so at the latter both noises are considered: a strategy of norm 2
with Gaussian noise, one of norm 1 with Laplace noise. Under rho alone Gaussian noise is never worse: pure
epsilon implies rho = epsilon² / 2 (Bun and Steinke 2016, Proposition 1.4), at which Laplace noise has twice
the variance, and no column is shorter in the L1 norm.

A strategy of norm 1 for targets is found by total error, with weights that follow the targets. The least
epsilon at which all targets hold is that of the strategy whose largest ratio of variance and target is least.
That ratio is at least every weighted mean of the ratios, so total error is minimised again and again, the
weight of a query multiplied by a power of its ratio. Nothing proves that the result is best.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mmopt.driver import solve
from mmopt.driver.templates import MOST_ATTRIBUTES, TEMPLATES, template_bound, templates
from mmopt.errors import Error, OptionError, PrivacyError, TooLargeError, counted
from mmopt.language import Program
from mmopt.limits import fits_memory
from mmopt.mechanism import Plan, plan
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.privacy.epsilon_delta_rho import MOST_COST, Privacy
from mmopt.privacy.noise import GAUSSIAN, LAPLACE
from mmopt.request import default_program
from mmopt.request.workload_file_and_arguments import P_IDENTITY_CELLS, suits_p_identity
from mmopt.results.solution import FOR_TARGETS, Solution
from mmopt.sectors.row_space_cells_and_targets import why_not_of_few
from mmopt.strategies import ADD_REMOVE, Neighbours
from mmopt.workloads import Workload

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
    """p_identity, or templates over many cells; for targets either of them with weights that follow them."""

    def strategy(weighted: Workload, template: str | None = None) -> Solution:
        """The solution of least total error; of one template only where it is named."""
        if suits_p_identity(weighted):
            return solved(weighted, Program.load("p_identity"))
        return _in_factors(weighted, LAPLACE.norm, say, template)

    if not workload.has_all_targets:
        return offer(workload, strategy(workload), privacy, neighbours)
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
