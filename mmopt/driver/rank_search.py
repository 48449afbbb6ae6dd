"""The search for programs with a rank constraint: the trace heuristic, by solves and projectors in turn.

rank(Z) == p is left out, and <Z, D> is added to the objective, with D the projector on the eigenvectors of
Z's smallest eigenvalues: zero exactly when the rank is reached. Solves and updates of D take turns (Dattorro,
Convex Optimization and Euclidean Distance Geometry, chapter 4, "convex iteration"). The first D of each start
is a random projector, or the one at a given start. A large weight on <Z, D> reaches the rank soon, at any
nearby point; a small one finds good points and seldom reaches the rank. So the weight is small at first (in
every second start ``LARGER`` times as large) and raised whenever the residual stops falling. First weight,
growth, the residual that counts as zero and the number of rounds are parameters of the program (section
``search``). Every round's point is repaired, certified and scored like a conic solver's. It is a heuristic:
the status says whether the rank was reached.
"""

import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Lowered, Scaling, lower, scale
from mmopt.driver.judge.assemble_solution import adopt, assemble_solution
from mmopt.driver.run_solver import SECONDS_TO_ANNOUNCE, Best, solver_stage, unscaled_warning
from mmopt.driver.task_and_plan import Task
from mmopt.driver.why_no_solution import explain_failure
from mmopt.errors import OptionError, TooLargeError
from mmopt.language import (
    LARGEST_DIM,
    SEARCH,
    Apply,
    Curvature,
    Expr,
    Name,
    evaluate,
    infer,
    matrix,
    rank_line,
    rank_residual,
)
from mmopt.limits import Stop, time_not_counted, working
from mmopt.numerics.arrays import Array
from mmopt.results import Solution
from mmopt.solvers import (
    Clock,
    Options,
    Point,
    SolverRow,
    conic_solver,
    memory_limit,
    predicted,
    run,
    total,
)
from mmopt.strategies import Strategy

DIRECTION = "?direction"  # the name of D, which no program can choose
PARAMETER_BYTES = 4.0  # of cvxpy per fourth power of the direction's rows: 0.8 GB at 120


@dataclass(frozen=True)
class Penalised:
    """The problem of every round, compiled once: only the direction D changes."""

    scaled: Instance
    scaling: Scaling
    lowered: Lowered
    direction: Any  # a cvxpy parameter
    z: Expr  # the matrix whose rank is given
    side: int  # its rows
    rank: int

    def matrix(self, variables: Mapping[str, Array]) -> Array:
        """Z in the scale of the solve, where it does not depend on the units of the queries."""
        env = {**self.scaled.env, **{n: v if v.ndim else float(v) for n, v in variables.items()}}
        return np.asarray(evaluate(self.z, env), dtype=float)

    def projector(self, z: Array) -> Array:
        """The projector on the eigenvectors of all but the ``rank`` largest eigenvalues."""
        _, vectors = np.linalg.eigh((z + z.T) / 2)
        small = vectors[:, : self.side - self.rank]
        return np.asarray(small @ small.T)

    def first_projector(self, start: Mapping[str, Array] | None, seed: list[int]) -> Array:
        """The projector at a start in the scale of the program; without one a random one of the same rank."""
        if start is not None:
            return self.projector(
                self.matrix({n: np.asarray(v) / self.scaling.variables[n] for n, v in start.items()})
            )
        small, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(self.side, self.side - self.rank)))
        return np.asarray(small @ small.T)


