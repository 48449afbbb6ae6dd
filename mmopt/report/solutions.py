"""A solution and its certificate as a table."""

from __future__ import annotations

from rich.table import Table

from mmopt.report.style import pairs_table
from mmopt.results import Solution

__all__ = ["solution_table"]


def solution_table(solution: Solution) -> Table:
    """The rows of ``Solution.rows()``."""
    return pairs_table(solution.rows())
