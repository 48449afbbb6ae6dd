"""Points of the shipped weighting programs, by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from mmopt.solvers.options import Clock, Options, Point
from mmopt.solvers.weighting.improve import improve
from mmopt.solvers.weighting.problem import Array, State
from mmopt.solvers.weighting.programs import SHIPPED, Part, Shipped, dual_gap

__all__ = ["points"]

FINER = 1e-2  # if a point's certified gap is too large after all, the next one's is smaller by this
FINEST = 1e-15
IDLE = 1e-3  # part of the gap asked for that weights without error (c = 0) may cost


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points of a shipped program, each when the kernel's own gap is half of what is asked, or at the end.

    Parameters
    ----------
    program : one of ``PROGRAMS``.
    env : its givens, parameters and lets by name.
    options : ``tolerance`` and ``max_iterations`` count; an iteration is a step of either order.
    clock : looked at after every iteration.

    The variables and multipliers are named as in the program and in its own scale. A consumer that is not
    content goes on and gets a finer point, until ``final``.
    """
    shipped = SHIPPED[program]
    runs = [_Run(part, bool(shipped.prices)) for part in shipped.parts(env, IDLE * options.tolerance)]
    goal = options.tolerance / 2

    def spent() -> bool:
        limit = options.max_iterations
        return limit is not None and sum(run.iterations for run in runs) >= limit

    while True:
        for run in runs:
            run.until(goal, lambda: clock.is_over or spent())
        reached = all(run.gap <= goal for run in runs)
        stop = ""
        if clock.is_over:
            stop = "stopped"
        elif spent():
            stop = "iteration limit"
        elif goal <= FINEST or any(run.ended and run.gap > goal for run in runs):
            stop = "solved" if reached else "finished"
        raw = f"gap {max(run.gap for run in runs):.1e} by its own arithmetic"
        variables, multipliers = _named(shipped, runs)
        yield Point(
            variables, multipliers, sum(run.iterations for run in runs), raw, bool(stop), stop or "solved"
        )
        if stop:
            return
        goal = max(goal * FINER, FINEST)


class _Run:
    """One part on its way. While it rests it holds its state alone, from which the second order goes on."""

    def __init__(self, part: Part, dual: bool) -> None:
        self.part = part
        self.dual = dual
        self.iterations = 0
        self.gap = float("inf")
        self.ended = False
        self.state: State | None = None

    def until(self, goal: float, over: Callable[[], bool]) -> None:
        """Go on until the gap is reached or it is over, one step at least the first time."""
        if self.state is not None and (self.gap <= goal or over()):
            return
        problem = self.part.problem
        for found in improve(problem, self.state):
            self.iterations += 1
            self.state, self.gap = found, found.gap
            if self.dual and found.gap <= goal:
                self.gap = dual_gap(problem, found)
            if self.gap <= goal or over():
                return
        self.ended = True


def _named(shipped: Shipped, runs: list[_Run]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Variables and multipliers by the program's names."""
    states = [run.state for run in runs if run.state is not None]
    mu = states[0].mu
    xp = mu.__array_namespace__()
    if shipped.prices:
        # There the sum of the prices at the optimum is the bound itself.
        return {shipped.prices: mu * (states[0].bound / float(xp.sum(mu)))}, {}
    parts = [run.part for run in runs]
    values = [s.u * (1.0 - p.share) for s, p in zip(states, parts, strict=True)]
    values += [xp.full(p.idle.shape, p.least, dtype=mu.dtype) for p in parts]
    places = xp.concat([p.rows for p in parts] + [p.idle for p in parts])
    u = xp.take(xp.concat(values), xp.argsort(places))
    variables = {shipped.weights: u}
    if shipped.inverses:
        variables[shipped.inverses] = 1.0 / u
    prices = xp.stack([s.mu for s in states]) if shipped.stacked else mu
    return variables, {"sensitivity": prices}
