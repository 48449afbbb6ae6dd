"""What was spent from a ledger, release by release."""

from __future__ import annotations

from rich.table import Table

from mmopt.ledger import Ledger
from mmopt.ledger.composition import shown
from mmopt.report.table_style import rows_table

__all__ = ["entries_table"]

STATES = {"spent": "no folder was confirmed"}
DIGITS = 12  # of a hash


def entries_table(ledger: Ledger) -> Table:
    """A row for each release; of a hash the first digits."""
    terms, entries = ledger.account.terms, ledger.account.entries
    has_parts = terms.partition is not None
    heads = ["entry", terms.measure, *(["part"] * has_parts), "workload", "sha256", "time (UTC)", "folder"]
    rows = [
        [
            str(entry.number),
            shown(entry.spent),
            *([entry.part or "all rows"] * has_parts),
            entry.workload or "-",
            entry.workload_hash[:DIGITS],
            entry.time.partition("+")[0],
            STATES.get(entry.state, entry.folder),
        ]
        for entry in entries
    ]
    return rows_table(heads, rows, right=("entry", terms.measure))
