"""All templates of a workload of products, and their tuning for a sub-workload.

Each template of the slides is optimised for a workload of products; the result lists them, the best first,
with a bound. A template keeps its form: one product of strategies on the attributes, a union of such
products, weighted marginals, sets of attributes one by one. The bound holds for every strategy of every form.
Tuning of a sub-workload with strategies in factors is that of the slides for Laplace noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mmopt.compiler.reductions import by_components
from mmopt.driver.solve import FoundStrategy, Tuned, solve, tuned
from mmopt.driver.templates.product_search import multipliers_of, product, product_bound
from mmopt.driver.templates.union_search import marginal_strategy, sectorwise, union
from mmopt.errors import OptionError, TooLargeError, WorkloadError, suggest
from mmopt.language import Program, check
from mmopt.numerics.arrays import EPS, MOST_CELLS, one_thread
from mmopt.numerics.outward import check_norm
from mmopt.privacy.noise import noise_for
from mmopt.results import Solution
from mmopt.results.solution import FOR_TARGETS
from mmopt.sectors.bounds import best_measure_bound, check_size
from mmopt.sectors.residual_strategies import ResidualStrategy, best_residual_strategy, products_of_few
from mmopt.sectors.sector_cells import why_not_of_few
from mmopt.strategies import (
    MarginalStrategy,
    ProductStrategy,
    SectorwiseStrategy,
    Strategy,
    StrategyForm,
    UnionStrategy,
)
from mmopt.strategies.factor_strategies import products_of
from mmopt.workloads import Workload


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
        "sectorwise": Template(SectorwiseStrategy, sectorwise, norms=(2,), of_any_size=True),
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
            listed = ", ".join(TEMPLATES)
            raise OptionError(
                f"there is no template '{name}', expected one of {listed}", hint=suggest(name, TEMPLATES)
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
        if name == "sectorwise":
            search = partial(search, residual=residual)
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
    if _is_solved(program, workload):
        bound = solve(workload, program, tolerance=gap).bound
        if bound is not None:
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

    def solved(case: Workload, words: str) -> FoundStrategy:
        if report is not None:
            report(words)
        result = templates(case, norm, names, seed=seed)
        if result.best.strategy is None:
            raise WorkloadError(f"no template has a strategy: {result.best.reason}")
        return FoundStrategy(result.best.strategy, result.best.error, result.bound)

    return tuned(workload, name, factors, solved)
