"""All templates of a workload of products, the best first, and a lower bound on the error of every strategy.

Each template of the slides is optimised for a workload of products (``template_searches.py``). A template
keeps its form: one product of strategies on the attributes, a union of such products, weighted marginals,
sets of attributes one by one. The bound holds for every strategy of every form. Tuning of a sub-workload with
strategies in factors is that of the slides for Laplace noise.

**The bound** is that of ``l2_strategy`` where this can be solved. Otherwise its multipliers are products,
too.

Theorem. For p >= 0 with Σ p = 1, every strategy of sensitivity 1 (L2, and so L1) has total error at least
‖W diag(√p)‖²_* (the certificate of ``l2_strategy``), and ‖K‖_* >= tr(MᵀK) whenever MᵀM ⪯ I.
Let p = p₁ ⊗ … ⊗ p_d, Kᵢⱼ = Fᵢⱼ diag(√pᵢ), and let vᵢ = √pᵢ, the direction of the total. Where every
UᵢⱼᵀUᵢⱼ (Uᵢⱼ Sᵢⱼ = Kᵢⱼ the polar form) commutes with vᵢvᵢᵀ, attribute i splits into vᵢ and its complement;
the subspaces that choose one of the two for each such attribute are orthogonal, and
M = Σ_s (μ_sj ⊗ᵢ Uᵢⱼ Π_si)ⱼ with Σⱼ μ²_sj = 1 has MᵀM ⪯ I. The best μ give

    ‖W diag(√p)‖_* >= Σ_s √(Σⱼ wⱼ Πᵢ tr(Sᵢⱼ Π_si)²).

Products that differ in one attribute only count as one there: their Gram matrices add up.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mmopt.compiler.reductions import by_components
from mmopt.driver.solve_and_tune import Optimised, Tuned, solve, tuned
from mmopt.driver.templates.template_searches import identity, marginal_strategy, product, sectorwise, union
from mmopt.errors import OptionError, TooLargeError, WorkloadError, suggest
from mmopt.language import Program, check
from mmopt.numerics.arrays import EPS, MOST_CELLS, Array, check_norm, one_thread, svd
from mmopt.privacy.noise import noise_for
from mmopt.results import FOR_TARGETS, Solution
from mmopt.sectors.residual_strategies import ResidualStrategy, best_residual_strategy, products_of_few
from mmopt.sectors.row_space_cells_and_targets import why_not_of_few
from mmopt.sectors.total_error_bounds import best_measure_bound, check_size
from mmopt.strategies import (
    MarginalStrategy,
    ProductStrategy,
    SetStrategy,
    Strategy,
    StrategyForm,
    UnionStrategy,
    one_attribute,
    products_of,
)
from mmopt.workloads import Factor, Workload


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
LARGEST_SOLVED = 1024  # cells, or the size of a component, up to which the bound is that of l2_strategy
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
    """A template's strategy by its search, with its error and seconds; none where it is too large."""
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
    """Whether the program is small enough to be solved for the bound: over the cells, or by component."""
    if workload.n <= LARGEST_SOLVED or workload.products is None:
        return True
    try:
        return by_components(check(program), workload, {}, largest=LARGEST_SOLVED) is not None
    except TooLargeError:
        return False


def _bound_of_few(workload: Workload, residual: Callable[[Workload], ResidualStrategy]) -> float:
    """The bound at the measures of a strategy by sets of attributes, which are next to the best product."""
    factors = [factor for product in workload.products or () for factor in product.factors]
    off = (max(sum(factor.shape) for factor in factors) + 20) * EPS  # sums over rows, or over two directions
    products = products_of_few(workload)
    check_size(products, workload.domain.shape)  # before the strategy is sought
    return best_measure_bound(products, residual(workload).measures, off)[0]


# Taken off the bound, relatively, for 40 attributes or fewer: for singular vectors that are orthonormal up to
# rounding, and for ``COMMUTES``. Cross terms of d attributes lift MᵀM by d times that at most.
CHARGED = 1e-9
# Subspaces on which no product has more than this part of the largest are left out, which lowers the bound.
# These are all but a few of the 2^d where products have few of the attributes: a total is zero on a
# complement.
NEGLIGIBLE = 1e-14
COMMUTES = 1e-11  # part of v that may lie outside the row space, or inside: the size of cross terms of MᵀM
SUPPORT = 1e-12  # singular values below this part of the largest are left out, which lowers the bound


