"""How accurate answers will be, and what they cost, before any data: by group of queries, and by query."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from mmopt.mechanism import Plan
from mmopt.mechanism.accuracy_columns import accuracy_columns
from mmopt.numerics.arrays import Array
from mmopt.report.table_style import bold, cell, figure, rows_table
from mmopt.workloads.query_product import wishes

__all__ = ["accuracy_by_group", "accuracy_by_query", "shares_by_group", "shares_by_query", "wish_words"]

QUERIES_SHOWN = 10  # of a group
SHARES_SHOWN = 10  # of the queries that a budget is spent on


def percent(confidence: float) -> str:
    """A confidence as 95%, in full."""
    return f"{100 * confidence:.10g}%"


def accuracy_by_group(plan: Plan, confidence: float) -> Table:
    """Standard errors of each group, its largest half width, what was asked for and whether that is held."""
    columns = accuracy_columns(plan, confidence)
    widths = np.array(columns["half_width"])
    is_asked = any(meets is not None for meets in columns["meets"])
    numbers = ["queries", "least", "rms", "largest", f"± {percent(confidence)}"]
    rows = []
    for number, (name, part) in enumerate(plan.workload.groups()):
        errors = plan.standard_errors[part]
        values = (errors.min(), np.sqrt(np.mean(errors**2)), errors.max(), widths[part].max())
        row = [bold(name), f"{len(errors):,}", *(figure(float(v), 4, up=True) for v in values)]
        rows.append(row + [cell(text) for text in _asked(plan, number, columns["meets"][part])] * is_asked)
    asked = ["asked", "held"] if is_asked else []
    return rows_table(["standard error of", *numbers, *asked], rows, numbers, whole=asked)


def wish_words(plan: Plan, number: int) -> str:
    """What was asked for of a group of queries, by its number."""
    rows = plan.workload.groups()[number][1]
    wish = next((wish for part, wish in wishes(plan.workload.blocks) if part == rows), None)
    words = [] if wish is None else [f"± {wish.half_width:g} at {percent(wish.confidence)}"]
    targets = np.asarray(plan.workload.targets)[rows]
    targets = targets[np.isfinite(targets)]
    least, most = float(targets.min(initial=math.inf)), float(targets.max(initial=0.0))
    if len(targets) and (wish is None or least < wish.variance):
        words.append(f"variance {least:g}" if least == most else f"variance {least:g} to {most:g}")
    return ", ".join(words)


def _asked(plan: Plan, number: int, meets: Sequence[bool | None]) -> list[str]:
    held = [met for met in meets if met is not None]
    missed = held.count(False)
    return [wish_words(plan, number), "" if not held else f"{missed} missed" if missed else "yes"]


def accuracy_by_query(plan: Plan, confidence: float) -> Table:
    """The first queries of each group: standard error and half width of the interval."""
    columns = accuracy_columns(plan, confidence)
    rows: list[Sequence[object]] = []
    for name, part in plan.workload.groups():
        rows.append((bold(name),))
        for i in range(part.start, min(part.stop, part.start + QUERIES_SHOWN)):
            values = (columns["standard_error"][i], columns["half_width"][i])
            rows.append((f"  {columns['query'][i]}", *(figure(value, 4, up=True) for value in values)))
        if (rest := part.stop - part.start - QUERIES_SHOWN) > 0:
            rows.append((cell(f"  … {rest:,} more", "dim"),))
    numbers = ("standard error", f"± {percent(confidence)}")
    return rows_table(("query", *numbers), rows, numbers)


def shares_by_group(plan: Plan, shares: Array, savings: Array) -> Table:
    """What each group asks for, its share of the cost, and what relaxing all of it would save."""
    rows = [
        (
            bold(name),
            f"{part.stop - part.start:,}",
            wish_words(plan, number),
            _part(shares[part].sum()),
            f"≤ {_part(saved)}",
        )
        for number, ((name, part), saved) in enumerate(zip(plan.workload.groups(), savings, strict=True))
    ]
    numbers = ("queries", "share of cost", "10 % wider saves")
    return rows_table(("group", "queries", "asked", *numbers[1:]), rows, numbers)


def shares_by_query(plan: Plan, shares: Array, savings: Array) -> Table:
    """The queries with the largest shares of the cost."""
    order = np.argsort(-shares, kind="stable")[:SHARES_SHOWN]
    labels = plan.workload.labels()
    rows = [(labels[i], _part(shares[i]), f"≤ {_part(savings[i])}") for i in order if shares[i] > 0]
    numbers = ("share of cost", "10 % wider saves")
    return rows_table(("query that binds", *numbers), rows, numbers)


def _part(part: float) -> str:
    return f"{100 * part:.1f} %"
