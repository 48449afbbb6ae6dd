"""The rounds of a search as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.table import Table

from mmopt.report.style import figure, gap, new_table
from mmopt.results import Solution

__all__ = ["ROWS", "history_table"]

ROWS = 20
Row = Mapping[str, float]


def history_table(solution: Solution) -> Table:
    """The history of a solution (classes rank and smooth), at most ``ROWS`` rows of it.

    Kept are the best and the last row of each start, then the best of the others, in their order.
    """
    history = solution.history
    up = solution.sense == "minimize"
    kept = _kept(history, 1.0 if up else -1.0)
    columns = list(dict.fromkeys(name for row in history for name in row))
    shown = "" if len(kept) == len(history) else f", {len(kept)} of {len(history)}"
    table = new_table(*columns, right=columns, title=f"Rounds{shown}")
    for i in kept:
        table.add_row(*(_text(name, history[i].get(name), up) for name in columns))
    return table


def _kept(history: Sequence[Row], sign: float) -> list[int]:
    """The places of the rows to show, ascending."""

    def worth(i: int) -> float:
        return sign * history[i].get("objective", sign * math.inf)

    starts: dict[float, list[int]] = {}
    for i, row in enumerate(history):
        starts.setdefault(row.get("start", 0), []).append(i)
    best = [min(places, key=worth) for places in starts.values()]
    last = [places[-1] for places in starts.values()]
    order = [*sorted(best, key=worth), *sorted(last, key=worth), *sorted(range(len(history)), key=worth)]
    return sorted(list(dict.fromkeys(order))[:ROWS])


def _text(name: str, value: float | None, up: bool) -> str:
    if name == "residual":
        return gap(value)
    return figure(value, up=up if name == "objective" else None)
