"""mmopt: a convex-program compiler for the matrix mechanism of differential privacy.

Where things are, from the lowest floor up:

- ``__main__.py``: ``python -m mmopt``, the command line
- ``errors.py``: every error that is raised on purpose
- ``limits.py``: limits of memory and time; why a solver, a search, a solve or a comparison ended
- ``installation_and_files.py``: the version, the folder of the program files, how files are written
- ``display_base_classes.py``: base classes of objects that have displays, tables, charts and pages
- ``comparison_process.py``: the process that does the tasks of a comparison: its start, memory and end
- ``numerics/``: floating point that is proved; arrays that split into components
- ``language/``: how an optimisation is written: syntax, atoms, checks, evaluation, print
- ``workloads/``: what is asked: domain, blocks of queries, Workload
- ``symmetry/``: orbits and components of workloads
- ``sectors/``: the space of queries of few of many attributes
- ``strategies/``: what is measured, in every form; baselines
- ``privacy/``: what noise proves, calibration, noise, rounding to integers
- ``request/``: the workload file
- ``results/``: a solution and its certificate, saved and loaded
- ``compiler/``: a program with a workload filled in, reduced, scaled, lowered
- ``solvers/``: kernels and conic solvers
- ``driver/``: from workload and program to a judged solution
- ``exchange/``: the compiled problem in files that other programs read
- ``proof/``: what came from elsewhere, judged: certify, verify
- ``data/``: tables to counts
- ``mechanism/``: plan, measure, answer, write
- ``ledger/``: what releases of one data set have cost in all
- ``comparison/``: programs side by side
- ``report/``: what a reader sees
- ``answers/``: answers at a stated privacy: default strategy, accuracy, budget, one call
- ``testing/``: checks for authors of programs and solvers
- ``studio/``: a page to play with programs, served on this machine
- ``cli/``: the command line

The names below are resolved on first use (PEP 562), so that ``import mmopt`` and ``mmopt --help``
load neither numpy nor a solver.
"""

import ast
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

# Type checkers read the stub in place of this file, so that they accept no other name.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {
    name.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for name in node.names
}
__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("mmopt.installation_and_files").version()
    if name not in _HOMES:
        # With name and obj set, the interpreter suggests the nearest name of __dir__.
        raise AttributeError(
            f"module 'mmopt' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )
    value = getattr(importlib.import_module(_HOMES[name]), name)
    if inspect.isfunction(value):
        value = importlib.import_module("mmopt.errors").for_users(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
