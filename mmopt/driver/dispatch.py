"""Which solve belongs to which class of programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.compiler import Instance
from mmopt.driver.choice import is_claimed
from mmopt.driver.closed import solve_closed
from mmopt.driver.convex import Report, solve_convex
from mmopt.driver.plan import Plan, plan_instance
from mmopt.driver.procedure import solve_procedure
from mmopt.driver.search.rank import solve_rank
from mmopt.driver.search.smooth import solve_smooth
from mmopt.errors import OptionError
from mmopt.results import Solution

__all__ = ["solve_planned"]

# Options that only a search has, with the classes that search.
SEARCH = {"starts": ("rank", "smooth"), "seed": ("rank", "smooth"), "penalty": ("rank",)}


def solve_planned(
    plan: Plan,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
    start: Mapping[str, Any] | None = None,
) -> Solution:
    """Solve a program of any class as planned.

    ``start`` holds values of the chosen variables from which a search starts.

    Raises
    ------
    OptionError : an option that the program's class does not have.
    """
    instance, program = plan.instance, plan.instance.program
    if program.klass == "procedure":

        def again(inner: Instance, name: str | None, *passed: Any) -> Solution:
            return solve_planned(plan_instance(inner, name, reduce=plan.reduce), name, *passed)

        return solve_procedure(instance, solver, overrides, report, again)
    for name, classes in SEARCH.items():
        if name in overrides and program.klass not in classes:
            message = f"'{program.name}' is of class '{program.klass}', which has no option '{name}'"
            raise OptionError(message, hint=f"it belongs to class {' and '.join(classes)}")
    if program.klass == "rank":
        return solve_rank(instance, solver, overrides, report, start)
    if program.klass == "smooth":
        if is_claimed(instance, solver, has_start=start is not None):
            return solve_convex(plan, solver, overrides, report)
        return solve_smooth(instance, solver, overrides, report, start)
    if program.klass == "closed form":
        return solve_closed(instance, solver)
    return solve_convex(plan, solver, overrides, report)
