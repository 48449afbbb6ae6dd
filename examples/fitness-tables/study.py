"""Tables 4 to 11 of PVLDB 2021, run again: what mechanisms cost over the optimum, beside the printed ratios.

python examples/fitness-tables/study.py                  sizes up to 256 cells, about a minute
python examples/fitness-tables/study.py --largest 4096   all of them

The cost of a strategy is sensitivity² times the largest ratio of a query's variance to its target. The tables
print it over the α that SM-II reached; here it stands over the optimum α of ``fitness_for_use`` as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from printed import FOOTNOTES, MECHANISMS, PRINTED, TITLES, printed
from workloads import workload

from mmopt import OptionError, Workload, solve
from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import integers_in
from mmopt.cli.command_output import note, show
from mmopt.report.table_style import Table, bold, gap, paragraphs, rows_table
from mmopt.strategies import AnyStrategy, largest_ratio
from mmopt.testing.problem_registry import starred
from mmopt.workloads import Product
from mmopt.workloads.factors_and_products import identity

POWERS = {"CA": 0.0, "wCA-I": 1.0, "wCA-II": 0.5}
"""The power of the target by which ``regularised`` divides a query."""
THETA = 1e-3
"""By how much CA is regularised, relative to the mean of the diagonal of WᵀW."""


# -- what mechanisms cost when every target is to be met


def cost(strategy: AnyStrategy, w: Workload) -> float:
    """Privacy cost when the noise is scaled until every query meets its target."""
    ratio = largest_ratio(strategy.variances(w), w)
    assert ratio is not None
    return strategy.sensitivity**2 * ratio


def input_perturbation(w: Workload) -> float:
    """IP, independent noise on every cell: the largest squared length over its target."""
    ratio = largest_ratio(w.squared_norms(), w)
    assert ratio is not None
    return ratio


def hierarchical(w: Workload) -> float:
    """HM, three levels: the total, ⌊√n⌋ blocks of ⌊√n⌋ cells, the cells; what is left over is in no block.

    AᵀA is the identity and CᵀC of the few sums C above the cells, so q (AᵀA)⁻¹ qᵀ is |q|² less
    (C q)ᵀ (I + C Cᵀ)⁻¹ C q, with no matrix of n × n.
    """
    side = math.isqrt(w.n)
    sums = np.zeros((1 + side, w.n))
    sums[0] = 1.0
    sums[1:, : side**2] = np.kron(np.eye(side), np.ones(side))
    products = w.queries @ sums.T
    core = np.eye(1 + side) + sums @ sums.T
    ratio = largest_ratio(w.squared_norms() - (products * np.linalg.solve(core, products.T).T).sum(axis=1), w)
    assert ratio is not None
    return 3 * ratio


def regularised(w: Workload, power: float) -> Workload:
    """The workload whose total error CA and its weighted forms make least: every cell is a query too.

    Its Gram matrix is V + θ mean(diag V) I, V that of the queries over target^power. Products (Table 10) have
    equal targets.
    """
    squares = w.targets ** (-2 * power)
    of_a_cell = THETA * float(squares @ w.squared_norms()) / w.n
    if w.products is not None:
        cells = Product(tuple(identity(size) for size in w.domain.shape), weight=of_a_cell)
        return Workload.from_products(w.domain, [*w.products, cells])
    rows = np.vstack([w.queries, np.eye(w.n)])
    return Workload.from_matrix(rows, weights=np.append(squares, np.full(w.n, of_a_cell)))


def costs(w: Workload, names: Sequence[str]) -> dict[str, float]:
    """The cost of each mechanism named; with equal targets CA and its weighted forms are solved once."""
    closed = {"IP": input_perturbation, "HM": hierarchical}
    is_equal = bool((w.targets == w.targets[0]).all())
    powers = {name: 0.0 if is_equal else POWERS[name] for name in names if name not in closed}
    solved = {power: solve(regularised(w, power), "l2_strategy") for power in dict.fromkeys(powers.values())}
    return {
        name: closed[name](w) if name in closed else cost(solved[powers[name]].strategy, w) for name in names
    }


# -- the lines of the tables


@dataclass(frozen=True)
class Line:
    """One line of a table.

    ratios : cost over the optimum, per mechanism. gap, error : the optimum's gap and sum of variances.
    """

    table: int
    size: int
    ratios: dict[str, float]
    gap: float
    error: float

    @property
    def excess(self) -> float:
        """The α of print, which SM-II had reached, over the optimum: IP shows it, a closed form over α."""
        return self.ratios["IP"] / printed(self.table, self.size)["IP"]

    @property
    def at_print(self) -> dict[str, float]:
        """The ratios to the α of print."""
        return {name: ratio / self.excess for name, ratio in self.ratios.items()}


def label_of(table: int, size: int) -> str:
    """The name of the line of a size in the table."""
    return {4: "PL94", 9: "AGE", 10: f"t = {size}"}.get(table, f"d = {size}")


def sizes_of(table: int, largest: int) -> list[int]:
    """The sizes of a table of at most so many cells; OptionError for a table that there is not."""
    if table not in PRINTED:
        raise OptionError(f"there is no Table {table}, expected one of {', '.join(map(str, PRINTED))}")
    return [size for size in PRINTED[table] if (size**3 if table == 10 else size) <= largest]


def line_of(table: int, size: int) -> Line:
    """One line, solved again."""
    w = workload(table, size)
    best = solve(w, "fitness_for_use")
    assert best.gap is not None
    ratios = {name: value / best.objective for name, value in costs(w, MECHANISMS).items()}
    return Line(table, size, ratios, best.gap, best.error)


def lines(tables: Sequence[int], largest: int) -> Iterator[Line]:
    """Line by line, each said on stderr before it is solved."""
    for table, size in [(number, size) for number in tables for size in sizes_of(number, largest)]:
        note(f"Table {table}: {label_of(table, size)}")
        yield line_of(table, size)


def table_of(number: int, found: Sequence[Line]) -> Table:
    """Four rows for each size: at the optimum, at the α of print, print, and the ratio of the last two."""
    title = f"Table {number}: {TITLES[number]} (gap {gap(max(line.gap for line in found))})"
    rows: list[tuple[object, ...]] = []
    for line in found:
        paper = printed(number, line.size)
        kinds = (("optimum", line.ratios), (f"/ {line.excess:.3f}", line.at_print), ("print", paper))
        for kind, ratios in kinds:
            label = bold(label_of(number, line.size)) if kind == "optimum" else ""
            rows.append((label, kind, *(f"{ratios[name]:.2f}" for name in MECHANISMS)))
        rows.append(("", "ratio", *(starred([line.at_print[name]], paper[name]) for name in MECHANISMS)))
    return rows_table(("", "", *MECHANISMS), rows, MECHANISMS, title)


def fitness(
    tables: Annotated[
        str | None, typer.Option(metavar="4,5", help="Tables of the paper, 4 to 11. Default: all.")
    ] = None,
    largest: Annotated[
        int, typer.Option(min=2, metavar="CELLS", help="Leave larger sizes out; 4096 for all.")
    ] = 256,
) -> None:
    """Tables 4 to 11 of fitness-for-use (PVLDB 2021): mechanisms over the optimum, beside print.

    Input perturbation (IP), a tree (HM), least total error (CA) and its weighted forms: the largest ratio of
    variance to target at the least privacy cost at which all targets can be met, and at that of print.
    """
    chosen = integers_in(tables, "--tables") or list(PRINTED)
    for number, found in itertools.groupby(lines(chosen, largest), lambda line: line.table):
        show(table_of(number, list(found)), *map(paragraphs, FOOTNOTES.get(number, ())), "")
    show(
        "optimum: over the least privacy cost; / 1.01: over SM-II's, which column IP shows;",
        "ratio: the latter over print; * they differ by more than 2 %",
    )


if __name__ == "__main__":
    run_alone(fitness, "python examples/fitness-tables/study.py")
