"""The table of a measurement, for the screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table

from mmopt.report.style import cell, figure, gap, new_table
from mmopt.testing.bench.fit import Exponent
from mmopt.testing.bench.measure import Row

__all__ = ["bench_report"]

NUMBERS = ("CPU s", "wall s", "iter.", "MB", "n² doubles", "gap", "ratio")


def bench_report(rows: Sequence[Row], found: Sequence[Exponent], baseline: str) -> Group:
    """A table for each program and problem, the fitted exponents, what was not solved and why, a legend."""
    parts: list[object] = []
    for group in dict.fromkeys((row.program, row.problem) for row in rows):
        parts += [_table(group, [row for row in rows if (row.program, row.problem) == group]), ""]
    parts += _exponents(found)
    parts += _left_out(rows)
    parts += _legend(rows, baseline)
    return Group(*(cell(part) if isinstance(part, str) else part for part in parts))  # type: ignore[arg-type]


def _table(group: tuple[str, str], rows: Sequence[Row]) -> Table:
    table = new_table("n", "solver", *NUMBERS, right=("n", *NUMBERS), title=f"{group[0]} on {group[1]}")
    table.columns[1].no_wrap = True
    ordered = sorted(rows, key=lambda row: row.n)
    last = None
    for row in ordered:
        shown = "" if row.n == last else f"{row.n:,}"
        last = row.n
        name = row.solver if row.chosen in ("", row.solver) else f"{row.solver} ({row.chosen})"
        if row.objective is None:
            table.add_row(shown, cell(name), *["-"] * len(NUMBERS))
            continue
        table.add_row(
            shown,
            cell(name),
            figure(row.cpu, 3),
            figure(row.wall, 3),
            str(row.iterations),
            "-" if row.memory is None else f"{row.memory / 1e6:.0f}",
            "-" if row.squares is None else f"{row.squares:,.1f}",
            gap(row.gap),
            "-" if row.ratio is None else f"{row.ratio:.3g}",
        )
    return table


def _exponents(found: Sequence[Exponent]) -> list[str]:
    lines = [
        f"  {e.program} on {e.problem}, {e.solver}: CPU ~ n^{e.cpu:.2f}"
        + ("" if e.memory is None else f", memory ~ n^{e.memory:.2f}")
        + f" (n = {e.low:,} to {e.high:,}, {e.count} sizes)"
        for e in found
    ]
    return ["Fitted exponents:", *lines, ""] if lines else []


def _left_out(rows: Sequence[Row]) -> list[str]:
    """A line for each reason, with the sizes that have it."""
    sizes: dict[str, list[str]] = {}
    for row in rows:
        if not row.has_reached:
            said = row.reason if row.gap is None else f"{row.stop}, at gap {gap(row.gap)}"
            sizes.setdefault(f"{row.program} on {row.problem}, {row.solver}: {said}", []).append(f"{row.n:,}")
    lines = [f"  {said} (n = {', '.join(where)})" for said, where in sizes.items()]
    return ["Neither fitted nor compared:", *lines, ""] if lines else []


def _legend(rows: Sequence[Row], baseline: str) -> list[str]:
    repeats = max((row.repeats for row in rows), default=0)
    return [
        f"Medians of {repeats} solves, each in a fresh process; compiling and certifying included.",
        "MB, n² doubles: the most that the process held above what it held at its start.",
        "gap: objective / bound - 1, recomputed from the program file.",
        f"ratio: CPU seconds of {baseline} over these, measured in this run.",
    ]
