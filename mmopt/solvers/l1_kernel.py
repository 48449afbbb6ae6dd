"""l1_strategy, natively: error, gradient and starts of strategies of any signs, for the search of p_identity.

The strategy is A = S D⁻¹ with S = [diag(d); P - N], D = diag(s), s = d + 1ᵀ(P + N), and d, P, N >= 0. Its
columns have an L1 norm of at most 1, whatever these are, and every strategy has this form. With M = SᵀS =
diag(d)² + (P - N)ᵀ(P - N) the error is

    tr(G (AᵀA)⁻¹) = tr(D G D M⁻¹),

with the derivatives 2 (G ∘ M⁻¹) s by s and -M⁻¹ D G D M⁻¹ by M, all in O(n³).

**Starts.** The end of p_identity, which has d = 1 and N = 0, so that the search never ends above it; Haar's
wavelet; random rows with random signs; and a total, with a weight for each cell as large as the queries have
together, above a row of two cells with opposite signs, for every pair of cells. Of prefix sums random signs
reach the best end that is known once in 400 starts, one of the pairs reaches it always.

**Again from the best.** To the best end rows of two cells are added likewise, until nothing is gained. Of the
prefix sums of 12 cells the best end has two such rows.
"""

import itertools
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers import p_identity_kernel
from mmopt.solvers.options_points_and_clock import Clock, Options, Point
from mmopt.solvers.p_identity_kernel import (
    STARTS_PER_FOLLOWED,
    SearchState,
    StartRows,
    follow,
    search,
    summary,
)

PROGRAMS = ("l1_strategy",)

# Cells up to which there are so many signed starts, so many pairs, and quasi-Newton steps of each round.
STARTS_AND_ROUNDS: tuple[tuple[float, int, int, tuple[int, ...]], ...] = (
    (36, 20, 100, (20, 60, 1000)),
    (64, 10, 40, (20, 60, 1000)),
    (256, 6, 10, (60, 200, 500)),
    (math.inf, 0, 0, (60,)),
)
HOPS = 4  # searches from the best end, at most
LEAST_GAIN = 1e-7  # of a search after which there is another one, relatively
LEAST_PIVOT = 1e-9  # of M, next to its diagonal: below, where digits are lost, the error counts as infinite
LEAST_ENTRY = 1e-6  # of a row, next to the sum of its column


@dataclass(frozen=True)
class SignedObjective:
    """The error as a function of T (2 k + 1, n): the rows P, N and d."""

    gram: Array

    @staticmethod
    def of(gram: Array, block: int = 1) -> "SignedObjective":
        """The objective of a Gram matrix (n, n); cells are not merged."""
        return SignedObjective(gram)

    @property
    def identity(self) -> Array:
        """The rows of the strategy that measures each cell alone: d = 1."""
        return np.ones((1, len(self.gram)))

    @property
    def cells(self) -> Array:
        """The cells of each block: one."""
        return np.ones(len(self.gram))

    def merged(self, rows: Array) -> Array:
        """The rows themselves."""
        return rows

    spread = merged

    def value_and_gradient(self, t: Array) -> tuple[float, Array]:
        """Total error at sensitivity 1 for unit noise, infinite where A is singular; its derivative by T."""
        k = len(t) // 2
        rows, d, s = t[:k] - t[k:-1], t[-1], t.sum(axis=0)
        m = rows.T @ rows
        m[np.diag_indices_from(m)] += d * d
        try:
            factor = scipy.linalg.cho_factor(m, check_finite=False)
        except scipy.linalg.LinAlgError:
            return math.inf, np.zeros_like(t)
        if np.min(np.diag(factor[0]) ** 2 / np.diag(m)) < LEAST_PIVOT:
            return math.inf, np.zeros_like(t)
        inverse = scipy.linalg.cho_solve(factor, np.eye(len(m)), check_finite=False)
        scaled = self.gram * s * s[:, None]
        by_rows = -2.0 * scipy.linalg.cho_solve(factor, scaled @ inverse, check_finite=False)
        turned = rows @ by_rows
        by_sum = 2.0 * ((self.gram * inverse) @ s)
        gradient = np.vstack([turned, -turned, d * np.diag(by_rows)]) + by_sum
        return float(np.sum(scaled * inverse)), gradient