def penalised(instance: Instance) -> Penalised:
    """Scale the program, put the penalty into its objective, compile it."""
    with time_not_counted("cvxpy"):
        import cvxpy

    program = instance.program
    constraint = rank_line(program.constraints)
    left, right = constraint.relation.left, constraint.relation.right
    assert isinstance(left, Apply)
    (z,) = left.args
    side = infer(z, instance.checked.scope).dims[0]
    size, rank = side.value(instance.sizes()), float(evaluate(right, instance.env))
    if rank != int(rank) or not 0 <= rank <= size:
        raise OptionError(
            f"'{constraint.name}': a matrix with {size} rows does not have rank {rank:g}",
            where=program.source.locate(right.span),
        )
    if (needed := PARAMETER_BYTES * size**4) > memory_limit():
        raise TooLargeError(
            f"the direction of '{program.name}' has {size} rows and would need about {needed / 2**30:,.0f} "
            f"GiB of memory to compile; the limit here is {memory_limit() / 2**30:.0f} GiB",
            hint="this is a program for about eight cells: take fewer",
        )
    scaled, scaling = scale(instance)
    direction = cvxpy.Parameter((size, size), symmetric=True)
    penalty = Apply("sum", (Apply("mul", (z, Name(DIRECTION, z.span)), z.span),), z.span)
    changed = replace(
        program,
        objective=Apply(
            "add" if program.sense == "minimize" else "sub", (program.objective, penalty), z.span
        ),
    )
    lines = instance.checked.lines.with_types(
        **{DIRECTION: matrix(side, side, symmetric=True, curvature=Curvature.CONSTANT)}
    )
    bound = replace(
        scaled,
        checked=replace(instance.checked, program=changed, lines=lines),
        env={**scaled.env, DIRECTION: direction},
    )
    return Penalised(scaled, scaling, lower(bound), direction, z, size, int(rank))


def search_of(instance: Instance, limits: Mapping[str, Any]) -> dict[str, float]:
    """The parameters of a search (``SEARCH``), as the program or the caller sets them.

    ``max_iterations`` of the caller's ``limits`` are its rounds. OptionError for one out of range.
    """
    values = {**SEARCH, **{p.name: float(instance.env[p.name]) for p in instance.program.search}}
    values["rounds"] = float(limits.get("max_iterations") or values["rounds"])
    for name, holds, words in (
        ("penalty", values["penalty"] > 0, "positive"),
        ("growth", values["growth"] >= 1, "at least 1"),
        ("zero", 0 < values["zero"] < 1, "between 0 and 1"),
        (
            "rounds",
            1 <= values["rounds"] < LARGEST_DIM and not values["rounds"] % 1,
            "a whole number, at least 1",
        ),
    ):
        if not holds:
            raise OptionError(f"the parameter '{name}' of a search is {words}, not {values[name]:g}")
    return values


def most_solves(instance: Instance, limits: Mapping[str, Any]) -> int:
    """The largest number of solves of a search, with the caller's ``limits`` (starts, max_iterations)."""
    starts, rounds = limits.get("starts") or RANK_STARTS, int(search_of(instance, limits)["rounds"])
    return int(starts) * rounds + bool(instance.program.multipliers)


IN_ROUNDS = (
    "objective: of the repaired point; penalty, residual and eigenvalues: of Z, as scaled for the solver; "
    "D: in round 1 {}, in start 0 none, then the projector of the previous round"
)
RANK_STARTS = 10
LARGER = 3.0  # times the first weight: every second start begins so, as one alone may end near singular ones
HALVED = 0.5  # where the residual does not fall below this part of the one before, the weight grows
# The tolerance of a solver in a round. SCS tests 1e-5 of it, Clarabel 1e-2, the others all of it.
ACCURACY = {"interior point": 1e-7, "first order": 1e-2}
IDENTITY = "by the identity, which no round improves on"
NO_BETTER = ("no round of the search is better than measuring every cell (the identity), which this is",)
# Predicted seconds beyond which a search is refused without a time limit.
PATIENCE = 600.0


