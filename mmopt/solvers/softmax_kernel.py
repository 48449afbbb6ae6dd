"""softmax_step and barrier_step, natively: by weights of the cells and of the queries.

For weights p of the cells and q of the queries, of sum 1 each, with the targets c and the factor h of the
hybrid term,

    D(p, q) = 2 ‖diag(√(q / c + h)) W diag(√p)‖∗ + H(p) / t₁ + H(q) / t₂,    H(y) = - Σ y log y,

is a lower bound, since logsumexp(t a) / t = max over y of a @ y + H(y) / t. At the maximum p is the soft
maximum's own weighting of the privacy costs and q that of the variances. This dual is smooth and concave:
Newton's method follows it from soft maxima that are easy to the sharp ones asked for. (The paper's own
method is Newton's with conjugate gradients on the covariance: Xiao et al., PVLDB 2021, Algorithms 1-3.)

In logarithms x of the weights the Hessian is nearly -(Q + diag(y / t)), Q as in ``nuclear.interior_point``.
Where a cell or query could cost nothing weights would fall without end, and with them digits: a logarithmic
barrier holds them, as there.

barrier_step, over its t, has the barrier alone: its dual

    2 ‖diag(√(q / c)) W diag(√p)‖∗ - Σ q + (Σ log p + Σ log q) / t,    up to a constant,

has no entropies, and weights q of the queries with any sum. The slack of a cell or query is 1 / t over its
weight.
"""

import itertools
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.special import logsumexp

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers.nuclear.interior_point import exponentials
from mmopt.solvers.nuclear.problem_and_iterates import QueryComponent, Spectrum, spectrum
from mmopt.solvers.nuclear.programs_and_points import care_for, conditioned
from mmopt.solvers.options_points_and_clock import Clock, KernelStep, Options, Pace, Point

HESSIAN_ROWS = 512  # of the Hessian, formed at a time
HESSIAN_RIDGE = 1e-14  # on a unit diagonal: its rounding


@dataclass(frozen=True)
class Soft:
    """rows (m, n): W. targets (m,): c. hybrid: h. rank: of W. cells, queries: t₁ and t₂.

    barrier: 1 / t of a barrier in place of the soft maxima, whose t₁ and t₂ are then infinite; 0 for none.
    """

    rows: Array
    targets: Array
    hybrid: float
    rank: int
    cells: float
    queries: float
    barrier: float = 0.0


@dataclass(frozen=True)
class LogWeights:
    """Logarithms of the weights (of sum 1, but for those of queries with a barrier), and what follows.

    noise (n, k): F with Σ = B F Fᵀ Bᵀ. sides: U / √(q + c h) (m, k) and V / √p (n, k) of the singular
    vectors. values: s (k,). costs (n,), variances (m,): of Σ, the latter relative to the targets. upper,
    lower: the objective at Σ, and D.
    """

    p: Array
    q: Array
    noise: Array
    sides: tuple[Array, Array]
    values: Array
    costs: Array
    variances: Array
    upper: float
    lower: float
    size: float  # against which the gap counts

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.size