def signed_starts(n: int, most: int, seed: int) -> Iterator[StartRows]:
    """Starts without end: rows of Haar's wavelet, then random rows with random zeros."""
    rng, cells = np.random.default_rng([seed, n, 1]), np.arange(n)
    blocks = [(size, at) for size in 2 ** np.arange(1, n.bit_length()) for at in range(-(-n // size))]
    haar = [np.where(cells // (size // 2) % 2, -1.0, 1.0) * (cells // size == at) for size, at in blocks]
    rows = np.vstack([np.ones(n), *haar])[:most]
    yield signed(0.3 * rows + 0.01 * rng.random(rows.shape), np.ones(n), "wavelet")
    for number in itertools.count(1):
        k = int(rng.integers(1, most + 1))
        rows = rng.random((k, n)) * (rng.random((k, n)) < 0.8) * rng.choice([-1.0, 1.0], (k, n), p=[0.2, 0.8])
        yield signed(rows, 0.2 + rng.random(n), f"signed {number}")


def with_pairs(rows: Array, d: Array, most: int, count: int, rng: np.random.Generator) -> Iterator[StartRows]:
    """Starts from rows (k, n) and weights d, each with one more row that has two cells of opposite signs.

    Every pair of cells has its turn; of more than ``count`` so many are drawn. Rows of one cell become part
    of d, and there is a place for the pair among ``most`` rows.
    """
    n = len(d)
    sums = np.abs(rows).sum(axis=0) + d
    rows, d = rows / sums, d / sums
    alone = np.count_nonzero(np.abs(rows) > LEAST_ENTRY, axis=1) < 2
    d = d + np.abs(rows[alone]).sum(axis=0)
    rows = rows[~alone]
    rows = rows[np.argsort(-np.abs(rows).sum(axis=1), kind="stable")[: most - 1]]
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    for pair in pairs if len(pairs) <= count else rng.permutation(pairs)[:count]:
        signs, weights = np.zeros(n), d.copy()
        signs[pair] = 0.5, -0.5
        weights[pair] *= 0.3
        yield signed(np.vstack([rows, signs]), weights, f"pair {pair[0] + 1}, {pair[1] + 1}")


def signed(rows: Array, d: Array, name: str = "") -> StartRows:
    """A start from rows (k, n) of any sign and the weights of the cells."""
    return StartRows(name, np.vstack([np.maximum(rows, 0.0), np.maximum(-rows, 0.0), d]))


# Fitted on one thread of a shared core, to a factor of about three: seconds of a step of any size, per square
# of the cells and per cube; steps per cell until a start is at its end, and the part of all that is taken.
SECONDS_OF_STEP, SQUARE, CUBIC = 3e-4, 1e-7, 3e-10
STEPS_OF_CELL, TAKEN = 6, 0.8


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    n = float(env["W"].shape[1])
    size, seconds = p_identity_kernel.needs(program, env)  # of rows there are up to three times as many
    count, pairs, rounds = _plan(n)
    few, steps = 1.0 + min(pairs, n * (n - 1) / 2), 0.0
    for left in (few + count, few):
        for place, most in enumerate(rounds):
            steps += TAKEN * left / STARTS_PER_FOLLOWED**place * min(most, STEPS_OF_CELL * n)
    return 3.0 * size, seconds + steps * (SECONDS_OF_STEP + SQUARE * n**2 + CUBIC * n**3)


def _plan(n: float) -> tuple[int, int, tuple[int, ...]]:
    """The numbers of signed starts and of pairs and the steps of each round, for so many cells."""
    return next((count, pairs, steps) for size, count, pairs, steps in STARTS_AND_ROUNDS if n <= size)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point.

    env : the program's givens, and the dimension p. options : ``starts`` (of each of both searches), ``seed``
    and ``max_iterations`` (of all together) count. clock : looked at after every step.
    """
    root, most = np.asarray(env["W"], dtype=float), int(env["p"])
    gram, seed, limit = root.T @ root, options.seed or 0, options.max_iterations or math.inf
    n, used = len(gram), 0
    count, pairs, steps = _plan(n)
    rounds = [(1, number) for number in steps]
    state = SearchState(np.zeros((1, n)), math.inf, 0, (), 0)
    few = min(most, -(-n // p_identity_kernel.CELLS_OF_ROW))
    for state in search(gram, few, queries=root, count=options.starts, seed=seed, limit=limit, clock=clock):
        yield Point({}, {}, state.iterations, "", estimate=(state.value, None))
    best, value = signed(state.rows, np.ones(n)), state.value
    rng = np.random.default_rng([seed, n, 2])
    total = np.sqrt(np.diag(gram) / np.diag(gram).max())
    chosen: Iterator[StartRows] = itertools.chain(
        itertools.islice(signed_starts(n, most, seed), options.starts or count),
        with_pairs(total[None], np.ones(n), most, options.starts or pairs, rng),
    )
    for hop in range(HOPS + 1):
        used, limit, before = used + state.iterations, limit - state.iterations, value
        starts = itertools.chain([best], chosen)
        for state in follow(gram, SignedObjective.of, rounds, starts, limit, clock):
            if state.value < value:
                best, value = StartRows("best", state.rows), state.value
            yield Point({}, {}, used + state.iterations, "", estimate=(value, None))
        if state.stop != Stop.SOLVED or (hop and value > before * (1.0 - LEAST_GAIN)):
            break
        k = len(best.rows) // 2
        chosen = with_pairs(
            best.rows[:k] - best.rows[k:-1], best.rows[-1], most, options.starts or pairs, rng
        )
    k = len(best.rows) // 2
    rows = np.zeros((2, most, n))
    rows[:, :k] = best.rows[:-1].reshape(2, k, n)
    stop, text = (Stop.LOCAL, summary(state)) if state.stop == Stop.SOLVED else (state.stop, "")
    raw = f"{np.count_nonzero(rows.any(axis=(0, 2)))} rows of several cells"
    values = {"d": best.rows[-1], "P": rows[0], "N": rows[1]}
    yield Point(values, {}, used + state.iterations, raw, stop, estimate=(value, None), summary=text)
