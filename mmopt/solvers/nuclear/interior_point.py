"""The interior-point method: a start from fewer cells, then steps to a certified gap.

**The matrix Q** of a second-order step is a sum of Hadamard squares of products of matrices: 1 / z is a short
sum of exponentials (Braess & Hackbusch 2005, Approximation of 1/x by exponential sums). With z = x + y it
separates x from y: 1 / (sₖ + sₗ) makes Q the sum over the terms (a, w) of (Z diag(f) Zᵀ)², entry by entry,
with f = √w s exp(-a s). A term is about singular values near 1 / a: it hardly changes rows that live on much
smaller or much larger ones, and where singular values spread over many decades most rows are left out of most
terms. Q is kept by panels of rows of its lower triangle: half of the memory, also when factored.

**The step.** In logarithms x of the shares y the gradient of 2 N is g N and its Hessian (diag(g) - Q) N,
where with Z the rows of U and V stacked Qᵢⱼ = ± Σₖₗ Zᵢₖ Zᵢₗ Zⱼₖ Zⱼₗ sₖ sₗ / (sₖ + sₗ) / N, negative between
cells and queries. A query whose weight w is more than its share y counts with the part y / w of both. The
step solves for g + τ = λ y: a logarithmic barrier keeps all shares positive, and on its path the largest
gradient is known, so that the gap there is about τ times the number of shares.

**The start.** The problem is solved on every fourth cell, or orbit of cells, first, and the weights there are
stretched to all cells. Cells that lie side by side are often treated much alike (ranges, prefixes, histograms
of numbers), so that the weights of some tell those of all but for a factor, at a sixteenth of the cost or
less. They are a start and no more; weights that jump from cell to cell are not used.

Near the ends of an attribute the weights of the few are taken cell by cell, not stretched: there they change
from cell to cell, in the same way however many cells there are.

Stretched weights are then corrected. The few were started in the same way, from every fourth of them, so the
error of stretching there can be computed; it changes little when the cells are four times as many, and is
subtracted.
"""

import itertools
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from array_api_compat import array_namespace as namespace
from numpy.typing import NDArray
from scipy.optimize import nnls

from mmopt.solvers.nuclear.problem_and_iterates import (
    Array,
    Iterate,
    NuclearProblem,
    QueryComponent,
    Spectrum,
    as_numpy,
    count_marked,
    fold_of,
    iterate,
    whole,
)

GRID = 120  # points at which a few exponentials are fitted to 1 / z
GRID_NODES = 400  # nodes of the trapezoidal rule


def exponentials(low: float, high: float, fine: bool = False) -> list[tuple[float, float]]:
    """Pairs (a, w), w > 0, with Σ w exp(-a z) near 1 / z for low <= z <= high.

    Good to a quarter, which is what a Newton step needs, or where ``fine`` to a few in a thousand: the number
    of terms grows with log(high / low).
    """
    if not 0 < low <= high < math.inf:
        raise np.linalg.LinAlgError("curvature without finite sums")
    ratio = max(high / low, 1.0 + 1e-9)
    decades = math.log10(ratio)
    terms = max(4, round(2 + 3.0 * decades if fine else min(1.7 * decades, 2 + 1.2 * decades)))
    z = np.geomspace(1.0, ratio, GRID)
    rates = np.geomspace(0.25 / ratio, 3.0, terms)
    weights, _ = nnls(np.exp(-np.outer(z, rates)) * z[:, None], np.ones(GRID), maxiter=100 * terms)
    return [(float(a) / low, float(w) / low) for a, w in zip(rates, weights, strict=True) if w > 0]


def many_exponentials(low: float, high: float) -> list[tuple[float, float]]:
    """Pairs as ``exponentials``, to about twelve digits: the trapezoidal rule on ∫ exp(u - z exp(u)) du."""
    u = np.linspace(-math.log(high) - 30.0, -math.log(low) + 5.0, GRID_NODES)
    return [(float(rate), float(rate * (u[1] - u[0]))) for rate in np.exp(u)]


PANEL_ROWS = 256  # rows of a panel