def state(soft: Soft, p: Array, q: Array) -> LogWeights:
    """The state at logarithms of weights, first brought to sum 1 (with a barrier, those of cells alone)."""
    p = np.asarray(p - logsumexp(p))
    if not soft.barrier:
        q = np.asarray(q - logsumexp(q))
    cells, queries = np.exp(p), np.exp(q)
    floors = soft.hybrid * soft.targets
    scaled = (queries + floors) / soft.targets
    if soft.barrier:  # slacks need all digits, and weights do not vanish
        matrix = np.sqrt(scaled)[:, None] * soft.rows * np.sqrt(cells)
        vectors, lengths, others = np.linalg.svd(matrix, full_matrices=False)
        decomposition = Spectrum(lengths[: soft.rank], vectors[:, : soft.rank], others.T[:, : soft.rank])
    else:
        part = QueryComponent(soft.rows, 1.0, np.arange(len(cells)), np.arange(len(queries)), soft.rank)
        decomposition = spectrum(part, soft.rank, cells, scaled)
    values = np.asarray(decomposition.values)
    # From the larger vectors, so that the rows of small weights lose no digits.
    right = (soft.rows.T @ (np.sqrt(scaled)[:, None] * decomposition.left)) / values
    noise = np.sqrt(cells)[:, None] * decomposition.right / np.sqrt(values)
    left = (
        (soft.rows @ (np.sqrt(cells)[:, None] * decomposition.right))
        / values
        / np.sqrt(soft.targets)[:, None]
    )
    costs, variances = (np.square(side) @ values for side in (right, left))
    twice = 2.0 * float(values.sum())
    if soft.barrier:
        t, constant = 1.0 / soft.barrier, float(np.log(soft.targets).sum())
        slacks = np.concatenate([slacks_of(costs, t), 1.0 - variances])
        upper = costs[0] + slacks[0] - (np.log(slacks).sum() + constant) / t if slacks.min() > 0 else math.inf
        count = len(slacks) * (1.0 + math.log(t)) - constant
        lower = twice - float(queries.sum()) + (float(p.sum() + q.sum()) + count) / t
        size = soft.barrier  # with logarithms in it the program's gap is a difference
    else:
        upper = _soft(soft.cells, costs) + _soft(soft.queries, variances) + float(floors @ variances)
        lower = twice - float(cells @ p) / soft.cells - float(queries @ q) / soft.queries
        size = lower
    return LogWeights(p, q, noise, (left, right), values, costs, variances, upper, lower, size)


def _soft(t: float, values: Array) -> float:
    """A soft maximum of the values, logsumexp(t v) / t."""
    return float(logsumexp(t * values)) / t


@np.errstate(all="ignore")  # numbers that are not finite are noticed where the point is checked
def slacks_of(costs: Array, t: float) -> Array:
    """alpha - costs at the alpha of least t alpha - Σ log(alpha - costs), by Newton's method from below."""
    below = costs.max() - costs
    least = 1.0 / t  # the sum of the 1 / slack is at least t here, convex, and falls
    for _ in range(LEVEL_STEPS):
        inverse = 1.0 / (least + below)
        step = (inverse.sum() - t) / np.square(inverse).sum()
        least += step
        if step <= 1e-16 * least:
            break
    return np.asarray(least + below)


def direction(soft: Soft, at: LogWeights, barrier: float) -> tuple[Array, Array]:
    """Newton's step up D + barrier * Σ x in the logarithms x, along which sums of weights that are 1 stay so.

    With ``soft.barrier`` D has the logarithms already, and ``barrier`` is 0. Returns the step of the cells
    and that of the queries; inside, queries stand before cells.
    """
    m = len(at.q)
    logs = np.concatenate([at.q, at.p])
    y = np.exp(logs)  # the weights; t: the sharpness of the soft maximum that each belongs to
    t = np.concatenate([np.full(m, soft.queries), np.full(len(at.p), soft.cells)])
    slopes = y * (np.concatenate([at.variances, at.costs]) - logs / t)
    is_query = np.arange(len(y)) < m
    groups = (is_query, ~is_query)
    of_q, of_p = (slopes[group].sum() + barrier * np.count_nonzero(group) for group in groups)
    # With a barrier 1.0, what Σ q costs, in place of a multiplier of its sum, which is free.
    levels = np.where(is_query, 1.0 if soft.barrier else of_q, of_p)
    held = groups[1:] if soft.barrier else groups
    slack = np.maximum(levels * y - slopes, barrier)
    matrix = _curvature(soft, at, y)
    matrix[np.diag_indices_from(matrix)] += y / t + slack
    # With a unit diagonal, rows and columns of weights near zero are as accurate as any.
    scales = 1.0 / np.sqrt(np.diagonal(matrix).copy())
    matrix *= scales
    matrix *= scales[:, None]
    matrix[np.diag_indices_from(matrix)] += HESSIAN_RIDGE
    right = np.stack([slopes + barrier - levels * y, *(y * group for group in held)], axis=1)
    factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    solved = scipy.linalg.cho_solve(factor, right * scales[:, None], check_finite=False)
    free, *along = (solved * scales[:, None]).T
    system = np.array([[y[group] @ one[group] for one in along] for group in held])
    step = free - np.linalg.solve(system, np.array([y[group] @ free[group] for group in held])) @ along
    return step[m:], step[:m]


