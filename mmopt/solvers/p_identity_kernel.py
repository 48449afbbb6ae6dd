"""p_identity, natively: error, gradient, and a search from several starts.

**Error and gradient.** The strategy is A = [I; Θ] D⁻¹ with D = diag(s), s = 1 + 1ᵀΘ, Θ >= 0. With C = (I +
ΘΘᵀ)⁻¹, k by k,

    (AᵀA)⁻¹ = D (I - Θᵀ C Θ) D,    tr(G (AᵀA)⁻¹) = Σ sᵢ² Gᵢᵢ - tr(C Θ D G D Θᵀ),

by the formula of Woodbury (McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018, section 5.2). The gradient
needs the same product Θ D G D, the only one in O(k n²); the others take O(k² n).

Where Θ is constant on blocks of neighbouring cells, Θ = T diag(r) B with the blocks' rows B of 0 and 1 and
with r = 1/√(a block's cells), then ΘΘᵀ = T Tᵀ and s is constant on blocks too: the same formula holds with
the Gram matrix diag(r) B G Bᵀ diag(r), with s = 1 + r ∘ 1ᵀT, and with the sum over each block for Gᵢᵢ. So a
strategy over merged cells has the same error over all of them.

**The search** follows all starts a short way over merged cells, the better third further, the best to the
end. Where cells are merged (many, whose neighbours are alike) no more is started once the two best agree and
the best is near its end, unless the caller says how many. The starts are the total, the queries, hierarchies
of neighbouring cells, and random rows.

**Nothing is searched** where G is diagonal. With X = AᵀA, Gᵢᵢ (X⁻¹)ᵢᵢ >= Gᵢᵢ / Xᵢᵢ >= Gᵢᵢ, as columns of L1
norm 1 have Xᵢᵢ <= 1: the identity is the best of all strategies.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.optimize

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers.options_points_and_clock import Clock, Options, Point, local_optimum


@dataclass(frozen=True)
class Objective:
    """The error as a function of T (k, b), for b blocks of neighbouring cells.

    gram : diag(r) B G Bᵀ diag(r), (b, b).
    diagonal : the sums of Gᵢᵢ over the blocks, (b,).
    cells : the number of cells of each block, (b,).
    """

    gram: Array
    diagonal: Array
    cells: Array

    @classmethod
    def of(cls, gram: Array, block: int = 1) -> Self:
        """The objective of a Gram matrix (n, n), over blocks of so many cells (the last may be shorter)."""
        n = len(gram)
        first = np.arange(0, n, block)
        cells = np.diff(np.append(first, n)).astype(float)
        diagonal = np.diag(gram)
        if block == 1:
            return cls(gram, diagonal, cells)
        sums = np.add.reduceat(np.add.reduceat(gram, first, axis=0), first, axis=1)
        r = 1.0 / np.sqrt(cells)
        return cls(sums * r * r[:, None], np.add.reduceat(diagonal, first), cells)

    def merged(self, rows: Array) -> Array:
        """T of rows (k, n) over the cells, which are averaged over each block."""
        first = np.concatenate([[0], np.cumsum(self.cells)[:-1]]).astype(int)
        return np.asarray(np.add.reduceat(rows, first, axis=1) / np.sqrt(self.cells))

    def spread(self, t: Array) -> Array:
        """The rows Θ (k, n) over the cells, from T."""
        return np.asarray(np.repeat(t / np.sqrt(self.cells), self.cells.astype(int), axis=1))

    def value_and_gradient(self, t: Array) -> tuple[float, Array]:
        """Total error at sensitivity 1 for unit noise, and its derivative by T (k, b).

        By **Error and gradient** above: th is T D G D, ct and cth are C times T and times th.
        """
        k = len(t)
        r = 1.0 / np.sqrt(self.cells)
        s = 1.0 + r * t.sum(axis=0)
        th = ((t * s) @ self.gram) * s
        small = t @ t.T
        small[np.diag_indices(k)] += 1.0
        factor = scipy.linalg.cho_factor(small, lower=True, check_finite=False)
        ct = scipy.linalg.cho_solve(factor, t, check_finite=False)
        cth = scipy.linalg.cho_solve(factor, th, check_finite=False)
        by_block = self.diagonal * s * s - np.einsum("ij,ij->j", th, ct)
        return float(by_block.sum()), 2.0 * ((cth @ t.T) @ ct - cth + r * (by_block / s))


# Cells of the smallest blocks and weight of all rows, in the order in which they proved good on prefix sums
# and all ranges over 64 to 2048 cells; None: random rows.
START_ORDER: tuple[tuple[int, float] | None, ...] = (
    (16, 0.3),
    (20, 0.3),
    None,
    (18, 0.3),
    (24, 0.3),
    None,
    (12, 0.3),
    (16, 1.0),
    None,
    (20, 1.0),
    (32, 0.3),
    None,
    (8, 0.3),
)
CELLS_OF_ROW = 4  # the default of the program's parameter 'size'
CELLS_PER_ROW = (16, 24, 12)  # cells for each random row, in turn
FEW_CELLS = 64  # up to so many cells every third random start has all rows that there may be
START_NOISE = 1e-2  # added to starts with symmetries, from which a gradient does not lead away


def starts(n: int, most: int, seed: int, queries: Array | None = None) -> Iterator[Array]:
    """Starts without end, nonnegative rows (k, n): total, queries, then those that are good on ranges.

    Each depends on the seed and its number.

    Parameters
    ----------
    n : cells.
    most : rows that a start may have.
    queries : rows (r, n) of which those that count several cells are a start, if they are few.
    """
    rng = np.random.default_rng([seed, n])

    def noisy(rows: Array) -> Array:
        """The rows without their symmetries."""
        return np.asarray(rows + START_NOISE * rng.random(rows.shape))

    yield noisy(np.full((1, n), 0.3))
    if queries is not None:  # those that count several cells: of a rotated root these are hardly any
        rows = queries[(queries >= 0).all(axis=1) & ((queries > 0).sum(axis=1) > 1)]
        if 0 < len(rows) <= most:
            yield noisy(0.3 * (rows / rows.max(axis=1, keepdims=True)))
    number = 0
    for entry in itertools.chain(START_ORDER, itertools.repeat(None)):
        if entry is None:
            number += 1
            wanted = most if n <= FEW_CELLS and number % 3 == 0 else round(n / CELLS_PER_ROW[number % 3])
            yield rng.random((min(most, max(1, wanted)), n))
        else:
            size, weight = entry
            rows = _hierarchy(n, size)
            if 2 * size <= n and len(rows) <= most:
                yield noisy(weight * rows)


def _hierarchy(n: int, size: int) -> Array:
    """Blocks of ``size`` cells, of ``size``² and so on, and the total."""
    lengths = itertools.takewhile(lambda length: length < n, (size**k for k in itertools.count(1)))
    levels = [np.arange(n) // length == np.arange(-(-n // length))[:, None] for length in lengths]
    return np.vstack([*levels, np.ones((1, n), dtype=bool)]).astype(float)


# So many starts at least; errors that differ by less, relatively, agree.
FEWEST_STARTS, AGREEMENT = 3, 5e-3
STARTS_PER_FOLLOWED = 3  # of so many starts one is followed after each round
FIRST_STEPS, SECOND_STEPS = 60, 240  # quasi-Newton steps of the first two rounds
# Cells up to which there are so many starts, and so many steps in a round between and in the last one.
STARTS_AND_STEPS = ((512, 18, 200, 1000), (2048, 9, 200, 300), (math.inf, 4, 80, 60))
FEWEST_BLOCKS = 128  # blocks that are left where cells are merged, at least
LARGEST_BLOCK = ((1024, 4), (math.inf, 8))  # cells in a block, up to so many cells
ALIKE_CELLS = 0.05  # squared difference of the columns of neighbouring cells, next to their squares
LBFGS_MEMORY = 10
LEAST_DECREASE = 1e-9  # of the objective in a step, relatively
LEAST_GRADIENT = 1e-12
LARGEST_ENTRY = 1e4  # of an entry of Θ: cells that no query has send it to infinity, where digits are lost


@dataclass(frozen=True)
class SearchState:
    """The search so far.

    rows : Θ (k, n) of the best strategy.
    value : its total error.
    count : starts in all.
    values : the errors of those that were followed, where each was left; of all while there was one round.
    iterations : quasi-Newton steps of all starts.
    stop : None while it goes on; solved, stopped (from outside) or by the limit of iterations.
    """

    rows: Array
    value: float
    count: int
    values: tuple[float, ...]
    iterations: int
    stop: Stop | None = None


@dataclass(frozen=True)
class _Way:
    """One start on its way: rows over the cells and their error.

    block : of the cells over which no step lowers it; 0 where that is not known.
    """

    number: int
    rows: Array
    value: float
    block: int = 0


def rounds(gram: Array) -> list[tuple[int, int]]:
    """Cells in a block and quasi-Newton steps of each round; cells are merged where neighbours are alike."""
    n = len(gram)
    diagonal = np.diag(gram)
    # The squared differences of the columns of neighbouring cells, summed.
    apart = float(np.sum(diagonal[1:] + diagonal[:-1] - 2.0 * np.diag(gram, 1)))
    largest = next(block for size, block in LARGEST_BLOCK if n <= size)
    block = 1
    while (
        2 * block <= largest
        and n >= 2 * block * FEWEST_BLOCKS
        and apart <= ALIKE_CELLS * float(np.sum(diagonal))
    ):
        block *= 2
    between, last = next((steps, end) for size, _, steps, end in STARTS_AND_STEPS if n <= size)
    plan = [(block, FIRST_STEPS), (block, SECOND_STEPS)]
    while block > 2:
        block //= 2
        plan.append((block, between))
    return [*plan, (1, last)]


def search(
    gram: Array,
    most: int,
    *,
    queries: Array | None = None,
    count: int | None = None,
    seed: int = 0,
    limit: float = math.inf,
    clock: Clock | None = None,
    first: Iterable[Array] = (),
) -> Generator[SearchState, None, None]:
    """States of the search, one after each round; the last one says why it stopped.

    Parameters
    ----------
    gram : the queries' Gram matrix (n, n).
    most : rows that Θ may have.
    queries : rows (r, n) of which those that count several cells are a start.
    count : number of starts; by default as in ``STARTS_AND_STEPS``, or fewer where two agree on merged cells.
    limit : quasi-Newton steps of all starts together.
    clock : tells at every step whether to stop.
    first : starts of the caller's, before the others.
    """
    n, planned = len(gram), rounds(gram)
    total = count or next(number for size, number, *_ in STARTS_AND_STEPS if n <= size)
    chosen = itertools.islice(itertools.chain(first, starts(n, most, seed, queries)), total)
    identity = SearchState(np.zeros((1, n)), float(np.trace(gram)), 0, (), 0)
    may_agree = count is None and planned[0][0] > 1
    yield from follow(gram, Objective, planned, chosen, identity, limit, clock or Clock(math.inf), may_agree)


def follow(
    gram: Array,
    kind: type[Objective],
    planned: Sequence[tuple[int, int]],
    chosen: Iterable[Array],
    base: SearchState,
    limit: float,
    clock: Clock,
    may_agree: bool = False,
) -> Generator[SearchState, None, None]:
    """States after each round that is planned (cells in a block, steps); the last one says why it stopped.

    chosen : the rows of each start. base : the state before: its strategy stands while no way is better, and
    its steps count. may_agree : whether no more are started once the two best agree.
    """
    ways = [_Way(i, rows, math.inf) for i, rows in enumerate(chosen)]
    count, used = len(ways), base.iterations
    alone = _Way(-1, base.rows, base.value)
    values: dict[int, float] = {}
    if np.count_nonzero(gram) == np.count_nonzero(np.diag(gram)):
        yield replace(base, values=(base.value,), stop=Stop.SOLVED)
        return
    for place, (block, steps) in enumerate(planned):
        objective = kind.of(gram, block)
        for i, way in enumerate(ways):
            if way.block != block:
                ways[i], taken = _descend(objective, way, min(steps, limit - used), clock)
                used += taken
            if may_agree and place == 0 and i + 1 >= FEWEST_STARTS:
                least, second = heapq.nsmallest(2, range(i + 1), key=lambda at: ways[at].value)
                if ways[second].value > ways[least].value * (1.0 + AGREEMENT):
                    continue
                # Two agree: where the best is near its end, too, no more is started.
                further, taken = _descend(objective, ways[least], min(SECOND_STEPS, limit - used), clock)
                used, may_agree = used + taken, False
                if further.value >= ways[least].value * (1.0 - AGREEMENT):
                    count = i + 1
                    del ways[count:]
                ways[least] = further
        if place < 2:
            values = {}
        values |= {way.number: way.value for way in ways}
        ways.sort(key=lambda way: way.value)
        best = ways[0] if ways[0].value < alone.value else alone
        stop = clock.stop(spent=used >= limit, done=place == len(planned) - 1)
        yield SearchState(best.rows, best.value, count, tuple(values.values()), used, stop)
        if stop:
            return
        ways = ways[: -(-len(ways) // STARTS_PER_FOLLOWED)]


def _descend(objective: Objective, way: _Way, steps: float, clock: Clock) -> tuple[_Way, int]:
    """The way after ``steps`` of L-BFGS-B over the blocks (Byrd, Lu, Nocedal & Zhu 1995), and their number.

    None is taken when the time is over: a start without a step keeps an infinite value. A way that converges
    notes its ``block``, the cells of one block.
    """
    if clock.is_over:
        return way, 0
    t = objective.merged(way.rows)
    first, _ = objective.value_and_gradient(t)
    if steps < 1 or not math.isfinite(first):
        return replace(way, rows=objective.spread(t), value=first), 0

    def scaled(x: Array) -> tuple[float, Array]:
        value, gradient = objective.value_and_gradient(x.reshape(t.shape))
        return value / first, gradient.ravel() / first

    optimum = scipy.optimize.minimize(
        scaled,
        t.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(0.0, np.tile(LARGEST_ENTRY * np.sqrt(objective.cells), len(t))),
        callback=clock.watch,
        options={
            "maxiter": int(steps),
            "maxfun": 2 * int(steps) + 20,
            "maxcor": LBFGS_MEMORY,
            "ftol": LEAST_DECREASE,
            "gtol": LEAST_GRADIENT,
        },
    )
    rows = objective.spread(np.asarray(optimum.x).reshape(t.shape))
    block = int(objective.cells[0]) if optimum.success else 0
    return _Way(way.number, rows, float(optimum.fun) * first, block), int(optimum.nit)


# Fitted on one thread of a shared core, to a factor of about three: prefix sums over 64, 256, 1024, 2048 and
# 8192 cells take 0.5, 2, 10, 21 and 360 s.
SECONDS_OF_STARTS = 1e-2  # per cell: the starts, fewer where there are more cells
CUBIC = 8e-10  # per cube of the cells
ARRAYS_OF_GRAM = 10  # of the size of the Gram matrix that are held at a time


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    n = float(env["W"].shape[1])
    return 8.0 * ARRAYS_OF_GRAM * n**2, SECONDS_OF_STARTS * n + CUBIC * n**3


PROGRAMS = ("p_identity",)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point: arguments as ``searched``."""
    return searched(search, lambda rows: {"Theta": rows}, env, options, clock)


