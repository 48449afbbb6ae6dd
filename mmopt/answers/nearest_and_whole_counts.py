"""Counts whose answers are nearest to released ones, rounded to whole numbers too, and what is proved of
them.

The program ``refine_counts`` is solved for the nearest counts, which are made exact and certified. A conic
solver finds them up to its tolerance. Its point shows which counts are 0, and the others follow by linear
algebra, as in the algorithm of Lawson and Hanson for non-negative least squares, which continues from there
where a count falls below 0 or would gain by rising. The certificate proves how near the optimum the result
is.

Counts are rounded to whole numbers so that totals and hierarchies still add up. Sets of which any two are
nested or disjoint are a laminar family: a hierarchy. The rows of 0 and 1 of two such families (the rows and
the columns of a table, each with their sums) are totally unimodular: they are a network in which a unit flows
from the sets of one to those of the other (Edmonds 1970; Schrijver, Combinatorial optimization, 2003). So
there are counts, each rounded up or down, for which the answer of every set of both families is rounded up or
down as well (Hoffman and Kruskal 1956): x itself meets these limits, which are whole. HiGHS finds those of
least distance; whether they keep the limits is checked in integers.

``figures_of`` computes what is proved of refined answers as they are written, with the queries of the
release. Counts are chosen on a smaller problem, a QR factorisation of this one, and answers are rounded: both
are judged by the formulas of the program, in balls.

Counts are X = base + x, with ``base`` whole, so that numbers near the released answers y are subtracted
without rounding: f(X) = |(W x - (y - W base)) / s|² is the sum of squares, of distances in standard errors s.
For any r, and z = b - a with multipliers a, b >= 0 of the known answers |S X - v| <= e, f(X) is at least

    g @ x - 2 (r / s) @ (y - W base) - z @ (v - S base) - r @ r - e sum(a + b)

with g = 2 W.T @ (r / s) + S.T @ z, and g @ x >= most min(0, min g) - g @ base for X >= 0 with sum(X) <= most:
the certificate of the program. And of any feasible X the answers W X are within the root of f(X) - bound of
the best ones (a projection's obtuse angle), each in its standard errors; for other answers their distance
from W X is added.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize

from mmopt.driver import solve
from mmopt.errors import SolverError
from mmopt.limits import require_time, time_left
from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.balls import Ball, add, div, exact, matmul, mul, sub, total
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS
from mmopt.proof import certify
from mmopt.results import Solution, gap_between
from mmopt.workloads import Workload

Bools = npt.NDArray[np.bool_]

PROGRAM = "refine_counts"
HIGHS_OUT_OF_TIME, HIGHS_INFEASIBLE = 1, 2  # scipy's statuses
TOTAL_TOLERANCE = 1e-6  # the program's e for known answers
ROOM = 1e-6  # relative: by which a largest number of rows is rounded up
LEVEL = 100.0  # squared standard errors, in addition to those of the solver's start
RELATIVE_ROUNDING = 1e-12  # of a slope or a count that is 0
STEPS_PER_COUNT = 4  # the most steps of ``_polished``, over the number of counts


@dataclass(frozen=True, eq=False)
class Nearest:
    """Counts base + x (c,), with ``base`` of whole numbers, and the solution for them.

    multipliers : (q,) each, of known answers from above and from below. most : the most rows that counts can
        have that are as near or nearer.
    """

    solution: Solution
    base: Array
    x: Array
    multipliers: tuple[Array, Array]
    most: float

    @property
    def counts(self) -> Array:
        """The counts (c,), 0 or above."""
        return np.maximum(self.base + self.x, 0.0)


@dataclass(frozen=True, eq=False)
class _Problem:
    """To find: x >= -base with |rows x - values|² least and sums x = totals; the counts are x + base."""

    rows: Array
    values: Array
    sums: Array
    totals: Array
    base: Array

    def level(self, x: Array) -> float:
        """The objective at x."""
        return float(np.sum((self.rows @ x - self.values) ** 2))

    def most(self, level: float) -> float:
        """The most rows where the objective is at most ``level``.

        With z @ rows = 1 there are sum(base) + z @ (rows x) rows, and by Cauchy and Schwarz no more than
        sum(base) + z @ values + |z| √level. Without such z it is the most that a release counts.
        """
        z = np.linalg.lstsq(self.rows.T, np.ones(len(self.base)), rcond=None)[0]
        if np.abs(z @ self.rows - 1.0).max(initial=0.0) > ROOM / 1000:
            return float(MAX_ROWS)
        middle, size = float(self.base.sum() + z @ self.values), float(np.linalg.norm(z))
        return 1.0 + float(abs(middle) + size * (np.sqrt(level) + np.linalg.norm(self.values) * ROOM)) * (
            1.0 + ROOM
        )

    def givens(self, most: float) -> dict[str, Any]:
        """The parameters of the program; ``most``: the most rows of counts."""
        return {
            "y": np.concatenate([self.values, self.totals]),
            "known": np.repeat([0.0, 1.0], [len(self.rows), len(self.sums)]),
            "low": -self.base,
            "most": min(most, float(MAX_ROWS)),
        }


def nearest_counts(
    matrix: Array,
    estimates: Array,
    errors: Array,
    sums: Array,
    totals: Array,
    *,
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> Nearest:
    """Counts (c,), all >= 0, with ``sums`` (q, c) @ counts the ``totals`` (q,), up to the program's e, and
    ``matrix`` (m, c) @ counts as near to the ``estimates`` (m,), in their ``errors`` (m,), as can be.

    Raises
    ------
    SolverError : no such counts, as the program's lines show; none were found in time.
    TimeLimitError : the time of a ``deadline`` around the call is over.
    """
    # Numbers near the answers are subtracted: the rest is small compared with them, and keeps its digits.
    rows = matrix / errors[:, None]
    base = np.rint(np.maximum(np.linalg.lstsq(rows, estimates / errors, rcond=None)[0], 0.0))
    values = (estimates - matrix @ base) / errors
    if len(rows) > rows.shape[1]:
        # |A x - b|² is |R x - r|² plus a constant.
        triangle = np.asarray(np.linalg.qr(np.column_stack([rows, values]), mode="r"))[: rows.shape[1]]
        rows, values = triangle[:, :-1], triangle[:, -1]
    problem = _Problem(rows, values, sums, totals - sums @ base, base)
    workload = Workload.from_matrix(np.vstack([rows, sums]))
    # With room for the solver's point, which need not be near.
    most = 2.0 * problem.most(LEVEL + problem.level(np.zeros(len(base)))) + 2.0 * float(np.abs(totals).sum())
    solution = solve(
        workload,
        PROGRAM,
        reduce=False,
        tolerance=tolerance,
        time_limit=time_limit,
        givens=problem.givens(most),
    )
    if not solution.status.feasible or solution.status.is_interrupted:
        raise SolverError(f"no refined answers were found: {solution.status}", hint="raise the time limit")
    x = np.asarray(solution.variables["x"], dtype=float)
    require_time()
    points = [_polished(problem, x, solution.multipliers), (x, solution.multipliers)]
    best: Nearest | None = None
    for point, multipliers in points:
        givens = problem.givens(problem.most(problem.level(point)))
        pair = {name: np.asarray(multipliers[name], dtype=float) for name in ("above", "below")}
        judged = certify(
            workload, program=PROGRAM, point={"x": point}, multipliers=pair, givens=givens, solve=False
        )
        if best is None or _width(judged) < _width(best.solution):
            above, below = (np.maximum(pair[name][len(rows) :], 0.0) for name in ("above", "below"))
            repaired = np.maximum(np.asarray(judged.variables["x"], dtype=float), -base)
            best = Nearest(judged, base, repaired, (above, below), float(givens["most"]))
        if judged.gap is not None and judged.gap <= (tolerance or 1e-6):
            break
    assert best is not None
    return best


def conflicting_totals(sums: Array, totals: Array) -> list[tuple[int, float, float]]:
    """A minimal set of the totals (q,) of ``sums`` (q, c) @ counts that no counts >= 0 have together, by
    HiGHS.

    By number, each with the least and the largest value that the others of the set allow; empty where some
    counts have all totals.
    """

    def minimum(some: list[int], goal: Array) -> Any:
        """HiGHS's answer: the least of ``goal`` @ counts where some of the totals hold."""
        limits = np.concatenate([totals[some] + TOTAL_TOLERANCE, TOTAL_TOLERANCE - totals[some]])
        return optimize.linprog(goal, A_ub=np.vstack([sums[some], -sums[some]]), b_ub=limits)

    def is_conflict(some: list[int]) -> bool:
        """Whether no counts have these totals together."""
        return int(minimum(some, np.zeros(sums.shape[1])).status) == HIGHS_INFEASIBLE

    numbers = list(range(len(totals)))
    if not is_conflict(numbers):
        return []
    for number in range(len(totals)):
        without = [other for other in numbers if other != number]
        if is_conflict(without):
            numbers = without
    conflict = []
    for number in numbers:
        others = [other for other in numbers if other != number]
        ends = [minimum(others, sign * sums[number]) for sign in (1.0, -1.0)]
        low, high = (float(end.fun) if end.success else -np.inf for end in ends)
        conflict.append((number, low, -high))
    return conflict


