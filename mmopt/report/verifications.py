"""The checks of a saved result as a table."""

from __future__ import annotations

from rich.console import Group

from mmopt.report.style import cell, new_table
from mmopt.results import Verification
from mmopt.results.verification import shown

__all__ = ["verification_report"]


def verification_report(verification: Verification) -> Group:
    """A row per check, then the verdict and what no check is about."""
    table = new_table("what", "stated", "recomputed", "holds")
    for row in verification.rows:
        holds = cell("yes") if row.holds else cell("NO", "bold")
        table.add_row(cell(row.what), cell(shown(row.stated)), cell(shown(row.recomputed)), holds)
    left = f"not checked, no figure depends on them: {', '.join(verification.unchecked)}"
    return Group(table, cell(""), cell(verification.verdict()), cell(left))
