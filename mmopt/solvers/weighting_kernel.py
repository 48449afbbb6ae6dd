"""Weights of design queries, natively: query_weighting, laplace_weighting and what is made of them.

**The problem** is min Σ cᵢ uᵢ^-a subject to Mᵀ u <= 1, u > 0; and its dual, in prices mu >= 0 of the cells.
a = 1 for norm 2 (u are squared weights, M = Q∘Q), a = 2 for norm 1 (u are weights, M = abs(Q)). With
b = M mu, Hölder gives for every mu >= 0 and every feasible u (PVLDB 2012, Program 1 and section 3.5)

    (Σ cᵢ^(1/(1+a)) bᵢ^(a/(1+a)))^(1+a) / (Σ mu)^a  <=  Σ cᵢ uᵢ^-a,

with equality at the optimum, where uᵢ ∝ (cᵢ/bᵢ)^(1/(1+a)). M (k, n) with entries >= 0 says what a unit of
each weight adds to the sensitivity of each cell. Both sides are certified at every step.

**Steps of first order** come first, while they are cheap: mu <- mu · (Mᵀ u)^(1+a) with u the best response to
mu, extrapolated by Anderson's method. Each plain step raises the bound: with x the prices after it, Jensen's
inequality bounds the concave sum from below by Σⱼ xⱼ^(a/(1+a)) muⱼ^(1/(1+a)) (Mᵀu)ⱼ, at a fixed sum largest
at xⱼ ∝ muⱼ (Mᵀu)ⱼ^(1+a). An extrapolated step that does not raise it is taken back.

**Steps of second order** end it: a primal-dual interior-point method from nearly optimal prices. Unknowns are
u, the slack s = 1 - Mᵀu and mu. Newton's step on a c u^(-a-1) = M mu, s∘mu = σ τ reduces to k equations with
the matrix diag(h) + M diag(mu/s) Mᵀ. In place of the second derivative a (a+1) c u^(-a-2) stands
h = (a² c u^(-a-1) + b)/u, that of the problem in log u: the same at the optimum, better away from it. Both
parts of the right side are solved at once, so that σ can be chosen by looking.
"""

import itertools
import math
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import Array, Ints, panels
from mmopt.solvers.options_points_and_clock import Clock, Options, Pace, Point

# Added to the unit diagonal of the scaled Newton matrix, far below what matters: no pivot is then zero.
NEWTON_RIDGE = 1e-15
ROWS_AT_A_TIME = 128  # of a matrix that are worked on at a time


def entrywise(design: Array, power: int) -> Array:
    """M of design queries: their entries squared for norm 2 (power 1), absolute for norm 1 (power 2)."""
    return design * design if power == 1 else np.abs(design)


@dataclass(frozen=True)
class WeightsAndPrices:
    """Weights u (k,), feasible, and prices mu (n,), with Σ mu = a · bound: the scale of the multipliers.

    The scale is that of ``Mᵀ u <= 1`` in the minimisation of Σ cᵢ uᵢ^-a.
    """

    u: Array
    mu: Array
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """objective / bound - 1, by plain arithmetic; certified only by the program file."""
        return self.objective / self.bound - 1.0


@dataclass(frozen=True)
class Weighting:
    """The problem's data: M (k, n) with entries >= 0, c (k,) > 0, and the power a (1 or 2)."""

    matrix: Array
    c: Array
    power: int

    def best_response(self, b: Array) -> Array:
        """(cᵢ/bᵢ)^(1/(1+a)) (k,): the best weights at costs b = M mu, up to a common factor."""
        return np.asarray((self.c / b) ** (1.0 / (1 + self.power)))

    def value(self, b: Array) -> float:
        """Σ cᵢ^(1/(1+a)) bᵢ^(a/(1+a)) at b = M mu, concave in mu; gradient a/(1+a) Mᵀ ``best_response``."""
        return float(np.sum(self.c * (b / self.c) ** (self.power / (1.0 + self.power))))

    def state(self, u: Array, load: Array, mu: Array, b: Array) -> WeightsAndPrices:
        """The pair with both sides scaled; ``load`` is Mᵀ u and b is M mu."""
        a, top, prices = self.power, float(np.max(load)), float(np.sum(mu))
        bound = self.value(b) ** (1 + a) / prices**a
        objective = float(np.sum(self.c * u ** (-float(a)))) * top**a
        return WeightsAndPrices(u / top, mu * (a * bound / prices), objective, bound)

    def response(self, mu: Array) -> tuple[WeightsAndPrices, Array]:
        """Prices with their best response u, and Mᵀ u (n,)."""
        b = self.matrix @ mu
        u = self.best_response(b)
        load = self.matrix.T @ u
        return self.state(u, load, mu, b), load

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """The solution X (k, q) of (diag(h) + M diag(d) Mᵀ) X = right, for h > 0, d >= 0; or NaN."""
        return solve_scaled(lambda: self._gram(d), h, right)

    def _gram(self, d: Array) -> Array:
        """M diag(d) Mᵀ, a block of rows up to the diagonal at a time; above stands what mirrors them."""
        system = np.empty((len(self.matrix),) * 2)
        for here in panels(len(system), ROWS_AT_A_TIME):
            system[here, : here.stop] = (self.matrix[here] * d) @ self.matrix[: here.stop].T
            system[: here.start, here] = system[here, : here.start].T
        return system