@dataclass(frozen=True, eq=False)
class Triangle:
    """Panels of ``PANEL_ROWS`` rows, from the first column to the end of the diagonal.

    Entries above the diagonal in a panel's last columns are not used.
    """

    panels: tuple[Array, ...]

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """The rows of each panel, and the panel."""
        for panel in self.panels:
            yield slice(panel.shape[1] - panel.shape[0], panel.shape[1]), panel

    def add(self, matrix: Array) -> None:
        """Add a whole symmetric matrix, of this precision or a higher one."""
        xp = namespace(matrix)
        for here, panel in self:
            panel += xp.astype(matrix[here, : here.stop], panel.dtype, copy=False)

    def dense(self) -> Array:
        """The whole matrix."""
        xp = namespace(self.panels[-1])
        count = self.panels[-1].shape[1]
        whole = xp.zeros((count, count), dtype=self.panels[-1].dtype)
        for here, panel in self:
            whole[here, : here.stop] = panel
        return xp.tril(whole) + xp.tril(whole, k=-1).T

    def solve(self, right: Array) -> Array | None:
        """The inverse times right sides (n,) or (n, k); None if it is not positive definite, to rounding.

        Of numpy by Cholesky's algorithm, from panel to panel. The triangle is written over.
        """
        if not isinstance(right, np.ndarray):
            xp = namespace(right)
            return xp.linalg.solve(xp.astype(self.dense(), right.dtype, copy=False), right)
        for here, panel in self:
            for before, earlier in self:
                if before.start >= here.start:
                    break
                block = panel[:, before] - panel[:, : before.start] @ earlier[:, : before.start].T
                panel[:, before] = _under(earlier[:, before], block.T).T
            corner = panel[:, here] - panel[:, : here.start] @ panel[:, : here.start].T
            try:
                panel[:, here] = scipy.linalg.cholesky(
                    corner, lower=True, overwrite_a=True, check_finite=False
                )
            except np.linalg.LinAlgError:
                return None
        solution = np.array(right)
        for here, panel in self:
            solution[here] = _under(
                panel[:, here], solution[here] - panel[:, : here.start] @ solution[: here.start]
            )
        for here, panel in reversed(tuple(self)):
            solution[here] = _under(panel[:, here], solution[here], turned=True)
            solution[: here.start] -= panel[:, : here.start].T @ solution[here]
        return solution


def _under(lower: Array, right: Array, turned: bool = False) -> Array:
    """The inverse of a lower triangle, or of its transpose (``turned``), times ``right``."""
    return scipy.linalg.solve_triangular(lower, right, lower=True, trans=int(turned), check_finite=False)


def triangle(like: Array, count: int) -> Triangle:
    """A triangle of zeros with ``count`` rows, of the library and kind of an array."""
    xp = namespace(like)
    spans = ((start, min(start + PANEL_ROWS, count)) for start in range(0, max(count, 1), PANEL_ROWS))
    return Triangle(tuple(xp.zeros((end - start, end), dtype=like.dtype) for start, end in spans))


Sums = Callable[[float, float], list[tuple[float, float]]]  # as ``exponentials``

LEAST_TERM = 1e-4  # a term that gives a row no more than this part of its diagonal entry leaves it out
PANELS_WIDE = 2  # panels that are multiplied at a time
NEGLIGIBLE_COLUMN = 1e-2  # columns have to be smaller than that by this factor before they are left out


@dataclass(frozen=True)
class _Rows:
    """Rows of U (``side`` 0, if it counts) or V, by ``numbers``, at ``start`` of the triangle."""

    vectors: Array
    numbers: Array
    side: int
    start: int
    dtype: Any

    @property
    def stop(self) -> int:
        return self.start + int(self.numbers.shape[0])

    def array(self) -> Array:
        """The rows themselves."""
        xp = namespace(self.vectors)
        if isinstance(self.vectors, np.ndarray):  # of a slice take would copy the whole first
            return self.vectors[self.numbers].astype(self.dtype, copy=False)
        return xp.astype(xp.take(self.vectors, self.numbers, axis=0), self.dtype, copy=False)


def by_size(problem: NuclearProblem, at: Iterate, active: Array) -> Array:
    """The shares ``active``, queries before cells, each group by the singular values that its rows live on.

    Only of a plain problem; else they are left in order.
    """
    if not problem.plain or not at.spectra:
        return active
    xp = namespace(at.cells)
    (spectrum,) = at.spectra
    ends = xp.stack([spectrum.values, xp.ones_like(spectrum.values)], axis=1)
    ordered = []
    for side in _sides(spectrum, active, 0 if at.queries is None else at.queries.shape[0], at.cells.dtype):
        sums = _squares(side, ends)
        ordered.append(xp.argsort(sums[:, 0] / xp.where(sums[:, 1] > 0, sums[:, 1], 1.0)) + side.start)
    return xp.take(active, xp.concat(ordered))