def _curvature(soft: Soft, at: LogWeights, y: Array) -> Array:
    """Q, its lower triangle; queries before cells."""
    values, m = at.values, len(at.q)
    z = np.concatenate(at.sides) * np.sqrt(y)[:, None]
    sign = np.where(np.arange(len(y)) < m, 1.0, -1.0)
    terms = exponentials(2 * float(values.min()), 2 * float(values.max()))
    total = np.zeros((len(y), len(y)))
    for start in range(0, len(y), HESSIAN_ROWS):
        end = min(start + HESSIAN_ROWS, len(y))
        for a, w in terms:
            product = (z[start:end] * (values * np.exp(-a * values) * w**0.5)) @ z[:end].T
            total[start:end, :end] += product**2
    total *= sign[:, None]
    total *= sign
    return total


# Fitted on one thread of a shared core, to a factor of about three.
SECONDS_OF_ITERATION = 4e-10  # of one iteration, per product of both numbers of weights squared and the rank
TYPICAL_ITERATIONS = 25
ARRAYS_OF_QUERIES = 9  # the size of the queries that are held at a time


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    m, (rank, n) = env["L"].shape[0], env["B"].shape
    memory = 8.0 * (ARRAYS_OF_QUERIES * m * n + 2.5 * (m + n) ** 2)
    return memory, 0.01 + TYPICAL_ITERATIONS * SECONDS_OF_ITERATION * (m + n) ** 2 * rank


PROGRAMS, WITH_BARRIER = ("softmax_step",), ("barrier_step",)
# A difference, as the objective has logarithms; the slacks that prove it lose digits as t grows.
TOLERANCE_WITH_BARRIER = 1e-4

Search = Generator[tuple[LogWeights, str], float, None]  # see ``search``

