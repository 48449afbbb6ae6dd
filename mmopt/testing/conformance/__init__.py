"""Whether a solver, a kernel or a reduction keeps the promises that mmopt makes of every one:
:func:`conform`.

Users may run these checks on their solvers; code that only our tests need is in tests/.

- ``every_problem.py``: every problem of the registry put to a solver, with workloads transformed; the checks
  of one solution and of the functions that kernels climb; the report of all
- ``__main__.py``: the same as ``python -m mmopt.testing.conformance --solver NAME``
"""

from mmopt.testing.conformance.every_problem import (
    CHECKS,
    Dual,
    Failure,
    Report,
    Skip,
    check_dual,
    check_solver,
    conform,
)

__all__ = ["CHECKS", "Dual", "Failure", "Report", "Skip", "check_dual", "check_solver", "conform"]
