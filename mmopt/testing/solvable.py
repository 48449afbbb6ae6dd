"""Whether a solver's name and options are known, before anything is measured or checked with them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from mmopt.driver import solve
from mmopt.errors import UnsuitableError
from mmopt.workloads import Workload

__all__ = ["check_solver"]


def check_solver(solver: str | None, **options: Any) -> None:
    """Solve for two cells with it. A solver that does not take that program is a known one too.

    Raises
    ------
    OptionError : an unknown solver or option, or one that is out of range. SolverError : not installed.
    """
    with contextlib.suppress(UnsuitableError):
        solve(Workload.from_matrix(np.eye(2)), "l2_strategy", solver=solver, **options)