def solve_scaled(gram: Callable[[], Array], h: Array, right: Array) -> Array:
    """The solution of (gram() + diag(h)) X = right, NaN where rounding leaves none.

    The matrix is overwritten, and made again if need be.
    """
    system, size = _scaled(gram(), h)
    right = right / size[:, None]
    try:
        # The transpose is in the order of columns, so that it is factored in place.
        factor = scipy.linalg.cho_factor(system.T, overwrite_a=True, check_finite=False)
        solution = scipy.linalg.cho_solve(factor, right)
    except np.linalg.LinAlgError:  # singular but for rounding: elimination goes on where Cholesky may not
        try:
            solution = np.linalg.solve(_scaled(gram(), h)[0], right)
        except np.linalg.LinAlgError:  # a pivot is zero
            return np.full_like(right, np.nan)
    return np.asarray(solution / size[:, None])


def _scaled(system: Array, h: Array) -> tuple[Array, Array]:
    """system + diag(h) in place, scaled to a unit diagonal; and the roots of that diagonal."""
    size = np.sqrt(h + np.diagonal(system))
    system /= size[:, None]
    system /= size
    np.einsum("ii->i", system)[:] += h / (size * size) + NEWTON_RIDGE
    return system, size


def better(one: WeightsAndPrices, other: WeightsAndPrices) -> WeightsAndPrices:
    """The better point and the better prices of two pairs."""
    point = one if one.objective <= other.objective else other
    prices = one if one.bound >= other.bound else other
    return WeightsAndPrices(point.u, prices.mu, point.objective, prices.bound)


EXTRAPOLATION_DEPTH = 8  # past steps that are combined
MOST_CHANGE = 4.0  # change of a logarithm in one extrapolated step
LOWEST_PRICE = -80.0  # a price is never less than this (its logarithm, next to the largest)
EXTRAPOLATION_RIDGE = 1e-12  # relative to the trace


def fixed_point(problem: Weighting, start: Array) -> Iterator[WeightsAndPrices]:
    """The best pair after each step of first order, from prices mu > 0 (n,); without end."""
    x, a = np.log(start), problem.power
    kept: tuple[Array, Array, float] | None = None  # logarithms, plain step and bound at the best prices
    best: WeightsAndPrices | None = None
    past: list[tuple[Array, Array]] = []
    while True:
        x = np.maximum(x - np.max(x), LOWEST_PRICE)
        mu = np.exp(x)
        pair, load = problem.response(mu)
        best = pair if best is None else better(pair, best)
        yield best
        if kept is not None and pair.bound < kept[2]:
            x, kept, past = kept[0] + kept[1], None, []
            continue
        # A cell that adds to no query has load 0: its price goes to the lowest.
        step = (1 + a) * np.log(np.where(load > 0, load, 1e-300) / np.max(load))
        kept = (x, step, pair.bound)
        past = [*past, (x, step)][-EXTRAPOLATION_DEPTH:]
        x = x + _extrapolated(past, np.sqrt(mu))


def _extrapolated(past: list[tuple[Array, Array]], weight: Array) -> Array:
    """Anderson's step: the combination of past steps that is least, where prices matter."""
    step = past[-1][1]
    if len(past) == 1:
        return step
    moves, turns = (np.diff(np.stack(rows, axis=1)) for rows in zip(*past, strict=True))
    seen = turns * weight[:, None]
    gram = seen.T @ seen
    gram = gram + (EXTRAPOLATION_RIDGE * float(np.trace(gram)) + 1e-300) * np.eye(len(gram))
    out = step - (moves + turns) @ np.linalg.solve(gram, seen.T @ (weight * step))
    return np.clip(out, -MOST_CHANGE, MOST_CHANGE) if float(np.max(np.abs(out))) < 1e300 else step


