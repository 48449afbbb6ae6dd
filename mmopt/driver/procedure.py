"""Procedures: steps that solve other programs and combine their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mmopt.compiler import Instance, bind
from mmopt.compiler.match import is_shipped
from mmopt.driver.convex import Report, with_total
from mmopt.driver.judge.assemble import assemble
from mmopt.driver.judge.rounded_root import charged_for_the_queries
from mmopt.driver.judge.score import bound_of, starts_from, upper_value
from mmopt.driver.judge.values import plain
from mmopt.errors import ContradictionError, OptionError, SolverError, placed
from mmopt.language import Program, evaluate, evaluate_ball, shipped
from mmopt.language.atoms.dims import LARGEST
from mmopt.language.check.procedures import START
from mmopt.language.syntax.tree import Apply, Assignment, Expr, Name, Relation, Repeat, Step, SubProgram
from mmopt.limits import require_memory, require_time
from mmopt.results import Solution, Status
from mmopt.strategies import Strategy

__all__ = ["solve_procedure"]

Solve = Callable[..., Solution]

# 'alternate' ends when an objective falls by less than this, relatively.
SETTLED = 1e-8
COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
}


@dataclass
class _Run:
    """The state of the steps: names with their values, the last solution of each step, all in order."""

    instance: Instance
    solver: str | None
    overrides: Mapping[str, Any]
    report: Report | None
    solve: Solve
    env: dict[str, Any]
    solved: dict[str, Solution] = field(default_factory=dict)
    everything: list[tuple[str, Solution]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def each(self, steps: Sequence[Step]) -> None:
        for step in steps:
            with placed(self.instance.program.source.locate(step.span)):
                require_time()
                if isinstance(step, Repeat):
                    self.repeat(step)
                elif isinstance(step, SubProgram):
                    self.sub(step)
                else:
                    self.env[step.name] = self.value(step.expr)
                    sizes = (np.size(value) for value in self.env.values())
                    require_memory((sum(sizes), 1), "sum of all arrays of the program")

    def value(self, expr: Expr) -> Any:
        with np.errstate(all="ignore"):
            return evaluate(expr, self.env)

    def taken(self) -> dict[str, Any]:
        """All values, which are let go of here: whoever is done with them frees their memory."""
        env, self.env = self.env, {}
        return env

    def repeat(self, loop: Repeat) -> None:
        times = self.value(loop.times)
        if not 1 <= times <= LARGEST or times != int(times):
            where = self.instance.program.source.locate(loop.times.span)
            message = f"a block is repeated a whole number of times, at most 2**53, not {times:g}"
            raise OptionError(message, where=where)
        best = np.inf
        for _ in range(int(times)):
            if loop.until is not None and self.holds(loop.until):
                return
            try:
                self.each(loop.steps)
            except (ContradictionError, SolverError, ArithmeticError, np.linalg.LinAlgError) as failure:
                # Where doubles end a round comes to nothing: what the rounds before found stands.
                self.warnings.append(f"the rounds ended where one failed: {str(failure).splitlines()[0]}")
                return
            if loop.settles:
                objective = self.everything[-1][1].objective
                if objective >= best - SETTLED * abs(objective):
                    return
                best = objective

    def holds(self, relation: Relation) -> bool:
        return COMPARE[relation.op](float(self.value(relation.left)), float(self.value(relation.right)))

    def sub(self, step: SubProgram) -> None:
        givens: dict[str, Any] = {}
        start = None
        for name, expr in step.arguments:
            if name == START and isinstance(expr, Name):
                start = self.solved[expr.id].variables
            else:
                givens[name] = self.value(expr)
        program = self.instance.program
        lost = {d.name for d in program.givens if d.source and d.name in self.instance.own} - {
            name for name, e in step.arguments if isinstance(e, Name) and e.id == name
        }
        if lost and program.certificate is None and program.bound == step.program:
            raise OptionError(
                f"'{program.name}' takes its bound from '{step.program}', whose step does not get the "
                f"{', '.join(sorted(lost))} that is passed, and solves for the workload's",
                hint="put it into the workload: targets are its 'max_variance'",
            )
        inner = bind(shipped(step.program), self.instance.workload, givens)
        options = {k: v for k, v in self.overrides.items() if _has(inner.program, k)}
        solver = self.solver if inner.program.klass in ("convex", "rank", "procedure") else None
        solved = self.solve(inner, solver, options, self.report, start)
        if isinstance(solved.strategy, Strategy):
            solved.strategy.drop_factors()
        self.solved[step.name] = solved
        self.everything.append((step.name, solved))
        known = {**solved.multipliers, **solved.variables}
        known |= {"strategy": solved.strategy.matrix, "objective": np.asarray(solved.objective)}
        self.env |= {f"{step.name}.{name}": value for name, value in plain(known).items()}


def _has(program: Program, option: str) -> bool:
    """Whether a step takes an option that was given to the whole procedure."""
    if option in ("starts", "seed"):
        return program.klass in ("rank", "smooth", "procedure")
    return option != "penalty" or program.klass in ("rank", "procedure")


def solve_procedure(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
    solve: Solve,
) -> Solution:
    """Run the steps in order; each convex step is certified, the result gets the program's own bound.

    ``solve`` solves an instance of any class.
    """
    started = time.monotonic()
    program = instance.program
    run = _Run(instance, solver, overrides, report, solve, dict(instance.env))
    run.each(program.steps)
    if not run.everything:
        raise SolverError(f"'{program.name}' solved nothing in its steps")
    objective, proved = upper_value(program.objective, run.env)
    objective, proved = charged_for_the_queries(instance, run.env, objective, proved)
    bases = [s.expr for s in program.steps if isinstance(s, Assignment) and _is_basis(s.expr)]
    # A shipped objective is of what is measured, as computed; other steps may carry any rounding.
    proved = proved and is_shipped(instance.checked.written)
    proved = proved and all(np.isfinite(evaluate_ball(e, run.env).rad).all() for e in bases)
    all_solved = [s for _, s in run.everything]
    last = all_solved[-1]
    seconds = {name: sum(s.seconds[name] for s in all_solved) for name in ("compile", "solve")}
    starts = starts_from(instance, run.env)
    bound = bound_of(instance, starts) if program.certificate else _bound(program, all_solved)
    solution = assemble(
        instance,
        run.taken(),
        objective=objective,
        proved=proved,
        bound=bound,
        status=_status(all_solved, bound),
        solver=(last.solver, last.solver_version),
        options=last.options,
        iterations=sum(s.iterations for s in all_solved),
        seconds={**seconds, "total": 0.0},
        multipliers={**last.multipliers, **starts},
        scaling=last.scaling,
        warnings=tuple(dict.fromkeys(w for s in all_solved for w in s.warnings)) + tuple(run.warnings),
        steps=dict(_numbered(run.everything)),
    )
    return with_total(solution, time.monotonic() - started)


def _is_basis(expr: Expr) -> bool:
    return isinstance(expr, Apply) and expr.atom == "row_basis"


def _numbered(solved: Sequence[tuple[str, Solution]]) -> list[tuple[str, Solution]]:
    """Steps by their names; one that was repeated as name 1, name 2, …"""
    names = [name for name, _ in solved]
    out, seen = [], dict.fromkeys(names, 0)
    for name, solution in solved:
        seen[name] += 1
        out.append((f"{name} {seen[name]}" if names.count(name) > 1 else name, solution))
    return out


def _bound(program: Program, solved: Sequence[Solution]) -> float | None:
    """The best bound that a step has proved of the program named under 'bound'."""
    found = [s.bound for s in solved if s.program == program.bound and s.bound is not None]
    return max(found, default=None)


def _status(steps: Sequence[Solution], bound: float | None) -> Status:
    """The status of the whole: the first step that did not end well speaks for all."""
    well = ("gap reached", "closed form", "local optimum", "rank reached")
    stop = next((s.status.stop for s in steps if not s.status.stop.startswith(well)), "")
    return Status(
        stop or "gap reached in every step",
        all(s.status.feasible for s in steps),
        max(s.status.violation for s in steps),
        bound is not None,
        steps[-1].status.raw,
    )