SHARPNESS_GROWTH = 5.0  # of the sharpness from one stage to the next
GAP_OF_STAGE = 0.02  # gap at which a stage ends
BARRIER_OF_GAP = 0.05  # the barrier aims at this part of the gap
LEVEL_STEPS = 50  # at most: each doubles the digits, in the end
LEAST_SLACK = 1e-13  # relative: a smaller one would be lost in rounding errors
CUT_OF_STEP, SHORTEST_STEP = 0.25, 1e-6  # a step that does not raise the bound is cut, down to this


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point, then closer ones.

    Parameters
    ----------
    program : one of ``PROGRAMS`` or ``WITH_BARRIER``.
    env : its givens and parameters by name.
    """
    left, basis = (np.asarray(env[name], dtype=float) for name in ("L", "B"))
    rows, targets = left @ basis, np.asarray(env["c"], dtype=float)
    t1, t2 = (float(env.get(name, math.inf)) for name in ("t1", "t2"))
    barrier = 1.0 / float(env["t"]) if program in WITH_BARRIER else 0.0
    soft = Soft(rows, targets, float(env.get("hybrid", 0.0)), len(basis), t1, t2, barrier)
    pace = Pace.of(options, clock, 0.5, 0.1, most=300, finest=1e-13)
    yield from pace.points(_steps(soft, basis, pace))


def _steps(soft: Soft, basis: Array, pace: Pace) -> Iterator[KernelStep]:
    """Steps of the search; until the maxima are the ones asked for, there is nothing to show."""
    iterates = search(soft)
    at, place = _silently(iterates, None)
    for count in itertools.count(1):
        estimate, gap = ((at.upper, at.lower), at.gap) if place != "way" else (None, math.inf)
        point = partial(_point, soft, basis, pace, at, count, estimate)
        yield KernelStep(count, gap, estimate, point, done=place == "end")
        at, place = _silently(iterates, pace.wanted)


def _point(
    soft: Soft,
    basis: Array,
    pace: Pace,
    at: LogWeights,
    count: int,
    estimate: tuple[float, float] | None,
    stop: Stop | None,
) -> Point:
    """The point of an iterate: its Σ, of a condition that floating point can take."""
    caring = care_for(pace.wanted, pace.is_first, basis.shape[1])
    (covariance,) = conditioned([basis @ at.noise], caring.condition)
    raw = f"gap {at.gap:.1e} as reported by the kernel"
    variables = {"Sigma": covariance}
    if soft.barrier:
        covariance *= min(1.0, (1.0 - LEAST_SLACK) / at.variances.max())
        costs = (basis * np.linalg.solve(covariance, basis)).sum(axis=0)
        top = costs.max()
        least = max(slacks_of(costs, 1.0 / soft.barrier).min(), LEAST_SLACK * top)
        variables["alpha"] = np.asarray(top + least)
    return Point(variables, {}, count, raw, stop, estimate=estimate)


@np.errstate(all="ignore")
def _silently(iterates: Search, wanted: float | None) -> tuple[LogWeights, str]:
    """The next iterate, without warnings of numbers that overflow in steps that are then cut."""
    return next(iterates) if wanted is None else iterates.send(wanted)


def search(soft: Soft) -> Search:
    """Iterates: on the "way" with softer maxima, "there" with the given ones, the "end" if none is better.

    The consumer sends the gap that it wants.
    """
    m, n = soft.rows.shape
    at = state(soft, np.zeros(n), np.zeros(m))
    sharpness = math.log(m * n + 1) / (2.0 * float(at.values.sum()))
    barrier, wanted = math.inf, GAP_OF_STAGE
    if soft.barrier:
        best = (float(at.values.sum()) / m) ** 2  # of equal weights of the queries
        sharpness, at = (m + n) / (m * best), replace(at, q=at.q + math.log(best))
    while True:
        is_there = sharpness >= (1.0 / soft.barrier if soft.barrier else max(soft.cells, soft.queries))
        now = (
            replace(soft, barrier=max(soft.barrier, 1.0 / sharpness))
            if soft.barrier
            else replace(soft, cells=min(sharpness, soft.cells), queries=min(sharpness, soft.queries))
        )
        at = state(now, at.p, at.q)
        while is_there or at.gap > GAP_OF_STAGE:
            falling = BARRIER_OF_GAP * max(at.gap, 0.3 * wanted) * at.lower / (m + n)
            barrier = now.barrier or min(barrier, falling)
            after = _next(now, at, barrier)
            wanted = (yield at, "way" if not is_there else "there" if after else "end") or wanted
            if after is None:
                break
            at = after
        if is_there:
            return
        sharpness *= SHARPNESS_GROWTH


def _next(soft: Soft, at: LogWeights, barrier: float) -> LogWeights | None:
    """The iterate after a step that raises the bound; None where rounding leaves no such step."""
    p, q = direction(soft, at, barrier)
    added = 0.0 if soft.barrier else barrier  # to the bound, which has a barrier of its own in it
    before, length = _height(at, added), 1.0
    while length >= SHORTEST_STEP:
        after = state(soft, at.p + length * p, at.q + length * q)
        # Close to the end rounding hides the gain of the bound, but not that of the gap.
        if _height(after, added) > before or after.gap < at.gap:
            return after
        length *= CUT_OF_STEP
    return None


def _height(at: LogWeights, barrier: float) -> float:
    """D with the barrier, which steps raise."""
    return at.lower + barrier * float(at.p.sum() + at.q.sum())
