"""How accurate answers will be, and what they cost, before any data: by group of queries, and by query."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from mmopt.mechanism import Plan
from mmopt.mechanism.accuracy import BEYOND
from mmopt.mechanism.accuracy_columns import accuracy_figures
from mmopt.numerics.arrays import Array
from mmopt.report.table_style import bold, cell, counted, figure, percent, rows_table
from mmopt.workloads.query_product import wishes

__all__ = [
    "accuracy_by_group",
    "accuracy_by_query",
    "shares_by_group",
    "shares_by_query",
    "unmet_words",
    "wish_words",
]

EXACT = 1 - 2 * BEYOND  # takes off what half widths have beyond what is computed: 15, not 15.01
QUERIES_SHOWN = 10  # of a group
SHARES_SHOWN = 10  # of the queries that a budget is spent on


def accuracy_by_group(plan: Plan, confidence: float) -> Table:
    """Standard errors of each group, its largest half width, what was asked for and whether that is held."""
    errors = accuracy_figures(plan, confidence)
    numbers = ["queries", "least", "rms", "largest", f"± {percent(confidence)}"]
    words = wish_words(plan)
    rows: list[list[object]] = []
    for (name, part), asked in zip(plan.workload.groups(), words, strict=True):
        each = plan.standard_errors[part]
        widest = errors["half_width"][part].max() * EXACT
        values = (each.min(), np.sqrt(np.mean(each**2)), each.max(), widest)
        row: list[object] = [bold(name), f"{len(each):,}", *(figure(float(v), 4, up=True) for v in values)]
        if any(words):
            missed = int((errors["meets"][part] == 0).sum())
            row += [asked, "" if not asked else f"{missed} missed" if missed else "yes"]
        rows.append(row)
    said = ["asked", "held"] if any(words) else []
    return rows_table(["standard error of", *numbers, *said], rows, numbers, whole=said)


def unmet_words(plan: Plan) -> str:
    """How many of the queries with a wish miss it; nothing where none does."""
    if not np.isfinite(plan.workload.targets).any():
        return ""
    meets = accuracy_figures(plan, 0.95)["meets"]  # whatever the confidence of what is shown
    missed, asked = int((meets == 0).sum()), int(np.isfinite(meets).sum())
    return f"{missed:,} of the {counted(asked, 'query')} with a wish" if missed else ""


def wish_words(plan: Plan) -> list[str]:
    """What was asked for of each group of queries; nothing where it was not."""
    asked = {rows.start: wish for rows, wish in wishes(plan.workload.blocks)}
    targets = np.asarray(plan.workload.targets)
    words = []
    for _, rows in plan.workload.groups():
        wish, limits = asked.get(rows.start), targets[rows][np.isfinite(targets[rows])]
        said = [] if wish is None else [f"± {wish.half_width:g} at {percent(wish.confidence)}"]
        if limits.size and (wish is None or limits.min() < wish.variance):
            least, most = float(limits.min()), float(limits.max())
            said.append(f"variance {least:g}" if least == most else f"variance {least:g} to {most:g}")
        words.append(", ".join(said))
    return words


def accuracy_by_query(plan: Plan, confidence: float) -> Table:
    """The first queries of each group: standard error and half width of the interval."""
    widths = plan.intervals(confidence).widths
    rows: list[Sequence[object]] = []
    for block, (name, part) in zip(plan.workload.blocks, plan.workload.groups(), strict=True):
        rows.append((bold(name),))
        for i, label in enumerate(block.labels(plan.workload.domain, QUERIES_SHOWN), part.start):
            values = (plan.standard_errors[i], widths[i] * EXACT)
            rows.append((f"  {label}", *(figure(value, 4, up=True) for value in values)))
        if (rest := part.stop - part.start - QUERIES_SHOWN) > 0:
            rows.append((cell(f"  … {rest:,} more", "dim"),))
    numbers = ("standard error", f"± {percent(confidence)}")
    return rows_table(("query", *numbers), rows, numbers)


def shares_by_group(plan: Plan, shares: Array, savings: Array) -> Table:
    """What each group asks for, its share of the cost, and what relaxing all of it would save."""
    groups = zip(plan.workload.groups(), wish_words(plan), savings, strict=True)
    rows = [
        (bold(name), f"{part.stop - part.start:,}", asked, _part(shares[part].sum()), _at_most(saved))
        for (name, part), asked, saved in groups
    ]
    numbers = ("queries", "share of cost", "10 % wider saves")
    return rows_table(("group", "queries", "asked", *numbers[1:]), rows, numbers)


def shares_by_query(plan: Plan, shares: Array, savings: Array) -> Table:
    """The queries with the largest shares of the cost."""
    order = np.argsort(-shares, kind="stable")[:SHARES_SHOWN]
    labels = plan.workload.labels()
    rows = [(labels[i], _part(shares[i]), _at_most(savings[i])) for i in order if shares[i] > 0]
    numbers = ("share of cost", "10 % wider saves")
    return rows_table(("query that binds", *numbers), rows, numbers)


def _part(part: float) -> str:
    return f"{100 * part:.1f} %"


def _at_most(part: float) -> str:
    """Rounded up, to a tenth of a per cent."""
    return f"≤ {math.ceil(1000 * part) / 10:.1f} %"