def curvature(
    problem: NuclearProblem,
    at: Iterate,
    active: Array,
    sums: Sums | None = None,
    *,
    careful: bool = True,
    single: bool = False,
) -> Triangle:
    """Q restricted to the shares ``active``, queries before cells and else in any order.

    ``sums`` gives 1 / z as exponentials: enough for the second derivative, or (None) as few as a step needs.
    If not ``careful`` they are fewer, and terms that are small next to a diagonal entry are left out.
    ``single``: in single precision, which takes half of the memory and, of a plain problem, of the time.
    """
    xp = namespace(at.cells)
    sums = sums or partial(exponentials, fine=careful)
    least = 0.0 if careful else LEAST_TERM
    t = 0 if at.queries is None else at.queries.shape[0]
    dtype = xp.float32 if single else at.cells.dtype
    total = triangle(xp.zeros(0, dtype=dtype), active.shape[0])
    if problem.lines is not None and at.lengths is not None:
        total.add(problem.lines.curvature(at.lengths, active, t, at.cells.shape[0]) / at.norm)
    for number, spectrum in zip(problem.others, at.spectra, strict=True):
        part = problem.parts[number]
        values = spectrum.values / at.norm
        terms = sums(2 * float(xp.min(values)), 2 * float(xp.max(values)))
        factors = [values * xp.exp(-a * values) * w**0.5 for a, w in terms]
        if problem.plain:
            factors = [xp.astype(f, dtype, copy=False) for f in factors]
            _add_plain(total, _sides(spectrum, active, t, dtype), factors, least)
            continue
        z, labels = _stacked(spectrum, part, t)
        sign = 2.0 * xp.astype(labels < t, dtype) - 1.0
        member: Any = xp.astype(active[:, None] == labels[None, :], dtype) * sign
        if isinstance(member, np.ndarray):  # few rows of a component have one share
            member = scipy.sparse.csr_array(member)
        z = xp.astype(z, dtype, copy=False)
        squares: Any = 0.0
        for f in factors:
            half = z * xp.astype(f**0.5, dtype, copy=False)
            squares += (half @ half.T) ** 2  # of one array with itself: half of the work
        total.add(part.multiplicity * (member @ squares @ member.T))
    if problem.floors is not None:
        parts = xp.take(at.queries / at.weights, active[active < t])
        _damp(total, xp.concat([parts, xp.ones(active.shape[0] - parts.shape[0], dtype=parts.dtype)]))
    return total


def _damp(hessian: Triangle, scales: Array) -> None:
    """Q by the shares of queries that are ``scales`` of their weights."""
    scales = namespace(scales).astype(scales, hessian.panels[0].dtype, copy=False)
    for here, panel in hessian:
        panel *= scales[here, None]
        panel *= scales[None, : here.stop]


def _stacked(spectrum: Spectrum, part: QueryComponent, t: int) -> tuple[Array, Array]:
    """The rows of U and V, and the share that each belongs to."""
    xp = namespace(spectrum.right)
    if t == 0:
        return spectrum.right, part.cells
    assert part.queries is not None
    return xp.concat([spectrum.left, spectrum.right]), xp.concat([part.queries, part.cells + t])


def _sides(spectrum: Spectrum, active: Array, t: int, dtype: Any) -> list[_Rows]:
    """The rows of the shares ``active``: of U, if ``t`` queries have weights, and of V."""
    queries = active[active < t]
    cells = _Rows(spectrum.right, active[active >= t] - t, 1, queries.shape[0], dtype)
    return [_Rows(spectrum.left, queries, 0, 0, dtype), cells] if t else [cells]


def _blocks(side: _Rows, height: int) -> list[_Rows]:
    """Rows of one side by panels of a triangle, of ``height`` rows each."""
    ends = [side.start, *(e for e in range(0, side.stop, height) if e > side.start), side.stop]
    ranges = [(a - side.start, b - side.start) for a, b in itertools.pairwise(ends)]
    return [replace(side, numbers=side.numbers[a:b], start=side.start + a) for a, b in ranges if b > a]


def _squares(rows: _Rows, columns: Array) -> Array:
    """Sums over the squares of rows, weighted by columns (n, c); a block at a time: memory."""
    xp = namespace(columns)
    sums = [block.array() ** 2 @ columns for block in _blocks(rows, PANEL_ROWS)]
    return xp.concat(sums) if sums else xp.zeros((0, columns.shape[1]), dtype=columns.dtype)


