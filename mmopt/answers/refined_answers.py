"""The nearest answers that non-negative counts of known totals can have, and these counts.

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
least distance; whether they keep the limits is checked in integers. Of tables it finds counts, each rounded
up or down, that still agree, where there are some: no theorem says so.

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

Where the queries tell more cells apart than can be chosen one by one, counts are those of tables that agree
where they overlap (``refined_tables``), and all else is as here.

``Release.refine``: refined answers are added to the released ones: non-negative, of known totals, whole if
requested. They are those of counts x >= 0 whose answers W x are nearest to the released ones, each distance
in standard errors (``nearest_counts``). Refining reads published numbers alone, so that privacy is as before.
The answers of the rows that were counted obey the same rules, if the totals are theirs. Then the sum of
squared errors, in standard errors, is never larger than before, whatever the noise was: the projection on a
convex set moves no farther from any of its points (Cheney and Goldstein, Proximity maps for convex sets,
Proc. AMS 1959). Where answers are rounded to whole numbers it may be larger. And the answers become biased.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import linalg, optimize, sparse

from mmopt.answers.read_and_recheck_folder import CHANGED, units_of
from mmopt.answers.refined_tables import less, nearest_tables
from mmopt.driver import solve
from mmopt.errors import OptionError, ResultError, SolverError, counted
from mmopt.limits import deadline, require_time, time_left
from mmopt.mechanism.release_writing import KEPT, LOCAL, REFINED, SMALL, STATED
from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.balls import Ball, add, div, exact, mul, product, sub, total
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS
from mmopt.proof import certify
from mmopt.results import Frame, Solution, gap_between
from mmopt.solvers import Options
from mmopt.strategies import Neighbours
from mmopt.workloads import (
    Bools,
    Tables,
    Workload,
    are_cells_chosen,
    tables_of,
)

if TYPE_CHECKING:
    from mmopt.answers.private_release import Release


Rows: TypeAlias = Any  # an array (m, c), or scipy's sparse rows

PROGRAM, PROGRAM_OF_TABLES = "refine_counts", "refine_tables"
TOTALS = f"totals {STATED}"
HIGHS_OUT_OF_TIME, HIGHS_INFEASIBLE = 1, 2  # scipy's statuses
ROOM = 1e-6  # relative: by which a largest number of rows is rounded up
LEVEL = 100.0  # squared standard errors, in addition to those of the solver's start
RELATIVE_ROUNDING = 1e-12  # of a slope or a count that is 0
STEPS_PER_COUNT = 4  # the most steps of ``_polished``, over the number of counts


@dataclass(frozen=True, eq=False)
class Nearest:
    """Counts base + x (c,), with ``base`` of whole numbers, and the solution for them.

    multipliers : (q,) each, of known answers from above and from below. most : the most rows that counts can
        have that are as near or nearer. solution : None for counts of tables. status : the word for its end.
        kept : the program's e, rows by which known answers may be missed.
    """

    solution: Solution | None
    base: Array
    x: Array
    multipliers: tuple[Array, Array]
    most: float
    status: str
    kept: float = KEPT

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
        if best is None or best.solution is None or _width(judged) < _width(best.solution):
            above, below = (np.maximum(pair[name][len(rows) :], 0.0) for name in ("above", "below"))
            repaired = np.maximum(np.asarray(judged.variables["x"], dtype=float), -base)
            most = float(givens["most"])
            best = Nearest(judged, base, repaired, (above, below), most, str(judged.status))
        if judged.gap is not None and judged.gap <= (tolerance or 1e-6):
            break
    assert best is not None
    return best


def conflicting_totals(
    sums: Array, totals: Array, agreement: sparse.csr_array | None = None
) -> list[tuple[int, float, float]]:
    """A minimal set of the totals (q,) of ``sums`` (q, c) @ counts that no counts >= 0 have together, by
    HiGHS. agreement (k, c) : what is 0 of the counts.

    By number, each with the least and the largest value that the others of the set allow; empty where some
    counts have all totals.
    """

    def minimum(some: list[int], goal: Array) -> Any:
        """HiGHS's answer: the least of ``goal`` @ counts where some of the totals hold."""
        limits = np.concatenate([totals[some] + KEPT, KEPT - totals[some]])
        lines = np.vstack([sums[some], -sums[some]])
        zeros = None if agreement is None else np.zeros(agreement.shape[0])
        return optimize.linprog(goal, A_ub=lines, b_ub=limits, A_eq=agreement, b_eq=zeros)

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
    """Whole counts (c,), their answers (m,), and the queries (m,) whose answers are near.

    within_one : whether the answer is the value before rounding, rounded up or down. farthest : the largest
        distance of the answers of the other queries from their values; 0 without any.
    """

    counts: Ints
    answers: Ints
    within_one: Bools
    farthest: float


