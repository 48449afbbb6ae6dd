"""Tables 4 to 11 of PVLDB 2021, run again: what mechanisms cost over the optimum, beside the printed ratios.

python examples/fitness-tables/study.py                  sizes up to 256 cells, about a minute
python examples/fitness-tables/study.py --largest 1024   all of them

The cost of a strategy is sensitivity² times the largest ratio of a query's variance to its target. Over the
optimum α of ``fitness_for_use`` that is the ratio which the tables print.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from printed import FOOTNOTES, MECHANISMS, PRINTED, TITLES, printed
from rich.table import Table
from workloads import RANDOM, workload

from mmopt import OptionError, Solution, Workload, solve
from mmopt.strategies import AnyStrategy, largest_ratio
from mmopt.testing.known_optima import starred
from mmopt.testing.script_commands import (
    bold,
    figure,
    gap,
    integers_in,
    note,
    paragraphs,
    rows_table,
    run_alone,
    show,
)
from mmopt.workloads.blocks.hierarchies import Hierarchy

POWERS = {"CA": 0.0, "wCA-I": 1.0, "wCA-II": 0.5}
"""The power of the target by which ``weighted_l2`` divides a query."""


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


def branching(n: int) -> int:
    """The branching of HM: least (b - 1) h³ - 2 (b + 1) h²/3 with h = ⌈log n / log b⌉ levels, two at least.

    The average error of a range under consistent estimates (Qardaji, Yang, Li: PVLDB 2013, section 3).
    """
    errors = {}
    for b in range(2, max(3, n)):
        h = next(h for h in range(1, n + 1) if b**h >= n)
        if h > 1 or n <= 2:
            errors[b] = (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3
    return min(errors, key=errors.__getitem__)


def hierarchical(w: Workload) -> float:
    """HM, the tree of ``branching`` over the cells in their order, its root asked as well."""
    return tree_cost(branching(w.n), w)


def tree_cost(b: int, w: Workload) -> float:
    """The ``cost`` of the tree of branching b over the cells, with no matrix of n × n.

    AᵀA is the identity and CᵀC of the few sums C above the cells, so q (AᵀA)⁻¹ qᵀ is |q|² less
    (C q)ᵀ (I + C Cᵀ)⁻¹ C q.
    """
    rows = Hierarchy(w.n, b).matrix()
    sums = rows[(rows != 0).sum(axis=1) > 1]
    products = w.queries @ sums.T
    core = np.eye(len(sums)) + sums @ sums.T
    ratio = largest_ratio(w.squared_norms() - (products * np.linalg.solve(core, products.T).T).sum(axis=1), w)
    assert ratio is not None and len(rows) == len(sums) + w.n
    return float(1 + sums.sum(axis=0).max()) * ratio


def costs(w: Workload, names: Sequence[str]) -> dict[str, float]:
    """The cost of each mechanism named; with equal targets CA and its weighted forms are solved once."""
    closed = {"IP": input_perturbation, "HM": hierarchical}
    is_equal = bool((w.targets == w.targets[0]).all())
    powers = {name: 0.0 if is_equal else POWERS[name] for name in names if name not in closed}
    solved: dict[float, Solution] = {
        power: solve(w, "weighted_l2", givens={"power": power}) for power in dict.fromkeys(powers.values())
    }
    return {
        name: closed[name](w) if name in closed else cost(solved[powers[name]].strategy, w) for name in names
    }


# -- the lines of the tables


@dataclass(frozen=True)
class Line:
    """One line of a table. ratios : per mechanism those of our draws. gap : the largest, of the optimum."""

    table: int
    size: int
    ratios: dict[str, tuple[float, ...]]
    gap: float


def label_of(table: int, size: int) -> str:
    """As the table names the line of a size."""
    return {4: "PL94", 9: "AGE", 10: f"t = {size}"}.get(table, f"d = {size}")


def sizes_of(table: int, largest: int) -> list[int]:
    """The sizes of a table of at most so many cells; OptionError for a table that there is not."""
    if table not in PRINTED:
        raise OptionError(f"there is no Table {table}, expected one of {', '.join(map(str, PRINTED))}")
    return [size for size in PRINTED[table] if (size**3 if table == 10 else size) <= largest]


def lines(tables: Sequence[int], largest: int, draws: int) -> Iterator[Line]:
    """Solve line by line, random ones for the seeds 0 to draws - 1."""
    if draws < 1:
        raise OptionError(f"a table needs at least one draw, found {draws}")
    for table, size in [(number, size) for number in tables for size in sizes_of(number, largest)]:
        note(f"Table {table}: {label_of(table, size)}")
        ratios: dict[str, tuple[float, ...]] = dict.fromkeys(MECHANISMS, ())
        gaps = []
        for seed in range(draws if table in RANDOM else 1):
            w = workload(table, size, seed)
            best = solve(w, "fitness_for_use")
            assert best.gap is not None
            gaps.append(best.gap)
            for name, value in costs(w, MECHANISMS).items():
                ratios[name] += (value / best.objective,)
        yield Line(table, size, ratios, max(gaps))


def table_of(number: int, found: Sequence[Line]) -> Table:
    """Four rows for each size: the median of our draws, their range, print, and the ratio."""
    title = f"Table {number}: {TITLES[number]} (gap {gap(max(line.gap for line in found))})"
    rows: list[tuple[object, ...]] = []
    for line in found:
        paper = printed(number, line.size)
        draws = [line.ratios[name] for name in MECHANISMS]
        medians = (f"{statistics.median(ratios):.2f}" for ratios in draws)
        rows.append((bold(label_of(number, line.size)), "here", *medians))
        if len(draws[0]) > 1:
            rows.append(("", "draws", *(f"{figure(min(r), 3)}-{figure(max(r), 3)}" for r in draws)))
        rows.append(("", "print", *(f"{paper[name]:.2f}" for name in MECHANISMS)))
        rows.append(("", "ratio", *(starred(line.ratios[name], paper[name]) for name in MECHANISMS)))
    return rows_table(("", "", *MECHANISMS), rows, MECHANISMS, title)


def fitness(
    tables: Annotated[
        str | None, typer.Option(metavar="4,5", help="Tables of the paper, 4 to 11. Default: all.")
    ] = None,
    largest: Annotated[
        int, typer.Option(min=2, metavar="CELLS", help="Leave larger sizes out; 1024 for the long run.")
    ] = 256,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Draws of each random workload, seeds 0 to N - 1.")
    ] = 5,
) -> None:
    """Tables 4 to 11 of fitness-for-use (PVLDB 2021): mechanisms over the optimum, beside print.

    Input perturbation (IP), hierarchies (HM), least total error (CA) and its weighted forms: the largest
    ratio of variance to target at the least privacy cost at which all targets can be met.
    """
    chosen = integers_in(tables, "--tables") or list(PRINTED)
    for number, found in itertools.groupby(lines(chosen, largest, draws), lambda line: line.table):
        show(table_of(number, list(found)), *map(paragraphs, FOOTNOTES.get(number, ())), "")
    show("ratio: the median of our draws over print; * print lies outside of them by more than 2 %")


if __name__ == "__main__":
    run_alone(fitness, "python examples/fitness-tables/study.py")
