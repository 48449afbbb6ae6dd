"""Solve a convex program by exact reductions: smaller instances, their solutions lifted and scored.

The lifted strategy becomes a point as the program's section ``from strategy`` says, and is repaired and
evaluated against the program file for the whole workload like a solver's point; the lifted multipliers are
put into its certificate. So nothing depends on a reduction being right but the gap.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from mmopt.compiler import Instance
from mmopt.compiler.reductions import Plan, Solved, Traits, first_plan, reducible, smaller, traits_of
from mmopt.driver.convex import find_convex, solve_convex
from mmopt.driver.judge.adopt import adopt
from mmopt.driver.judge.assemble import Ending, assemble
from mmopt.driver.judge.meaning import meaning
from mmopt.driver.judge.violations import dense
from mmopt.driver.running import Best
from mmopt.driver.task import Task
from mmopt.errors import SolverError, TooLargeError
from mmopt.limits import Stop
from mmopt.numerics.outward import rounded
from mmopt.results import Solution
from mmopt.solvers import Options, choose_solver
from mmopt.strategies import as_dense

__all__ = ["solve_reduced"]

# Of the gap asked for, what the parts may use; the rest is for the rounding of the lift.
MARGIN = 0.9
# Seconds for a part when the time is over: without a point for every part there is none for the whole.
LEAST = 1e-3
UNREDUCED = "solve it as it is with reduce=False (--no-reduce)"


@dataclass
class _Run:
    """The parts solved so far; equal ones are solved once."""

    task: Task
    traits: Traits
    started: float = field(default_factory=time.monotonic)
    known: dict[tuple[str, float], Solved] = field(default_factory=dict)
    leaves: list[Ending] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    asked: float = 0.0  # the gap asked for: the largest default of the solvers, unless the caller says

    def lifted(self, plan: Plan, instance: Instance, share: float, prefix: str = "") -> Solved:
        """Solve the parts of a plan, and lift what comes out."""
        self.lines.append(prefix + plan.text)
        share = share / len(plan.workloads) if plan.multiplies else share
        parts = []
        for name, workload in plan.parts(prefix):
            key = (workload.hash, share)
            if key not in self.known:
                self.known[key] = self.solved(smaller(instance, workload), share, name)
            parts.append(self.known[key])
        return plan.lift(parts)

    def solved(self, instance: Instance, share: float, prefix: str) -> Solved:
        """The solution of a part: reduced further, or solved."""
        plan = first_plan(instance, self.traits)
        if plan is not None:
            return self.lifted(plan, instance, share, prefix)
        asked = self.task.asked
        tolerance = asked.get("tolerance") or _default_tolerance(instance, self.task.solver)
        self.asked = max(self.asked, tolerance)
        options = {**asked, "tolerance": MARGIN * share * tolerance}
        if any(leaf.stop == Stop.INTERRUPTED for leaf in self.leaves):
            options["time_limit"] = LEAST
        elif "time_limit" in options:
            used = time.monotonic() - self.started
            options["time_limit"] = max(options["time_limit"] - used, LEAST)
        try:
            point, leaf = find_convex(replace(self.task, instance=instance, asked=options), split=True)
        except SolverError as error:
            message = f"{error.message} (cells and queries counted after: {'; '.join(self.lines)})"
            hint = "; or ".join(filter(None, [error.hint, UNREDUCED]))
            raise SolverError(message, where=error.where, hint=hint) from None
        self.lines.extend(prefix + line for line in leaf.reductions)
        self.leaves.append(leaf)
        strategy, _, _ = meaning(instance, point.env, leaf.multipliers)
        return Solved(as_dense(strategy), dense(leaf.multipliers), leaf.bound)


def _default_tolerance(instance: Instance, solver: str | None) -> float:
    """That of the solver that would be chosen."""
    try:
        return choose_solver(instance, solver).tolerance
    except TooLargeError:  # for every conic solver; another may do, or says so itself
        return Options().tolerance


def solve_reduced(task: Task) -> Solution:
    """Solve a convex program by the reductions that apply to it.

    The tolerance asked for is that of the whole; parts are solved somewhat more exactly.
    ``Solution.reductions`` has a line for each.

    Raises
    ------
    SolverError : from a part; or the lifted point is not feasible.
    """
    started, instance = time.monotonic(), task.instance
    if not reducible(instance):
        return solve_convex(task, split=True)
    traits = traits_of(instance)
    plan = first_plan(instance, traits)
    if plan is None:
        return solve_convex(task, split=True)
    run = _Run(task, traits)
    lifted = run.lifted(plan, instance, 1.0)
    found = time.monotonic()
    best = Best(instance)
    best.offer(adopt(instance, lifted.strategy), lifted.multipliers)
    point = best.point
    if point is None or not point.is_feasible:
        if instance.workload.n <= 512:  # rounding, where queries are nearly dependent: solved as it is
            solution = solve_convex(task, split=True)
            said = f"solved as it is: the reduced problem gave no feasible point ({'; '.join(run.lines)})"
            return replace(solution, warnings=(*solution.warnings, said))
        raise SolverError(
            f"the solution of the reduced problem gives no feasible point of '{instance.program.name}' "
            f"({'; '.join(run.lines)})",
            hint=UNREDUCED,
        )
    stop, leaves = _stop(run, best.gap), run.leaves
    names = dict.fromkeys(leaf.solver for leaf in leaves)
    name = (" and ".join(n for n, _ in names), " and ".join(v for _, v in names))
    iterations = sum(leaf.iterations for leaf in leaves)
    best.tell(task, name[0], found - started, iterations)
    solving = sum(leaf.solve for leaf in leaves)
    ending = best.ending(
        stop=stop,
        solver=name,
        word=leaves[-1].word,
        options=Options(**{**task.asked, "tolerance": run.asked}),
        iterations=iterations,
        compile=found - started - solving,
        solve=solving,
        scaling=leaves[0].scaling if len(leaves) == 1 else {},
        warnings=_warnings(run, stop, best.gap),
        reductions=tuple(run.lines),
    )
    return assemble(instance, point.env, ending)


def _stop(run: _Run, gap: float) -> str:
    """Why the whole ended: its own gap, or the first part that did not reach one."""
    if gap <= run.asked:
        return Stop.REACHED
    return next((leaf.stop for leaf in run.leaves if leaf.stop != Stop.REACHED), Stop.LIFTED)


def _warnings(run: _Run, stop: str, gap: float) -> tuple[str, ...]:
    found = {} if stop == Stop.REACHED else dict.fromkeys(w for leaf in run.leaves for w in leaf.warnings)
    if stop == Stop.LIFTED:
        found[
            f"every part reached its gap, and what they make together has a gap of "
            f"{rounded(gap, 2, up=True, layout='e')} ({run.asked:.0e} was asked for): {UNREDUCED}"
        ] = None
    return tuple(found)
