"""Programs with a rank constraint, by the trace heuristic.

The constraint rank(Z) == p is left out and <Z, D> added to the objective, with D the projector on the
eigenvectors of Z's smallest eigenvalues: zero exactly when the rank is reached. Solving and taking D anew
take turns (Dattorro, Convex Optimization and Euclidean Distance Geometry, chapter 4, "convex iteration").
The first D of each start is a random projector, or the one at a start that is given.

A large weight on <Z, D> reaches the rank soon, wherever it is near; a small one finds good points and
seldom reaches the rank. So the weight is small at first and raised whenever the residual falls no more.
Every round's point is repaired and scored. It is a heuristic: the status says whether the rank was reached.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.best import Best
from mmopt.driver.choice import pick_solver, predicted
from mmopt.driver.convex import Progress, Report, with_total
from mmopt.driver.diagnosis.diagnose import explain_failure
from mmopt.driver.judge.assemble import assemble
from mmopt.driver.judge.score import Array
from mmopt.driver.judge.shortfalls import unscaled
from mmopt.driver.search.penalised import Penalised, penalised
from mmopt.errors import TooLargeError
from mmopt.language.check.rank import rank_residual
from mmopt.results import Solution, Status
from mmopt.solvers import Clock, Options, Point, SolverRow, run

__all__ = ["ROUNDS", "STARTS", "solve_rank"]

STARTS = 10
ROUNDS = 40  # of one start
# The first weight of <Z, D>, relative to the scaled objective. On prefix sums over 2 to 6 cells, 1 ends at
# the best strategies known in half of the starts and near singular ones in the others; 3 ends up to a fifth
# above them in nearly all, 10 up to a half. So every second start begins with LARGER times as much.
PENALTY = 1.0
LARGER = 3.0
HALVED = 0.5  # where the residual does not fall below this part of the one before,
RAISED = 1.5  # the weight is multiplied by this
REACHED = 1e-6  # a residual below this is the solver's rounding
# What a solver is asked for in a round. SCS tests 1e-5 of it, Clarabel 1e-2, the others all of it.
ACCURACY = {"interior point": 1e-7, "first order": 1e-2}
# Predicted seconds beyond which a search is refused without a time limit.
PATIENCE = 600.0


@dataclass
class _Search:
    """The state of a search: the best point so far, and what each round came to."""

    problem: Penalised
    row: SolverRow
    options: Options
    clock: Clock
    report: Report | None
    best: Best
    last: Point | None = None
    used: int = 0
    starts: int = 0
    reached: int = 0
    smallest: float = np.inf
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        infeasible = self.last is not None and self.last.stop == "infeasible"
        return self.clock.is_over or infeasible or self.best.gap <= self.options.tolerance

    def start(self, weight: float, direction: Array, rounds: int) -> None:
        """Alternate from one direction until the rank is reached."""
        self.starts += 1
        before = np.inf
        for number in range(1, rounds + 1):
            row = {"start": self.starts, "round": number, "penalty": weight}
            z = self.solve(weight * direction, row)
            if z is None or self.is_over:
                return
            residual = row["residual"]
            if residual <= REACHED:
                return
            if residual > HALVED * before:
                weight *= RAISED
            before, direction = residual, self.problem.projector(z)

    def solve(self, direction: Array, row: dict[str, float]) -> Array | None:
        """One round: Z at the solver's point, None when there is no point."""
        problem, scaling = self.problem, self.problem.scaling
        problem.direction.value = (direction + direction.T) / 2
        asked = replace(self.options, tolerance=ACCURACY[self.row.method], max_iterations=None)
        with closing(run(self.row, problem.lowered, asked, self.clock)) as points:
            for point in points:
                self.last = point
                if self.row.method == "interior point":
                    break  # the first is as accurate as asked for
        assert self.last is not None
        found = self.last
        self.used += found.iterations
        row["iterations"] = found.iterations
        self.history.append(row)
        if len(found.variables) < len(problem.instance.program.choose):
            return None
        values = {n: v * scaling.variables[n] for n, v in found.variables.items()}
        known = scaling.multipliers
        repaired = self.best.offer(
            values, {n: v * known[n] for n, v in found.multipliers.items() if n in known}
        )
        z = problem.matrix(found.variables)
        row["residual"] = rank_residual(z, problem.rank)
        self.smallest = min(self.smallest, row["residual"])
        if repaired is not None and repaired.is_feasible:
            row["objective"] = repaired.objective
            self.reached += row["residual"] <= REACHED
        self.tell()
        return z

    def tell(self) -> None:
        point = self.best.point
        if self.report is not None and point is not None:
            program = self.problem.instance.program
            shown = (point.objective, self.best.bound, program.sense)
            self.report(Progress(program.name, self.row.name, self.clock.elapsed, self.used, *shown))

    def stop(self, limited: bool) -> str:
        """Why it ended, and whether the rank was reached; ``limited`` when the caller set the rounds."""
        if self.best.gap <= self.options.tolerance:
            return "gap reached"
        if self.reached:
            rank = f"rank reached in {self.reached} of {self.starts} starts"
        else:
            rank = f"rank not reached (residual {self.smallest:.1e})"
        if self.clock.is_over:
            return f"{'interrupted' if self.clock.interrupted else 'time limit'}, {rank}"
        return f"iteration limit, {rank}" if limited and not self.reached else rank


