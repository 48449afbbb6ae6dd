"""A workload file as tables: its cells and its queries."""

from collections.abc import Mapping

from mmopt.report.table_style import Row, Table, bold, figure, more_rows, percent, rows_table, shortened
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
    """A row for each group of queries, up to ``MOST_TABLE_ROWS``: count, weight, wish, first queries."""
    labels = workload.labels() if workload.m <= MOST_LABELLED_QUERIES else None
    groups, wanted = workload.groups(), [wish_words(each) for each in workload.wishes_by_group()]
    heading = ["asked"] * any(wanted)
    rows: list[Row] = []
    for (name, part), block, wish in zip(groups[:MOST_TABLE_ROWS], workload.blocks, wanted, strict=False):
        first = shortened(labels[part], 2) if labels is not None else ""
        weights = dict.fromkeys(map(figure, (float(block.weights.min()), float(block.weights.max()))))
        shown = (f"{part.stop - part.start:,}", " to ".join(weights), *[wish] * len(heading))
        rows.append((bold(name), *shown, first))
    if len(groups) > MOST_TABLE_ROWS:
        unlisted = workload.m - groups[MOST_TABLE_ROWS - 1][1].stop
        rows.append((f"… {len(groups) - MOST_TABLE_ROWS:,} more", f"{unlisted:,}"))
    numbers = ("count", "weight")
    return rows_table(("queries", *numbers, *heading, "first"), rows, numbers, whole=heading)


def wish_words(wanted: Mapping[str, float]) -> str:
    """A group of ``Workload.wishes_by_group`` in words; "" where nothing is asked."""
    words = [f"± {wanted['within']:g} at {percent(wanted['confidence'])}"] if "within" in wanted else []
    if "least_variance" in wanted:
        ends = dict.fromkeys(f"{wanted[name]:g}" for name in ("least_variance", "largest_variance"))
        without = f" ({wanted['without']} without)" if wanted["without"] else ""
        words.append(f"variance {' to '.join(ends)}{without}")
    return ", ".join(words)
