"""The best repaired point and the best bound of a solve so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.compiler.match import is_shipped
from mmopt.driver.judge.assemble import Ending
from mmopt.driver.judge.score import Array, Candidate, bound_of, candidate, charged, starts_from
from mmopt.driver.task import Task
from mmopt.language.evaluate.memo import Memo
from mmopt.limits import Stop
from mmopt.results import gap_between
from mmopt.solvers import Clock, Options

__all__ = ["Best"]


def _is_better(found: Candidate, known: Candidate, sense: str) -> bool:
    """Feasible before infeasible, then by the objective."""
    if found.is_feasible != known.is_feasible:
        return found.is_feasible
    if sense == "minimize":
        return found.objective < known.objective
    return found.objective > known.objective


@dataclass
class Best:
    """The best repaired point and the best bound so far; they may come from different points."""

    instance: Instance
    plain: Candidate | None = None
    point: Candidate | None = None  # the same, its last violations charged at the multipliers
    bound: float | None = None
    multipliers: Mapping[str, Array] | None = None
    values: Mapping[str, Array] | None = None  # of the point, before its repair

    def offer(
        self, values: Mapping[str, Array], multipliers: Mapping[str, Array], polar: Any = None
    ) -> Candidate | None:
        """Repair and score a point (in the program's own scale); None when no repair exists."""
        sense = self.instance.program.sense
        try:
            found = candidate(self.instance, values)
        except (ArithmeticError, np.linalg.LinAlgError):  # so far off that no repair exists
            return None
        if self.plain is None or _is_better(found, self.plain, sense):
            self.plain, self.values = found, values
        multipliers = {**multipliers, **starts_from(self.instance, found.env)}
        bound = bound_of(self.instance, multipliers, polar)
        if bound is not None and (
            self.bound is None or (bound > self.bound if sense == "minimize" else bound < self.bound)
        ):
            self.bound, self.multipliers = bound, multipliers
        if self.multipliers is None:
            self.multipliers = multipliers
        self.point = charged(self.instance, self.plain, self.multipliers)
        return found

    def settle(self) -> None:
        """Let go of what only another point, or a failure, would ask for: it may be large."""
        if is_shipped(self.instance.checked.written):  # another bound is tested with it
            self.values = None
        if self.point is not None:
            self.plain = self.point = replace(self.point, memo=Memo())

    def stop(self, options: Options, clock: Clock) -> Stop | None:
        """Why work ends on this: the gap is reached, Ctrl-C, or the time is over; None for another reason."""
        if self.gap <= options.tolerance:
            return Stop.REACHED
        return Stop.INTERRUPTED if clock.interrupted else Stop.TIME if clock.is_over else None

    def tell(self, task: Task, solver: str, seconds: float, iterations: int) -> None:
        """Report the best point so far."""
        if self.point is not None:
            task.tell(solver, seconds, iterations, self.point.objective, self.bound)

    def ending(self, **how: Any) -> Ending:
        """The best point, which is feasible, and the best bound; ``how`` they came about."""
        point = self.point
        assert point is not None
        return Ending(
            objective=point.objective,
            proved=point.proved,
            violation=point.before,
            raw=self.values,
            bound=self.bound,
            multipliers=self.multipliers or {},
            **how,
        )

    @property
    def is_feasible(self) -> bool:
        return self.point is not None and self.point.is_feasible

    @property
    def gap(self) -> float:
        if self.point is None or not self.point.is_feasible:
            return float("inf")
        gap = gap_between(self.point.objective, self.bound, self.instance.program.sense)
        return float("inf") if gap is None else gap
