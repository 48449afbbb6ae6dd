"""Whether a solver, a kernel or a reduction does what mmopt promises of every one: see :func:`conform`.

Checks that a user may run on a solver of his own; what only our tests need stands in tests/.

- ``every_problem.py``: ``conform``: a solver put to every problem of the registry
- ``__main__.py``: the same as ``python -m mmopt.testing.conformance --solver NAME``
- ``checks.py``: what is wrong with one solution
- ``duals.py``: derivatives of dual functions against finite differences
- ``twists.py``: the same workload written in another way
- ``report.py``: what was found
"""

from mmopt.testing.conformance.duals import Dual, check_dual
from mmopt.testing.conformance.every_problem import CHECKS, check_solver, conform
from mmopt.testing.conformance.report import Failure, Report, Skip

__all__ = ["CHECKS", "Dual", "Failure", "Report", "Skip", "check_dual", "check_solver", "conform"]