def whole_counts(counts: Array, queries: Rows, sums: Rows, totals: Array) -> Whole:
    """Counts (c,) rounded, with the sums (q, c) of known totals (q,), which stay as they are.

    The queries (m, c) are of whole numbers. Those that fit into two laminar families together with the
    totals, taken in their order, have answers that are rounded up or down; of sparse queries, which are of
    tables, those of one count. Among all such counts the result has the least sum of distances, over counts
    and these queries; or it is the best that HiGHS finds in a minute, or in the time of a ``deadline`` around
    the call.

    Raises
    ------
    SolverError : totals that do not fit into two families, and that no such rounding keeps; or none was found
        in time.
    TimeLimitError : that time was over before.
    """
    # To find: which counts, rounded down to ``floors``, are 1 larger.
    near = abs(queries).sum(axis=1) == 1 if sparse.issparse(queries) else in_two_families(queries, sums)
    floors = np.floor(counts)
    values = queries @ counts
    low, high = np.floor(values[near]), np.ceil(values[near])
    near_queries = queries[near]
    start = near_queries @ floors
    nearest = 1.0 - 2.0 * (counts - floors) + (1.0 - 2.0 * (values[near] - low)) @ near_queries
    limits = [optimize.LinearConstraint(near_queries, low - start, high - start)] if near.any() else []
    if len(totals):
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
            hint="leave --whole out (whole=True in Python)"
            + ("" if seconds == SECONDS_OF_HIGHS else ", or allow more time"),
        )
    if optimum.x is None:
        raise SolverError(
            "no whole counts were found that are the refined ones rounded up or down and keep all totals",
            hint="name fewer totals, those of one hierarchy, or leave --whole out (whole=True in Python)",
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
    off = np.abs(answers - values)
    return Whole(whole, answers, near | (off < 1.0), float(off[~near & (off >= 1.0)].max(initial=0.0)))


def _exact(rows: Rows, whole: Ints) -> Ints:
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
    matrix: Rows,
    estimates: Array,
    errors: Array,
    sums: Rows,
    totals: Array,
    near: Nearest,
    answers: Array | None = None,
) -> Figures:
    """The figures of ``answers`` (m,), or without them of the answers of the counts ``near``.

    ``matrix`` (m, c), ``estimates`` and ``errors`` (m,), ``sums`` (q, c) and ``totals`` (q,) are as for
    ``nearest_counts``, or ``_Task.rules`` of tables.
    """
    x, s = exact(near.x), exact(errors)
    y, v = less(estimates, matrix, near.base), less(totals, sums, near.base)
    of_counts = product(matrix, x)
    off = div(sub(of_counts, y), s)
    value, added = _squares(off), 0.0
    objective = value
    if answers is not None:
        objective = _squares(div(sub(exact(answers), exact(estimates)), s))
        added = math.sqrt(_squares(div(sub(less(answers, matrix, near.base), of_counts), s)))
    r, (a, b) = off.mid, near.multipliers
    z, slope = exact(b - a), div(exact(r), s)
    g = add(mul(exact(2.0), product(_transposed(matrix), slope)), product(_transposed(sums), z))
    bound = math.fsum(
        [
            -math.nextafter(-near.most * min(0.0, float(g.lower.min(initial=0.0))), math.inf),
            -_upper(mul(g, exact(near.base))),
            -2.0 * _upper(mul(slope, y)),
            -_upper(mul(z, v)),
            -_squares(exact(r)),
            -math.nextafter(near.kept * math.fsum([*a, *b]), math.inf),
        ]
    )
    bound = max(0.0, math.nextafter(bound, -math.inf))
    objective = max(objective, bound)  # that of rounded answers may be below that of all counts
    distance = added + math.sqrt(max(0.0, value - bound))
    gap = gap_between(objective, bound, "minimize", False)
    return Figures(objective, bound, math.inf if gap is None else gap, distance * (1.0 + 8.0 * EPS))