def _width(judged: Solution) -> float:
    """The width of the optimum's interval, as a gap is relative except for a bound of 0."""
    return np.inf if judged.bound is None else judged.objective - judged.bound


def _polished(problem: _Problem, x: Array, multipliers: Any) -> tuple[Array, dict[str, Array]]:
    """The optimum near a point, exact up to linear algebra, with multipliers of the known answers.

    At the time limit it is the point reached by then.
    """
    low, sums = -problem.base, problem.sums
    slopes = np.asarray(multipliers["counts"], dtype=float)
    free = x - low > slopes  # the others are 0 at the optimum
    x, nu = np.where(free, x, low), np.zeros(len(sums))
    for _ in range(STEPS_PER_COUNT * len(x)):
        if not time_left():
            break
        # The step to the optimum over the free counts: to the totals, then along them.
        missed, off = problem.values - problem.rows @ x, problem.totals - sums @ x
        free_rows, free_sums = problem.rows[:, free], sums[:, free]
        first = (
            linalg.lstsq(free_sums, off, lapack_driver="gelsy")[0] if len(sums) else np.zeros(int(free.sum()))
        )
        along = linalg.null_space(free_sums) if len(sums) else np.eye(int(free.sum()))
        step = (
            first
            + along @ linalg.lstsq(free_rows @ along, missed - free_rows @ first, lapack_driver="gelsy")[0]
        )
        room = x[free] - low[free]
        short = room + step < 0
        if short.any():  # go as far as the first counts that reach 0, and hold these
            fraction = float((room[short] / -step[short]).min())
            moved = np.maximum(room + fraction * step, 0.0)
            moved[short & (room + fraction * step <= RELATIVE_ROUNDING * (1.0 + room))] = 0.0
            x[free] = low[free] + moved
            free[np.flatnonzero(free)[short & (moved == 0.0)]] = False
            continue
        x[free] += step
        slopes = 2.0 * problem.rows.T @ (problem.rows @ x - problem.values)
        nu = _multipliers(slopes, sums, free) if len(sums) else nu
        rising = np.where(free, np.inf, slopes + sums.T @ nu)  # the slope of a held count
        at = int(np.argmin(rising))
        if rising[at] >= -RELATIVE_ROUNDING * np.abs(slopes).max(initial=1.0) * len(x):
            break
        free[at] = True
    nothing = np.zeros(len(problem.rows))
    return np.maximum(x, low), {
        "above": np.concatenate([nothing, np.maximum(-nu, 0.0)]),
        "below": np.concatenate([nothing, np.maximum(nu, 0.0)]),
    }


