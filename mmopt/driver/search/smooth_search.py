"""Smooth programs, which are not convex: a search by gradients from several starts, the best end kept.

Every end is repaired and certified like a conic solver's point. Nothing is claimed to be the optimum
unless the certificate proves it: the status counts the starts and says how far their ends lie apart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling, scale
from mmopt.driver.free_vector import Coordinates, draw
from mmopt.driver.judge.assemble_solution import assemble
from mmopt.driver.judge.score_point import Array, Candidate
from mmopt.driver.run_solver import Best
from mmopt.driver.search.local_search import End, Problem, search
from mmopt.driver.solve_plan import Task
from mmopt.errors import SolverError
from mmopt.language import evaluate
from mmopt.results import Solution
from mmopt.solvers import LBFGS, Clock, Options
from mmopt.stop_reasons import Stop

__all__ = ["solve_smooth"]

STARTS = 5
ITERATIONS = 100_000  # of all starts together, unless the caller says otherwise


@dataclass
class _Ends:
    """The ends of the searches so far."""

    rows: list[dict[str, float]] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)  # of the feasible ones
    stops: list[Stop | None] = field(default_factory=list)
    raw: str = ""
    left_out: list[str] = field(default_factory=list)

    @property
    def iterations(self) -> int:
        return int(sum(row["iterations"] for row in self.rows))

    def add(self, number: int, end: End, found: Candidate | None) -> None:
        objective = np.inf if found is None else found.objective
        known = {"start": float(number), "objective": objective, "iterations": float(end.iterations)}
        self.rows.append({**known, "gradient norm": end.gradient})
        self.stops.append(end.stop)
        if found is not None and found.is_feasible:
            self.objectives.append(objective)
        if found is not None and objective <= min(self.objectives, default=np.inf):
            self.raw = end.raw

    def summary(self) -> str:
        """``local optimum, 5 starts, spread 1.2e-03``: of the worst end over the best, relatively."""
        count = len(self.objectives)
        text = f"{Stop.LOCAL}, {count} start{'s' * (count != 1)}"
        if count < 2:
            return text
        best, worst = min(self.objectives), max(self.objectives)
        return f"{text}, spread {(worst - best) / max(abs(best), 1e-300):.1e}"


def solve_smooth(task: Task) -> Solution:
    """Search local optima and keep the best. With a ``start`` it begins there and nowhere else.

    Raises
    ------
    SolverError : no start led to a point that could be repaired.
    """
    started, instance, program = time.monotonic(), task.instance, task.program
    options = task.options(tolerance=LBFGS.tolerance, starts=STARTS, seed=0)
    scaled, scaling = scale(instance)
    coordinates = Coordinates(program.choose, instance.sizes())
    points = list(_starts(instance, scaling, coordinates, options, task.start))
    problem = Problem(scaled, points[0][1], coordinates)
    best, ends = Best(instance), _Ends()
    budget = options.max_iterations or ITERATIONS
    with Clock(options.time_limit) as clock:
        for number, (name, values) in enumerate(points, 1):
            end = search(problem, coordinates.pack(values), clock, budget - ends.iterations)
            if end is None:
                ends.left_out.append(f"the objective has no value at the start '{name}', which was left out")
                continue
            ends.add(number, end, best.offer(*scaling.undone(coordinates.unpack(end.x), end.multipliers)))
            best.tell(task, LBFGS.name, clock.elapsed, ends.iterations)
            if best.gap <= options.tolerance or clock.stop(spent=ends.iterations >= budget):
                break
        stop = best.stop(options, clock) or (
            Stop.ITERATIONS if Stop.ITERATIONS in ends.stops else ends.summary()
        )
    point = best.feasible(clock, lambda: _no_point(program.name, best.point, ends))
    ending = best.ending(
        point,
        stop=stop,
        solver=(LBFGS.name, LBFGS.version),
        word=ends.raw,
        options=options,
        iterations=ends.iterations,
        compile=clock.started - started,
        solve=clock.elapsed,
        scaling=scaling.scales,
        warnings=tuple(ends.left_out),
        history=ends.rows,
    )
    return assemble(instance, point.env, ending)


def _starts(
    instance: Instance,
    scaling: Scaling,
    coordinates: Coordinates,
    options: Options,
    start: Mapping[str, Any] | None,
) -> Iterator[tuple[str, dict[str, Array]]]:
    """Starts by name, in the scale of the search: those of the program, then random ones.

    What a start leaves out is drawn. A start's random numbers depend on the seed and its number alone.
    """
    assert options.starts is not None and options.seed is not None
    program = instance.program
    named = [s for s in program.starts if s.values] if start is None else []
    wanted = options.starts
    if start is not None or (named and len(named) == len(program.starts)):
        wanted = min(wanted, max(1, len(named)))
    for number in range(wanted):
        rng = np.random.default_rng([options.seed, number])
        values = {d.name: draw(rng, d, d.shape(coordinates.sizes)) for d in program.choose}
        name, given = ("random", {}) if start is None else ("given", start)
        if number < len(named):
            name, given = named[number].name, _values(instance, named[number].values)
        for key, value in given.items():
            values[key] = np.asarray(value, dtype=float) / scaling.variables[key]
        yield name, values


def _values(instance: Instance, assignments: Sequence[Any]) -> dict[str, Any]:
    """The values of a named start; a later one may use an earlier one."""
    env: dict[str, Any] = dict(instance.env)
    for a in assignments:
        env[a.name] = evaluate(a.expr, env)
    return {a.name: env[a.name] for a in assignments}


def _no_point(program: str, found: Candidate | None, ends: _Ends) -> SolverError:
    if not ends.rows:
        message = f"the objective of '{program}' has no value at any start"
        return SolverError(message, hint="give it a 'start' at which it has one")
    detail = "no point"
    if found is not None:
        detail = f"a point that misses a constraint by {found.after:.1e} after its repair"
    return SolverError(
        f"{LBFGS.name} returned {detail} for '{program}' ({ends.raw})",
        hint="allow more time or iterations, ask for more starts, or give the program a 'repair'",
    )
