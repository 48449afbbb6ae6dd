"""Figures 3 and 5 and Table 2 of PVLDB 2012, run again: rivals over the eigen-strategy, and the bounds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from mmopt.errors import OptionError
from mmopt.pipeline import solve
from mmopt.queries import Product, Workload
from mmopt.queries.baselines import baseline, design_rows, evaluate
from mmopt.queries.baselines.fourier import real_fourier
from mmopt.queries.factor import identity, total
from mmopt.queries.implicit import Dense
from mmopt.queries.kron import Kron
from mmopt.testing.studies import adaptive_workloads as own
from mmopt.testing.studies.adaptive_tables import DELTA, EPSILON

__all__ = ["DESIGNS", "RIVALS", "Case", "Line", "cases", "designs", "lines", "margins_of", "rival_rmse"]

Array = NDArray[np.float64]

RIVALS: Mapping[str, str] = MappingProxyType(
    {
        "Hier.": "hierarchical(branching=2)",
        "Wav.": "wavelet",
        "Four.": "fourier",
        "Cube": "datacube",
        "cells": "identity",
        "answers": "workload",
    }
)
"""The paper's names, and those of the baselines; then noise on every cell, and on every answer."""

SCALE = math.sqrt(2 * math.log(2 / DELTA)) / EPSILON
"""Noise per unit of sensitivity, Proposition 2."""

DESIGNS = ("wavelet", "Fourier", "real Fourier")
CLOSE = 0.02
"""A printed factor this far outside the spread of our draws is marked."""

RANGES, MARGINALS = ("Hier.", "Wav."), ("Four.", "Cube")
ALWAYS = ("cells", "answers")


@dataclass(frozen=True)
class Case:
    """A workload of the study. part : figure or table. kind : its row in ``adaptive_tables``."""

    part: str
    kind: str
    label: str
    make: Callable[[int], Workload]
    rivals: tuple[str, ...]
    is_random: bool = False


@dataclass
class Line:
    """Root mean square errors of one workload, one number per draw.

    rmse : of the eigen-strategy, at ε = ½ and δ = 10⁻⁴. rivals : over it, infinite where a rival does not
    apply. best, bound : the least of any strategy (proved) and the singular value bound, over it.
    """

    case: Case
    queries: int = 0
    rmse: list[float] = field(default_factory=list)
    rivals: dict[str, list[float]] = field(default_factory=dict)
    best: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)

    def add(self, w: Workload) -> None:
        """Solve one draw."""
        eigen = solve(w, "eigen_design")
        assert eigen.error is not None and eigen.error_bound is not None
        rmse = math.sqrt(eigen.error / w.m)
        self.queries = w.m
        self.rmse.append(SCALE * rmse)
        self.best.append(math.sqrt(eigen.error_bound / eigen.error))
        self.bound.append(float(np.sqrt(w.eigenvalues).sum()) / math.sqrt(w.n * eigen.error))
        for name in (*self.case.rivals, *ALWAYS):
            self.rivals.setdefault(name, []).append(rival_rmse(name, w) / rmse)

    def median(self, name: str) -> float:
        """Of a rival's factors."""
        return statistics.median(self.rivals[name])

    def agrees(self, name: str, printed: float) -> bool:
        """Whether a printed factor lies within our draws, give or take ``CLOSE``."""
        found = self.rivals[name]
        return min(found) * (1 - CLOSE) <= printed <= max(found) * (1 + CLOSE)

    @property
    def gain(self) -> float:
        """The factor over the best of the paper's rivals, median."""
        return min(self.median(name) for name in self.case.rivals)


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
    if evaluate(call, margins, (2,)).reason is not None:
        return math.inf
    return math.sqrt(baseline(call, margins, 2).total_error(w) / w.m)


