"""A solution and its certificate as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmopt.report.style import pairs_table
from mmopt.results import Solution

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["solution_table"]


def solution_table(solution: Solution) -> Table:
    """The rows of ``Solution.rows()``."""
    return pairs_table(solution.rows())