def multipliers_of(strategy: ProductStrategy, workload: Workload) -> list[Array]:
    """For each attribute the prices of its values (``Strategy.prices``), with the other factors fixed.

    Each product's factor is weighted by the product's weight times its errors on the other attributes. Only
    the ratios of an attribute's prices matter. Where the strategy's factors are optimal these are their
    multipliers.
    """
    products = products_of(workload.weighed)
    errors = np.array(
        [
            [float(factor.variances(one_attribute([(p.factors[i], 1.0)])).sum()) for p in products]
            for i, factor in enumerate(strategy.factors)
        ]
    )
    weights = np.array([p.weight for p in products])
    prices = []
    for i, factor in enumerate(strategy.factors):
        others = weights * np.delete(errors, i, axis=0).prod(axis=0)
        weighted = [
            (p.factors[i], float(weight)) for p, weight in zip(products, others / others.max(), strict=True)
        ]
        prices.append(factor.prices(one_attribute(weighted)))
    return prices


def product_bound(workload: Workload, multipliers: Sequence[Array]) -> float:
    """The bound of the theorem (rounded down), at pᵢ = multipliers / their sum and at equal pᵢ.

    Parameters
    ----------
    workload : from products. multipliers : for each attribute (nᵢ,), nonnegative, as of ``multipliers_of``.
    """
    return max(
        _bound_at(workload, multipliers),
        _bound_at(workload, [np.ones(len(prices)) for prices in multipliers]),
    )


def _bound_at(workload: Workload, multipliers: Sequence[Array]) -> float:
    """The bound of the theorem (rounded down) at these pᵢ, up to their sums."""
    terms = _merged_terms(workload)
    traces = np.ones((1, len(terms)))  # (subspaces, terms)
    for i, multiplier in enumerate(multipliers):
        p = np.maximum(np.asarray(multiplier, dtype=float), 0.0)
        distinct = list(dict.fromkeys(term[i] for term, _ in terms))
        split = _traces_by_subspace(distinct, p / p.sum())
        place = [distinct.index(term[i]) for term, _ in terms]
        traces = np.vstack([traces * row[place] for row in split])
        largest = traces.max(axis=1)
        traces = traces[largest > NEGLIGIBLE * largest.max()]
    norm = np.sqrt(np.square(traces) @ [weight for _, weight in terms]).sum()
    return float(norm**2 * (1.0 - CHARGED * max(1.0, len(multipliers) / 40)))


Term = tuple[tuple[Factor, ...], ...]  # per attribute the factors whose Gram matrices add up


def _merged_terms(workload: Workload) -> list[tuple[Term, float]]:
    """Products as terms; products of one weight that differ in one attribute only are one term."""
    terms: list[tuple[Term, float]] = [
        (tuple((f,) for f in p.factors), p.weight) for p in products_of(workload.weighed)
    ]
    for i in range(len(workload.domain.shape)):
        joined: dict[tuple[Term, Term, float], list[Factor]] = {}
        for term, weight in terms:
            joined.setdefault((term[:i], term[i + 1 :], weight), []).extend(term[i])
        terms = [
            ((*before, tuple(factors), *after), weight) for (before, after, weight), factors in joined.items()
        ]
    return terms


def _traces_by_subspace(distinct: Sequence[tuple[Factor, ...]], p: Array) -> Array:
    """tr(S Π) of each, Π on v = √p and on its complement, (2, distinct); their sums where none splits.

    ``distinct``: an attribute's factors, those of a term together; ``p`` (n,): the attribute's (see Theorem).
    """
    v = np.sqrt(p)
    along, whole, is_split = [], [], True
    for factors in distinct:
        singular, rows = svd(one_attribute([(f, 1.0) for f in factors]).root * v)
        nonzero = singular > SUPPORT * singular[0]
        singular, rows = singular[nonzero], rows[nonzero]
        part = rows @ v
        # The projection on the row space commutes with v vᵀ where v lies in that space or is orthogonal.
        outside, inside = float(np.linalg.norm(v - part @ rows)), float(np.linalg.norm(part))
        is_split = is_split and min(inside, outside) <= COMMUTES * float(np.linalg.norm(v))
        along.append(float(singular @ np.square(part)) / float(v @ v))
        whole.append(float(singular.sum()))
    return np.array([whole]) if not is_split else np.array([along, np.maximum(np.array(whole) - along, 0.0)])
