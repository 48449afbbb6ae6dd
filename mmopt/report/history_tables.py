"""The history of a solution: iterations of its solver, or rounds of a search; as a table and as a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table

from mmopt.report.table_style import figure, gap, rows_table
from mmopt.results import Frame, Solution, gap_between

__all__ = ["ROWS_SHOWN", "history_frame", "history_table"]

ROWS_SHOWN = 20  # of a history
ORDER = ("part", "run", "iteration", "seconds", "objective", "bound", "gap")
# In a table, which has less room than a file
HEADS = {"iteration": "iter", "seconds": "sec", "primal residual": "primal", "dual residual": "dual"}

Row = Mapping[str, float | bool]


def history_table(solution: Solution) -> Table:
    """The history of a solution, at most ``ROWS_SHOWN`` rows of it.

    Of rounds the best and the last row of each start are kept, then the best of the others; of iterations the
    certified ones, the first and the last, and others evenly spaced. All are in their order.
    """
    history = solution.history
    up = solution.sense == "minimize"
    if any("certified" in row for row in history):
        return _iterations(solution, up)
    kept = _kept(history, 1.0 if up else -1.0)
    columns = list(dict.fromkeys(name for row in history for name in row))
    rows = ([_text(name, history[i].get(name), up) for name in columns] for i in kept)
    return rows_table(columns, rows, columns, f"Rounds{_part(kept, history)}")


def history_frame(solution: Solution) -> Frame:
    """Every row of the history, and of those of its steps, in columns (rows,); what a row lacks is NaN.

    step : the name of the step of a procedure, or of the factor of a product. certified : whether objective
    and bound are those of a repaired point, by the program file; else they are the solver's own count, not
    checked. gap : what follows from the two, where it is finite.
    """
    named = list(_with_steps(solution, ""))
    columns: dict[str, Any] = {}
    if solution.steps:
        columns["step"] = np.array([step for step, _ in named], dtype=object)
    for name in _columns(row for _, row in named):
        columns[name] = np.array([row.get(name, math.nan) for _, row in named], dtype=float)
    certified = [row.get("certified", "objective" in row) for _, row in named]
    return Frame({**columns, "certified": np.array(certified, dtype=bool)})


def _columns(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The names in rows, but ``certified``: those of iterations in their order, before any other."""
    known = dict.fromkeys(name for row in rows for name in row if name != "certified")
    return [*(name for name in ORDER if name in known), *(name for name in known if name not in ORDER)]


def _with_steps(solution: Solution, step: str) -> Iterator[tuple[str, dict[str, float | bool]]]:
    for row in solution.history:
        known = _gap(row, solution.sense)
        yield step, {**row, **({} if known is None else {"gap": known})}
    for name, inner in solution.steps.items():
        yield from _with_steps(inner, f"{step}/{name}" if step else name)


def _gap(row: Row, sense: str) -> float | None:
    """Of a row; None where there is none that is finite."""
    found = gap_between(row["objective"], row.get("bound"), sense) if "objective" in row else None
    return None if found is None or not math.isfinite(found) else found


def _iterations(solution: Solution, up: bool) -> Table:
    history = solution.history
    kept = _spread(history)
    shown = [{**history[i], "gap": _gap(history[i], solution.sense)} for i in kept]
    columns = [name for name in _columns(shown) if any(row.get(name) is not None for row in shown)]
    if "part" in columns or len({row.get("run") for row in shown}) == 1:  # there is no room for both
        columns = [name for name in columns if name != "run"]
    rows = (
        [
            *(_text(name, row.get(name), up if row["certified"] else None) for name in columns),
            "certified" if row["certified"] else "own count",
        ]
        for row in shown
    )
    heads = [HEADS.get(name, name) for name in columns]
    title = f"Iterations{_part(kept, history)}: the solver's own count where not certified"
    return rows_table([*heads, "by"], rows, heads, title, whole=("by",))


def _spread(history: Sequence[Row]) -> list[int]:
    """The places of the iterations to show, ascending."""
    certified = [i for i, row in enumerate(history) if row.get("certified")][-ROWS_SHOWN:]
    own = [i for i, row in enumerate(history) if not row.get("certified")]
    count = min(len(own), ROWS_SHOWN - len(certified))
    chosen = np.linspace(0, len(own) - 1, count).round().astype(int)
    return sorted([*certified, *(own[place] for place in chosen)])


def _part(kept: Sequence[int], history: Sequence[Row]) -> str:
    return "" if len(kept) == len(history) else f", {len(kept)} of {len(history)}"


def _kept(history: Sequence[Row], sign: float) -> list[int]:
    """The places of the rounds to show, ascending."""

    def worth(i: int) -> float:
        return sign * history[i].get("objective", sign * math.inf)

    starts: dict[float, list[int]] = {}
    for i, row in enumerate(history):
        starts.setdefault(row.get("start", 0), []).append(i)
    best = [min(places, key=worth) for places in starts.values()]
    last = [places[-1] for places in starts.values()]
    order = [*sorted(best, key=worth), *sorted(last, key=worth), *sorted(range(len(history)), key=worth)]
    return sorted(list(dict.fromkeys(order))[:ROWS_SHOWN])


def _text(name: str, value: float | None, up: bool | None) -> str:
    """``up``: whether an objective is rounded up, and a bound down; None for plain numbers."""
    if name in ("gap", "residual", "primal residual", "dual residual"):
        return gap(value)
    if name == "seconds":
        return figure(value, 3)
    if name == "bound" and up is not None:
        return figure(value, up=not up)
    return figure(value, up=up if name == "objective" else None)
