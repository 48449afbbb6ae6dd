"""Solve a convex program as its plan says: as it is, or by exact reductions, lifted and scored.

A solver runs on one instance, each of its points is certified, the best is kept. What comes from a reduction
is scored again: the lifted strategy becomes a point as the program's section ``from strategy`` says, and is
repaired and evaluated against the program file for the whole workload like a solver's point; the lifted
multipliers are put into its certificate. So nothing depends on a reduction being right but the gap.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from mmopt.compiler import Instance
from mmopt.compiler.reductions import SolvedPart
from mmopt.driver.judge.adopt_strategy import adopt
from mmopt.driver.judge.assemble_solution import Ending, assemble
from mmopt.driver.judge.point_meaning import meaning
from mmopt.driver.judge.score_point import Candidate
from mmopt.driver.run_solver import Best, run_solver
from mmopt.driver.solve_plan import FEW_CELLS, SolvePlan, Task
from mmopt.errors import SolverError, TooLargeError, UnsuitableError
from mmopt.numerics.outward import rounded
from mmopt.results import Solution
from mmopt.solvers import Claim, Options, choose_solver
from mmopt.stop_reasons import Stop
from mmopt.strategies import as_dense

__all__ = ["solve_convex"]

# Of the gap asked for, what the parts may use; the rest is for the rounding of the lift.
SHARE_OF_PARTS = 0.9
# Seconds for a part when the time is over: without a point for every part there is none for the whole.
SECONDS_OF_A_LATE_PART = 1e-3
UNREDUCED = "solve it as it is with reduce=False (--no-reduce)"


def solve_convex(task: Task) -> Solution:
    """Solve one convex program.

    The tolerance is that of the solver's row unless the caller names one. It is that of the whole: parts of
    a reduction are solved somewhat more exactly. ``Solution.reductions`` has a line for each reduction.

    Raises
    ------
    OptionError : an option that a convex program does not have.
    SolverError : no feasible point was found, of the whole or of a part; or the solver named is no kernel,
        and the instance is by component.
    TooLargeError : what is solved does not fit in memory.
    """
    if task.plan.step is not None:
        return _solve_parts(task)
    point, ending = _run(task)
    return assemble(task.instance, point.env, replace(ending, reductions=task.plan.lines))


def _run(task: Task) -> tuple[Candidate, Ending]:
    """Run a solver on an instance as it is until its best point has the gap."""
    started = time.monotonic()
    row = choose_solver(task.instance, task.solver)
    if task.plan.split and not isinstance(row, Claim):
        raise UnsuitableError(
            f"{row.name} does not work by component ({task.plan.split})",
            hint="leave the solver out, or solve over all cells with reduce=False (--no-reduce)",
        )
    return run_solver(task, row, Best(task.instance), started)


@dataclass
class _Parts:
    """The parts solved so far; equal ones are solved once."""

    whole: Task
    started: float = field(default_factory=time.monotonic)
    known: dict[tuple[SolvePlan, float], SolvedPart] = field(default_factory=dict)
    leaves: list[Ending] = field(default_factory=list)
    asked: float = 0.0  # the gap asked for: the largest default of the solvers, unless the caller says

    def solved(self, plan: SolvePlan, share: float) -> SolvedPart:
        """What a plan comes to, within its share of the gap: a solver's point, or the lift of its parts'."""
        if plan.step is None:
            return self.run(plan, share)
        share = share / len(plan.parts) if plan.step.multiplies else share
        for part in plan.parts:
            if (part, share) not in self.known:
                self.known[part, share] = self.solved(part, share)
        return plan.step.lift([self.known[part, share] for part in plan.parts])

    def run(self, plan: SolvePlan, share: float) -> SolvedPart:
        whole = self.whole
        tolerance = whole.asked.get("tolerance") or _default_tolerance(plan.instance, whole.solver)
        self.asked = max(self.asked, tolerance)
        asked = {**whole.asked, "tolerance": SHARE_OF_PARTS * share * tolerance}
        if any(leaf.stop == Stop.INTERRUPTED for leaf in self.leaves):
            asked["time_limit"] = SECONDS_OF_A_LATE_PART
        elif "time_limit" in asked:
            used = time.monotonic() - self.started
            asked["time_limit"] = max(asked["time_limit"] - used, SECONDS_OF_A_LATE_PART)
        try:
            point, leaf = _run(replace(whole, plan=plan, asked=asked))
        except SolverError as error:
            lines = "; ".join(whole.plan.lines)
            message = f"{error.message} (cells and queries counted after: {lines})"
            hint = "; or ".join(filter(None, [error.hint, UNREDUCED]))
            raise SolverError(message, where=error.where, hint=hint) from None
        self.leaves.append(leaf)
        strategy, _, _ = meaning(plan.instance, point.env, leaf.multipliers)
        return SolvedPart(strategy, leaf.multipliers, leaf.bound)


def _default_tolerance(instance: Instance, solver: str | None) -> float:
    """That of the solver that would be chosen."""
    try:
        return choose_solver(instance, solver).tolerance
    except TooLargeError:  # for every conic solver; another may do, or says so itself
        return Options().tolerance


def _solve_parts(task: Task) -> Solution:
    """Solve the parts of a plan, lift what comes out, and score it."""
    instance, parts, best = task.instance, _Parts(task), Best(task.instance)
    lifted = parts.solved(task.plan, 1.0)
    seconds = time.monotonic() - parts.started
    best.offer(adopt(instance, as_dense(lifted.strategy)), lifted.multipliers)
    point = best.point
    if point is None or not point.is_feasible:
        lines = "; ".join(task.plan.lines)
        if instance.workload.n <= FEW_CELLS:  # rounding, where queries are nearly dependent: solved as it is
            solution = solve_convex(replace(task, plan=SolvePlan(instance)))
            said = f"solved as it is: the reduced problem gave no feasible point ({lines})"
            return replace(solution, warnings=(*solution.warnings, said))
        raise SolverError(
            f"the solution of the reduced problem gives no feasible point of '{instance.program.name}' "
            f"({lines})",
            hint=UNREDUCED,
        )
    stop, leaves = _stop(parts, best.gap), parts.leaves
    names = dict.fromkeys(leaf.solver for leaf in leaves)
    name = (" and ".join(n for n, _ in names), " and ".join(v for _, v in names))
    iterations = sum(leaf.iterations for leaf in leaves)
    best.tell(task, name[0], seconds, iterations)
    solving = sum(leaf.solve for leaf in leaves)
    ending = best.ending(
        point,
        stop=stop,
        solver=name,
        word=leaves[-1].word,
        options=Options(**{**task.asked, "tolerance": parts.asked}),
        iterations=iterations,
        compile=seconds - solving,
        solve=solving,
        scaling=leaves[0].scaling if len(leaves) == 1 else {},
        warnings=_warnings(parts, stop, best.gap),
        reductions=task.plan.lines,
    )
    return assemble(instance, point.env, ending)


def _stop(parts: _Parts, gap: float) -> str:
    """Why the whole ended: its own gap, or the first part that did not reach one."""
    if gap <= parts.asked:
        return Stop.REACHED
    return next((leaf.stop for leaf in parts.leaves if leaf.stop != Stop.REACHED), Stop.LIFTED)


def _warnings(parts: _Parts, stop: str, gap: float) -> tuple[str, ...]:
    found = {} if stop == Stop.REACHED else dict.fromkeys(w for leaf in parts.leaves for w in leaf.warnings)
    if stop == Stop.LIFTED:
        found[
            f"every part reached its gap, and what they make together has a gap of "
            f"{rounded(gap, 2, up=True, layout='e')} ({parts.asked:.0e} was asked for): {UNREDUCED}"
        ] = None
    return tuple(found)