CENTRES = (1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 0.6)  # the σ that are tried
TO_BOUNDARY = 0.99  # part of the way to the boundary that a step goes at most
LEAST_PRICE = 0.1  # a price starts at no less than this part of its place on the central path
LOPSIDED = 1e-4  # the smallest product s·mu next to the mean; below it a step is judged worse


def curvature(problem: Weighting, u: Array, b: Array) -> Array:
    """h (k,), the diagonal of the Hessian; exactly a (a+1) c u^(-a-2) where a c u^(-a-1) = b."""
    a = problem.power
    return np.asarray((a * a * problem.c * u ** (-1.0 - a) + b) / u)


def interior(problem: Weighting, start: WeightsAndPrices) -> Iterator[WeightsAndPrices]:
    """The best pair after each step of second order, the start's first; ends when a step no longer moves.

    For the letters see **Steps of second order** above.
    """
    a, matrix = problem.power, problem.matrix
    cells = matrix.shape[1]
    inside = 1.0 - 0.5 * min(0.5, max(start.gap, 1e-12))
    u = start.u * inside
    s = 1.0 - matrix.T @ u
    mu = start.mu / inside ** (1 + a)
    mu = np.maximum(mu, LEAST_PRICE * float(np.sum(s * mu)) / cells / s)
    best = start
    while True:
        b, load = matrix @ mu, matrix.T @ u
        best = better(problem.state(u, load, mu, b), best)
        yield best
        ratio, missing = mu / s, 1.0 - load - s
        tau = float(np.sum(s * mu)) / cells
        short = a * problem.c * u ** (-1.0 - a) - b
        right = np.stack([short + matrix @ (mu + ratio * missing), -tau * (matrix @ (1.0 / s))], axis=1)
        both = problem.newton(curvature(problem, u, b), ratio, right)
        if not np.isfinite(both).all():
            return
        slacks = (missing - matrix.T @ both[:, 0], -(matrix.T @ both[:, 1]))
        moves = (_move((u, s, mu), both, slacks, tau, sigma) for sigma in CENTRES)
        _, length, (u, s, mu) = min(moves, key=lambda move: move[0])
        if length < 1e-10:
            return


def _move(
    at: tuple[Array, Array, Array], both: Array, slacks: tuple[Array, Array], tau: float, sigma: float
) -> tuple[float, float, tuple[Array, Array, Array]]:
    """One choice of σ: how bad its end is, the longer part of the way there on either side, and the end."""
    u, s, mu = at
    du, ds = both[:, 0] + sigma * both[:, 1], slacks[0] + sigma * slacks[1]
    dmu = sigma * tau / s - mu - mu / s * ds
    primal = min(1.0, _farthest(u, du), _farthest(s, ds))
    dual = min(1.0, _farthest(mu, dmu))
    end = u + primal * du, s + primal * ds, mu + dual * dmu
    products = end[1] * end[2]
    mean = float(np.mean(products))
    # The mean product is the gap left, worse by one for each factor e below LOPSIDED.
    smallest = max(float(np.min(products)) / mean, 1e-300)
    return mean * (1.0 + max(0.0, math.log(LOPSIDED / smallest))), max(primal, dual), end


def _farthest(value: Array, move: Array) -> float:
    """Part of the way to the boundary, over a move that keeps value + t · move positive."""
    speed = float(np.max(-move / value))
    return TO_BOUNDARY / speed if speed > 0 else 1.0


LEAST_FIRST_ORDER, MOST_FIRST_ORDER = 10, 60  # steps of first order
STEPS_WITHOUT_HALVING = 12  # second-order steps that may pass without the gap halving


