"""Closed forms: nothing is searched, the strategy is a formula; its objective and bound are evaluated."""

from __future__ import annotations

import time

from mmopt.compiler import Instance
from mmopt.driver.convex import with_total
from mmopt.driver.judge.assemble import assemble
from mmopt.driver.judge.rounded_root import charged_for_the_queries
from mmopt.driver.judge.score import bound_of, upper_value
from mmopt.errors import OptionError
from mmopt.results import Solution, Status

__all__ = ["CLOSED_FORM", "solve_closed"]

CLOSED_FORM = "closed form"


def solve_closed(instance: Instance, solver: str | None) -> Solution:
    """Evaluate a program of class closed form.

    Raises
    ------
    OptionError : a solver is named, and there is nothing to solve.
    """
    started = time.monotonic()
    program = instance.program
    if solver is not None:
        message = f"'{program.name}' is a closed form; nothing is left to {solver}"
        raise OptionError(message, hint="leave out the solver")
    objective, proved = upper_value(program.objective, instance.env)
    objective, proved = charged_for_the_queries(instance, instance.env, objective, proved)
    bound = bound_of(instance, {})
    solution = assemble(
        instance,
        instance.env,
        objective=objective,
        proved=proved,
        bound=bound,
        status=Status(CLOSED_FORM, True, 0.0, bound is not None, CLOSED_FORM),
        solver=(CLOSED_FORM, ""),
        options={},
        iterations=0,
        seconds={"compile": 0.0, "solve": 0.0, "total": 0.0},
        multipliers={},
        scaling={},
    )
    return with_total(solution, time.monotonic() - started)
