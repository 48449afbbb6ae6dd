"""What is to be solved and how: made and checked once, and handed down to the solve of every class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mmopt.compiler import Instance
from mmopt.driver.plan import Plan, plan_instance
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.results import gap_between
from mmopt.solvers import Options

__all__ = ["SEARCH", "Progress", "Report", "Task"]

# Options that only a search has, with the classes that search.
SEARCH = {"starts": ("rank", "smooth"), "seed": ("rank", "smooth"), "penalty": ("rank",)}


@dataclass(frozen=True)
class Progress:
    """What a solve has so far; passed to the caller's ``progress`` after each point.

    ``certified`` is False for a kernel's own count, before the program was evaluated. A solve that is
    predicted to take more than ``LONG`` seconds says so before it begins: then ``predicted`` has the seconds,
    and there is no objective (NaN).
    """

    program: str
    solver: str
    seconds: float
    iterations: int
    objective: float
    bound: float | None
    sense: str = "minimize"
    certified: bool = True
    predicted: float | None = None

    @property
    def gap(self) -> float | None:
        return gap_between(self.objective, self.bound, self.sense)


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Task:
    """What is to be solved, as its plan says, and what the caller asks of the solve.

    solver : the one named. asked : the options named, by their names in ``Options``; all others are the
    solver's. report : called with every ``Progress``. start : values of the chosen variables from which a
    search starts.

    Raises
    ------
    OptionError : an option out of range, or one that the program's class does not have.
    """

    plan: Plan
    solver: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)
    report: Report | None = None
    start: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.options()
        for name, classes in SEARCH.items():
            if name in self.asked and self.program.klass not in (*classes, "procedure"):
                message = (
                    f"'{self.program.name}' is of class '{self.program.klass}', which has no option '{name}'"
                )
                raise OptionError(message, hint=f"it belongs to class {' and '.join(classes)}")

    @property
    def instance(self) -> Instance:
        return self.plan.instance

    @property
    def program(self) -> Program:
        return self.instance.program

    def options(self, **defaults: Any) -> Options:
        """The options, with ``defaults`` where the caller named none."""
        return Options(**{**defaults, **self.asked})

    def of_step(self, instance: Instance, start: Mapping[str, Any] | None) -> Task:
        """A step of this procedure, not planned yet, with the options and the solver that its class takes."""
        klass = instance.program.klass
        left_out = {name for name, classes in SEARCH.items() if klass not in (*classes, "procedure")}
        asked = {name: value for name, value in self.asked.items() if name not in left_out}
        solver = self.solver if klass in ("convex", "rank", "procedure") else None
        plan = Plan(instance, reduce=self.plan.reduce)
        return replace(self, plan=plan, solver=solver, asked=asked, start=start)

    def planned(self) -> Task:
        """The task with the plan of its instance."""
        plan = plan_instance(self.instance, self.solver, reduce=self.plan.reduce)
        return replace(self, plan=plan)

    def tell(
        self,
        solver: str,
        seconds: float,
        iterations: int,
        objective: float,
        bound: float | None,
        *,
        certified: bool = True,
        predicted: float | None = None,
    ) -> None:
        """Report how far a solve is, if anybody wants to know."""
        if self.report is not None:
            known = (self.program.name, solver, seconds, iterations, objective, bound, self.program.sense)
            self.report(Progress(*known, certified, predicted))