def _hull(mask: Array) -> slice:
    """The slice from the first to the last marked place."""
    marked = namespace(mask).nonzero(mask)[0]
    return slice(int(marked[0]), int(marked[-1]) + 1) if marked.shape[0] else slice(0, 0)


def _add_plain(total: Triangle, sides: Sequence[_Rows], factors: Sequence[Array], least: float) -> None:
    """Add the Hadamard squares, lower triangle only: half the work."""
    xp = namespace(factors[0])
    columns = [_hull(f > NEGLIGIBLE_COLUMN * least * float(xp.max(f))) for f in factors]
    height = total.panels[0].shape[0]
    blocks = [[(block, _kept(block, factors, least)) for block in _blocks(side, height)] for side in sides]
    for other, kept in (
        _as_one_block(some[i : i + PANELS_WIDE]) for some in blocks for i in range(0, len(some), PANELS_WIDE)
    ):
        others = other.array()
        for block, rows_kept in itertools.chain(*blocks):
            if block.stop <= other.start:
                continue
            rows, number = block.array(), block.start // height
            target = total.panels[number][block.start - number * height : block.stop - number * height, :]
            sign = 1.0 if block.side == other.side else -1.0
            for f, c, inside, its in zip(factors, columns, rows_kept, kept, strict=True):
                stop = min(other.start + its.stop, target.shape[1])
                start = other.start + its.start
                if inside.start == inside.stop or start >= stop:
                    continue
                product = (rows[inside, c] * f[c]) @ others[its.start : stop - other.start, c].T
                product *= product
                target[inside, start:stop] += sign * product


def _kept(block: _Rows, factors: Sequence[Array], least: float) -> list[slice]:
    """The rows of a block, for each term, that the term is not negligible for."""
    xp = namespace(factors[0])
    squares = _squares(block, xp.stack(list(factors), axis=1)) ** 2
    enough = squares > least * xp.sum(squares, axis=1)[:, None]
    return [_hull(enough[:, number]) for number in range(len(factors))]


def _as_one_block(parts: Sequence[tuple[_Rows, list[slice]]]) -> tuple[_Rows, list[slice]]:
    """Neighbouring blocks as one."""
    xp, first = namespace(parts[0][0].numbers), parts[0][0]
    starts = [block.start - first.start for block, _ in parts]
    kept = []
    for spans in zip(*(slices for _, slices in parts), strict=True):
        some = [(at + s.start, at + s.stop) for at, s in zip(starts, spans, strict=True) if s.start < s.stop]
        kept.append(slice(min((a for a, _ in some), default=0), max((b for _, b in some), default=0)))
    return replace(first, numbers=xp.concat([block.numbers for block, _ in parts])), kept


SHARE_KEPT = 0.02  # a share falls to no less than this part of itself in one step
MOST_GROWTH = 2.0  # and its logarithm grows by no more
# The least of the barrier, over the average share, for single precision. Along scalings of queries against
# cells the matrix has only the barrier, and far below its rounding (6e-8) that would be lost.
SINGLE = 1e-8
TIMES_BARRIER = 10  # shares below so many times the barrier may be next to nothing