def _transposed(matrix: Rows) -> Rows:
    """The transpose, in rows."""
    return matrix.T.tocsr() if sparse.issparse(matrix) else matrix.T


def _upper(terms: Ball) -> float:
    """The sum of the terms, at most."""
    return float(total(terms).upper)


def _squares(terms: Ball) -> float:
    """The sum of their squares, at most."""
    return _upper(mul(terms, terms))


Totals = float | Mapping[str | int | None, float]

MOST_GAP = 1e-3  # of tables, unless a tolerance is given
FAR = 1e-4  # standard errors, or rows of a total: answers of counts, as written, are not farther from these
CONTRADICTED = 6.0  # standard errors of the noise, which are as good as never reached


@dataclass(frozen=True)
class _FixedTotals:
    """Queries (q, n) whose answers (q,) are known, with their names and numbers, None for all rows."""

    rows: Array
    values: Array
    names: tuple[str, ...]
    numbers: tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class _Task:
    """Queries (m, c) over the counts to be chosen, and the totals known of these.

    tables : those that the counts are of; None where a count is of cells that no query tells apart.
    """

    matrix: Rows
    fixed: _FixedTotals
    tables: Tables | None

    @cached_property
    def rules(self) -> tuple[Rows, Array]:
        """Rows of which it is known what they are of the counts: totals, 0 where tables agree. And that."""
        if self.tables is None:
            return self.fixed.rows, self.fixed.values
        agreement = self.tables.agreement
        values = np.concatenate([self.fixed.values, np.zeros(agreement.shape[0])])
        return sparse.vstack([sparse.csr_array(self.fixed.rows), agreement], format="csr"), values

    def conflict(self) -> list[tuple[int, float, float]]:
        """``conflicting_totals`` of these."""
        agreement = None if self.tables is None else self.tables.agreement
        return conflicting_totals(self.fixed.rows, self.fixed.values, agreement)

    def totals_as_answers(self, errors: Array) -> tuple[Array, Bools]:
        """Weights (q, m) of answers that add up to the totals, and whether they do."""
        if self.tables is None:
            weights = np.linalg.lstsq(self.matrix.T, self.fixed.rows.T, rcond=None)[0].T
            return weights, np.asarray(np.isclose(self.fixed.rows, weights @ self.matrix).all(axis=1))
        # A query's own answer; of all rows, the answers that know it best.
        size, ways = len(errors), self.tables.in_total
        best = ways[np.argsort((ways * ways) @ errors**2)[:1]].toarray().sum(axis=0)
        each = [best if at is None else np.eye(1, size, at)[0] for at in self.fixed.numbers]
        weights = np.array(each).reshape(-1, size)
        return weights, np.asarray(weights.any(axis=1))


