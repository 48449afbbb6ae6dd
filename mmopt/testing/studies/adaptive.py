"""Figures 3 and 5 and Table 2 of PVLDB 2012, run again: rivals over the eigen-strategy, and the bounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.driver import solve
from mmopt.errors import OptionError
from mmopt.numerics.components import Array
from mmopt.strategies.baselines import baseline, design_rows, evaluate
from mmopt.strategies.baselines.of_marginals import real_fourier
from mmopt.testing.studies import adaptive_workloads as own
from mmopt.testing.studies.adaptive_cases import ALWAYS, RIVALS, Case
from mmopt.testing.studies.adaptive_tables import DELTA, EPSILON
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks.factor import identity, total
from mmopt.workloads.blocks.implicit import Dense
from mmopt.workloads.blocks.kron import Kron

__all__ = ["DESIGNS", "SCALE", "Draw", "Line", "designs", "draw", "lines", "margins_of", "rival_rmse"]


SCALE = math.sqrt(2 * math.log(2 / DELTA)) / EPSILON
"""Noise per unit of sensitivity, Proposition 2."""

DESIGNS = ("wavelet", "Fourier", "real Fourier")

CLOSE = 0.02
"""A printed factor this far outside the spread of our draws is marked."""


@dataclass(frozen=True)
class Draw:
    """Root mean square errors of one workload.

    eigen : of the eigen-strategy, at ε = ½ and δ = 10⁻⁴. rivals : over it, infinite where a rival does not
    apply. best, bound : the optimum of l2_strategy and the singular value bound, over it. gap : of the total
    error of l2_strategy, over its proved bound.
    """

    eigen: float
    rivals: Mapping[str, float]
    best: float
    bound: float
    gap: float


@dataclass(frozen=True)
class Line:
    """A workload of the study, with its draws."""

    case: Case
    draws: tuple[Draw, ...]

    @property
    def eigen(self) -> float:
        """Root mean square error of the eigen-strategy, median."""
        return statistics.median(draw.eigen for draw in self.draws)

    @property
    def best(self) -> float:
        """The optimum over the eigen-strategy, in the worst of the draws."""
        return min(draw.best for draw in self.draws)

    @property
    def bound(self) -> float:
        """The singular value bound over the eigen-strategy, in the worst of the draws."""
        return min(draw.bound for draw in self.draws)

    @property
    def gap(self) -> float:
        """The largest gap of l2_strategy, in total error."""
        return max(draw.gap for draw in self.draws)

    @property
    def gain(self) -> float:
        """The factor over the best of the paper's rivals, median."""
        return min(self.factor(name) for name in self.case.rivals)

    def factors(self, name: str) -> list[float]:
        """Of a rival, one for each draw."""
        return [draw.rivals[name] for draw in self.draws]

    def factor(self, name: str) -> float:
        """Of a rival, median."""
        return statistics.median(self.factors(name))

    def agrees(self, name: str, printed: float) -> bool:
        """Whether a printed factor lies within our draws, give or take ``CLOSE``."""
        found = self.factors(name)
        return min(found) * (1 - CLOSE) <= printed <= max(found) * (1 + CLOSE)


def lines(cases: Sequence[Case], draws: int) -> Iterator[Line]:
    """Solve case by case, random ones for the seeds 0 to draws - 1."""
    if draws < 1:
        raise OptionError(f"the study needs at least one draw, found {draws}")
    for case in cases:
        names = (*case.rivals, *ALWAYS)
        seeds = range(draws if case.is_random else 1)
        yield Line(case, tuple(draw(case.workload(seed), names) for seed in seeds))


def draw(w: Workload, names: Sequence[str]) -> Draw:
    """Solve one workload and evaluate rivals on it; ``names`` are keys of ``RIVALS``."""
    eigen = solve(w, "eigen_design")
    best = solve(w, "l2_strategy")
    rmse = math.sqrt(eigen.error / w.m)
    return Draw(
        eigen=SCALE * rmse,
        rivals={name: rival_rmse(name, w) / rmse for name in names},
        best=math.sqrt(best.error / eigen.error),
        bound=float(np.sqrt(w.eigenvalues).sum()) / math.sqrt(w.n * eigen.error),
        gap=best.error_gap,
    )


def rival_rmse(name: str, w: Workload) -> float:
    """Root mean square error of a rival under unit Gaussian noise per unit of sensitivity.

    Fourier and DataCube know marginals only: for other workloads they measure for ``margins_of`` (section
    5.1), and least squares answer the queries. Infinite where there is no such thing.
    """
    call = RIVALS[name]
    found = evaluate(call, w, (2,))
    if found.costs:
        return found.costs[0].rmse
    margins = margins_of(w)
    if not evaluate(call, margins, (2,)).costs:
        return math.inf
    return math.sqrt(baseline(call, margins, 2).total_error(w) / w.m)


def margins_of(w: Workload) -> Workload:
    """The marginals on which the queries of a workload are; all cells where it has no products."""
    sizes = w.domain.shape
    whole = (True,) * len(sizes)
    kinds = [tuple(factor.kind != "total" for factor in product.factors) for product in w.products or ()]
    products = [
        Product(tuple(identity(n) if is_kept else total(n) for n, is_kept in zip(sizes, kind, strict=True)))
        for kind in dict.fromkeys(kinds or [whole])  # each once
    ]
    return Workload.from_products(w.domain, products)


def designs(cells: int, seed: int = 0) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Figure 5: kind and cell order of a workload, and weighted other design queries over eigen-queries.

    Root mean square errors of Program 1, columns not completed. The paper's Fourier basis is that of the bits
    of a cell's number (Barak et al., PODS 2007): products of (1, 1) and (1, -1). The one of sines and cosines
    is beside it.
    """
    ranges = own.all_ranges(own.shape(cells, 1)), own.permuted_ranges(cells, seed)
    plain = own.k_way(own.shape(cells, 4), 2)
    marginals = plain, own.permuted_cells(plain, seed)
    for kind, pair in (("ranges", ranges), ("marginals", marginals)):
        first = pair[0]  # the bases are those of the cells as they stand
        bases = design_rows("wavelet", first), _fourier(own.shape(cells)), _fourier(first.domain.shape)
        for state, w in zip(("as is", "permuted"), pair, strict=True):
            eigen = solve(w, "query_weighting").objective
            solved = [solve(w, "query_weighting", givens={"Q": rows}).objective for rows in bases]
            ratios = (math.sqrt(one / eigen) for one in solved)
            yield kind, state, dict(zip(DESIGNS, ratios, strict=True))


def _fourier(sizes: Sequence[int]) -> Array:
    """The whole real Fourier basis over all attributes."""
    return Kron([Dense(real_fourier(n)) for n in sizes]).matrix()
