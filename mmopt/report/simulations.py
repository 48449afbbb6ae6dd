"""Simulated errors of several strategies as tables, one for each privacy."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from mmopt.mechanism.simulation import GroupErrors, Simulated
from mmopt.report.style import cell, figure, new_table

__all__ = ["NOT_PRIVATE", "simulated_table"]

NOT_PRIVATE = "SIMULATED ON THE DATA: these figures are not private and must not be published"
MOST_GROUPS = 12


def simulated_table(found: Sequence[tuple[str, Simulated]]) -> Table:
    """Strategies by name under one privacy: each group's errors, then those of all queries."""
    numbers = ("relative", "±", "expected", "rmse", "predicted")
    table = new_table("queries", *numbers, right=numbers, title=str(found[0][1].privacy))
    for name, own in found:
        table.add_row(cell(f"{name} ({own.noise})", "bold"), *[""] * len(numbers))
        groups = own.groups if len(own.groups) > 1 else ()
        for group in groups[:MOST_GROUPS]:
            table.add_row(*_row(group))
        if len(groups) > MOST_GROUPS:
            table.add_row(cell(f"  … {len(groups) - MOST_GROUPS:,} more", "dim"), *[""] * len(numbers))
        table.add_row(*_row(own.whole))
    return table


def _row(errors: GroupErrors) -> tuple[Text | str, ...]:
    values = (errors.relative, errors.spread, errors.expected, errors.rmse, errors.predicted)
    digits = (4, 1, 4, 4, 4)
    return cell(f"  {errors.name}"), *(figure(v, d) for v, d in zip(values, digits, strict=True))