@dataclass
class _RankSearch:
    """The state of a search: the best point so far, and a row for each round."""

    task: Task
    problem: Penalised
    row: SolverRow
    search: Mapping[str, float]
    options: Options
    clock: Clock
    best: Best
    last: Point = field(default_factory=lambda: Point({}, {}, 0, ""))
    history: list[dict[str, float]] = field(default_factory=list)
    scoring: float = 0.0  # seconds

    @property
    def used(self) -> int | None:
        """Iterations of the solver, of all rounds."""
        return total(None if (n := row.get("iterations")) is None else int(n) for row in self.history)

    @property
    def is_over(self) -> bool:
        """Whether the time, a gap that is reached, or a problem without a point ends the search."""
        return (
            self.clock.is_over or self.last.stop == Stop.INFEASIBLE or self.best.gap <= self.options.tolerance
        )

    def alternate(self, start: int, weight: float, direction: Array) -> None:
        """One start, by its number: solve and take a new direction in turn, until the rank is reached."""
        before = np.inf
        for number in range(1, int(self.search["rounds"]) + 1):
            row = {"start": start, "round": number, "penalty": weight}
            z = self.solve(direction, row)
            if z is None or self.is_over or (residual := row["residual"]) <= self.search["zero"]:
                return
            if residual > HALVED * before:
                weight *= self.search["growth"]
            before, direction = residual, self.problem.projector(z)

    def solve(self, direction: Array, row: dict[str, float]) -> Array | None:
        """One round: Z at the solver's point, None when there is no point."""
        problem, scaling = self.problem, self.problem.scaling
        direction = (direction + direction.T) / 2
        problem.direction.value = row["penalty"] * direction
        options = replace(self.options, tolerance=ACCURACY[self.row.method], max_iterations=None)
        with closing(run(self.row, problem.lowered, options, self.clock)) as points:
            for point in points:
                self.last = point
                if self.row.method == "interior point":
                    break  # the first has the accuracy
        last = self.last
        row |= {} if last.iterations is None else {"iterations": last.iterations}
        if self.options.history:
            entries = zip(*np.triu_indices(problem.side), strict=True)
            row |= {f"direction {i} {j}": float(direction[i, j]) for i, j in entries}
        self.history.append(row)
        if len(last.variables) < len(self.task.program.choose):
            return None
        self.scoring -= self.clock.elapsed
        repaired = self.best.offer(*scaling.undone(last.variables, last.multipliers))
        self.scoring += self.clock.elapsed
        z = problem.matrix(last.variables)
        row["residual"] = rank_residual(z, problem.rank)
        values = np.linalg.eigvalsh((z + z.T) / 2)[::-1]
        row |= {f"eigenvalue {i}": float(value) for i, value in enumerate(values)}
        if repaired is not None and repaired.is_feasible:
            row["objective"] = repaired.objective
        self.best.tell(self.task, self.row.name, self.clock.elapsed, self.used)
        return z

    def stop(self, limited: bool) -> str:
        """The reason for the end, and whether the rank was reached; ``limited``: rounds set by the caller."""
        stop = self.best.stop(self.options, self.clock)
        if stop == Stop.REACHED:
            return stop
        zero = self.search["zero"]
        if reached := sum("objective" in row and row["residual"] <= zero for row in self.history):
            rank = f"{Stop.RANK} in {reached} of {self.history[-1]['start']} starts"
        else:
            smallest = min((row["residual"] for row in self.history if "residual" in row), default=np.inf)
            residual = f"(residual {smallest:.1e})" if smallest > zero else "at a feasible point"
            rank = f"{Stop.NO_RANK} {residual}"
            stop = stop or (Stop.ITERATIONS if limited else None)
        return f"{stop}, {rank}" if stop else rank


def predicted_search(instance: Instance, solver: str | SolverRow | None = None) -> float:
    """Seconds for all rounds of all starts, each predicted as the first; most need fewer.

    Errors as ``conic_solver``.
    """
    return predicted_round(instance, conic_solver(instance, solver)) * most_solves(instance, {})


def predicted_round(instance: Instance, row: SolverRow) -> float:
    """Seconds of a round: its solve, as predicted, and as much again to compile it and to score its point."""
    return 2.0 * predicted(instance, row).seconds


def _refuse_too_long(instance: Instance, row: SolverRow, times: int, limit: float) -> None:
    """Refuse a search without time for one solve, or, without a time limit, with too many solves."""
    once = predicted_round(instance, row)
    if once > limit:
        raise TooLargeError(
            f"'{instance.program.name}' solves one problem after another, and over {instance.workload.n} "
            f"cells each is predicted to take {once:.0f} s with {row.name}; the time limit is {limit:g} s in "
            "all",
            hint="this is a program for about eight cells: take fewer, or allow more",
        )
    if not np.isfinite(limit) and once * times > PATIENCE:
        raise TooLargeError(
            f"'{instance.program.name}' would be solved up to {times} times with {row.name}, each about "
            f"{once:.1f} s; without a time limit {PATIENCE / 60:.0f} min in all are allowed",
            hint="give a time limit, fewer starts or iterations, or fewer cells",
        )