def _multipliers(slopes: Array, sums: Array, free: Bools) -> Array:
    """Multipliers (q,) of known answers, with which free counts have slope 0 and the others, where there is a
    choice, no slope below 0 as far as possible: a total of 0 holds its counts at 0 whatever their slopes are.
    """
    free_sums, held_sums = sums[:, free], sums[:, ~free]
    nu = (
        linalg.lstsq(free_sums.T, -slopes[free], lapack_driver="gelsy")[0]
        if free.any()
        else np.zeros(len(sums))
    )
    choice = linalg.null_space(free_sums.T) if free.any() else np.eye(len(sums))
    if choice.shape[1] and held_sums.shape[1]:
        # The largest t <= 0 such that no slope is below t.
        lines = np.column_stack([-held_sums.T @ choice, np.ones(held_sums.shape[1])])
        optimum = optimize.linprog(
            np.append(np.zeros(choice.shape[1]), -1.0),
            A_ub=lines,
            b_ub=slopes[~free] + held_sums.T @ nu,
            bounds=[(None, None)] * choice.shape[1] + [(None, 0.0)],
        )
        if optimum.success:
            nu = nu + choice @ optimum.x[:-1]
    return np.asarray(nu)


SECONDS_OF_HIGHS = 60.0
LARGEST_COUNT = 2.0**50  # floats up to here, and their sums, are exact whole numbers


