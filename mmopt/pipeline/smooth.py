"""Smooth programs, which are not convex: a search by gradients from several starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.compiler import Instance
from mmopt.errors import SolverError
from mmopt.pipeline.convex import Report
from mmopt.results import Solution

__all__ = ["solve_smooth"]


def solve_smooth(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
    start: Mapping[str, Any] | None = None,
) -> Solution:
    """Search a local optimum from several starts."""
    raise SolverError("the search by gradients is not there yet")
