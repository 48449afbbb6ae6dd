"""What callers pass: workloads, givens that are named, numbers that doubles hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mmopt.errors import SolverError, WorkloadError
from mmopt.language import Program
from mmopt.strategies.baselines import design_rows
from mmopt.workloads import Workload

__all__ = ["named_givens", "require_workload", "within_range"]


@contextmanager
def within_range() -> Iterator[None]:
    """SolverError where arithmetic breaks down below: beyond the range of doubles, or not convergent."""
    try:
        yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise SolverError(
            f"the numbers leave the range of floating point: {error}",
            hint="scale queries and targets nearer to 1, and look at what is given and at parameters",
        ) from error


def require_workload(value: object) -> None:
    """Raise WorkloadError for what is no Workload: a matrix, the path of a file, a request with one."""
    if not isinstance(value, Workload):
        hint = "write Workload.from_matrix(matrix), Workload.load(path), or request.workload"
        raise WorkloadError(f"a {type(value).__name__} is no Workload", hint=hint)


def named_givens(givens: Mapping[str, Any] | None, program: Program, workload: Workload) -> dict[str, Any]:
    """The givens with the rows of a baseline where a string names one, for the norm of the program.

    OptionError for a string that names none, or one that does not apply to the workload.
    """
    norm = program.meaning.norm
    return {
        name: design_rows(value, workload, norm) if isinstance(value, str) else value
        for name, value in (givens or {}).items()
    }
