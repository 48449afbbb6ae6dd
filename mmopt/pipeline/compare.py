"""``mmopt.compare``: programs side by side, on one workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.errors import Error
from mmopt.language import Program, program_names
from mmopt.pipeline.solve import solve
from mmopt.queries import Workload
from mmopt.results import Solution

__all__ = ["Outcome", "compare"]


@dataclass(frozen=True)
class Outcome:
    """A solution, or the reason why there is none."""

    program: str
    solver: str
    solution: Solution | None
    problem: str = ""

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        if self.solution is not None:
            return self.solution.summary()
        return {"program": self.program, "solver": self.solver, "status": None, "problem": self.problem}


def compare(
    workload: Workload,
    programs: Sequence[str | Program] | None = None,
    solvers: Sequence[str | None] | None = None,
    **options: Any,
) -> list[Outcome]:
    """Solve every program with every solver, one after the other.

    Parameters
    ----------
    programs : by default all that are shipped.
    solvers : by default the one that ``solve`` would choose for each program.
    options : as for ``solve``.

    A combination that cannot be solved gives an outcome that says why; it does not end the comparison.
    """
    outcomes = []
    for program in programs or program_names():
        for solver in solvers or (None,):
            name = program.name if isinstance(program, Program) else str(program)
            try:
                solution = solve(workload, program, solver=solver, **options)
                outcomes.append(Outcome(name, solution.solver, solution))
            except Error as error:
                outcomes.append(Outcome(name, solver or "", None, str(error)))
    return outcomes
