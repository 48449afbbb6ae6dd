"""Figures 3 and 5 and Table 2 of PVLDB 2012, run again: rivals over the eigen-strategy, and the bounds.

python examples/adaptive/study.py                  256 cells, about a minute
python examples/adaptive/study.py --cells 2048     the paper's size; half an hour of one core
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from printed import (
    DELTA,
    EPSILON,
    FIGURE_5,
    FOOTNOTES,
    FROM_BOUND,
    GAINS,
    LARGEST,
    PAPER_CELLS,
    TABLE_2,
)
from workloads import (
    ALWAYS,
    RIVALS,
    Array,
    Case,
    all_ranges,
    cases,
    k_way,
    permuted_cells,
    permuted_ranges,
    shape,
)

from mmopt import OptionError, Workload, baseline, solve
from mmopt.cli.app import run_alone
from mmopt.cli.command_output import note, show
from mmopt.report.table_style import Table, bold, gap, paragraphs, rows_table
from mmopt.strategies.baselines import design_rows, evaluate
from mmopt.strategies.baselines.few_attribute_baselines import real_fourier
from mmopt.testing.problem_registry import products_on, singular_value_bound, starred
from mmopt.workloads import Dense, Kron

SCALE = math.sqrt(2 * math.log(2 / DELTA)) / EPSILON
"""Noise per unit of sensitivity, Proposition 2."""

DESIGNS = ("wavelet", "Fourier", "real Fourier")
PARTS = {"--figure": (3, 5), "--table": (2,)}


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
    """A workload of the study, with its draws: best and bound are those of the worst of them."""

    case: Case
    draws: tuple[Draw, ...]

    @property
    def eigen(self) -> float:
        """Root mean square error of the eigen-strategy, median."""
        return statistics.median(draw.eigen for draw in self.draws)

    @property
    def best(self) -> float:
        """The optimum over the eigen-strategy."""
        return min(draw.best for draw in self.draws)

    @property
    def bound(self) -> float:
        """The singular value bound over the eigen-strategy."""
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
        """Factors of a rival, one for each draw."""
        return [draw.rivals[name] for draw in self.draws]

    def factor(self, name: str) -> float:
        """Median factor of a rival."""
        return statistics.median(self.factors(name))


def lines(cases: Sequence[Case], draws: int) -> Iterator[Line]:
    """Solve case by case, random ones for the seeds 0 to draws - 1."""
    if draws < 1:
        raise OptionError(f"the study needs at least one draw, found {draws}")
    for case in cases:
        note(f"{'Table 2' if case.part == '2' else 'Figure 3'}: {case.label}")
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
        bound=math.sqrt(singular_value_bound(w) / eigen.error),
        gap=best.error_gap,
    )


def rival_rmse(name: str, w: Workload) -> float:
    """Root mean square error of a rival under unit Gaussian noise per unit of sensitivity.

    Fourier and DataCube know marginals only: for other workloads they measure for ``margins_of`` (section
    5.1), and least squares answer the queries. Infinite where there is no such thing.
    """
    call = RIVALS[name]
    evaluated = evaluate(call, w, (2,))
    if evaluated.costs:
        return evaluated.costs[0].rmse
    margins = margins_of(w)
    if not evaluate(call, margins, (2,)).costs:
        return math.inf
    return math.sqrt(baseline(call, margins, 2).total_error(w) / w.m)


def margins_of(w: Workload) -> Workload:
    """The marginals on which the queries of a workload are; all cells where it has no products."""
    kinds = [
        tuple(i for i, factor in enumerate(product.factors) if factor.kind != "total")
        for product in w.products or ()
    ]
    every = tuple(range(len(w.domain.shape)))
    return products_on(w.domain.shape, dict.fromkeys(kinds or [every]))  # each once


def designs(cells: int, seed: int = 0) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Figure 5: kind and cell order of a workload, and weighted other design queries over eigen-queries.

    Root mean square errors of Program 1, columns not completed. The paper's Fourier basis is that of the bits
    of a cell's number (Barak et al., PODS 2007): products of (1, 1) and (1, -1). The one of sines and cosines
    is beside it.
    """
    ranges = all_ranges(shape(cells, 1)), permuted_ranges(cells, seed)
    plain = k_way(shape(cells, 4), 2)
    marginals = plain, permuted_cells(plain, seed)
    for kind, pair in (("ranges", ranges), ("marginals", marginals)):
        first = pair[0]  # the bases are those of the cells as they stand
        bases = design_rows("wavelet", first), _fourier(shape(cells)), _fourier(first.domain.shape)
        for state, w in zip(("as is", "permuted"), pair, strict=True):
            eigen = solve(w, "query_weighting").objective
            solved = [solve(w, "query_weighting", givens={"Q": rows}).objective for rows in bases]
            yield (
                kind,
                state,
                {name: math.sqrt(one / eigen) for name, one in zip(DESIGNS, solved, strict=True)},
            )


def _fourier(sizes: Sequence[int]) -> Array:
    """The whole real Fourier basis over all attributes."""
    return Kron([Dense(real_fourier(n)) for n in sizes]).matrix()


# -- what is shown


