"""The catalogue of baselines, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite

from rich.table import Table

from mmopt.report.style import cell, figure, new_table, pairs_table
from mmopt.strategies.baselines import Baseline, Evaluated

__all__ = ["baseline_costs", "baselines_table"]

COUNTED = 10**9  # rows up to which all digits are shown
LONGEST = 200  # characters of what was chosen


def baselines_table(rows: Iterable[Baseline]) -> Table:
    """A row per baseline: name with its parameters, what it is, the source."""
    table = new_table("baseline", "", "source")
    for row in rows:
        words = "\n".join([row.name, *(f"  {parameter}" for parameter in row.parameters)])
        table.add_row(cell(words, "bold"), cell(row.title), cell(row.source))
    return table


def baseline_costs(found: Sequence[Evaluated]) -> list[object]:
    """A table for each noise; then what was chosen for the workload, and why some do not apply."""
    parts: list[object] = []
    numbers = ("rows", "sensitivity", "total error", "rmse")
    for norm, noise in ((1, "Laplace"), (2, "Gaussian")):
        title = f"{noise} noise (for unit noise per unit of sensitivity)"
        table = new_table("baseline", *numbers, right=numbers, title=title)
        for one in found:
            for cost in one.costs:
                if cost.norm == norm:
                    is_known = isfinite(cost.error)
                    table.add_row(
                        cell(one.name, "bold"),
                        f"{cost.rows:,}" if cost.rows <= COUNTED else figure(float(cost.rows), 3),
                        figure(cost.sensitivity, up=True),
                        figure(cost.error if is_known else None, up=True),
                        figure(cost.rmse if is_known else None, up=True),
                    )
        if table.row_count:
            parts += [table, ""]
    notes = [(one.name, _note(one)) for one in found if _note(one)]
    return [*parts, pairs_table(notes)] if notes else parts[:-1]


def _note(one: Evaluated) -> str:
    if one.reason is not None:
        return f"does not apply: {one.reason}"
    lacking = any(not isfinite(cost.error) for cost in one.costs)
    text = f"{one.detail}{'; ' if one.detail else ''}does not tell the answers" if lacking else one.detail
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"
