"""All templates of a workload of products, and their tuning for a sub-workload.

Each template of the slides is optimised for a workload of products; the result lists them, the best first,
with a bound. A template keeps its form: one product of strategies on the attributes, a union of such
products, weighted marginals, sets of attributes one by one. The bound holds for every strategy of every form.
Tuning of a sub-workload with strategies in factors is that of the slides for Laplace noise.

**Marginals** have weights (OPT_M of the slides): 2^d numbers for any number of cells. For Gaussian noise the
problem is convex in u = θ²: s Σ_T g_T / λ_T(u) with s = Σ u is least where the strategy is best, and its
optimum is proved by weak duality. For Laplace noise, s = (Σ √u)², it is not, and several starts are tried.

**Sets of attributes** are measured one by one by the best such strategy, for queries of few of any number of
attributes.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from mmopt.compiler.reductions import by_components
from mmopt.driver.solve import Optimised, Tuned, solve, tuned
from mmopt.driver.templates.product_search import multipliers_of, product, product_bound, union
from mmopt.errors import OptionError, TooLargeError, WorkloadError, suggest
from mmopt.language import Program, check
from mmopt.limits import time_left
from mmopt.numerics.arrays import EPS, MOST_CELLS, Array, one_thread
from mmopt.numerics.outward import check_norm
from mmopt.privacy.noise import noise_for
from mmopt.results import Solution
from mmopt.results.solution import FOR_TARGETS
from mmopt.sectors.cells_of_row_space import why_not_of_few
from mmopt.sectors.residual_strategies import ResidualStrategy, best_residual_strategy, products_of_few
from mmopt.sectors.total_error_bounds import best_measure_bound, check_size
from mmopt.strategies import (
    MarginalStrategy,
    ProductStrategy,
    SetStrategy,
    Strategy,
    StrategyForm,
    UnionStrategy,
    normalise,
)
from mmopt.strategies.factor_strategies import products_of
from mmopt.strategies.marginal_strategy import energies, subsets, supersets, volumes
from mmopt.strategies.set_search import strategy_by_sets
from mmopt.workloads import Workload

MOST_ATTRIBUTES = 16
STARTS, FEWER = 48, 2**14
STEPS = 2000
TINY = 1e-7  # marginals with less than this part of the largest weight are tried without


@dataclass(frozen=True, eq=False)
class _MarginalWeights:
    """energy, volume (2^d,): of the queries on each subspace, and the cells of a count of each marginal."""

    energy: Array
    volume: Array
    d: int
    norm: int

    def value(self, theta: Array) -> tuple[float, Array]:
        """The total error of the weights and its gradient; both infinite where a query is not supported."""
        u = np.square(theta)
        eigenvalues, is_queried = supersets(u * self.volume, self.d), self.energy > 0
        if not (eigenvalues[is_queried] > 0).all():
            return np.inf, np.zeros_like(theta)
        inverse = np.divide(1.0, eigenvalues, where=is_queried, out=np.zeros_like(eigenvalues))
        error = float(self.energy @ inverse)
        by_u = -self.volume * subsets(self.energy * inverse**2, self.d)
        s, by_theta = (
            (theta.sum() ** 2, np.full_like(theta, 2.0 * theta.sum()))
            if self.norm == 1
            else (u.sum(), 2.0 * theta)
        )
        return float(s * error), by_theta * error + s * by_u * 2.0 * theta


def marginal_strategy(
    workload: Workload, norm: int = 2, *, starts: int | None = None, seed: int = 0
) -> MarginalStrategy:
    """The best weights of marginals found, scaled to sensitivity 1.

    Parameters
    ----------
    workload : from products, of at most ``MOST_ATTRIBUTES`` attributes.
    norm : 1 for Laplace noise, 2 for Gaussian.
    starts : the first has equal weights for the marginals of the queries, the others random ones for all (a
        finer marginal may replace several). By default 48, fewer for more than 8 attributes; under a time
        limit (``limits.deadline``) those that begin before its end.

    Raises
    ------
    TooLargeError : more attributes. OptionError : a workload from a matrix.
    """
    sizes = workload.domain.shape
    if len(sizes) > MOST_ATTRIBUTES:
        raise TooLargeError(
            f"weights for all marginals of {len(sizes)} attributes are {2.0 ** len(sizes):.0e} numbers, "
            f"the limit is {MOST_ATTRIBUTES} attributes",
            hint="solve l2_strategy, which by symmetry takes the marginals that are asked alone",
        )
    problem = _MarginalWeights(energies(workload), volumes(sizes), len(sizes), norm)
    is_queried = supersets((problem.energy > 0).astype(float), problem.d) > 0
    rng = np.random.default_rng(seed)
    count, first = starts or max(4, min(STARTS, FEWER // len(is_queried))), is_queried.astype(float)
    drawn = (rng.exponential(size=len(is_queried)) for _ in range(count - 1))
    starts_in_time = itertools.chain([first], itertools.takewhile(lambda _: time_left() > 0, drawn))
    error, theta = min((_descend(problem, start) for start in starts_in_time), key=itemgetter(0))
    if not np.isfinite(error):
        raise WorkloadError("no weights of marginals support the workload at working precision")
    return MarginalStrategy(
        sizes, theta / MarginalStrategy(sizes, theta, norm).sensitivity * (1.0 - 1e-12), norm
    )


def _descend(problem: _MarginalWeights, start: Array) -> tuple[float, Array]:
    """A local minimum from a start, on the marginals with weight in it; then without the idle ones."""
    kept = start > 0
    value, theta = _minimum(problem, start, kept)
    small = kept & (theta <= TINY * theta.max())
    if small.any():
        pruned = np.where(small, 0.0, theta)
        if (without := _minimum(problem, pruned, kept & ~small))[0] <= value:
            return without
    return value, theta


def _minimum(problem: _MarginalWeights, start: Array, kept: NDArray[np.bool_]) -> tuple[float, Array]:
    scale, size = problem.value(start)[0], float(np.sqrt(np.square(start).sum()))
    if not np.isfinite(scale):
        return np.inf, start
    theta = np.zeros_like(start)

    def objective(x: Array) -> tuple[float, Array]:
        theta[kept] = x * size
        value, gradient = problem.value(theta)
        by = gradient[kept]
        return (value / scale, by / scale * size) if np.isfinite(value) else (1e300, by * size)

    result = scipy.optimize.minimize(
        objective,
        start[kept] / size,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * int(kept.sum()),
        options={"maxiter": STEPS, "maxfun": 4 * STEPS, "ftol": 1e-15, "gtol": 1e-12, "maxcor": 30},
    )
    theta[kept] = result.x * size
    return problem.value(theta)[0], theta


def sectorwise(
    workload: Workload,
    *,
    norm: int = 2,
    seed: int = 0,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> SetStrategy:
    """The best strategy by sets found, scaled to sensitivity 1.

    Nothing is random: ``seed`` is for the table of templates. residual : gives the strategy whose bases it
    takes; a caller may have it already.

    Raises
    ------
    OptionError : norm 1: it is best for columns that are short in the L2 norm.
    WorkloadError : queries given as a matrix. TooLargeError : queries of too many attributes.
    """
    if norm != 2:
        raise OptionError("sets of attributes are measured one by one with Gaussian noise (norm 2) only")
    return normalise(
        strategy_by_sets(products_of_few(workload), workload.domain.shape, residual(workload).bases)
    )


def identity(workload: Workload, *, norm: int, seed: int) -> ProductStrategy:
    """Noise on each cell."""
    return ProductStrategy(tuple(Strategy(np.eye(n), norm) for n in workload.domain.shape))


class Template(NamedTuple):
    """A form of strategies, and the search of the best one for a workload, with ``norm`` and ``seed``.

    norms : of its strategies. of_any_size : they are measured without a list of the cells.
    """

    form: type[StrategyForm]
    search: Callable[..., StrategyForm]
    norms: tuple[int, ...] = (1, 2)
    of_any_size: bool = False

    def why_not(self, norm: int) -> str:
        """In words, why it has no strategies for the noise of a norm; "" where it has."""
        return "" if norm in self.norms else f"it is for {noise_for(self.norms[0]).name} noise"


TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        "identity": Template(ProductStrategy, identity),
        "product": Template(ProductStrategy, product),
        "union": Template(UnionStrategy, union),
        "marginals": Template(MarginalStrategy, marginal_strategy, of_any_size=True),
        "sectorwise": Template(SetStrategy, sectorwise, norms=(2,), of_any_size=True),
    }
)
LARGEST = 1024  # cells, or the size of a component, up to which the bound is that of l2_strategy
BOUND_GAP, CLOSER = 1e-4, 1e-6  # gaps of that solve, and of one that checks it


@dataclass(frozen=True, eq=False)
class TemplateStrategy:
    """A template's strategy, of sensitivity at most 1, or None with the reason why there is none.

    template : its name. error : total squared error, weighted, at unit noise per unit of sensitivity.
    rmse : per unweighted query.
    """

    template: str
    strategy: StrategyForm | None
    error: float
    rmse: float
    seconds: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Templates:
    """All candidates, the best first; a bound on the total error of every strategy, and its source."""

    candidates: tuple[TemplateStrategy, ...]
    bound: float
    bound_from: str

    @property
    def best(self) -> TemplateStrategy:
        """The candidate of least total error."""
        return self.candidates[0]

    @property
    def gap(self) -> float:
        """Error of the best over the bound, minus 1."""
        return self.best.error / self.bound - 1.0

    def solution(self, workload: Workload, candidate: TemplateStrategy | None = None) -> Solution:
        """The solution of a candidate, by default the best one, for this workload, to be saved and released.

        Raises
        ------
        TooLargeError : it has no strategy.
        """
        best = self.best if candidate is None else candidate
        if best.strategy is None:
            raise TooLargeError(f"no template has a strategy: {best.reason}")
        return Solution.of_template(
            template=best.template,
            strategy=best.strategy,
            error=best.error,
            rmse=best.rmse,
            error_bound=self.bound,
            bound_from=self.bound_from,
            seconds=best.seconds,
            workload_hash=workload.hash,
        )


def templates(
    workload: Workload,
    norm: int = 2,
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
    bound: tuple[float, str] | None = None,
) -> Templates:
    """Optimise every template for a workload.

    Parameters
    ----------
    workload : from products. norm : 1 for Laplace noise (epsilon), 2 for Gaussian (epsilon and delta).
    names : of ``TEMPLATES``; by default all that have this norm. Others come with the reason. seed : of
        random starts.
    report : called with the name of the next step.
    bound : that for the other noise, where there is one, with its source: it is the same.

    Raises
    ------
    OptionError : a workload from a matrix, another norm, an unknown template; without a bound also no
        template for this norm.
    """
    products_of(workload)
    check_norm(norm, "the norm")
    chosen = list(dict.fromkeys(names or [name for name in TEMPLATES if not TEMPLATES[name].why_not(norm)]))
    for name in chosen:
        if name not in TEMPLATES:
            raise OptionError(
                f"there is no template '{name}', expected one of {', '.join(TEMPLATES)}",
                hint=suggest(name, TEMPLATES),
            )
    against = {name: TEMPLATES[name].why_not(norm) for name in chosen}
    if bound is None and all(against.values()):
        name, reason = next(iter(against.items()))
        raise OptionError(
            f"the template '{name}' has no strategy for {noise_for(norm).name} noise: {reason}",
            hint="leave out --noise, or name other templates",
        )
    candidates = [
        TemplateStrategy(name, None, np.inf, np.inf, 0.0, reason)
        for name, reason in against.items()
        if reason
    ]
    say = report or (lambda _: None)
    residual = cache(best_residual_strategy)  # for a template and for the bound, computed once
    for name in (name for name in chosen if not against[name]):
        say(name)
        search = TEMPLATES[name].search
        search = partial(search, residual=residual) if name == "sectorwise" else search
        candidates.append(_candidate(name, search, workload, norm, seed))
    if bound is None:
        say("bound")
        bound = template_bound(workload, BOUND_GAP, residual)
    return Templates(tuple(sorted(candidates, key=lambda c: c.error)), *bound)


def _candidate(
    name: str, search: Callable[..., StrategyForm], workload: Workload, norm: int, seed: int
) -> TemplateStrategy:
    started = time.monotonic()
    try:
        with one_thread():  # of many small matrices
            strategy = search(workload, norm=norm, seed=seed)
    except TooLargeError as error:
        return TemplateStrategy(name, None, np.inf, np.inf, time.monotonic() - started, error.message)
    total, rmse = strategy.total_error(workload), strategy.rmse(workload)
    return TemplateStrategy(name, strategy, total, rmse, time.monotonic() - started)


def form_of(template: str) -> type[StrategyForm] | None:
    """The form of a template's strategies; None where there is no such template.

    For targets p_identity is a template, too: over the cells, solved for other weights than the workload's.
    """
    name = template.removesuffix(FOR_TARGETS)
    if name in TEMPLATES:
        return TEMPLATES[name].form
    return Strategy if template == f"p_identity{FOR_TARGETS}" else None


def template_bound(
    workload: Workload,
    gap: float = CLOSER,
    residual: Callable[[Workload], ResidualStrategy] = best_residual_strategy,
) -> tuple[float, str]:
    """A bound on the error of every strategy, and its source.

    It is that of l2_strategy, up to ``gap``, where this can be solved, else from multipliers that are
    products. Over many cells, for queries of few attributes, these are in the space of the queries, from the
    ``residual`` strategy. Nothing in it is random, so that it can be recomputed.
    """
    program = Program.load("l2_strategy")
    if _is_solved(program, workload) and (bound := solve(workload, program, tolerance=gap).bound) is not None:
        return bound, "l2_strategy"
    with one_thread():
        if workload.n > MOST_CELLS and not why_not_of_few(workload):
            with suppress(TooLargeError):
                if bound := _bound_of_few(workload, residual):
                    return bound, "a product of measures"
        best = product(workload, norm=2, starts=1, seed=0)
    return product_bound(workload, multipliers_of(best, workload)), "multipliers that are products"


def _is_solved(program: Program, workload: Workload) -> bool:
    if workload.n <= LARGEST or workload.products is None:
        return True
    try:
        return by_components(check(program), workload, {}, largest=LARGEST) is not None
    except TooLargeError:
        return False


def _bound_of_few(workload: Workload, residual: Callable[[Workload], ResidualStrategy]) -> float:
    """The bound at the measures of a strategy by sets of attributes, which are next to the best product."""
    factors = [factor for product in workload.products or () for factor in product.factors]
    off = (max(sum(factor.shape) for factor in factors) + 20) * EPS  # sums over rows, or over two directions
    products = products_of_few(workload)
    check_size(products, workload.domain.shape)  # before the strategy is sought
    return best_measure_bound(products, residual(workload).measures, off)[0]


def tune_templates(
    workload: Workload,
    name: str,
    factors: Sequence[float],
    norm: int = 1,
    names: Sequence[str] = ("product",),
    *,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Iterator[Tuned]:
    """Tune as ``mmopt.tune``, with the best of these templates; errors as there and as ``templates``."""

    def solved(case: Workload, words: str) -> Optimised:
        if report is not None:
            report(words)
        result = templates(case, norm, names, seed=seed)
        if result.best.strategy is None:
            raise WorkloadError(f"no template has a strategy: {result.best.reason}")
        return result.best.strategy, result.best.error, result.bound

    return tuned(workload, name, factors, solved)