def improve(problem: Weighting, start: WeightsAndPrices | None = None) -> Iterator[WeightsAndPrices]:
    """Pairs of shrinking gap, one after each iteration, from uniform prices until nothing helps any more.

    From a ``start`` it goes on by the second order.
    """
    k, n = problem.matrix.shape
    # A dense second-order step costs about k/4 first-order ones.
    count = min(max(k // 8, LEAST_FIRST_ORDER), MOST_FIRST_ORDER) if start is None else 0
    best = start
    for best in itertools.islice(fixed_point(problem, np.full(n, 1.0 / n)), count):
        yield best
    assert best is not None
    waited, mark = 0, best.gap
    for pair in interior(problem, best):
        yield pair
        waited, mark = (0, pair.gap) if pair.gap <= mark / 2 else (waited + 1, mark)
        if waited >= STEPS_WITHOUT_HALVING or pair.gap <= 0:
            return


# Stands for c where a part has no error, so that its multipliers count for nothing beside the others'.
NO_COST = 1e-100


@dataclass(frozen=True)
class WeightsPart:
    """One problem over the program's weights at ``rows`` (k,); ``problem`` makes it anew at each call.

    Weights at ``idle`` have c = 0: any value will do, ``least`` (a number) takes the part ``share`` of the
    sensitivity for all of them.
    """

    problem: Callable[[], Weighting]
    rows: Ints
    idle: Ints
    least: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Shipped:
    """How a shipped program is made of problems of weights.

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


def _part(matrix: Callable[[], Array], c: Array, rows: Ints, power: int, share: float) -> WeightsPart:
    """The problem of these rows; those with c = 0 need a weight, however small, and no more."""
    if not (c > 0).any():  # no error here: any weights and prices will do
        c = np.full_like(c, NO_COST)
    busy, idle = np.flatnonzero(c > 0), np.flatnonzero(~(c > 0))
    if not len(idle):
        return WeightsPart(lambda: Weighting(matrix(), c, power), rows, idle)
    least = share / float(np.max(matrix()[idle].T @ np.ones(len(idle))))
    return WeightsPart(
        lambda: Weighting(matrix()[busy], c[busy], power), rows[busy], rows[idle], least, share
    )


def _whole(power: int, design: str = "D") -> Callable[[Mapping[str, Any], float], list[WeightsPart]]:
    """The parts of a program that is one problem: over the design queries D, or with S as M."""

    def parts(env: Mapping[str, Any], share: float) -> list[WeightsPart]:
        matrix = env["S"] if design == "S" else entrywise(env["D"], power)
        return [_part(lambda: matrix, env["c"], np.arange(len(matrix)), power, share)]

    return parts


def _separate(env: Mapping[str, Any], share: float) -> list[WeightsPart]:
    """A problem for each row of the membership M, over its own design queries.

    There are many of them and each is soon solved, so that none holds its matrix while others are.
    """

    def part(rows: Ints) -> WeightsPart:
        return _part(lambda: entrywise(env["Q"][rows], 1), env["c"][rows], rows, 1, share)

    return [part(np.flatnonzero(members > 0)) for members in env["M"]]


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

# Fitted on one thread of a shared core, to a factor of about three: 2048 design queries over as many cells
# to a gap of 1e-6 in 1 to 2 s, 4096 in 6 to 9 s.
SECONDS_OF_DESIGN = 1.5e-10  # per product of both sizes and the smaller one
ARRAYS_OF_DESIGN = 5  # of the size of the design that are held at a time, with the program's own


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (besides those of any solve) and seconds for the givens and lets of a program that is claimed."""
    shapes = [value.shape for value in env.values() if getattr(value, "ndim", 0) == 2]
    rows, columns = max(shapes, key=math.prod)
    memory = 8.0 * ARRAYS_OF_DESIGN * rows * columns
    return memory, 0.01 + SECONDS_OF_DESIGN * rows * columns * min(rows, columns)


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
    parts = shipped.parts(env, GAP_OF_IDLE * options.tolerance)
    runs = [_PartInProgress(part, bool(shipped.prices)) for part in parts]
    pace = Pace.of(options, clock, 0.5, 1e-2)

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


@dataclass
class _PartInProgress:
    """One part on its way. While it rests it keeps its state alone, from which the second order goes on.

    dual : whether the program chooses the prices. ended : nothing helps any more.
    """

    part: WeightsPart
    dual: bool
    iterations: int = 0
    gap: float = math.inf
    ended: bool = False
    state: WeightsAndPrices | None = None

    def until(self, goal: float, over: Callable[[], bool]) -> Iterator[None]:
        """Go on, step by step, until the gap is reached or it is over; at first one step at least."""
        if self.state is not None and (self.gap <= goal or over()):
            return
        problem = self.part.problem()
        for pair in improve(problem, self.state):
            self.iterations += 1
            self.state, self.gap = pair, pair.gap
            if self.dual and pair.gap <= goal:  # a dual program is judged by the prices' own best response
                self.gap = problem.response(pair.mu)[0].gap
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
    pairs = [(run.part, run.state) for run in runs if run.state is not None]
    first = pairs[0][1]
    if shipped.prices:
        # There the sum of the prices at the optimum is the bound itself.
        return {shipped.prices: first.mu * (first.bound / float(np.sum(first.mu)))}, {}
    u = np.empty(sum(len(part.rows) + len(part.idle) for part, _ in pairs))
    for part, state in pairs:
        u[part.rows], u[part.idle] = state.u * (1.0 - part.share), part.least
    variables = {shipped.weights: u}
    if shipped.inverses:
        variables[shipped.inverses] = 1.0 / u
    prices = np.stack([state.mu for _, state in pairs]) if shipped.stacked else first.mu
    return variables, {"sensitivity": prices}