def _refuse_too_long(instance: Instance, row: SolverRow, times: int, limit: float) -> None:
    """Refuse a search of which not even one solve, or without a time limit not all of them, would end."""
    once = predicted(instance, row).seconds
    if once > limit:
        cells = instance.workload.n
        message = (
            f"'{instance.program.name}' solves one problem after another, and over {cells} cells each is "
            f"predicted to take {once:.0f} s with {row.name}; the time limit is {limit:g} s in all"
        )
        raise TooLargeError(
            message, hint="this is a program for about eight cells: take fewer, or allow more"
        )
    if not np.isfinite(limit) and once * times > PATIENCE:
        message = (
            f"'{instance.program.name}' would be solved up to {times} times with {row.name}, each about "
            f"{once:.1f} s; without a time limit {PATIENCE / 60:.0f} min in all are allowed"
        )
        raise TooLargeError(message, hint="give a time limit, fewer starts or iterations, or fewer cells")


def solve_rank(
    instance: Instance,
    solver: str | None,
    overrides: Mapping[str, Any],
    report: Report | None,
    start: Mapping[str, Array] | None = None,
) -> Solution:
    """Search a point of the rank asked for, from several starts; the best repaired point of all rounds.

    ``start`` holds values of what is chosen: the search then starts from there alone, and ends there unless
    it finds something better.
    ``max_iterations`` is the number of rounds of a start. The history has a row for every round:
    ``start``, ``round``, ``penalty`` (the weight of <Z, D>), the solver's ``iterations``, ``residual`` (the
    first singular value of Z beyond the rank, relative to the largest, before the repair) and
    ``objective`` (after the repair; absent when the repaired point is not feasible).

    Raises
    ------
    OptionError : the rank is none that the matrix can have.
    TooLargeError : it is predicted to take too long, and no time limit is given.
    SolverError : no round gave a point that could be made feasible.
    """
    started = time.monotonic()
    program = instance.program
    row = pick_solver(instance, solver)
    own = {"tolerance": row.tolerance, "starts": STARTS, "seed": 0, "penalty": PENALTY}
    chosen = Options(**{**own, **overrides, **({} if start is None else {"starts": 1})})
    assert chosen.starts is not None and chosen.seed is not None and chosen.penalty is not None
    rounds = chosen.max_iterations or ROUNDS
    _refuse_too_long(instance, row, chosen.starts * rounds, chosen.time_limit)
    problem = penalised(instance)
    compiled = time.monotonic()
    with Clock(chosen.time_limit) as clock:
        search = _Search(problem, row, chosen, clock, report, Best(instance))
        if start is not None:
            search.best.offer(start, {})
        if program.multipliers:
            # The relaxation without the rank: the best multipliers for the bound.
            search.solve(np.zeros((problem.side, problem.side)), {"start": 0, "round": 1, "penalty": 0.0})
        for number in range(chosen.starts):
            if search.is_over and search.last is not None:
                break
            weight = chosen.penalty * (LARGER if number % 2 else 1.0)
            search.start(weight, problem.first(start, [chosen.seed, number]), rounds)
    solved = time.monotonic()
    best, last = search.best, search.last
    point = best.point
    assert last is not None
    if point is None or not point.is_feasible:
        if clock.interrupted:
            raise KeyboardInterrupt
        raise explain_failure(
            instance,
            problem.scaled,
            problem.scaling,
            row.name,
            last,
            point,
        )
    scaling = problem.scaling
    status = Status(
        search.stop(chosen.max_iterations is not None),
        True,
        point.before,
        best.bound is not None,
        last.raw,
    )
    solution = assemble(
        instance,
        point.env,
        objective=point.objective,
        proved=point.proved,
        raw=best.values,
        bound=best.bound,
        status=status,
        solver=(row.name, row.version),
        options=asdict(chosen),
        iterations=search.used,
        seconds={"compile": compiled - started, "solve": solved - compiled, "total": 0.0},
        multipliers=best.multipliers or {},
        scaling=scaling.scales,
        warnings=unscaled(instance, scaling),
        history=search.history,
    )
    return with_total(solution, time.monotonic() - started)
