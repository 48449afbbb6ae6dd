"""Workloads of the field, each solved here beside the error that other software reaches on it.

python examples/peers/peers.py                          all but the largest, some ten minutes
python examples/peers/peers.py --groups list            the groups
python examples/peers/peers.py --groups slides-large    half an hour
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table
from rows import FIGURES, Row, rows_named

from mmopt import Workload, solve
from mmopt.driver.templates import templates
from mmopt.strategies.baselines import evaluate
from mmopt.testing.script_commands import (
    TimeLimit,
    Tolerance,
    duration,
    figure,
    gap,
    names_in,
    note,
    options_for,
    rows_table,
    run_alone,
    show,
)


@dataclass(frozen=True)
class Reached:
    """value : the row's figure. bound : proved, of the same figure; None without one.

    cpu : seconds of building the workload and solving it. theirs : the figure of the best of the others.
    """

    value: float
    bound: float | None
    cpu: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Their figure over ours: above 1 where ours is better."""
        return self.theirs / self.value

    @property
    def gap(self) -> float | None:
        """The figure over its bound, less 1."""
        return None if self.bound is None else self.value / self.bound - 1.0


def reach(row: Row, **options: Any) -> Reached:
    """Solve a row, with ``mmopt.solve``'s options where a program does it; errors as there."""
    start = time.process_time()
    value, bound = solved(row, row.build(), options)
    return Reached(value, bound, time.process_time() - start, row.peers[row.best])


def solved(row: Row, workload: Workload, options: dict[str, Any]) -> tuple[float, float | None]:
    """The row's figure and its bound."""
    if row.program == "templates":
        search = templates(workload, 1)
        return search.best.rmse, per_query(search.bound, workload)
    solution = solve(workload, row.program, **options)
    if row.figure == "objective":
        return solution.objective, solution.bound
    return solution.rmse, None if solution.bound is None else per_query(solution.bound, workload)


def per_query(error: float, workload: Workload) -> float:
    """Root mean square of a total error where all weights are 1."""
    return float((error / workload.m) ** 0.5)


def computed(row: Row) -> dict[str, float]:
    """The row's peers that are baselines, computed here under Laplace noise: root mean square per query."""
    workload = row.build()
    return {peer: evaluate(name, workload, (1,)).costs[0].rmse for peer, name in row.baselines.items()}


def table_of(group: str, rows: Sequence[Row], **options: Any) -> Table:
    """The rows of a group, solved, beside the others."""
    numbers = ("ours", "gap", "CPU", "theirs", "theirs / ours")
    found = []
    for row in rows:
        note(f"{group}: {row.name}")
        ours = reach(row, **options)
        figures = figure(ours.value, 8), gap(ours.gap), duration(ours.cpu), figure(ours.theirs, 8)
        found.append((row.name, *figures, f"{ours.ratio:.4f}", whose(row)))
    return rows_table(("workload", *numbers, "whose"), found, numbers, f"{group} ({FIGURES[group]})")


def whose(row: Row) -> str:
    """The best of the others, and the next ones with their figures."""
    rest = sorted((value, name) for name, value in row.peers.items() if name != row.best)
    return "; ".join([row.best, *(f"{name} {figure(value, 4)}" for value, name in rest)])


def baselines_table(rows: Sequence[Row]) -> Table:
    """The baselines computed here, above the figures in the rows."""
    numbers = tuple(dict.fromkeys(name for row in rows for name in row.baselines))
    found = []
    for row in rows:
        note(f"baselines: {row.name}")
        for label, errors in ((row.name, computed(row)), ("  as above", row.peers)):
            found.append((label, *(figure(errors[name], 4) for name in numbers)))
    return rows_table(("workload", *numbers), found, numbers, "baselines, computed here")


def peers(
    groups: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Groups of rows, or 'list'. Default: all but 'slides-large'."),
    ] = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
) -> None:
    """Solve workloads of the field, each beside the error that other software reaches on it."""
    if groups == "list":
        show("\n".join(FIGURES))
        return
    options = options_for(tolerance=tolerance, time_limit=time_limit)
    chosen = rows_named(names_in(groups, "--groups") or None)
    for group, rows in itertools.groupby(chosen, lambda row: row.group):
        show(table_of(group, list(rows), **options), "")
    with_baselines = [row for row in chosen if row.baselines]
    if with_baselines:
        show(baselines_table(with_baselines), "")


if __name__ == "__main__":
    run_alone(peers, "python examples/peers/peers.py")
