"""Points of the nuclear-norm kernel for a program that it claims: its start, and the cost of the points.

The kernel solves the problem on every fourth cell, or orbit of cells, first, and stretches the weights found
there to all cells. Cells that lie side by side are often treated much alike (ranges, prefixes, histograms of
numbers), so that the weights of some tell those of all but for a factor, at a sixteenth of the cost or less.
They are a start and no more; weights that jump from cell to cell are not used.

Near the ends of an attribute the weights of the few are taken cell by cell, not stretched: there they change
from cell to cell, in the same way however many cells there are.

Stretched weights are then corrected. The few were started in the same way, from every fourth of them, so the
error of stretching there can be computed; it changes little when the cells are four times as many, and is
subtracted.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace as namespace
from numpy.typing import NDArray

from mmopt.numerics.arrays import panels
from mmopt.numerics.split_arrays import Level, Split
from mmopt.solvers.nuclear.ascent import search
from mmopt.solvers.nuclear.nuclear_problem import (
    Array,
    Iterate,
    NuclearProblem,
    QueryComponent,
    Spectrum,
    back,
    bare,
    care_for,
    fetched,
    placed,
    whole,
    whole_of,
)
from mmopt.solvers.nuclear.shipped_programs import FORMS, each_query
from mmopt.solvers.solver_protocol import Clock, Options, Pace, Point

Logs = NDArray[np.float64]

CELLS_APART = 4  # cells
# Places from the beginning and from the end: cells that a reflection joins are five apart
FIRST_PLACES, LAST_PLACES = 1, 3
SEAM = 6  # of the few that lie where cells that are not four apart meet
ENDS = 5, 8, 11, 16, 23, 32  # cells at each end, in turn; their mean bends less where an end begins
FEWEST_CELLS = 256  # cells for which it pays
FEWEST_OF_FEW = 64  # cells that may themselves be started from every fourth
MISSED_AGAIN = 0.8  # of the error with a fourth of the cells, measured on prefixes and ranges
COARSE_GAP = 2e-7  # of the coarse problem
COARSE_STEPS = 8
MOST_ROUGHNESS = 0.5  # largest root mean square of the steps of the logarithms of neighbouring weights


def start(problem: NuclearProblem) -> Array | None:
    """Shares of the orbits of cells, of sum 1, for total error; None where uniform ones will do."""
    if problem.targets is not None or problem.lines is not None or problem.cells.shape[0] < FEWEST_CELLS:
        return None
    guess = _guess(problem)
    return None if guess is None else _shares(problem, guess.mended)


@dataclass(frozen=True)
class _Guess:
    """Logarithms of weights (n,): those of every fourth orbit stretched; then mended by the error of that."""

    stretched: Logs
    mended: Logs


def _guess(problem: NuclearProblem) -> _Guess | None:
    n = problem.cells.shape[0]
    if n < FEWEST_OF_FEW:
        return None
    few = _every_fourth(problem)
    if not any(bool(namespace(part.rows).any(part.rows != 0)) for part in few.parts):
        return None  # no query has any of them
    coarser = _guess(few)
    iterates = search(few, None if coarser is None else (_shares(few, coarser.mended), None))
    at = next(iterates)
    for _ in range(COARSE_STEPS):
        if at.gap <= COARSE_GAP:
            break
        at = iterates.send(COARSE_GAP)
    logs = np.log(back(at.cells / few.cells))
    if not float(np.sqrt(np.mean(np.diff(logs) ** 2))) <= MOST_ROUGHNESS:  # nor where a weight is zero
        return None
    stretched = _stretched(logs, n, logs)
    missed = 0.0 if coarser is None else MISSED_AGAIN * _stretched(coarser.stretched - logs, n, logs)
    return _Guess(stretched, stretched - missed)


def _shares(problem: NuclearProblem, logs: Logs) -> Array:
    """The shares of weights with these logarithms."""
    xp = namespace(problem.cells)
    shares = np.exp(logs) * back(problem.cells)
    return xp.asarray(shares / shares.sum(), dtype=problem.cells.dtype)


def _stretched(values: Logs, n: int, logs: Logs) -> Logs:
    """Values at all of n places from those at every fourth; at the ends of the weights taken one for one."""
    few = len(logs)
    values = values.copy()
    ends = []
    for way in slice(None), slice(None, None, -1):
        if _is_end(logs[way]):
            ends.append(way)
        else:
            values[way][:SEAM] = 2 * values[way][SEAM] - values[way][2 * SEAM : SEAM : -1]
    if n % CELLS_APART:
        seam = min(SEAM, few // 8)
        around = slice((few + 1) // 2 - seam, (few + 1) // 2 + seam)
        values[around] = np.linspace(values[around][0], values[around][-1], 2 * seam)
    inside = np.interp(np.arange(n), _places(n), values)
    guesses = []
    for size in [size for size in ENDS if size <= few // 3] or [few // 3]:
        guesses.append(inside.copy())
        for way in ends:
            out, end = guesses[-1][way], values[way]
            out[:size] = end[:size] + (out[size] - end[size])
    return np.asarray(np.mean(guesses, axis=0))


def _is_end(logs: Logs) -> bool:
    """Whether weights change more over the first places than over as many after them.

    They do not in the middle of an attribute, where the orbits of a reflection end.
    """
    near, far = min(SEAM, len(logs) // 8), len(logs) // 4
    first, second, third = logs[[near, near + far, near + 2 * far]]
    return bool(abs(second - first) > abs(third - second))


def _places(n: int) -> NDArray[np.int64]:
    """Every fourth of n places, counted from both ends: where the halves meet they may be further apart."""
    left = np.arange(FIRST_PLACES, n, CELLS_APART)[: (n // CELLS_APART + 1) // 2]
    right = np.arange(n - LAST_PLACES, -1, -CELLS_APART)[: n // CELLS_APART // 2]
    return np.concatenate([left, right[::-1]])


def _every_fourth(problem: NuclearProblem) -> NuclearProblem:
    """The problem over every fourth orbit of cells."""
    xp = namespace(problem.cells)
    n = problem.cells.shape[0]
    places = _places(n)
    kept = xp.asarray(places)
    if problem.plain:
        return whole(xp.take(problem.parts[0].rows, kept, axis=1))
    number = np.full(n, -1)
    number[places] = np.arange(len(places))
    numbers = xp.asarray(number)
    parts = []
    for part in problem.parts:
        cells = xp.take(numbers, part.cells)
        columns = xp.nonzero(cells >= 0)[0]
        if columns.shape[0]:
            rows = xp.take(part.rows, columns, axis=1)
            parts.append(replace(part, rows=rows, cells=xp.take(cells, columns), rank=None))
    return NuclearProblem(tuple(parts), xp.take(problem.cells, kept))


# Fitted on one thread of a shared core, to a factor of about three: 4 iterations over 1024 cells 2 s, 15 over
# 1024 cells and 2048 queries with targets 19 s.
STEP_SECONDS = 3e-10  # of one iteration, per product of both sizes of the queries and the smaller one
HESSIAN_SECONDS = 1.3e-10  # per square of the weights times the rank
TYPICAL_ITERATIONS = {False: 5, True: 14}  # without and with weights of queries
# Measured: 8 n² doubles for as many queries as cells and no weights of theirs, 11 n² for 2n with weights.
ARRAYS_OF_QUERIES = 4  # of the size of the queries that are held at a time, and as many of the smaller square
HESSIAN = 0.5  # of the square of the weights


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    memory, seconds = 0.0, 0.01
    has_targets = "B" in env or FORMS[program].problem is each_query
    for r, s in _shapes(env, has_targets):
        weights = s + (r if has_targets else 0)
        memory += 8.0 * (ARRAYS_OF_QUERIES * (r * s + min(r, s) ** 2) + HESSIAN * weights**2)
        one = STEP_SECONDS * r * s * min(r, s) + HESSIAN_SECONDS * weights**2 * min(r, s)
        seconds += TYPICAL_ITERATIONS[has_targets] * one
    return memory, seconds


def _shapes(env: Mapping[str, Any], has_targets: bool) -> list[tuple[int, int]]:
    """Rows and columns of the parts whose nuclear norms are taken."""
    left = env.get("L", env.get("W", env.get("V")))
    right = env.get("B", left)
    if isinstance(left, Split):
        return [(a.shape[0], b.shape[1]) for a, b in zip(left.parts, right.parts, strict=True)]
    r, s = left.shape[0], right.shape[1]
    return [(r if has_targets else min(r, s), s)]


MISSING_RANK = 0.25  # of the smaller side may be missing in the rank


def polar_of(problem: NuclearProblem, at: Iterate) -> Array | tuple[Array, ...] | None:
    """U Vᵀ of K = U diag(s) Vᵀ, of every part where there are several, from an iterate with numpy's arrays.

    A part of nearly full rank has one of orthonormal rows or columns all the same: the complement of U times
    that of V is added, which K does not see. None where a part is far from full rank, and with parts of one
    column, whose norm is a length: it would save nothing.
    """
    pairs = list(zip(problem.parts, at.spectra, strict=False))
    if problem.lines is not None or any(_missing(p, f) > MISSING_RANK * min(p.rows.shape) for p, f in pairs):
        return None
    polars = tuple(_polar(part, f, at.cells / problem.cells) for part, f in pairs)
    return polars[0] if problem.plain else polars


def _missing(part: QueryComponent, spectrum: Spectrum) -> int:
    return int(min(part.rows.shape) - spectrum.values.shape[0])


def _polar(part: QueryComponent, spectrum: Spectrum, p: Array) -> Array:
    left = spectrum.left
    if left is None:
        xp = namespace(p)
        left = (part.rows * xp.sqrt(xp.take(p, part.cells))) @ spectrum.right / spectrum.values
    polar = left @ spectrum.right.T
    if missing := _missing(part, spectrum):
        left_rest, right_rest = (_complement(vectors, missing) for vectors in (left, spectrum.right))
        for here in panels(len(polar)):
            polar[here] += left_rest[here] @ right_rest.T
    return polar


def _complement(vectors: Array, count: int) -> Array:
    """``count`` orthonormal columns that are orthogonal to ``vectors``, orthonormal ones."""
    columns = np.cos(np.outer(np.arange(len(vectors)), np.arange(1, count + 1)) + 1.0)
    for _ in range(2):  # the second time removes the rounding of the first
        columns = np.linalg.qr(columns - vectors @ (vectors.T @ columns))[0]
    return np.asarray(columns)


MOST_ITERATIONS = 300
ITERATIONS_TO_FALL = 12  # iterations in which the gap has to fall by a tenth
SHARE_OF_GAP = 0.99  # of the gap asked for: the program's own evaluation rounds to the worse side
LATER_SHARE = 0.1  # of the gap wanted
NEXT_GAP = 0.1  # of the gap of one point, for that of the next
# For gaps below it a nuclear norm is decomposed again: from a polar factor it loses up to 1e-8
GAP_DECOMPOSED = 1e-7
# No gap below this is seen in floating point. The first point comes at 100 times that, which is in reach.
LEAST_GAP = 1e-14


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points of a shipped program with its givens in ``env``: the first at the gap asked for, then closer."""
    form = FORMS[program]
    problem = form.problem(env)
    clock.handed_over = clock.elapsed
    here = placed(problem, options.arrays)
    coarse = start(here)
    search_on = search(here, None if coarse is None else (coarse, None))
    at = next(search_on)
    upper = lower = bare(at)
    first = SHARE_OF_GAP * max(options.tolerance, 100 * LEAST_GAP)
    pace = Pace(clock, first, options.max_iterations or MOST_ITERATIONS, NEXT_GAP, LEAST_GAP)
    best = [upper.upper / lower.lower - 1.0]
    while True:
        gap = best[-1]
        stalled = len(best) > ITERATIONS_TO_FALL and gap > 0.9 * best[-ITERATIONS_TO_FALL]
        stop = pace.stop(len(best), done=stalled)
        ends = form.worth(env, upper.upper), form.worth(env, lower.lower)
        estimate = ends[::-1] if form.dual else ends
        if gap <= pace.wanted or stop:
            pair = (lower, upper) if form.dual else (upper, lower)
            caring = care_for(pace.wanted, pace.is_first, problem.cells.shape[0])
            again = at.cells, at.queries
            # Memory: one iterate at a time is whole, and none while a point is scored.
            search_on.close()
            if pair[0].cells is not at.cells:
                at = bare(at)
            chosen = whole_of(here, pair[0], at)
            del at
            values = _plain(form.point(env, problem, fetched(chosen), caring))
            if pair[1].cells is not pair[0].cells:
                chosen = bare(chosen)
                chosen = whole_of(here, pair[1], chosen)
            priced = fetched(chosen)
            multipliers = _plain(form.multipliers(env, problem, priced))
            polar = polar_of(problem, priced) if pace.wanted > GAP_DECOMPOSED else None
            del chosen, priced
            raw = f"gap {gap:.1e} by its own count"
            yield Point(values, multipliers, len(best), raw, stop, estimate=estimate, polar=polar)
            if stop:
                return
            del values, multipliers, polar
            pace.tighten()
            search_on = search(here, again)
            upper = lower = bare(next(search_on))
        else:
            del at
            yield Point({}, {}, len(best), "", estimate=estimate)
        at = search_on.send(pace.wanted)
        # Of equally good points the later one: rounding may have harmed one and not the next.
        upper = bare(at) if at.upper < upper.upper * (1.0 + LATER_SHARE * pace.wanted) else upper
        lower = bare(at) if at.lower > lower.lower else lower
        best.append(upper.upper / lower.lower - 1.0)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of any library as numpy's; those split into components stay so."""
    return {n: v if isinstance(v, Split | Level) else np.asarray(v, dtype=float) for n, v in values.items()}