def step(
    problem: NuclearProblem, at: Iterate, barrier: float, counts: Array | None = None, *, careful: bool = True
) -> tuple[Array, Array | None]:
    """The next shares of cells and of queries (None when their weights are fixed).

    Inside, tau, y, g and lam are τ, y, g and λ of **The step** above, queries before cells.

    barrier : τ. counts (t,) : how many equal shares each share of queries is the sum of; None: of one.
    careful : as of ``curvature``.
    """
    xp = namespace(at.cells)
    tau = xp.full_like(at.cells, barrier)
    y, g, lam = at.cells, at.cost, xp.full_like(at.cells, 1.0 + float(xp.sum(tau)))
    t = 0
    if at.queries is not None:
        t = at.queries.shape[0]
        gradient = at.variance * (at.queries / at.weights)
        barriers = xp.full_like(at.queries, barrier) if counts is None else barrier * counts
        tau, y, g = map(xp.concat, ([barriers, tau], [at.queries, y], [gradient, g]))
        lam = xp.concat([xp.full_like(at.queries, float(xp.sum(gradient)) + float(xp.sum(barriers))), lam])
    if problem.base is not None:
        g, lam = _with_base(g, lam, y, problem.base / at.norm**2)
    slack = lam * y - g
    residual = tau - slack
    slack = xp.where(slack > tau, slack, tau)
    # Shares that are nearly zero and pushed further down hardly touch the others.
    gone = (y < TIMES_BARRIER * tau) & (g < 0.5 * lam * y)
    active = by_size(problem, at, xp.nonzero(~gone)[0])
    right, shares, near = (xp.take(array, active) for array in (residual, y, slack))
    queries, cells = xp.where(active < t, shares, 0.0), xp.where(active < t, 0.0, shares)
    group = queries if problem.floors is not None else cells if problem.base is not None else None
    solution = None
    for precise in (False, True) if (not careful and barrier * y.shape[0] > SINGLE) else (True,):
        hessian = curvature(problem, at, active, careful=careful, single=not precise)
        _with_ends(hessian, shares if problem.base is None else cells, count_marked(active < t), near)
        solution = hessian.solve(right) if group is None else _balanced(hessian, right, group)
        del hessian  # before another is made
        if solution is not None:
            break
    delta = residual / slack
    delta[~gone] = 0.0 if solution is None else xp.take(solution, xp.argsort(active))
    y = y * xp.where(
        delta < 0, xp.clip(1.0 + delta, SHARE_KEPT, None), xp.exp(xp.clip(delta, None, MOST_GROWTH))
    )
    cells = y[t:] / xp.sum(y[t:])
    return cells, None if at.queries is None else y[:t] / xp.sum(y[:t])


def _with_base(gradient: Array, levels: Array, y: Array, base: Array) -> tuple[Array, Array]:
    """Gradient and levels of b @ p + 2 N √t - t in the weights t q, at t = N² where it is largest, over N².

    The sum of the queries' shares is free, and their level is 1; the shares of the cells keep their sum.
    """
    xp = namespace(y)
    t = y.shape[0] - base.shape[0]
    fixed = xp.concat([xp.zeros_like(y[:t]), base * y[t:]])
    levels = xp.concat([xp.ones_like(y[:t]), levels[t:] + float(xp.sum(fixed))])
    return gradient + fixed, levels


def _with_ends(hessian: Triangle, y: Array, t: int, slack: Array) -> None:
    """Make Q the matrix of the step: add the slack to the diagonal, and fix the scale of each group.

    Along the shares of a group N only grows by their sum, which is 1: the term takes that direction out.
    """
    xp, dtype = namespace(y), hessian.panels[0].dtype
    y, slack = xp.astype(y, dtype, copy=False), xp.astype(slack, dtype, copy=False)
    for here, panel in hessian:
        for start, stop in ((here.start, min(here.stop, t)), (max(here.start, t), here.stop)):
            if start < stop:
                columns = slice(0, stop) if stop <= t else slice(t, stop)
                rows = slice(start - here.start, stop - here.start)
                panel[rows, columns] += y[start:stop, None] * y[None, columns]
        panel[:, here] += xp.eye(here.stop - here.start, dtype=y.dtype) * slack[here, None]


def _balanced(matrix: Triangle, right: Array, group: Array) -> Array | None:
    """The solution along which the shares in the group keep their sum (those of the others are zeros in it).

    Without a hybrid and without fixed costs it follows: then N only grows by that sum. None as
    ``Triangle.solve``.
    """
    if (solutions := matrix.solve(namespace(group).stack([right, group], axis=1))) is None:
        return None
    along = float(group @ solutions[:, 1])
    return solutions[:, 0] - (float(group @ solutions[:, 0]) / along if along else 0.0) * solutions[:, 1]


BARRIER_OF_GAP = 0.05  # the barrier aims at this part of the gap
# The power of the privacy costs; 1 is the plain fixed point, above 2 stiff directions overshoot a little
COST_POWER = 2.1
GAP_LEFT = 0.2  # the part of the gap that equalising may leave
# Shares up to which steps are careful: it costs nothing, and workloads that are hard for arithmetic need it.
CAREFUL_SHARES = 512
SLOW_STEPS = 3  # steps that have not halved the gap, after which the next ones are careful too