@dataclass(frozen=True, eq=False)
class Whole:
    """Whole counts (c,), their answers (m,), and the queries (m,) whose answers are proved to be near.

    within_one : whether the answer is the value before rounding, rounded up or down. farthest : the largest
        distance of the answers of the other queries from their values; 0 without any.
    """

    counts: Ints
    answers: Ints
    within_one: Bools
    farthest: float


def whole_counts(counts: Array, queries: Array, sums: Array, totals: Array) -> Whole:
    """Counts (c,) rounded, with the sums (q, c) of known totals (q,), which stay as they are.

    The queries (m, c) are of whole numbers. Those that fit into two laminar families together with the
    totals, taken in their order, have answers that are rounded up or down. Among all such counts the result
    has the least sum of distances, over counts and these queries; or it is the best that HiGHS finds in a
    minute, or in the time of a ``deadline`` around the call.

    Raises
    ------
    SolverError : totals that do not fit into two families, and that no such rounding keeps; or none was found
        in time.
    TimeLimitError : that time was over before.
    """
    # To find: which counts, rounded down to ``floors``, are 1 larger.
    near = in_two_families(queries, sums)
    floors = np.floor(counts)
    values = queries @ counts
    low, high = np.floor(values[near]), np.ceil(values[near])
    near_queries = queries[near]
    start = near_queries @ floors
    nearest = 1.0 - 2.0 * (counts - floors) + (1.0 - 2.0 * (values[near] - low)) @ near_queries
    limits = [optimize.LinearConstraint(near_queries, low - start, high - start)] if near.any() else []
    if len(sums):
        rest = totals - sums @ floors
        limits.append(optimize.LinearConstraint(sums, rest, rest))
    require_time()
    seconds = min(SECONDS_OF_HIGHS, time_left())
    optimum = optimize.milp(
        nearest,
        integrality=np.ones(len(counts)),
        bounds=optimize.Bounds(0.0, np.ceil(counts) - floors),
        constraints=limits,
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if optimum.x is None and optimum.status == HIGHS_OUT_OF_TIME:
        raise SolverError(
            f"whole counts were not found in {seconds:.3g} s",
            hint="refine without whole answers, ask for fewer"
            + ("" if seconds == SECONDS_OF_HIGHS else ", or allow more time"),
        )
    if optimum.x is None:
        raise SolverError(
            "no whole counts were found that are the refined ones rounded up or down and keep all totals",
            hint="name fewer totals, those of one hierarchy, or refine without whole answers",
        )
    whole = (floors + np.rint(optimum.x)).astype(np.int64)
    answers = _exact(queries, whole)
    if (
        np.abs(counts).max(initial=0.0) > LARGEST_COUNT
        or (whole < 0).any()
        or (answers[near] < low).any()
        or (answers[near] > high).any()
        or (_exact(sums, whole) != totals).any()
    ):
        raise SolverError("the rounding that HiGHS found does not keep its limits", hint="refine without it")
    return Whole(whole, answers, near, float(np.abs(answers - values)[~near].max(initial=0.0)))


def _exact(rows: Array, whole: Ints) -> Ints:
    """The answers of whole counts to rows of whole numbers, in integers."""
    return np.asarray(rows.astype(np.int64) @ whole)


def in_two_families(queries: Array, first: Array) -> Bools:
    """Which queries (m,) of 0 and 1 are in two laminar families, taken greedily after the rows ``first``."""
    families: tuple[set[int], set[int]] = (set(), set())
    for row in first:
        _enter(row, families)
    return np.array([_enter(row, families) for row in queries], dtype=bool)


def _enter(row: Array, families: Iterable[set[int]]) -> bool:
    """Put the set of a row, as bits, into a family that stays laminar with it; whether there is one."""
    if not ((row == 0) | (row == 1)).all():
        return False
    bits = int.from_bytes(np.packbits(row.astype(bool)).tobytes(), "big")
    for family in families:
        if bits in family or all(bits & one in (0, bits, one) for one in family):
            family.add(bits)
            return True
    return False


@dataclass(frozen=True)
class Figures:
    """The sum of squares of the answers, a lower bound on it over all counts, and their gap; the largest
    distance of an answer from its best value, in standard errors.
    """

    objective: float
    bound: float
    gap: float
    distance: float


def figures_of(
    matrix: Array,
    estimates: Array,
    errors: Array,
    sums: Array,
    totals: Array,
    near: Nearest,
    answers: Array | None = None,
) -> Figures:
    """The figures of ``answers`` (m,), or without them of the answers of the counts ``near``.

    ``matrix`` (m, c), ``estimates`` and ``errors`` (m,), ``sums`` (q, c) and ``totals`` (q,) are as for
    ``nearest_counts``.
    """
    queries, x, s = exact(matrix), exact(near.x), exact(errors)
    y, v = _less(estimates, matrix, near.base), _less(totals, sums, near.base)
    of_counts = matmul(queries, x)
    off = div(sub(of_counts, y), s)
    value, added = _squares(off), 0.0
    objective = value
    if answers is not None:
        objective = _squares(div(sub(exact(answers), exact(estimates)), s))
        added = math.sqrt(_squares(div(sub(_less(answers, matrix, near.base), of_counts), s)))
    r, (a, b) = off.mid, near.multipliers
    z, slope = exact(b - a), div(exact(r), s)
    g = add(mul(exact(2.0), matmul(exact(matrix.T), slope)), matmul(exact(sums.T), z))
    bound = math.fsum(
        [
            -math.nextafter(-near.most * min(0.0, float(g.lower.min(initial=0.0))), math.inf),
            -_upper(mul(g, exact(near.base))),
            -2.0 * _upper(mul(slope, y)),
            -_upper(mul(z, v)),
            -_squares(exact(r)),
            -math.nextafter(TOTAL_TOLERANCE * math.fsum([*a, *b]), math.inf),
        ]
    )
    bound = max(0.0, math.nextafter(bound, -math.inf))
    objective = max(objective, bound)  # that of rounded answers may be below that of all counts
    distance = added + math.sqrt(max(0.0, value - bound))
    gap = gap_between(objective, bound, "minimize", False)
    return Figures(objective, bound, math.inf if gap is None else gap, distance * (1.0 + 8.0 * EPS))


def _less(values: Array, matrix: Array, base: Array) -> Ball:
    """values - matrix @ base; the product is exact where it is of whole numbers."""
    is_whole = bool((matrix == np.rint(matrix)).all()) and (
        float((np.abs(matrix) @ np.abs(base)).max(initial=0.0)) < 2.0**53
    )
    return sub(exact(values), exact(matrix @ base) if is_whole else matmul(exact(matrix), exact(base)))


def _upper(terms: Ball) -> float:
    """The sum of the terms, at most."""
    return float(total(terms).upper)


def _squares(terms: Ball) -> float:
    """The sum of their squares, at most."""
    return _upper(mul(terms, terms))
