"""Procedures: steps that solve other programs and combine their strategies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.language import Program, evaluate
from mmopt.language.tree import SubProgram
from mmopt.pipeline.assemble import assemble
from mmopt.pipeline.certify import upper_value
from mmopt.pipeline.convex import Report, solve_convex, with_total
from mmopt.results import Solution, Status

__all__ = ["solve_procedure"]


def solve_procedure(
    instance: Instance, solver: str | None, overrides: Mapping[str, Any], report: Report | None
) -> Solution:
    """Run the steps in order; each convex step is certified, the result gets the program's own bound."""
    started = time.monotonic()
    program = instance.program
    env: dict[str, Any] = dict(instance.env)
    steps: dict[str, Solution] = {}
    for step in program.steps:
        if isinstance(step, SubProgram):
            givens = {name: evaluate(expr, env) for name, expr in step.arguments}
            inner = bind(Program.load(step.program), instance.workload, givens)
            solve = solve_procedure if inner.program.klass == "procedure" else solve_convex
            solved = solve(inner, solver, overrides, report)
            steps[step.name] = solved
            env[f"{step.name}.strategy"] = solved.strategy.matrix
            env[f"{step.name}.objective"] = solved.objective
        else:
            with np.errstate(all="ignore"):
                env[step.name] = evaluate(step.expr, env)
    objective = upper_value(program.objective, env) if program.objective is not None else float("nan")
    last = list(steps.values())[-1]
    seconds = {name: sum(s.seconds[name] for s in steps.values()) for name in ("compile", "solve")}
    solution = assemble(
        instance,
        env,
        objective=objective,
        bound=None,
        status=_status(list(steps.values())),
        solver=(last.solver, last.solver_version),
        options=last.options,
        iterations=sum(s.iterations for s in steps.values()),
        seconds={**seconds, "total": 0.0},
        multipliers=last.multipliers,
        scaling=last.scaling,
        warnings=tuple(w for s in steps.values() for w in s.warnings),
        steps=steps,
    )
    return with_total(solution, time.monotonic() - started)


def _status(steps: Sequence[Solution]) -> Status:
    """The status of the whole: the first step that did not end well speaks for all."""
    stop = next((s.status.stop for s in steps if not s.status.stop.startswith("gap reached")), "")
    return Status(
        stop or "gap reached in every step",
        all(s.status.feasible for s in steps),
        max(s.status.violation for s in steps),
        False,
        steps[-1].status.raw,
    )