def solve_rank(task: Task) -> Solution:
    """Search a point of the given rank, from several starts; the best repaired point of all rounds.

    With a ``start`` the search starts from there alone. It returns the better of the start and the identity
    unless it finds a better point.
    ``max_iterations`` is the number of rounds of a start. The history has a row for every round:
    ``start``, ``round``, ``penalty`` (the weight of <Z, D>), the solver's ``iterations``, ``residual`` (the
    first singular value of Z beyond the rank, relative to the largest, before the repair), every
    ``eigenvalue i`` of that Z (in the scale of the solve), the largest first, and ``objective`` (after the
    repair; absent when the repaired point is not feasible). With the option ``history`` it has D too,
    the entries ``direction i j`` of its upper half.

    Raises
    ------
    OptionError : the matrix cannot have the rank.
    TooLargeError : it is predicted to take too long, and no time limit is given.
    SolverError : no round gave a point that could be made feasible.
    """
    started, instance, program, start = time.monotonic(), task.instance, task.program, task.start
    row = conic_solver(instance, task.solver)
    chosen = task.options(tolerance=row.tolerance, starts=RANK_STARTS, seed=0)
    chosen = chosen if start is None else replace(chosen, starts=1)
    assert chosen.starts is not None and chosen.seed is not None
    parameters, times = search_of(instance, vars(chosen)), most_solves(instance, vars(chosen))
    _refuse_too_long(instance, row, times, chosen.time_limit)
    once = predicted_round(instance, row)
    if min(once * times, chosen.time_limit) > SECONDS_TO_ANNOUNCE / 3:  # the factor of a forecast
        task.tell(row.name, 0.0, 0, np.nan, None, certified=False, predicted=once, solves=times)
    began = working()
    problem = penalised(instance)
    compiling = working() - began
    bases = {} if start is None else {"by the start": start}
    with suppress(OptionError):  # a program that takes no strategy, or one with fewer rows
        bases[IDENTITY] = adopt(instance, Strategy(np.eye(instance.workload.n), program.meaning.norm))
    with Clock(chosen.time_limit) as clock:
        search = _RankSearch(task, problem, row, parameters, chosen, clock, Best(instance))
        offered = {name: search.best.offer(point, {}) for name, point in bases.items()}
        if program.multipliers:
            # The relaxation without the rank: the best multipliers for the bound.
            search.solve(np.zeros((problem.side, problem.side)), {"start": 0, "round": 1, "penalty": 0.0})
        for number in range(chosen.starts):
            if search.is_over and search.history:
                break
            search.alternate(
                number + 1,
                parameters["penalty"] * (LARGER if number % 2 else 1.0),
                problem.first_projector(start, [chosen.seed, number]),
            )
        each = {
            "compiling": compiling,
            "cvxpy and solver": clock.elapsed - search.scoring,
            "repair and score": search.scoring,
        }
        search.best.stages.append(
            solver_stage(instance, row, clock, search.last, each)
            | {"seconds": working() - began}
            | {"iterations": search.used, "solves": len(search.history)}
            | {"in rounds": IN_ROUNDS.format("the start's" if start else "at random")}
        )
    best, last = search.best, search.last
    best.stages += [
        {"stage": "replaced", "name": name, "objective": one.objective}
        for name, one in offered.items()
        if one is not None and best.uncharged is one
    ]
    point = best.feasible_or_raise(
        clock,
        lambda: explain_failure(instance, (problem.scaled, problem.scaling), row.name, last, best.point),
    )
    ending = best.ending(
        point,
        stop=search.stop(chosen.max_iterations is not None),
        solver=(row.name, row.version),
        word=last.raw,
        options=chosen,
        iterations=search.used,
        compile=clock.started - started,
        solve=clock.elapsed,
        scaling=problem.scaling.scales,
        warnings=unscaled_warning(instance) + NO_BETTER * (best.stages[-1]["name"] == IDENTITY),
        history=search.history,
    )
    return assemble_solution(instance, point.env, ending)
