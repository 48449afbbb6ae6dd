"""Solve a product factor by factor; the whole is what the certified solutions of its factors make.

Nothing is scored over the cells: that objective and bound of the whole are the products of theirs is the
theorem of ``compiler/reductions/solve_kronecker_factors.py``, and whether it holds the plan decides by the
program's tree.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from mmopt.driver.solve_convex import Parts
from mmopt.driver.solve_plan import SolvePlan, Task
from mmopt.numerics.outward import times_down, times_up
from mmopt.results import Solution, Status, of_factors
from mmopt.results.solve_status import weakest
from mmopt.solvers import total

__all__ = ["composed", "solve_factors"]


def solve_factors(task: Task, solve: Callable[[Task], Solution]) -> Solution:
    """Solve a product as its plan says, equal factors once; ``solve`` solves the task of a factor.

    Raises
    ------
    SolverError : no feasible point of a factor was found.
    """
    parts, plans = Parts(task), task.plan.factors
    known: dict[SolvePlan, Solution] = {}
    for plan in task.plan.attributes:
        with parts.named():
            asked = parts.options(plan, 1.0 / len(plans))
            found = known[plan] = solve(replace(task, plan=plan, asked=asked))
        parts.ends.append((found.status.stop, found.warnings))
    solved = list(known.values())
    whole = composed(task.instance.workload.hash, {name: known[plan] for name, plan in plans.items()})
    gap = math.inf if whole.gap is None else whole.gap
    stop = parts.stop(gap)
    names = dict.fromkeys((s.solver, s.solver_version) for s in solved)
    found = replace(
        whole,
        solver=" and ".join(name for name, _ in names),
        solver_version=" and ".join(version for _, version in names),
        status=replace(whole.status, stop=stop),
        iterations=total(s.iterations for s in solved),
        seconds={
            **{name: sum(s.seconds[name] for s in solved) for name in ("compile", "solve")},
            "total": time.monotonic() - parts.started,
        },
        options={**whole.options, **task.asked, "tolerance": parts.asked},
        reductions=task.plan.lines,
        warnings=parts.remarks(stop, gap),
    )
    task.tell(found.solver, found.seconds["total"], found.iterations, found.objective, found.bound)
    return found


def composed(workload_hash: str, factors: Mapping[str, Solution]) -> Solution:
    """Put the solutions of the factors together: objective and error rounded up, bounds down.

    What tells how it came about is left to the caller.
    """
    each = list(factors.values())
    first, minimized = each[0], each[0].sense == "minimize"

    def product(name: str, up: bool) -> float:
        return float(reduce(times_up if up else times_down, [getattr(s, name) for s in each]))

    is_bounded = all(s.bound is not None and s.bound >= 0.0 for s in each)
    grades = [s.bound_grade for s in each if s.bound_grade is not None]
    own = [s.own_sensitivity for s in each]
    made = of_factors(factors)
    grade = weakest(*grades) if is_bounded else None
    return replace(
        first,
        **made,
        status=Status(
            first.status.stop,
            all(s.status.feasible for s in each),
            max(s.status.violation for s in each),
            grade == "proved",
            first.status.raw,
        ),
        objective=product("objective", up=minimized),
        bound=product("bound", up=not minimized) if is_bounded else None,
        error=product("error", up=True),
        error_bound=product("error_bound", up=False),
        sensitivity=made["strategy"].sensitivity,
        rmse=product("rmse", up=True),
        value=math.prod(s.value for s in each),
        scaling={},
        workload_hash=workload_hash,
        history=(),
        warnings=(),
        steps=dict(factors),
        objective_grade=weakest(*(s.objective_grade for s in each)),
        bound_grade=grade,
        survived=min(s.survived for s in each),
        own_sensitivity=None if own == [None] * len(own) else math.prod(one or 1.0 for one in own),
        derived_bound=None,
        derived_grade=None,
        derived_from={},
    )
