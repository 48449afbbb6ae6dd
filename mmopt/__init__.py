"""mmopt: a convex-program compiler for the matrix mechanism of differential privacy.

Where things are, from the lowest floor up:

- ``__main__.py``: ``python -m mmopt``, the command line
- ``errors.py``: every error that is raised on purpose
- ``limits.py``: limits of memory and time
- ``reasons_to_stop.py``: why a solver, a search, a solve or a comparison ended
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
- ``cli/``: the command line

The names below are resolved on first use (PEP 562), so that ``import mmopt`` and ``mmopt --help``
load neither numpy nor a solver.
"""

import importlib
import inspect
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmopt.answers import Accuracy, Budget, Release, accuracy, budget, load_release, release
    from mmopt.comparison import Comparison, Factors, baseline_factors, compare
    from mmopt.data import data_vector
    from mmopt.driver import Tuned, solve, tune
    from mmopt.errors import (
        ContradictionError,
        DataError,
        Error,
        LedgerError,
        Location,
        NotFoundError,
        OptionError,
        PrivacyError,
        ProgramError,
        ResultError,
        SolverError,
        TimeLimitError,
        TooLargeError,
        UnsuitableError,
        WorkloadError,
    )
    from mmopt.exchange import cvxpy_problem, export
    from mmopt.language import Program
    from mmopt.ledger import Ledger
    from mmopt.mechanism import build_manifest, measure, plan, write_release
    from mmopt.privacy import Privacy, PrivacyParameters
    from mmopt.proof import certify, verify
    from mmopt.report.explain import Explanation, explain
    from mmopt.report.trace_tree import trace
    from mmopt.request import Request, load_request
    from mmopt.results import QueryAnswer, Solution, Verification
    from mmopt.strategies import ComponentStrategy, Strategy
    from mmopt.strategies.baselines import baseline
    from mmopt.workloads import Attribute, Domain, Workload

    __version__: str

__all__ = [
    "Accuracy",
    "Attribute",
    "Budget",
    "Comparison",
    "ComponentStrategy",
    "ContradictionError",
    "DataError",
    "Domain",
    "Error",
    "Explanation",
    "Factors",
    "Ledger",
    "LedgerError",
    "Location",
    "NotFoundError",
    "OptionError",
    "Privacy",
    "PrivacyError",
    "PrivacyParameters",
    "Program",
    "ProgramError",
    "QueryAnswer",
    "Release",
    "Request",
    "ResultError",
    "Solution",
    "SolverError",
    "Strategy",
    "TimeLimitError",
    "TooLargeError",
    "Tuned",
    "UnsuitableError",
    "Verification",
    "Workload",
    "WorkloadError",
    "__version__",
    "accuracy",
    "baseline",
    "baseline_factors",
    "budget",
    "build_manifest",
    "certify",
    "compare",
    "cvxpy_problem",
    "data_vector",
    "explain",
    "export",
    "load_release",
    "load_request",
    "measure",
    "plan",
    "release",
    "solve",
    "trace",
    "tune",
    "verify",
    "write_release",
]

_HOMES = {
    "mmopt.answers": ("Accuracy", "Budget", "Release", "accuracy", "budget", "load_release", "release"),
    "mmopt.data": ("data_vector",),
    "mmopt.errors": (
        "ContradictionError",
        "DataError",
        "Error",
        "LedgerError",
        "Location",
        "NotFoundError",
        "OptionError",
        "PrivacyError",
        "ProgramError",
        "ResultError",
        "SolverError",
        "TimeLimitError",
        "TooLargeError",
        "UnsuitableError",
        "WorkloadError",
    ),
    "mmopt.language": ("Program",),
    "mmopt.ledger": ("Ledger",),
    "mmopt.mechanism": ("build_manifest", "measure", "plan", "write_release"),
    "mmopt.comparison": ("Comparison", "Factors", "baseline_factors", "compare"),
    "mmopt.driver": ("Tuned", "solve", "tune"),
    "mmopt.exchange": ("cvxpy_problem", "export"),
    "mmopt.privacy": ("Privacy", "PrivacyParameters"),
    "mmopt.proof": ("certify", "verify"),
    "mmopt.strategies": ("ComponentStrategy", "Strategy"),
    "mmopt.strategies.baselines": ("baseline",),
    "mmopt.workloads": ("Attribute", "Domain", "Workload"),
    "mmopt.report.explain": ("Explanation", "explain"),
    "mmopt.report.trace_tree": ("trace",),
    "mmopt.results": ("QueryAnswer", "Solution", "Verification"),
    "mmopt.request": ("Request", "load_request"),
}

# Type checkers read the imports above; a visible __getattr__ would let them accept any name at all.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name == "__version__":
            return importlib.import_module("mmopt.installation_and_files").version()
        for module, names in _HOMES.items():
            if name in names:
                value = getattr(importlib.import_module(module), name)
                if inspect.isfunction(value):
                    value = importlib.import_module("mmopt.errors").for_users(value)
                globals()[name] = value
                return value
        # With name and obj set, the interpreter suggests the nearest name of __dir__.
        raise AttributeError(
            f"module 'mmopt' has no attribute {name!r}", name=name, obj=sys.modules[__name__]
        )


def __dir__() -> list[str]:
    return sorted(__all__)
