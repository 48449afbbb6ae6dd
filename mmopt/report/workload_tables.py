"""A workload file as tables: its cells and its queries."""

import numpy as np

from mmopt.report.table_style import Row, Table, bold, figure, more_rows, rows_table, shortened
from mmopt.workloads import Bins, Categories, Domain, Workload

NORMALISED = "rows: each query's weight is divided by its squared length (for relative error)"

# Labels are made for examples only; a larger workload is described without them.
MOST_LABELLED_QUERIES = 200_000
MOST_TABLE_ROWS = 50  # attributes of one table, groups of queries of the other


def domain_table(domain: Domain) -> Table:
    """A row for each attribute, up to ``MOST_TABLE_ROWS``: column, first cells, where other values go."""
    rows: list[Row] = []
    for a in domain.attributes[:MOST_TABLE_ROWS]:
        form = {Bins: "bins", Categories: "categories"}.get(type(a.encoding), "values")
        rules = ", ".join(dict.fromkeys(rule or "refuse" for rule in (a.outside, a.missing)))
        rows.append((bold(a.name), a.column, f"{a.size:,}", form, shortened(a.labels), rules))
    rows += more_rows(len(domain.attributes) - MOST_TABLE_ROWS)
    return rows_table(
        ("attribute", "column", "cells", "form", "first cells", "outside, missing"), rows, ("cells",)
    )


def queries_table(workload: Workload) -> Table:
    """A row for each group of queries, up to ``MOST_TABLE_ROWS``: count, weight and target, first queries."""
    labels = workload.labels() if workload.m <= MOST_LABELLED_QUERIES else None
    groups = workload.groups()
    rows: list[Row] = []
    for (name, part), block in zip(groups[:MOST_TABLE_ROWS], workload.blocks[:MOST_TABLE_ROWS], strict=True):
        first = shortened(labels[part], 2) if labels is not None else ""
        spans = _span(block.weights), _span(block.targets)
        rows.append((bold(name), f"{part.stop - part.start:,}", *spans, first))
    if len(groups) > MOST_TABLE_ROWS:
        unlisted = workload.m - groups[MOST_TABLE_ROWS - 1][1].stop
        rows.append((f"… {len(groups) - MOST_TABLE_ROWS:,} more", f"{unlisted:,}"))
    return rows_table(("queries", "count", "weight", "max_variance", "first"), rows, ("count", "weight"))


def _span(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    """The least and the largest value, in words; one where they are the same."""
    low, high = float(values.min()), float(values.max())
    words = ["none" if np.isinf(v) else figure(v) for v in (low, high)]
    return words[0] if low == high else " to ".join(words)
