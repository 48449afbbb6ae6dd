"""Reports for readers: results and forecasts in; tables, texts and charts out. Nothing here solves or prints.

- ``table_style.py``: tables, and how numbers look; those of a workload file
- ``program_tables_and_forecasts.py``: tables of programs, and forecasts of solves
- ``solution_and_comparison_tables.py``: tables of a solution and its history, and of comparisons
- ``accuracy_release_and_ledger_tables.py``: tables of accuracy, plans, answers and ledgers
- ``chart_parts.py``: parts that charts share
- ``charts.py``: charts of a strategy, of accuracy, of released answers, of convergence
- ``explain/``: a program explained
- ``trace_tree.py``: the way of one program from its text to its answer, as a tree
- ``displays_and_report_page.py``: displays, frames and charts of the objects that users hold; a report,
  one page of all of it
- ``exported_names.py``: all that other folders use of this one, loaded on first use
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmopt.report.exported_names import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """A name of ``exported_names``: so an import of one module of tables does not load all the others."""
        return getattr(importlib.import_module("mmopt.report.exported_names"), name)
