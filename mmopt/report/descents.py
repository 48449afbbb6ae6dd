"""How solves came down, for a chart: certified gaps, and what solvers count of their own iterations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mmopt.comparison import Outcome
from mmopt.results import Solution, gap_between

__all__ = ["LARGEST_GAP", "MOST_STEPS", "SMALLEST_GAP", "Descent", "Place", "descents"]

LARGEST_GAP = 1e3  # a gap above this says nothing, and would press the others together
SMALLEST_GAP = 1e-16  # a gap of zero has no logarithm
MOST_STEPS = 10  # of a procedure that are drawn, the last ones

Place = tuple[float | None, int | None, float]  # seconds, iterations, gap; None where not known


@dataclass(frozen=True)
class Descent:
    """How a solve came down: places of its certified points, and of its own count, a list for each run.

    tolerance : the gap asked for; 0 where that is not known. is_claimed : whether the bound is.
    """

    program: str
    solver: str
    certified: list[Place] = field(default_factory=list)
    own: list[list[Place]] = field(default_factory=list)
    tolerance: float = 0.0
    is_claimed: bool = False

    @property
    def has_reached(self) -> bool:
        return bool(self.certified) and self.certified[-1][2] <= self.tolerance


def descents(found: Outcome | Solution) -> list[Descent]:
    """What is drawn of an outcome or a solution; of a procedure without a history its last steps.

    Gaps of ``LARGEST_GAP`` and more are left out, and those below ``SMALLEST_GAP`` drawn there.
    """
    if isinstance(found, Outcome):
        return [_of_outcome(found)]
    rows = _iterations(found)
    if rows or not found.steps:
        places = _certified(rows, found.sense)
        return [_descent(found, rows, _with_end(places, found, found.seconds.get("total")))]
    last = list(found.steps.items())[-MOST_STEPS:]
    steps = ((f"step {name}", descents(step)) for name, step in last)
    return [replace(one, program=name) for name, those in steps for one in those[:1]]


def _of_outcome(outcome: Outcome) -> Descent:
    places: list[Place] = [
        (point.seconds, point.iterations, gap)
        for point in outcome.history
        # Steps of a procedure solve other programs.
        if point.program == outcome.program and (gap := _drawn(point.gap)) is not None
    ]
    solution = outcome.solution
    if solution is None:
        return Descent(outcome.program, outcome.solver, places)
    places = _with_end(places, solution, outcome.seconds)
    rows = _iterations(solution)
    # Seconds of an outcome count from the start of its process, those of a history from that of the solve.
    first = next((row["seconds"] for row in rows if row["certified"]), None)
    before = outcome.history[0].seconds - first if outcome.history and first is not None else 0.0
    return _descent(solution, rows, places, before)


def _with_end(places: list[Place], solution: Solution, seconds: float | None) -> list[Place]:
    """With the gap of the solution, if it is another one: its bound may be of another program."""
    last = _drawn(solution.gap)
    if last is None:
        return places
    if places and math.isclose(places[-1][2], last, rel_tol=1e-3):  # the same, judged again
        seconds, iterations, _ = places[-1]
        return [*places[:-1], (seconds, iterations, last)]
    return [*places, (seconds, solution.iterations, last)]


def _iterations(solution: Solution) -> list[Mapping[str, Any]]:
    """The rows of iterations; those of rounds of a search have no bound."""
    return [row for row in solution.history if "certified" in row]


def _descent(
    solution: Solution, rows: Sequence[Mapping[str, Any]], certified: list[Place], before: float = 0.0
) -> Descent:
    runs = itertools.groupby(
        (row for row in rows if not row["certified"]), key=lambda row: (row.get("part"), row.get("run"))
    )
    own = [list(_own(run, solution.sense, before)) for _, run in runs]
    if all(len(run) < 2 for run in own):  # of each run where it ended
        own = [[place for run in own for place in run]]
    return Descent(
        solution.program,
        solution.solver,
        certified,
        [run for run in own if run],
        float(solution.options.get("tolerance") or 0.0),
        solution.bound_grade == "claimed",
    )


def _certified(rows: Iterable[Mapping[str, Any]], sense: str) -> list[Place]:
    """The certified rows with a gap; of the whole, where there are parts of it too."""
    kept = [row for row in rows if row["certified"]]
    whole = [row for row in kept if "part" not in row]
    return [
        (row.get("seconds"), row.get("iteration"), gap)
        for row in whole or kept
        if (gap := _drawn(gap_between(row.get("objective", np.nan), row.get("bound"), sense))) is not None
    ]


def _own(rows: Iterable[Mapping[str, Any]], sense: str, before: float) -> Iterator[Place]:
    """Objective and bound may pass each other while residuals are large: the largest of all three counts.

    Where a solver prints both with the same few digits, its gap is not known.
    """
    for row in rows:
        gap = gap_between(row.get("objective", np.nan), row.get("bound"), sense)
        residuals = [row[name] for name in ("primal residual", "dual residual") if name in row]
        if gap and (drawn := _drawn(max(abs(gap), *residuals, 0.0))) is not None:
            seconds = row.get("seconds")
            yield None if seconds is None else before + seconds, row.get("iteration"), drawn


def _drawn(gap: float | None) -> float | None:
    """Where a gap is drawn; None where it is not."""
    return max(gap, SMALLEST_GAP) if gap is not None and gap < LARGEST_GAP else None