def nearest_on_tables(task: _Task, tables: Tables, estimates: Array, errors: Array) -> Nearest:
    """``nearest_counts`` of tables; the multipliers are those of ``task.rules``.

    Raises SolverError as ``nearest_tables``.
    """
    base, x, z, kept, status = nearest_tables(task.matrix, estimates, errors, *task.rules)
    off = (task.matrix @ x - (estimates - task.matrix @ base)) / errors
    # Nor are there more than are known to be, or are counted at all.
    fixed = zip(task.fixed.values, task.fixed.numbers, strict=True)
    largest = min([float(MAX_ROWS), *(value + KEPT for value, number in fixed if number is None)])
    most = tables.most(estimates, errors, float(off @ off) * (1.0 + ROOM))
    most = min(most, len(tables.sizes) * largest)
    return Nearest(None, base, x, (np.maximum(-z, 0.0), np.maximum(z, 0.0)), most, status, kept)


def refine(
    release: "Release",
    *,
    whole: bool = False,
    totals: Totals | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> "Release":
    """Add a column, ``refined``, to a release, and an account of it to its manifest.

    Parameters
    ----------
    whole : whole numbers, by rounding the counts so that totals and hierarchies still add up
        (``whole_counts``). totals : the number of rows counted, without those that rules drop, where it is
        public; or known answers by the label of their query or its number, None standing for all rows; by
        default those that the workload file stated at the release (``known``), and none of them with {}.
    tolerance, time_limit : as for ``solve``; the limit is for all of it, rounding to whole numbers included.

    Raises
    ------
    OptionError : a release without its plan or refined already, an unknown query, a total that is no count,
        or, for whole answers, a query or a total that is not whole.
    SolverError : totals that no counts have together, and which; no point was found.
    TooLargeError : more cells than can be listed, or more counts than can be chosen in reasonable time.
    TimeLimitError : it takes longer than the time limit, and what ``solve`` adds to it.
    """
    options: dict[str, Any] = {"tolerance": tolerance, "time_limit": time_limit}
    # A bad option is refused before any work.
    Options(**{name: value for name, value in options.items() if value is not None})
    with deadline(time_limit):
        return _refined(release, whole, totals, tolerance, time_limit)


def _refined(
    release: "Release", whole: bool, totals: Totals | None, tolerance: float | None, time_limit: float | None
) -> "Release":
    """``refine``, within its time limit."""
    if release.plan is None:
        raise OptionError(
            "a release loaded from its folder does not contain its queries, which refining needs",
            hint="load it with them: mmopt.load_release(folder, workload=Workload.load(file))",
        )
    if totals is None and "known" in release.manifest:
        totals = {one["of"]: one["value"] for one in release.manifest["known"]["totals"]}
    if "refined" in release.manifest:
        raise OptionError("the release is already refined", hint="refine the release that it was made from")
    task = _task(release, totals, whole)
    matrix, fixed, tables = task.matrix, task.fixed, task.tables
    errors = units_of(np.asarray(release.answers["standard_error"], dtype=float))
    estimates = np.asarray(release.answers["estimate"], dtype=float)
    try:
        if tables is None:
            options: dict[str, Any] = {"tolerance": tolerance, "time_limit": time_limit}
            near = nearest_counts(matrix, estimates, errors, fixed.rows, fixed.values, **options)
        else:
            near = nearest_on_tables(task, tables, estimates, errors)
    except SolverError:
        if conflict := task.conflict():
            raise _contradiction(fixed, conflict) from None
        raise
    rounded = whole_counts(near.counts, matrix, *task.rules) if whole else None
    refined = np.array(
        # Not to more decimals than a digit of ``SMALL`` standard errors has.
        [
            round(y, max(0, math.ceil(-math.log10(SMALL * s))) if s > 0 else 0)
            for y, s in zip(matrix @ near.base + matrix @ near.x, errors, strict=True)
        ]
        if rounded is None
        else rounded.answers,
        dtype=float,
    )
    # Whole answers have figures of the counts before they are made whole.
    figures = figures_of(matrix, estimates, errors, *task.rules, near, None if whole else refined)
    if figures.gap > (limit := tolerance or MOST_GAP) and tables is not None:
        raise SolverError(
            f"the nearest tables were found with a proved gap of {figures.gap:.1e} only, more than {limit:g}",
            hint="a larger tolerance accepts them; a known total, or fewer queries, may help",
        )
    return replace(
        release,
        answers=_with_refined(release.answers, refined, _contradicted(task, estimates, errors)),
        # What was stated at the release stands with the refined answers, or was replaced.
        manifest={
            **{name: fact for name, fact in release.manifest.items() if name != "known"},
            "refined": _about(release, task, near, figures, rounded),
        },
    )


def check_refined(release: "Release", folder: Path) -> bool:
    """Whether non-negative counts have the refined answers of a saved release, and its totals: False where
    HiGHS does not decide it.

    Raises
    ------
    ResultError : there are no such counts.
    TooLargeError : as ``refine``.
    """
    totals = release.manifest["refined"]["totals"]
    try:
        far = _from_counts(release, {_query_of(one["of"]): one["value"] for one in totals})
    except (OptionError, ValueError) as error:
        raise ResultError(
            f"'{folder}' contradicts itself: refined totals: {getattr(error, 'message', error)}", hint=CHANGED
        ) from None
    if far is not None and far > FAR:
        raise ResultError(
            f"'{folder}' contradicts itself: its refined answers are {far:.2g} standard errors from those of "
            "any counts, 0 or above, that have its totals",
            hint=CHANGED,
        )
    return far is not None


def _query_of(name: str) -> str | int | None:
    """The query that a name of ``_fixed_totals`` is made of."""
    return None if name == "all rows" else int(name[6:]) if name.startswith("query ") else name[1:-1]


def _from_counts(release: "Release", totals: Totals) -> float | None:
    """The distance of refined answers from those of the nearest counts that have these totals, by HiGHS.

    It is the largest distance of an answer in standard errors, or of a total in rows; on tables the root of
    a bound on the sum of squares of all. None where the solver fails.
    """
    assert release.plan is not None
    task, errors = _task(release, totals, False), units_of(release.answers["standard_error"])
    matrix, fixed = task.matrix, task.fixed
    if task.tables is not None:
        try:
            near = nearest_on_tables(task, task.tables, release.answers["refined"], errors)
        except SolverError:
            return math.inf if task.conflict() else None
        # No counts are nearer than the bound, whatever the solver's point is.
        return math.sqrt(figures_of(matrix, release.answers["refined"], errors, *task.rules, near).bound)
    rows = np.vstack([matrix / errors[:, None], fixed.rows])
    values = np.concatenate([release.answers["refined"] / errors, fixed.values])
    # Numbers near the values are subtracted, as in ``nearest_counts``.
    base = np.rint(np.maximum(np.linalg.lstsq(rows, values, rcond=None)[0], 0.0))
    off = values - rows @ base
    optimum = optimize.linprog(
        np.append(np.zeros(len(base)), 1.0),
        A_ub=np.column_stack([np.vstack([rows, -rows]), np.full(2 * len(rows), -1.0)]),
        b_ub=np.concatenate([off, -off]),
        bounds=[(low, None) for low in (*-base, 0.0)],
    )
    return float(optimum.fun) if optimum.success else None


def _task(release: "Release", totals: Totals | None, whole: bool) -> _Task:
    """The queries of counts of cells, of so few as can be chosen, or else of tables.

    Raises
    ------
    OptionError : as ``_fixed_totals``, and for whole answers that cannot be whole.
    TooLargeError : as ``tables_of``.
    """
    assert release.plan is not None
    workload = release.plan.workload
    tables = None if are_cells_chosen(workload) else tables_of(workload)
    queries = workload.queries if tables is None else tables.queries
    fixed = _fixed_totals(
        release, totals, queries, np.ones(workload.n) if tables is None else tables.everyone
    )
    if whole:
        _refuse_fractions(release, fixed, queries)
    if tables is not None:
        return _Task(queries, fixed, tables)
    matrix, rows = _merged(queries, fixed.rows)
    return _Task(matrix, replace(fixed, rows=rows), None)


def _fixed_totals(release: "Release", totals: Totals | None, queries: Rows, everyone: Array) -> _FixedTotals:
    """The totals that a caller gives, and the number of rows where an answer is exact, as queries;
    OptionError for those that are none, or that no counts have. everyone (c,) : the row of all rows."""
    # Any: callers are not checked.
    given: Mapping[Any, Any] = (
        {} if totals is None else totals if isinstance(totals, Mapping) else {None: totals}
    )
    exact = np.flatnonzero(release.answers["standard_error"] == 0.0)[:1]
    if exact.size and release.plan is not None:
        answer, per_row = release.answers["estimate"][exact], np.asarray(release.plan.integer.of_total)[exact]
        count = float(np.rint(answer / per_row)[0])
        if given.get(None, count) != count:
            raise OptionError(
                f"the total of all rows is {given[None]}, and released answers without noise say {count:.0f}",
                hint="leave this total out",
            )
        given = {**given, None: count}
    Neighbours.of(release.manifest["privacy"]["neighbours"]).refuse_totals(given, OptionError)
    rows: list[Array] = []
    values: list[float] = []
    names: list[str] = []
    places: list[int | None] = []
    for query, value in given.items():
        name = "all rows" if query is None else f"'{query}'" if isinstance(query, str) else f"query {query}"
        if isinstance(query, bool) or not isinstance(query, str | Integral | None):
            raise OptionError(
                f"a total is given for {query!r}, expected a query's label or number, or None for all rows"
            )
        number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
        if not math.isfinite(number) or (query is None and not number.is_integer()):
            kind = "number" if query is not None else "number of rows"
            raise OptionError(f"the total of {name} is {value!r}, expected a {kind}")
        numbers = [0] if query is None else release.numbers(query)
        if len(numbers) > 1:
            raise OptionError(
                f"{name} is a group of {len(numbers)} queries, and a total is of one query",
                hint="name it by its label or its number",
            )
        # One row as an array, of sparse rows as well.
        row = everyone if query is None else queries[[numbers[0]]].sum(axis=0)
        if abs(number) > MAX_ROWS * float(np.abs(row).max(initial=0.0)):
            raise OptionError(
                f"the total of {name} is {number:g}; a release counts at most {MAX_ROWS:,} rows"
            )
        if (number < 0 and (row >= 0).all()) or (number > 0 and (row <= 0).all()):
            raise OptionError(f"the total of {name} is {number:g}, which no counts add up to")
        for other, before, at in zip(names, values, rows, strict=True):
            if np.array_equal(row, at) and before != number:
                raise OptionError(
                    f"{name} and {other} count the same rows, and their totals are {number:g} and {before:g}"
                )
        rows, values, names = [*rows, row], [*values, number], [*names, name]
        places.append(None if query is None else int(numbers[0]))
    every = np.array(rows).reshape(-1, queries.shape[1])
    return _FixedTotals(every, np.array(values), tuple(names), tuple(places))


def _contradicted(task: _Task, estimates: Array, errors: Array) -> list[str]:
    """Totals that the released answers contradict, in words.

    One that the queries span is a sum of answers, of a standard error of at most the sum of theirs.
    """
    (weights, spanned), fixed = task.totals_as_answers(errors), task.fixed
    sum_of, most = weights @ estimates, np.abs(weights) @ errors
    return [
        f"the total of {name} is {value:,.12g}, and by the released answers it is {estimate:,.6g}: at least "
        f"{math.floor(abs(value - estimate) / error):,} standard errors apart"
        for name, value, estimate, error, is_sum in zip(
            fixed.names, fixed.values, sum_of, most, spanned, strict=True
        )
        if is_sum and abs(value - estimate) > CONTRADICTED * error
    ]


def _contradiction(fixed: _FixedTotals, conflict: list[tuple[int, float, float]]) -> SolverError:
    """The error for totals that no counts have together; ``conflict`` as of ``conflicting_totals``."""
    totals = [f"{fixed.values[number]:.12g} of {fixed.names[number]}" for number, _, _ in conflict]
    ranges = [f"{fixed.names[number]} {_between(low, high)}" for number, low, high in conflict]
    return SolverError(
        f"no counts have all of these totals: {', '.join(totals)}",
        hint=f"correct one of them or leave it out; by the others it would be: {', '.join(ranges)}",
    )


def _between(low: float, high: float) -> str:
    """A range in words, to thousandths: its ends are known up to a millionth."""
    least, most = (f"{round(end, 3) + 0.0:.12g}" for end in (low, high))
    if math.isinf(high):
        return f"at least {least}"
    if math.isinf(low):
        return f"at most {most}"
    return least if least == most else f"{least} to {most}"


def _refuse_fractions(release: "Release", fixed: _FixedTotals, queries: Rows) -> None:
    """OptionError where answers cannot be whole, whatever the counts are."""
    parted = np.flatnonzero(abs(queries - queries.astype(np.int64)).sum(axis=1))
    if parted.size:
        raise OptionError(
            f"the query '{release.answers['label'][parted[0]]}' has weights that are not whole numbers, so "
            f"its answers are not whole ({counted(int(parted.size), 'query')} of {queries.shape[0]:,})",
            hint="leave --whole out (whole=True in Python), or such queries out of the workload",
        )
    for name, value in zip(fixed.names, fixed.values, strict=True):
        if value != round(value):
            raise OptionError(f"the total of {name} is {value:g}, and whole answers cannot add up to it")


def _merged(queries: Array, sums: Array) -> tuple[Array, Array]:
    """Merge cells that no query tells apart: the queries (m, c) and the sums (q, c).

    Cells that no query counts are left out.
    """
    distinct = np.unique(np.vstack([queries, sums]), axis=1)
    distinct = distinct[:, distinct.any(axis=0)]
    return distinct[: len(queries)], distinct[len(queries) :]


def _with_refined(answers: Frame, refined: Array, contradicted: list[str]) -> Frame:
    """Answers with the column ``refined`` after the others; the mark of simulated answers stays last.

    Their metadata say which totals the released answers contradict.
    """
    mark = {"private": answers["private"]} if "private" in answers.names else {}
    metadata = {"contradicted totals": "; ".join(contradicted)} if contradicted else {}
    before = {name: answers[name] for name in answers.names if name not in mark}
    return Frame({**before, "refined": refined, **mark}, {**answers.metadata, "refined": REFINED, **metadata})


def _about(
    release: "Release", task: _Task, near: Nearest, figures: Figures, rounded: Whole | None
) -> dict[str, Any]:
    """The section of a manifest about refined answers."""
    fixed, tables = task.fixed, task.tables
    return {
        "note": REFINED,
        "of": {"answers_sha256": hashlib.sha256(release.answers.to_csv().encode()).hexdigest()},
        "program": PROGRAM if tables is None else PROGRAM_OF_TABLES,
        "counts": task.matrix.shape[1],
        **({} if tables is None else {"tables": tables.finest, "agreement": LOCAL, "kept": near.kept}),
        "totals": [
            {"of": name, "value": value}
            for name, value in zip(fixed.names, fixed.values.tolist(), strict=True)
        ],
        # Where an answer is exact the first total is not stated, but released.
        **(
            {"not_covered": TOTALS}
            if len(fixed.names) > (release.answers["standard_error"] == 0).any()
            else {}
        ),
        "objective": figures.objective,
        "bound": figures.bound,
        "gap": figures.gap,
        "grade": "proved" if near.solution is None else near.solution.gap_grade,
        "standard_errors_from_best": figures.distance,
        "status": near.status,
        "whole": None
        if rounded is None
        else {
            "within_one": int(rounded.within_one.sum()),
            "others": int((~rounded.within_one).sum()),
            "largest_distance_of_others": rounded.farthest,
        },
    }
