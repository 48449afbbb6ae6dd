"""What became of one combination of a comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mmopt.driver.convex import Progress
from mmopt.results import Solution

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """A solution, or the reason why there is none.

    program, formulation_of : the program's name, and the one that it is another formulation of.
    solver, tolerance : as asked; the solver is "" when it was not chosen, the tolerance None for the
        solver's own.
    problem : in full, with what to do about it; reason : the same in one line. Both "" with a solution.
    stop : the status in one vocabulary. With a solution it is that of ``solution.status``; without one it
        is "time limit", "memory limit", "interrupted", "crashed", "no result" (the solver had no point
        that could be repaired), or, when nothing was solved: "refused", "too large", "does not apply",
        "not started".
    seconds : from the start of its process to its end. cpu : CPU seconds of all its threads, with a solution.
    memory : largest number of bytes held above the start, None where it is not known.
    history : its certified points in order; their seconds count from the start of the process.
    """

    program: str
    solver: str
    solution: Solution | None
    problem: str = ""
    reason: str = ""
    stop: str = ""
    formulation_of: str = ""
    tolerance: float | None = None
    seconds: float = 0.0
    cpu: float | None = None
    memory: int | None = None
    history: tuple[Progress, ...] = ()

    @property
    def was_tried(self) -> bool:
        """Whether a solver was started for it."""
        return self.solution is not None or self.stop not in (
            "refused",
            "too large",
            "does not apply",
            "not started",
        )

    def summary(self) -> dict[str, Any]:
        """One JSON object of the kind "program": that of the solution, if any, and what the comparison adds.

        ``points`` is the history.
        """
        found: dict[str, Any] = {"program": self.program, "solver": self.solver, "status": None}
        if self.solution is not None:
            found = self.solution.summary()
        return {
            "kind": "program",
            **found,
            "formulation_of": self.formulation_of,
            "tolerance": self.tolerance,
            "stop": self.stop,
            "problem": self.problem,
            "elapsed": self.seconds,
            "cpu": self.cpu,
            "memory": self.memory,
            "points": [
                {
                    "program": point.program,
                    "seconds": point.seconds,
                    "iterations": point.iterations,
                    "objective": _finite(point.objective),
                    "bound": _finite(point.bound),
                    "gap": _finite(point.gap),
                }
                for point in self.history
            ],
        }


def _finite(number: float | None) -> float | None:
    """JSON has no infinity."""
    return None if number is None or not math.isfinite(number) else number
