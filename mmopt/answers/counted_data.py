"""The rows of a table, counted as a planned release needs them: by cells, or by few attributes."""

from __future__ import annotations

import math

from mmopt.data import DataVector, MarginalCounts, Part, data_vector, marginal_counts
from mmopt.mechanism import Plan
from mmopt.workloads.tidy_columns import require_table

__all__ = ["confidential_words", "counted_data"]

MOST_CELLS = 2**22
"""Cells up to which they are counted one by one: one query, whatever is measured."""


def counted_data(
    data: object,
    plan: Plan,
    *,
    table: str | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
    part: Part | None = None,
) -> DataVector | MarginalCounts:
    """Counts of the rows for ``mmopt.mechanism.measure``; arguments and errors as ``data_vector``.

    Of a person so many rows are counted as the noise of the plan hides.

    Over many cells, where the strategy is measured on tables over few attributes, these alone are counted.
    """
    require_table(plan.workload)  # answers are one: refused before a row is read
    options = {"table": table, "weight": weight, "delimiter": delimiter}
    workload, tables = plan.workload, plan.integer.tables
    if tables is None or workload.n <= max(
        MOST_CELLS, *(_entries(own, workload.domain.shape) for own in tables)
    ):
        return data_vector(
            data, workload.domain, workload=workload, part=part, unit=plan.neighbours, **options
        )
    return marginal_counts(data, workload, sets=tables, part=part, unit=plan.neighbours, **options)


def confidential_words(rows: DataVector | MarginalCounts, plan: Plan, part: Part | None) -> str:
    """How many rows were read, dropped, and left out of those of a person: for who holds the table alone."""
    dropped = ", ".join(f"{count:,} by '{name}'" for name, count in rows.dropped.items() if count)
    beyond = f", {rows.beyond:,} beyond what is counted of a person" if plan.neighbours.column else ""
    return (
        f"confidential, for you alone: {rows.rows:,} rows in the {'table' if part is None else 'part'}, "
        f"{f'dropped {dropped}' if dropped else 'none dropped'}{beyond}"
    )


def _entries(attributes: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    return math.prod(sizes[i] for i in attributes)