def margins_of(w: Workload) -> Workload:
    """The marginals on which the queries of a workload are; all cells where it has no products."""
    if w.products is None:
        return Workload.from_products(w.domain, [Product(tuple(identity(n) for n in w.domain.shape))])
    kept = {
        tuple(factor.kind != "total" for factor in product.factors): None for product in w.products
    }  # in order, once each
    return Workload.from_products(
        w.domain,
        [
            Product(tuple(identity(n) if is_kept else total(n) for is_kept, n in zip(kind, w.domain.shape, strict=True)))
            for kind in kept
        ],
    )


def cases(cells: int) -> list[Case]:
    """Figure 3, then Table 2. OptionError for a number of cells that has no such shapes."""
    shapes = [own.shape(cells, count) for count in (1, 2, 3, 4, None)]
    three = shapes[2]
    found = [
        Case("3", "ranges", _label("all", sizes), lambda _, s=sizes: own.all_ranges(s), RANGES) for sizes in shapes
    ]
    found += [
        Case("3", "ranges", _label("random", sizes), lambda seed, s=sizes: own.random_ranges(s, seed), RANGES, True)
        for sizes in shapes
    ]
    found += [
        Case("3", "marginals", _label("2-way", sizes), lambda _, s=sizes: own.k_way(s, 2), MARGINALS)
        for sizes in shapes[2:]
    ]
    found += [
        Case(
            "3", "marginals", _label("random", sizes), lambda seed, s=sizes: own.random_marginals(s, seed), MARGINALS, True
        )
        for sizes in shapes[1:]
    ]
    one = (*RANGES, "Four.")
    return found + [
        Case("2", "permuted", f"ranges, permuted, {cells}", lambda seed: own.permuted_ranges(cells, seed), RANGES, True),
        *(
            Case(
                "2",
                f"{k}-way",
                _label(f"{k}-way ranges", three),
                lambda _, k=k: own.k_way(three, k, ranges=True),
                (*RANGES, *MARGINALS),
            )
            for k in (1, 2)
        ),
        Case("2", "CDF", f"CDF, {cells}", lambda _: own.cumulative(cells), RANGES),
        Case("2", "predicates", f"predicates, {cells}", lambda seed: own.random_predicates(cells, seed), one, True),
    ]


def _label(kind: str, sizes: Sequence[int]) -> str:
    same = len(sizes) > 4 and len(set(sizes)) == 1
    return f"{kind}, {f'{sizes[0]}^{len(sizes)}' if same else 'x'.join(map(str, sizes))}"


def lines(found: Sequence[Case], draws: int) -> Iterator[Line]:
    """Solve case by case, random ones for the seeds 0 to draws - 1."""
    if draws < 1:
        raise OptionError(f"the study needs at least one draw, found {draws}")
    for case in found:
        line = Line(case)
        for seed in range(draws if case.is_random else 1):
            line.add(case.make(seed))
        yield line


def designs(cells: int, seed: int = 0) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Figure 5: kind and cell order of a workload, and best weights of other design queries over eigen-queries.

    Root mean square errors of Program 1, columns not completed. The paper's Fourier basis is that of the bits
    of a cell's number (Barak et al., PODS 2007): products of (1, 1) and (1, -1). The one of sines and cosines
    is beside it.
    """
    ranges = own.all_ranges(own.shape(cells, 1)), own.permuted_ranges(cells, seed)
    plain = own.k_way(own.shape(cells, 4), 2)
    marginals = plain, own.permuted_cells(plain, seed)
    for kind, pair in (("ranges", ranges), ("marginals", marginals)):
        sizes = pair[0].domain.shape
        found = design_rows("wavelet", pair[0]), _fourier(own.shape(cells)), _fourier(sizes)
        for state, w in zip(("as is", "permuted"), pair, strict=True):
            eigen = solve(w, "query_weighting").objective
            solved = [solve(w, "query_weighting", givens={"Q": rows}).objective for rows in found]
            yield kind, state, dict(zip(DESIGNS, (math.sqrt(one / eigen) for one in solved), strict=True))


def _fourier(sizes: Sequence[int]) -> Array:
    """The whole real Fourier basis over all attributes."""
    return Kron([Dense(real_fourier(n)) for n in sizes]).matrix()
