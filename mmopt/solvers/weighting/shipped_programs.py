"""The shipped programs that are this problem: where its data stand, their points, and what they will take."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from mmopt.solvers.solver_protocol import Clock, Options, Pace, Point
from mmopt.solvers.weighting.weight_steps import improve
from mmopt.solvers.weighting.weighting_problem import (
    Array,
    GivenMatrix,
    Weighting,
    WeightsAndPrices,
    entrywise,
)

# Stands for c where a part has no error, so that its multipliers count for nothing beside the others'.
NO_COST = 1e-100


@dataclass(frozen=True)
class WeightsPart:
    """One problem over the program's weights at ``rows`` (k,); ``problem`` makes it anew at each call.

    Weights at ``idle`` have c = 0: any value will do, ``least`` (a number) takes the part ``share`` of the
    sensitivity for all of them.
    """

    problem: Callable[[], Weighting]
    rows: Array
    idle: Array
    least: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Shipped:
    """A shipped program.

    parts : the independent problems in its givens and lets.
    weights, inverses : what it calls u and 1/u; "" where it does not choose them.
    prices : what it calls mu if it chooses that.
    stacked : its multipliers are a matrix with a row per part.
    """

    parts: Callable[[Mapping[str, Any], float], list[WeightsPart]]
    weights: str = ""
    inverses: str = ""
    prices: str = ""
    stacked: bool = False


def _part(
    operator: Callable[[], GivenMatrix], c: Array, rows: Array, power: int, share: float
) -> WeightsPart:
    """The problem of these rows; those with c = 0 need a weight, however small, and no more."""
    xp = c.__array_namespace__()
    used = c > 0
    if not bool(xp.any(used)):  # no error here: any weights and prices will do
        c = xp.full_like(c, NO_COST)
        used = c > 0
    if bool(xp.all(used)):
        return WeightsPart(lambda: Weighting(operator(), c, power), rows, rows[:0])
    (idle,), (busy,) = xp.nonzero(~used), xp.nonzero(used)
    least = share / float(xp.max(operator().kept(idle).load(xp.ones_like(xp.take(c, idle)))))

    def make() -> Weighting:
        return Weighting(operator().kept(busy), xp.take(c, busy), power)

    return WeightsPart(make, xp.take(rows, busy), xp.take(rows, idle), least, share)


def _whole(power: int, design: str = "D") -> Callable[[Mapping[str, Any], float], list[WeightsPart]]:
    def parts(env: Mapping[str, Any], share: float) -> list[WeightsPart]:
        operator = GivenMatrix(env["S"] if design == "S" else entrywise(env["D"], power))
        rows = env["c"].__array_namespace__().arange(operator.shape[0])
        return [_part(lambda: operator, env["c"], rows, power, share)]

    return parts


def _separate(env: Mapping[str, Any], share: float) -> list[WeightsPart]:
    """A problem for each row of the membership M, over its own design queries.

    There are many of them and each is soon solved, so that none holds its matrix while others are.
    """
    design, c, membership = env["Q"], env["c"], env["M"]
    xp = c.__array_namespace__()
    problems = []
    for j in range(membership.shape[0]):
        (rows,) = xp.nonzero(membership[j, :] > 0)
        problems.append(_part(partial(_rows, design, rows), xp.take(c, rows), rows, 1, share))
    return problems


def _rows(design: Array, rows: Array) -> GivenMatrix:
    """Some design queries."""
    return GivenMatrix(entrywise(design.__array_namespace__().take(design, rows, axis=0), 1))


SHIPPED: Mapping[str, Shipped] = MappingProxyType(
    {
        "query_weighting": Shipped(_whole(1), "u", "v"),
        "query_weighting_inverse": Shipped(_whole(1), "u"),
        "query_weighting_dual": Shipped(_whole(1), prices="mu"),
        "laplace_weighting": Shipped(_whole(2), "w", "v"),
        "laplace_weighting_power": Shipped(_whole(2), "w"),
        "laplace_weighting_dual": Shipped(_whole(2), prices="mu"),
        "group_weighting": Shipped(_whole(1, "S"), "t", "v"),
        "separate_weighting": Shipped(_separate, "u", "v", stacked=True),
    }
)

PROGRAMS = tuple(SHIPPED)


def dual_gap(problem: Weighting, state: WeightsAndPrices) -> float:
    """The gap of the prices with their own best response, which is what a dual program is judged by."""
    b = problem.operator.price(state.mu)
    u = problem.best_response(b)
    return problem.state(u, problem.operator.load(u), state.mu, b).gap


# Fitted on one thread of a shared core, to a factor of about three: 2048 design queries over as many cells
# to a gap of 1e-6 in 1 to 2 s, 4096 in 6 to 9 s.
SECONDS_OF_DESIGN = 1.5e-10  # per product of both sizes and the smaller one
ARRAYS_OF_DESIGN = 5  # of the size of the design that are held at a time, with the program's own


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (besides those of any solve) and seconds for the givens and lets of a program that is claimed."""
    shapes = [value.shape for value in env.values() if getattr(value, "ndim", 0) == 2]
    rows, columns = max(shapes, key=lambda shape: shape[0] * shape[1])
    memory = 8.0 * ARRAYS_OF_DESIGN * rows * columns
    return memory, 0.01 + SECONDS_OF_DESIGN * rows * columns * min(rows, columns)


