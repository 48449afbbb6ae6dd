"""``python -m mmopt.testing.peers``."""

from __future__ import annotations

from typing import Annotated

import typer

from mmopt.cli.guard import guarded
from mmopt.cli.options import TimeLimit, Tolerance, names_in
from mmopt.cli.output import note, show

__all__ = ["main", "peers"]


def peers(
    groups: Annotated[
        str | None, typer.Option(metavar="A,B", help="Groups of rows, or 'list'. Default: all.")
    ] = None,
    tolerance: Tolerance = None,
    time_limit: TimeLimit = None,
) -> None:
    """Solve workloads of the field, each beside the error that other software reaches on it."""
    from mmopt.report.style import cell, duration, figure, gap, new_table
    from mmopt.testing.peers import ROWS, Reached, reach, rows_named

    if groups == "list":
        show("\n".join(dict.fromkeys(row.group for row in ROWS)))
        return
    limits = {"tolerance": tolerance, "time_limit": time_limit}
    options = {name: value for name, value in limits.items() if value is not None}
    found: list[Reached] = []
    for row in rows_named(names_in(groups, "--groups") or None):
        note(f"{row.group}: {row.name}")
        found.append(reach(row, **options))
    numbers = ("ours", "gap", "CPU", "theirs", "theirs / ours")
    table = new_table("workload", "ours", "gap", "CPU", "theirs", "theirs / ours", "whose", right=numbers)
    for r in found:
        table.add_row(
            cell(r.row.name),
            figure(r.value, 8),
            gap(r.gap),
            duration(r.cpu),
            figure(r.theirs, 8),
            f"{r.ratio:.4f}",
            cell(r.peer),
        )
    show(table)


def main() -> None:
    """Run it on ``sys.argv``."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(guarded(peers))
    app(prog_name="python -m mmopt.testing.peers")


if __name__ == "__main__":
    main()