def search(
    problem: NuclearProblem, start: tuple[Array, Array | None] | None = None
) -> Generator[Iterate, float, None]:
    """Iterates of falling gap, without end; the consumer sends the gap that it wants and stops.

    ``start`` holds shares of cells and queries, each of sum 1. The errors of a good start of the cells'
    shares are local, and equalising privacy costs mends them at the price of an iterate; where that is not
    fast, or with weights of queries, steps are of second order.
    """
    xp = namespace(problem.cells)
    cells, queries = start or (problem.cells / xp.sum(problem.cells), None)
    if queries is None and problem.targets is not None:
        queries = xp.full_like(problem.targets, 1.0 / problem.targets.shape[0])
    count = cells.shape[0] + (0 if queries is None else queries.shape[0])
    tau = 1.0 / count
    ranks = [problem.parts[number].rank for number in problem.others]
    fold = fold_of(problem)
    before = float("inf") if start is not None and queries is None else 0.0
    best, slow = float("inf"), 0
    while True:
        at = iterate(problem, ranks, cells, queries)
        best, slow = (at.gap, 0) if at.gap <= 0.5 * best else (best, slow + 1)
        ranks = [spectrum.values.shape[0] for spectrum in at.spectra]
        wanted = yield at
        is_fast = at.gap < before and (at.gap < GAP_LEFT * before or at.gap**2 < wanted * before)
        if is_fast and float(xp.min(at.cost)) > 0:  # a cell that costs nothing would get no weight at all
            before, cells = at.gap, _equalised(at)
            del at  # before the next takes as much
            continue
        before = 0.0
        # The barrier is relative to N², which may be small next to fixed costs.
        share = at.lower / at.norm**2
        slope = at.slope if problem.base is None else at.gap * share
        tau = min(tau, BARRIER_OF_GAP * max(slope, 0.3 * (wanted or 1e-12) * share) / count)
        careful = count <= CAREFUL_SHARES or slow >= SLOW_STEPS
        if fold is None:
            cells, queries = step(problem, at, tau, careful=careful)
        else:
            cells, colours = step(fold.problem, fold.iterate(at), tau, fold.counts, careful=careful)
            queries = fold.spread(colours)
        del at


def _equalised(at: Iterate) -> Array:
    """Shares p diag(X)^POWER, by which cells of larger privacy cost get more noise."""
    xp = namespace(at.cells)
    shares = at.cells * (at.cost / at.cells) ** COST_POWER
    return shares / xp.sum(shares)


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


def coarse_start(problem: NuclearProblem) -> Array | None:
    """Shares of the orbits of cells, of sum 1, for total error; None where uniform ones will do."""
    if problem.targets is not None or problem.lines is not None or problem.cells.shape[0] < FEWEST_CELLS:
        return None
    guess = _guess(problem)
    return None if guess is None else _shares(problem, guess[1])


def _guess(problem: NuclearProblem) -> tuple[Logs, Logs] | None:
    """Logarithms of weights (n,): those of every fourth orbit stretched; then mended by the error of that.

    None where there are too few, or where weights jump.
    """
    if (n := problem.cells.shape[0]) < FEWEST_OF_FEW:
        return None
    few = _every_fourth(problem)
    if not any(bool(namespace(part.rows).any(part.rows != 0)) for part in few.parts):
        return None  # no query has any of them
    coarser = _guess(few)
    iterates = search(few, None if coarser is None else (_shares(few, coarser[1]), None))
    at = next(iterates)
    for _ in range(COARSE_STEPS):
        if at.gap <= COARSE_GAP:
            break
        at = iterates.send(COARSE_GAP)
    logs = np.log(as_numpy(at.cells / few.cells))
    if not float(np.sqrt(np.mean(np.diff(logs) ** 2))) <= MOST_ROUGHNESS:  # nor where a weight is zero
        return None
    stretched = _stretched(logs, n, logs)
    missed = 0.0 if coarser is None else MISSED_AGAIN * _stretched(coarser[0] - logs, n, logs)
    return stretched, stretched - missed


def _shares(problem: NuclearProblem, logs: Logs) -> Array:
    """The shares of weights with these logarithms."""
    xp = namespace(problem.cells)
    shares = np.exp(logs) * as_numpy(problem.cells)
    return xp.asarray(shares / shares.sum(), dtype=problem.cells.dtype)


def _stretched(values: Logs, n: int, logs: Logs) -> Logs:
    """Values at all of n places from those at every fourth; at the ends of an attribute taken one for one.

    ``logs``: the logarithms of the weights at every fourth, which tell whether a side is such an end.
    """
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
        if (columns := xp.nonzero(cells >= 0)[0]).shape[0]:
            rows = xp.take(part.rows, columns, axis=1)
            parts.append(replace(part, rows=rows, cells=xp.take(cells, columns), rank=None))
    return NuclearProblem(tuple(parts), xp.take(problem.cells, kept))
