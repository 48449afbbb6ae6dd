"""A planned release and its answers as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
from rich.table import Table

from mmopt.mechanism import Answers, Plan
from mmopt.numerics.outward import rounded
from mmopt.report.style import cell, counted, figure, new_table

__all__ = ["answers_table", "predicted_table", "privacy_rows"]


def privacy_rows(plan: Plan) -> list[tuple[str, str]]:
    """What a release costs, under which theorem, and its noise, as (name, text)."""
    if plan.rho is None:
        cost = f"epsilon = {rounded(str(plan.epsilon), 6, up=True)}, pure (delta = 0)"
    else:
        cost = f"rho = {rounded(str(plan.rho), 6, up=True)}"
        if plan.epsilon is not None:
            cost += f", epsilon = {rounded(str(plan.epsilon), 6, up=True)} at delta = {plan.delta!r}"
    limit = "set by the targets (max_variance)"
    if plan.privacy is not None:
        limit = f"{plan.privacy}"
        limit += "; less is used, as the targets ask" if plan.absolute else ""
    change = {"add-remove": "one row added or removed", "replace-one": "one row replaced"}
    said = (("not covered", plan.not_covered), ("warning", plan.warning))
    return [
        ("privacy cost", cost),
        ("allowed", limit),
        ("neighbours", f"{plan.neighbours}: tables that differ by {change[plan.neighbours]}"),
        ("sensitivity", plan.sensitivity_of),
        *((name, text) for name, text in said if text),
        ("theorem", plan.theorem),
        ("noise", f"{plan.kind} of scale {plan.noise:.6g} on the strategy's queries"),
        ("rmse", f"{rounded(plan.rmse, 6, up=True)} predicted, per query"),
    ]


def predicted_table(plan: Plan) -> Table:
    """The predicted standard errors of each group of queries, in counts."""
    numbers = ("queries", "least", "root mean square", "largest")
    table = new_table("standard error of", *numbers, right=numbers)
    for name, rows in plan.workload.groups():
        errors = plan.standard_errors[rows]
        values = (errors.min(), np.sqrt(np.mean(errors**2)), errors.max())
        table.add_row(cell(name), f"{len(errors):,}", *(figure(float(v), 4, up=True) for v in values))
    return table


def answers_table(
    answers: Answers, groups: Sequence[tuple[str, slice]], first: int = 3, most_groups: int = 12
) -> Table:
    """The first few answers of each group, with standard error and interval.

    ``groups`` are those of the workload: names and rows.
    """
    # As it was asked for: 100 times 0.999999999999 to six digits would be 100.
    interval = f"{(100 * Decimal(repr(float(answers.confidence)))).normalize():f}% interval"
    table = new_table("query", "answer", "± error", interval, right=("answer", "± error", interval))
    for name, rows in groups[:most_groups]:
        table.add_row(cell(name, "bold"), "", "", "")
        for i in range(rows.start, min(rows.stop, rows.start + first)):
            error = float(answers.standard_errors[i])
            places = _places(error)
            low = _outwards(answers.low[i], places, ROUND_FLOOR)
            high = _outwards(answers.high[i], places, ROUND_CEILING)
            table.add_row(
                cell(f"  {answers.labels[i]}"),
                f"{float(answers.estimates[i]):,.{places}f}",
                f"{error:.3g}" if 0 < error < 1e-6 else f"{error:,.{places}f}",
                f"[{low}, {high}]",
            )
        if rows.stop - rows.start > first:
            table.add_row(cell(f"  … {rows.stop - rows.start - first:,} more", "dim"), "", "", "")
    if len(groups) > most_groups:
        table.add_row(cell(f"… {counted(len(groups) - most_groups, 'group')} more", "dim"), "", "", "")
    return table


def _outwards(end: float, places: int, rounding: str) -> str:
    """An end of an interval, to so many decimals."""
    unit = Decimal(1).scaleb(-places)
    return f"{Decimal(repr(float(end))).quantize(unit, rounding, Context(prec=400)):z,f}"


def _places(error: float) -> int:
    """Decimals that show three digits of a standard error, at most six."""
    if not error > 0:
        return 0
    # Rounded first: 9.9999 is shown as 10.0, not as 10.00.
    return max(0, min(6, 2 - math.floor(math.log10(float(f"{error:.3g}")))))
