"""Programs that are evaluated: closed forms, and procedures, whose steps solve other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from operator import eq, ge, le
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.compiler.same_program import is_shipped
from mmopt.driver.judge.assemble_solution import Ending, assemble
from mmopt.driver.judge.charge_for_root import charged_for_the_queries
from mmopt.driver.judge.score_point import bound_of, starts_from, upper_value
from mmopt.driver.solve_plan import Task
from mmopt.errors import ContradictionError, OptionError, SolverError, placed
from mmopt.language import evaluate, evaluate_ball, shipped
from mmopt.language.atoms.argument_types import LARGEST_DIM
from mmopt.language.check.section_checks import START_ARGUMENT
from mmopt.language.syntax.syntax_tree import Apply, Assignment, Name, Repeat, Step, SubProgram
from mmopt.limits import Stop, require_memory, require_time
from mmopt.numerics.split_arrays import plain
from mmopt.results import Solution
from mmopt.solvers import total
from mmopt.strategies import Neighbours, Strategy, as_dense

Solve = Callable[[Task], Solution]

WELL = (Stop.REACHED, Stop.CLOSED, Stop.LOCAL, Stop.RANK)  # the stop of a step that ended well begins so
# 'alternate' ends when an objective falls by less than this, relatively.
SETTLED = 1e-8
COMPARE: Mapping[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "==": eq}


@dataclass
class _Procedure:
    """The state of the steps: names with their values, and the solutions in order."""

    task: Task
    solve: Solve
    env: dict[str, Any]
    everything: list[tuple[str, Solution]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # On total error by neighbours: all steps are for one workload, and a search has hundreds.
    error_bounds: dict[Neighbours, tuple[float, Any]] = field(default_factory=dict)

    def each(self, steps: Sequence[Step]) -> None:
        for step in steps:
            with placed(self.task.program.source.locate(step.span)):
                require_time()
                if isinstance(step, Repeat):
                    self.repeat(step)
                elif isinstance(step, SubProgram):
                    self.sub(step)
                else:
                    self.env[step.name] = evaluate(step.expr, self.env)
                    sizes = (np.size(value) for value in self.env.values())
                    require_memory((sum(sizes), 1), "sum of all arrays of the program")

    def taken(self) -> dict[str, Any]:
        """All values, which this object drops: the caller alone then holds their memory."""
        env, self.env = self.env, {}
        return env

    def repeat(self, loop: Repeat) -> None:
        times = evaluate(loop.times, self.env)
        if not 1 <= times <= LARGEST_DIM or times != int(times):
            where = self.task.program.source.locate(loop.times.span)
            message = f"a block is repeated a whole number of times, at most 2**53, not {times:g}"
            raise OptionError(message, where=where)
        best = np.inf
        for _ in range(int(times)):
            if (until := loop.until) is not None and COMPARE[until.op](
                float(evaluate(until.left, self.env)), float(evaluate(until.right, self.env))
            ):
                return
            try:
                self.each(loop.steps)
            except (ContradictionError, SolverError, ArithmeticError, np.linalg.LinAlgError) as failure:
                # A round may fail where doubles end: the result of the rounds before it is kept.
                self.warnings.append(f"the rounds ended where one failed: {str(failure).splitlines()[0]}")
                return
            if loop.settles:
                objective = self.everything[-1][1].objective
                if objective >= best - SETTLED * abs(objective):
                    return
                best = objective

    def sub(self, step: SubProgram) -> None:
        givens: dict[str, Any] = {}
        start = None
        for name, expr in step.arguments:
            if name == START_ARGUMENT and isinstance(expr, Name):
                start = dict(self.everything)[expr.id].variables
            else:
                givens[name] = evaluate(expr, self.env)
        program, instance = self.task.program, self.task.instance
        lost = {d.name for d in program.givens if d.source and d.name in instance.passed} - {
            name for name, e in step.arguments if isinstance(e, Name) and e.id == name
        }
        if lost and program.certificate is None and program.bound == step.program:
            raise OptionError(
                f"'{program.name}' takes its bound from '{step.program}', whose step does not get the "
                f"{', '.join(sorted(lost))} that is passed, and solves for the workload's",
                hint="put it into the workload: targets are its 'max_variance'",
            )
        inner = bind(shipped(step.program), instance.workload, givens)
        inner = replace(inner, error_bound=self.error_bounds.get(inner.neighbours))
        solved = self.solve(self.task.of_step(inner, start))
        if isinstance(solved.strategy, Strategy):
            solved.strategy.drop_factors()
            self.error_bounds.setdefault(
                solved.strategy.neighbours, (solved.error_bound, solved.error_multipliers)
            )
        self.everything.append((step.name, solved))
        values = {**solved.multipliers, **solved.variables}
        values |= {"strategy": as_dense(solved.strategy).matrix, "objective": np.asarray(solved.objective)}
        self.env |= {f"{step.name}.{name}": value for name, value in plain(values).items()}


def _evaluated(instance: Instance, env: Mapping[str, Any]) -> tuple[float, bool]:
    """The objective, rounded up, and whether it is proved."""
    expr = instance.program.objective
    return charged_for_the_queries(instance, env, *upper_value(expr, env))


def solve_closed(task: Task) -> Solution:
    """Evaluate a program of class closed form: its strategy is a formula, and nothing is searched."""
    instance = task.instance
    objective, proved = _evaluated(instance, instance.env)
    ending = Ending(
        objective=objective,
        proved=proved,
        bound=bound_of(instance, {}),
        stop=Stop.CLOSED,
        solver=(Stop.CLOSED, ""),
        word=Stop.CLOSED,
        options={},
    )
    return assemble(instance, instance.env, ending)


def solve_procedure(task: Task, solve: Solve) -> Solution:
    """Run the steps in order; each convex step is certified, the result gets the bound of the program.

    ``solve`` solves a task of any class.
    """
    instance, program = task.instance, task.program
    run = _Procedure(task, solve, dict(instance.env))
    run.each(program.steps)
    if not run.everything:
        raise SolverError(f"'{program.name}' solved nothing in its steps")
    objective, proved = _evaluated(instance, run.env)
    formed = [s.expr for s in program.steps if isinstance(s, Assignment) and isinstance(s.expr, Apply)]
    bases = [e for e in formed if e.atom == "row_basis"]
    # A shipped objective is of the measured strategy, as computed; other steps may carry any rounding.
    proved = proved and is_shipped(instance.checked)
    proved = proved and all(np.isfinite(evaluate_ball(e, run.env).rad).all() for e in bases)
    steps = [s for _, s in run.everything]
    last = steps[-1]
    starts = starts_from(instance, run.env)
    # Those that a step has proved for the program named under 'bound'.
    bounds = [s.bound for s in steps if s.program == program.bound and s.bound is not None]
    ending = Ending(
        objective=objective,
        proved=proved,
        bound=bound_of(instance, starts) if program.certificate else max(bounds, default=None),
        # The stop of the first step that did not end well, if any.
        stop=next((s.status.stop for s in steps if not s.status.stop.startswith(WELL)), Stop.EVERY_STEP),
        solver=(last.solver, last.solver_version),
        word=last.status.raw,
        feasible=all(s.status.feasible for s in steps),
        violation=max(s.status.violation for s in steps),
        options=last.options,
        iterations=total(s.iterations for s in steps),
        compile=sum(s.seconds["compile"] for s in steps),
        solve=sum(s.seconds["solve"] for s in steps),
        multipliers={**last.multipliers, **starts},
        scaling=last.scaling,
        warnings=tuple(dict.fromkeys(w for s in steps for w in s.warnings)) + tuple(run.warnings),
        steps=dict(_numbered(run.everything)),
    )
    return assemble(instance, run.taken(), ending)


def _numbered(solved: Sequence[tuple[str, Solution]]) -> list[tuple[str, Solution]]:
    """Steps by their names; a repeated one is name 1, name 2, …"""
    times = Counter(name for name, _ in solved)
    numbers = {name: count(1) for name in times}
    return [(f"{name} {next(numbers[name])}" if times[name] > 1 else name, s) for name, s in solved]
