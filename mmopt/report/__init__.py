"""What a reader sees: results and forecasts in; tables, texts and charts out. Nothing here solves or prints.

- ``table_style.py``: how numbers and tables look
- ``program_tables.py``: the list of programs, their text, givens and solvers
- ``workload_tables.py``: what a workload file asks
- ``forecast_tables.py``: what a solve will take
- ``solution_tables.py``: what was solved, tuned, verified
- ``history_tables.py``: iterations and rounds
- ``comparison_tables.py``: programs side by side
- ``ranking_tables.py``: programs and baselines at a stated privacy, best first
- ``baseline_tables.py``: baselines, and their factors to programs
- ``accuracy_tables.py``: how accurate answers will be, and what they cost
- ``accuracy_chart.py``: the half widths of all queries
- ``release_tables.py``: a release: planned, answered, simulated
- ``saved_release.py``: a release as rows, from its manifest
- ``ledger_tables.py``: what was spent from a ledger
- ``charts.py``: what charts have in common
- ``descents.py``: how solves came down
- ``convergence_chart.py``: gap against time and iterations
- ``profile_chart.py``: performance profiles
- ``release_chart.py``: the answers of a release, with error bars
- ``explain/``: a program explained
- ``displays.py``: what a notebook shows
- ``frames.py``: what users hold as named columns, by kind
- ``figures.py``: the charts of what users hold, by kind
- ``every_report.py``: what others take of all this, loaded when it is asked for
- ``page.py``: a report: one page of all of it
- ``strategy_charts.py``: of a strategy: heat map, privacy profile, error of each query
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmopt.report.every_report import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """A name of ``every_report``: who takes one module of tables does not load all the others."""
        return getattr(importlib.import_module("mmopt.report.every_report"), name)