NEXT_GAP = 1e-2  # if a point's certified gap is too large after all, the next one's is smaller by this
LEAST_GAP = 1e-15
GAP_OF_IDLE = 1e-3  # part of the gap asked for that weights without error (c = 0) may cost


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
    runs = [
        _PartInProgress(part, bool(shipped.prices))
        for part in shipped.parts(env, GAP_OF_IDLE * options.tolerance)
    ]
    pace = Pace(clock, options.tolerance / 2, options.max_iterations or math.inf, NEXT_GAP)

    def count() -> int:
        return sum(run.iterations for run in runs)

    while True:
        goal = max(pace.wanted, LEAST_GAP)
        for run in runs:
            for _ in run.until(goal, lambda: pace.stop(count()) is not None):
                yield Point({}, {}, count(), "", estimate=_estimate(shipped, runs))
        stop = pace.stop(count(), done=goal <= LEAST_GAP or any(run.ended and run.gap > goal for run in runs))
        raw = f"gap {max(run.gap for run in runs):.1e} by its own arithmetic"
        yield Point(*_named(shipped, runs), count(), raw, stop, estimate=_estimate(shipped, runs))
        if stop:
            return
        pace.tighten()


class _PartInProgress:
    """One part on its way. While it rests it holds its state alone, from which the second order goes on."""

    def __init__(self, part: WeightsPart, dual: bool) -> None:
        self.part = part
        self.dual = dual
        self.iterations = 0
        self.gap = float("inf")
        self.ended = False
        self.state: WeightsAndPrices | None = None

    def until(self, goal: float, over: Callable[[], bool]) -> Iterator[None]:
        """Go on, step by step, until the gap is reached or it is over; at first one step at least."""
        if self.state is not None and (self.gap <= goal or over()):
            return
        problem = self.part.problem()
        for pair in improve(problem, self.state):
            self.iterations += 1
            self.state, self.gap = pair, pair.gap
            if self.dual and pair.gap <= goal:
                self.gap = dual_gap(problem, pair)
            if self.gap <= goal or over():
                return
            yield
        self.ended = True


def _estimate(shipped: Shipped, runs: list[_PartInProgress]) -> tuple[float, float] | None:
    """Objective and bound of all parts together; None while one has not begun."""
    states = [run.state for run in runs if run.state is not None]
    if len(states) < len(runs):
        return None
    upper, lower = sum(state.objective for state in states), sum(state.bound for state in states)
    return (lower, upper) if shipped.prices else (upper, lower)


def _named(shipped: Shipped, runs: list[_PartInProgress]) -> tuple[dict[str, Array], dict[str, Array]]:
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
