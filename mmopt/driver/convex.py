"""Solve a convex program as its plan says: as it is, or by exact reductions, lifted and scored.

A solver runs on one instance, each of its points is certified, the best is kept. Of a reduction the lifted
strategy becomes a point as the program's section ``from strategy`` says, and is repaired and evaluated
against the program file for the whole workload like a solver's point; the lifted multipliers are put into
its certificate. So nothing depends on a reduction being right but the gap.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mmopt.compiler import Instance
from mmopt.compiler.reductions import Solved
from mmopt.driver.best import Best
from mmopt.driver.choice import choose_solver
from mmopt.driver.judge.adopt import adopt
from mmopt.driver.judge.assemble import assemble, meaning
from mmopt.driver.plan import FEW_CELLS, Plan
from mmopt.driver.running import Progress, Report, Run, options_of, run_solver, with_total
from mmopt.errors import SolverError, TooLargeError, UnsuitableError
from mmopt.numerics.outward import rounded
from mmopt.results import Solution, Status
from mmopt.solvers import Claim, Options
from mmopt.strategies import as_dense

__all__ = ["LIFTED", "Progress", "Report", "solve_convex", "with_total"]

# How a solve ends whose parts reached their gaps, when what they make together does not.
LIFTED = "gap not reached by the lifted point"
# Of the gap asked for, what the parts may use; the rest is for the rounding of the lift.
MARGIN = 0.9
# Seconds for a part when the time is over: without a point for every part there is none for the whole.
LEAST = 1e-3
UNREDUCED = "solve it as it is with reduce=False (--no-reduce)"


def solve_convex(
    plan: Plan, solver: str | None, overrides: Mapping[str, Any], report: Report | None
) -> Solution:
    """Solve one convex program.

    The tolerance is that of the solver's row unless ``overrides`` has one. It is that of the whole: parts of
    a reduction are solved somewhat more exactly. ``Solution.reductions`` has a line for each reduction.

    Raises
    ------
    OptionError : an option that a convex program does not have.
    SolverError : no feasible point was found, of the whole or of a part; or the solver named is no kernel,
        and the instance is by component.
    TooLargeError : what is solved does not fit in memory.
    """
    started = time.monotonic()
    if plan.step is not None:
        return _solve_parts(plan, solver, overrides, report, started)
    run = _run(plan, solver, overrides, report)
    solution = assemble(plan.instance, run.point.env, **run.conclusion())
    return with_total(replace(solution, reductions=plan.lines), time.monotonic() - started)


def _run(plan: Plan, solver: str | None, overrides: Mapping[str, Any], report: Report | None) -> Run:
    """Run a solver on an instance as it is until its best point has the gap."""
    started = time.monotonic()
    row = choose_solver(plan.instance, solver)
    if plan.split and not isinstance(row, Claim):
        raise UnsuitableError(
            f"{row.name} does not work by component ({plan.split})",
            hint="leave the solver out, or solve over all cells with reduce=False (--no-reduce)",
        )
    run = run_solver(plan.instance, row, options_of(row, overrides), report, started, Best(plan.instance))
    if not run.best.is_feasible:
        raise run.failure()
    return run


@dataclass
class _Parts:
    """The parts solved so far; equal ones are solved once."""

    whole: Plan
    solver: str | None
    overrides: Mapping[str, Any]
    report: Report | None
    started: float
    known: dict[tuple[Plan, float], Solved] = field(default_factory=dict)
    leaves: list[Mapping[str, Any]] = field(default_factory=list)
    asked: float = 0.0  # the gap asked for: the largest default of the solvers, unless the caller says

    def solved(self, plan: Plan, share: float) -> Solved:
        """What a plan comes to, within its share of the gap: a solver's point, or the lift of its parts'."""
        if plan.step is None:
            return self.run(plan, share)
        share = share / len(plan.parts) if plan.step.multiplies else share
        for part in plan.parts:
            if (part, share) not in self.known:
                self.known[part, share] = self.solved(part, share)
        return plan.step.lift([self.known[part, share] for part in plan.parts])

    def run(self, plan: Plan, share: float) -> Solved:
        tolerance = self.overrides.get("tolerance") or _default_tolerance(plan.instance, self.solver)
        self.asked = max(self.asked, tolerance)
        options = {**self.overrides, "tolerance": MARGIN * share * tolerance}
        if any(leaf["status"].stop == "interrupted" for leaf in self.leaves):
            options["time_limit"] = LEAST
        elif "time_limit" in options:
            used = time.monotonic() - self.started
            options["time_limit"] = max(options["time_limit"] - used, LEAST)
        try:
            run = _run(plan, self.solver, options, self.report)
        except SolverError as error:
            lines = "; ".join(self.whole.lines)
            message = f"{error.message} (cells and queries counted after: {lines})"
            hint = "; or ".join(filter(None, [error.hint, UNREDUCED]))
            raise SolverError(message, where=error.where, hint=hint) from None
        leaf = run.conclusion()
        self.leaves.append(leaf)
        strategy, _, _ = meaning(plan.instance, run.point.env, leaf["multipliers"])
        return Solved(strategy, leaf["multipliers"], leaf["bound"])


def _default_tolerance(instance: Instance, solver: str | None) -> float:
    """That of the solver that would be chosen."""
    try:
        return choose_solver(instance, solver).tolerance
    except TooLargeError:  # for every conic solver; another may do, or says so itself
        return Options().tolerance


def _solve_parts(
    plan: Plan, solver: str | None, overrides: Mapping[str, Any], report: Report | None, started: float
) -> Solution:
    """Solve the parts of a plan, lift what comes out, and score it."""
    instance = plan.instance
    parts = _Parts(plan, solver, overrides, report, started)
    lifted = parts.solved(plan, 1.0)
    ended = time.monotonic()
    best = Best(instance)
    best.offer(adopt(instance, as_dense(lifted.strategy)), lifted.multipliers)
    point = best.point
    if point is None or not point.is_feasible:
        lines = "; ".join(plan.lines)
        if instance.workload.n <= FEW_CELLS:  # rounding, where queries are nearly dependent: solved as it is
            solution = solve_convex(Plan(instance), solver, overrides, report)
            said = f"solved as it is: the reduced problem gave no feasible point ({lines})"
            return replace(solution, warnings=(*solution.warnings, said))
        raise SolverError(
            f"the solution of the reduced problem gives no feasible point of '{instance.program.name}' "
            f"({lines})",
            hint=UNREDUCED,
        )
    leaves = parts.leaves
    options = asdict(Options(**{**overrides, "tolerance": parts.asked}))
    raw = leaves[-1]["status"].raw
    status = Status(_stop(parts, best.gap), True, point.before, best.bound is not None, raw)
    names = dict.fromkeys(leaf["solver"] for leaf in leaves)
    name = (" and ".join(n for n, _ in names), " and ".join(v for _, v in names))
    iterations = sum(leaf["iterations"] for leaf in leaves)
    solving = sum(leaf["seconds"]["solve"] for leaf in leaves)
    if report is not None:
        seen = (point.objective, best.bound, instance.program.sense)
        report(Progress(instance.program.name, name[0], ended - started, iterations, *seen))
    solution = assemble(
        instance,
        point.env,
        objective=point.objective,
        proved=point.proved,
        raw=best.values,
        bound=best.bound,
        status=status,
        solver=name,
        options=options,
        iterations=iterations,
        seconds={"compile": ended - started - solving, "solve": solving, "total": 0.0},
        multipliers=best.multipliers or {},
        scaling=leaves[0]["scaling"] if len(leaves) == 1 else {},
        warnings=_warnings(parts, status, best.gap),
    )
    return with_total(replace(solution, reductions=plan.lines), time.monotonic() - started)


def _stop(parts: _Parts, gap: float) -> str:
    """Why the whole ended: its own gap, or the first part that did not reach one."""
    if gap <= parts.asked:
        return "gap reached"
    stops = [leaf["status"].stop for leaf in parts.leaves]
    return next((stop for stop in stops if stop != "gap reached"), LIFTED)


def _warnings(parts: _Parts, status: Status, gap: float) -> tuple[str, ...]:
    found = (
        dict.fromkeys(w for leaf in parts.leaves for w in leaf["warnings"])
        if status.stop != "gap reached"
        else {}
    )
    if status.stop == LIFTED:
        found[
            f"every part reached its gap, and what they make together has a gap of "
            f"{rounded(gap, 2, up=True, layout='e')} ({parts.asked:.0e} was asked for): {UNREDUCED}"
        ] = None
    return tuple(found)
