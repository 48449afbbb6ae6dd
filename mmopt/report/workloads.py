"""A workload file as tables: what the cells are, what is asked."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from mmopt.report.style import cell, figure, new_table, shortened
from mmopt.workloads import Bins, Categories, Domain, Workload

__all__ = ["NORMALISED", "domain_table", "queries_table"]

NORMALISED = "rows: each query's weight is divided by its squared length (for relative error)"

# Labels are made for examples only; a larger workload is described without them.
MOST_LABELS = 200_000
MOST_GROUPS = 50


def domain_table(domain: Domain) -> Table:
    """Each attribute: the column that it reads, its cells in order, where other values go."""
    table = new_table(
        "attribute", "column", "cells", "form", "first cells", "outside, missing", right=("cells",)
    )
    for a in domain.attributes:
        form = {Bins: "bins", Categories: "categories"}.get(type(a.encoding), "values")
        rules = ", ".join(dict.fromkeys(rule or "refuse" for rule in (a.outside, a.missing)))
        table.add_row(
            cell(a.name, "bold"),
            cell(a.column),
            f"{a.size:,}",
            cell(form),
            cell(shortened(a.labels)),
            cell(rules),
        )
    return table


def queries_table(workload: Workload) -> Table:
    """Each group of queries, up to ``MOST_GROUPS``: how many, weight and target, first queries."""
    table = new_table("queries", "count", "weight", "max_variance", "first", right=("count", "weight"))
    labels = workload.labels() if workload.m <= MOST_LABELS else None
    groups = workload.groups()
    for name, rows in groups[:MOST_GROUPS]:
        first = shortened(labels[rows], 2) if labels is not None else ""
        table.add_row(
            cell(name, "bold"),
            f"{rows.stop - rows.start:,}",
            _span(workload.weights[rows]),
            cell(_span(workload.targets[rows])),
            cell(first),
        )
    if len(groups) > MOST_GROUPS:
        shown = groups[MOST_GROUPS - 1][1].stop
        table.add_row(f"… {len(groups) - MOST_GROUPS:,} more", f"{workload.m - shown:,}")
    return table


def _span(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    low, high = float(values.min()), float(values.max())
    words = ["none" if np.isinf(v) else figure(v) for v in (low, high)]
    return words[0] if low == high else " to ".join(words)