def figure_table(found: Sequence[Line], kind: str, cells: int) -> Table:
    """Figure 3, errors at ε = ½, δ = 10⁻⁴, and factors."""
    rivals = (*found[0].case.rivals, *ALWAYS)
    rows = []
    for line in found:
        factors = (_factor(line.factor(name)) for name in rivals)
        ends = (f"{line.best:.3f}", f"{line.bound:.3f}")
        rows.append((bold(line.case.label), f"{line.eigen:.2f}", *factors, *ends))
    columns = ("eigen", *rivals, "best", "bound")
    title = f"Figure 3 ({'a' if kind == 'ranges' else 'c'}): {kind}, {cells} cells"
    return rows_table(("", *columns), rows, columns, title)


def printed_table(found: Sequence[Line], cells: int) -> Table:
    """Table 2: the median of our draws, print, and at the paper's size the ratio."""
    rows: list[tuple[object, ...]] = []
    for line in found:
        paper = TABLE_2[line.case.kind]
        ours = (_factor(line.factor(name)) if name in line.draws[0].rivals else "" for name in RIVALS)
        rows.append((bold(line.case.kind), "here", *ours, f"{line.best:.3f}", f"{line.bound:.3f}"))
        theirs = (_factor(paper.factors[name]) if name in paper.factors else "" for name in RIVALS)
        rows.append(("", "print", *theirs, "", f"{paper.bound:.2f}"))
        if cells == PAPER_CELLS:
            ratios = (
                starred(line.factors(name), paper.factors[name]) if name in paper.factors else ""
                for name in RIVALS
            )
            rows.append(("", "ratio", *ratios, "", f"{line.bound / paper.bound:.3f}"))
    columns = (*RIVALS, "best", "bound")
    return rows_table(("", "", *columns), rows, columns, f"Table 2: {cells} cells")


def designs_table(found: Iterable[tuple[str, str, dict[str, float]]], cells: int) -> Table:
    """Figure 5."""
    rows = (
        (bold(kind), state, *(f"{ratios[name]:.3f}" for name in DESIGNS), FIGURE_5[kind, state])
        for kind, state, ratios in found
    )
    title = f"Figure 5: weighted design queries over eigen-queries, {cells} cells"
    return rows_table(("", "", *DESIGNS, "text"), rows, (*DESIGNS, "text"), title)


def _factor(value: float) -> str:
    return "-" if math.isinf(value) else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _programs(found: Sequence[Line]) -> str:
    """Which program the ends of every row come from."""
    return (
        "eigen: program eigen_design. best: program l2_strategy, its total error within "
        f"{gap(max(line.gap for line in found))} of the least. bound: the singular value bound, of no "
        "program."
    )


def _said(found: Sequence[Line], kind: str) -> str:
    """The text's words on a part of Figure 3, and our figures."""
    gains = [line.gain for line in found]
    apart = max(1 / line.bound for line in found)
    low, high = GAINS[kind]
    largest = {
        name: max(line.factor(name) for line in found if line.factor(name) < math.inf)
        for name in found[0].case.rivals
    }
    most = ", ".join(f"{name} {factor:.2f} (text {LARGEST[name]:g})" for name, factor in largest.items())
    return (
        f"Best rival over eigen-strategy: here {min(gains):.2f} to {max(gains):.2f}, "
        f"text {low:g} to {high:g}. "
        f"Eigen-strategy over bound: here at most {apart:.2f}, text at most {FROM_BOUND[kind]:g}. "
        f"Most over each rival: {most}."
    )


def adaptive(
    figure: Annotated[int | None, typer.Option(metavar="3|5", help="Only this figure of the paper.")] = None,
    table: Annotated[int | None, typer.Option(metavar="2", help="Only this table of the paper.")] = None,
    cells: Annotated[
        int, typer.Option(metavar="CELLS", help="A power of two. The paper has 2048 (long).")
    ] = 256,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of each random workload, seeds 0 to N - 1.")
    ] = 3,
) -> None:
    """Figures 3 and 5 and Table 2 of the adaptive mechanism (PVLDB 2012): rivals over the eigen-strategy.

    Factors of root mean square errors under Gaussian noise: of a rival over that of the eigen-strategy
    (program eigen_design), and of the least possible (l2_strategy) and the singular value bound over it.
    Relative errors, which need the paper's data, are left out.
    """
    asked = {"--figure": figure, "--table": table}
    for option, number in asked.items():
        if number not in (None, *PARTS[option]):
            raise OptionError(f"{option} is {number}, expected {' or '.join(map(str, PARTS[option]))}")
    chosen = {number for number in asked.values() if number is not None} or {2, 3, 5}
    known = cases(cells)
    for kind in ("ranges", "marginals") if 3 in chosen else ():
        found = list(lines([case for case in known if case.kind == kind], draws))
        texts = (_programs(found), _said(found, kind), *FOOTNOTES[kind])
        show(figure_table(found, kind, cells), *map(paragraphs, texts), "")
    if 2 in chosen:
        found = list(lines([case for case in known if case.part == "2"], draws))
        show(printed_table(found, cells), *map(paragraphs, (_programs(found), *FOOTNOTES["2"])), "")
    if 5 in chosen:
        note("Figure 5")
        show(designs_table(designs(cells), cells), *map(paragraphs, FOOTNOTES["5"]), "")
    if cells != PAPER_CELLS:
        show(f"print: {PAPER_CELLS} cells, here {cells}")


if __name__ == "__main__":
    run_alone(adaptive, "python examples/adaptive/study.py")
