"""``python -m mmopt.testing.peers``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Table

from mmopt.cli.guard import run_alone
from mmopt.cli.options import TimeLimit, Tolerance, names_in
from mmopt.cli.output import note, show
from mmopt.report.style import cell, duration, figure, gap, new_table
from mmopt.testing.peers import FIGURES, ROWS, Row, computed, reach, rows_named

__all__ = ["main", "peers"]


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
        show("\n".join(dict.fromkeys(row.group for row in ROWS)))
        return
    limits = {"tolerance": tolerance, "time_limit": time_limit}
    options = {name: value for name, value in limits.items() if value is not None}
    numbers = ("ours", "gap", "CPU", "theirs", "theirs / ours")
    chosen = rows_named(names_in(groups, "--groups") or None)
    for group, rows in itertools.groupby(chosen, lambda row: row.group):
        table = new_table("workload", *numbers, "whose", right=numbers, title=f"{group} ({FIGURES[group]})")
        for row in rows:
            note(f"{group}: {row.name}")
            found = reach(row, **options)
            table.add_row(
                cell(row.name),
                figure(found.value, 8),
                gap(found.gap),
                duration(found.cpu),
                figure(found.theirs, 8),
                f"{found.ratio:.4f}",
                cell(_whose(row.peers, found.peer)),
            )
        show(table, "")
    with_baselines = [row for row in chosen if row.baselines]
    if with_baselines:
        show(_baselines(with_baselines), "")


def _baselines(rows: Sequence[Row]) -> Table:
    """The baselines computed here, above the figures in the rows."""
    numbers = tuple(dict.fromkeys(name for row in rows for name in row.baselines))
    table = new_table("workload", *numbers, right=numbers, title="baselines, computed here")
    for row in rows:
        note(f"baselines: {row.name}")
        found = computed(row)
        table.add_row(cell(row.name), *(figure(found[name], 4) for name in numbers))
        table.add_row(cell("  as above"), *(figure(row.peers[name], 4) for name in numbers))
    return table


def _whose(peers: Mapping[str, float], best: str) -> str:
    """The best of the others, and the next ones with their figures."""
    rest = sorted((value, name) for name, value in peers.items() if name != best)
    return "; ".join([best, *(f"{name} {figure(value, 4)}" for value, name in rest)])


def main() -> None:
    """Run it on ``sys.argv``."""
    run_alone(peers, "python -m mmopt.testing.peers")


if __name__ == "__main__":
    main()