def searched(
    search: Callable[..., Iterable[SearchState]],
    variables: Callable[[Array], Mapping[str, Array]],
    env: Mapping[str, Any],
    options: Options,
    clock: Clock,
) -> Generator[Point, None, None]:
    """Estimates while a search goes on, then its best point.

    Parameters
    ----------
    search : takes what the function ``search`` takes.
    variables : of the program, from the rows of a state; matrices get rows of zeros up to p.
    env : the program's givens by name, and the dimension p.
    options : ``starts``, ``seed`` and ``max_iterations`` (of all starts together) count.
    clock : looked at after every step.
    """
    root, most = np.asarray(env["W"], dtype=float), int(env["p"])
    for state in search(
        root.T @ root,
        most,
        queries=root,
        count=options.starts,
        seed=options.seed or 0,
        limit=options.max_iterations or math.inf,
        clock=clock,
    ):
        if not state.stop:
            yield Point({}, {}, state.iterations, "", estimate=(state.value, None))
            continue
        values = {
            name: v if v.ndim == 1 else np.pad(v, ((0, most - len(v)), (0, 0)))
            for name, v in variables(state.rows).items()
        }
        text = local_optimum(state.count, state.values, state.value) * (state.stop == Stop.SOLVED)
        lower = np.any([v.any(axis=1) for v in values.values() if v.ndim == 2], axis=0)
        stop, estimate = Stop.LOCAL if text else state.stop, (state.value, None)
        yield Point(
            values,
            {},
            state.iterations,
            f"{np.count_nonzero(lower)} rows below the diagonal",
            stop,
            estimate=estimate,
            summary=text,
        )
