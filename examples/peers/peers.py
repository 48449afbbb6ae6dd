"""Workloads of the field, each solved here beside the error that other software reaches on it.

python examples/peers/peers.py                          all but the largest, some ten minutes
python examples/peers/peers.py --few                    small ones, half a minute
python examples/peers/peers.py --groups list            the groups
python examples/peers/peers.py --groups slides-large    half an hour
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from reached import reach_alone
from rows import FIGURES, Row, rows_named

from mmopt.cli.app import run_alone
from mmopt.cli.command_inputs import names_in
from mmopt.cli.command_options import TimeLimit, Tolerance
from mmopt.cli.command_output import note, show
from mmopt.cli.solve_and_plan import options_for
from mmopt.report.table_style import Table, duration, figure, gap, rows_table
from mmopt.strategies.baselines import evaluate


def computed(row: Row) -> dict[str, float]:
    """The row's peers that are baselines, computed here under Laplace noise: root mean square per query."""
    workload = row.build()
    return {peer: evaluate(name, workload, (1,)).costs[0].rmse for peer, name in row.baselines.items()}


def table_of(group: str, rows: Sequence[Row], **options: Any) -> Table:
    """The rows of a group, solved, beside the others."""
    numbers = ("ours", "gap", "CPU", "peak", "theirs", "/ ours")
    found = []
    for row in rows:
        note(f"{group}: {row.name}")
        ours = reach_alone(row, **options)
        figures = (
            figure(ours.value, 8),
            gap(ours.gap),
            duration(ours.cpu),
            "-" if ours.memory is None else f"{ours.memory / 1e6:.0f} MB",
            "-" if ours.theirs is None else figure(ours.theirs, 8),
            "-" if ours.ratio is None else f"{ours.ratio:.4f}",
        )
        found.append((row.name, *figures, whose(row)))
    return rows_table(("workload", *numbers, "whose"), found, numbers, f"{group} ({FIGURES[group]})")


def whose(row: Row) -> str:
    """The best of the others with its CPU seconds where known, and the next ones with their figures."""
    rest = sorted((value, name) for name, value in row.peers.items() if name != row.best)
    best = f"{row.best}, {row.seconds[row.best]:g} s" if row.best in row.seconds else row.best
    return "; ".join([best, *(f"{name} {figure(value, 4)}" for value, name in rest)])


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
    few: Annotated[bool, typer.Option("--few", help="Rows of less than a second alone.")] = False,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
) -> None:
    """Solve workloads of the field, each beside the error that other software reaches on it."""
    if groups == "list":
        show("\n".join(FIGURES))
        return
    options = options_for(tolerance=tolerance, time_limit=time_limit)
    chosen = rows_named(names_in(groups, "--groups") or None, few)
    for group, rows in itertools.groupby(chosen, lambda row: row.group):
        show(table_of(group, list(rows), **options), "")
    with_baselines = [row for row in chosen if row.baselines]
    if with_baselines:
        show(baselines_table(with_baselines), "")


if __name__ == "__main__":
    run_alone(peers, "python examples/peers/peers.py")
