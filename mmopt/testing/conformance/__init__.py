"""Whether a solver, a kernel or a reduction keeps the promises that mmopt makes of every one:
:func:`conform`.

Users may run these checks on their solvers; code that only our tests need is in tests/.

- ``checks_and_report.py``: the checks of a solver on every problem of the registry: of each solution, of
  workloads written in another way, of the derivatives of functions that kernels climb; and the report
- ``__main__.py``: the same as ``python -m mmopt.testing.conformance --solver NAME``
"""

from mmopt.testing.conformance.checks_and_report import (
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
