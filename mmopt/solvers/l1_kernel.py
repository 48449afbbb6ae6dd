"""l1_strategy, natively: error, gradient and starts of strategies of any signs, for the search of p_identity.

The strategy is A = S D⁻¹ with S = [diag(d); P - N], D = diag(s), s = d + 1ᵀ(P + N), and d, P, N >= 0. Its
columns have an L1 norm of at most 1, whatever these are, and every strategy has this form. With M = SᵀS =
diag(d)² + (P - N)ᵀ(P - N) the error is

    tr(G (AᵀA)⁻¹) = tr(D G D M⁻¹),

with the derivatives 2 (G ∘ M⁻¹) s by s and -M⁻¹ D G D M⁻¹ by M, all in O(n³).

**Starts.** The end of p_identity, which has d = 1 and N = 0, so that the search never ends above it; random
rows with random signs; a total, with a weight for each cell as large as the queries have together. Below that
end and that total stands one more row, of two cells with opposite signs, for every pair of cells. Of prefix
sums random signs reach the best end that is known once in 400 starts, one of the pairs reaches it always.

**Again from the best.** To the best end such rows are added likewise, until nothing is gained. Of the prefix
sums of 12 cells the best end has two.
"""

import itertools
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array
from mmopt.solvers import p_identity_kernel
from mmopt.solvers.options_points_and_clock import Clock, Options, Point
from mmopt.solvers.p_identity_kernel import Objective, SearchState, follow, rounds, search, searched

PROGRAMS = ("l1_strategy",)

# Pairs: so many, or fewer where their number times cells² is larger; pairs for each start with random signs.
MOST_PAIRS, PAIR_CELLS, PAIRS_PER_SIGNED = 100, 160_000, 5
FIRST_ROUNDS = ((1, 20), (1, 60))  # cells in a block, quasi-Newton steps; the last is p_identity's
LEAST_GAIN = 1e-7  # of a search after which there is another one, relatively
LEAST_PIVOT = 1e-9  # of M, next to its diagonal: below, where digits are lost, the error counts as infinite
LEAST_ENTRY = 1e-6  # of a row, next to the sum of its column


class SignedObjective(Objective):
    """The error as a function of T (2 k + 1, n): the rows P, N and d. Cells are not merged."""

    def value_and_gradient(self, t: Array) -> tuple[float, Array]:
        """Total error at sensitivity 1 for unit noise, infinite where A is singular; its derivative by T."""
        (up, down, d), s = parts(t), t.sum(axis=0)
        rows = up - down
        m = rows.T @ rows + np.diag(d * d)
        factor, fails = scipy.linalg.lapack.dpotrf(m)
        if fails or np.min(np.diag(factor) ** 2 / np.diag(m)) < LEAST_PIVOT:
            return math.inf, np.zeros_like(t)
        inverse = scipy.linalg.cho_solve((factor, False), np.eye(len(m)), check_finite=False)
        scaled = self.gram * s * s[:, None]
        by_rows = -2.0 * scipy.linalg.cho_solve((factor, False), scaled @ inverse, check_finite=False)
        turned = rows @ by_rows
        by_sum = 2.0 * ((self.gram * inverse) @ s)
        return float(np.sum(scaled * inverse)), np.vstack([turned, -turned, d * np.diag(by_rows)]) + by_sum


def signed(rows: Array, d: Array) -> Array:
    """T of rows (k, n) of any sign and the weights of the cells."""
    return np.vstack([np.maximum(rows, 0.0), np.maximum(-rows, 0.0), d])


def parts(t: Array) -> tuple[Array, Array, Array]:
    """P, N (k, n) and d (n,) of T."""
    up, down = t[:-1].reshape(2, -1, t.shape[1])
    return up, down, t[-1]


def strategy(t: Array) -> Array:
    """A of T, without rows of zeros."""
    up, down, d = parts(t)
    rows = up - down
    return np.asarray(np.vstack([np.diag(d), rows[rows.any(axis=1)]]) / t.sum(axis=0))


def with_pairs(t: Array, most: int, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Starts from a strategy: T as it is, then with one more row, of two cells with opposite signs.

    Every pair of cells has its turn; of more than ``count`` so many are drawn. Of ``most`` rows there is a
    place for the pair: rows of one cell, or the one of least weight beyond a cell, become part of d.
    """
    yield t
    up, down, d = parts(t / t.sum(axis=0))
    size = (up + down).sum(axis=1) - (up + down).max(axis=1)
    order = np.argsort(-size, kind="stable")[: most - 1]
    kept = order[size[order] > LEAST_ENTRY]
    alone = d + np.delete(up + down, kept, axis=0).sum(axis=0)
    pairs = np.array(list(itertools.combinations(range(len(d)), 2)))
    for pair in pairs if len(pairs) <= count else rng.permutation(pairs)[:count]:
        signs, weights = np.zeros(len(d)), alone.copy()
        signs[pair] = 0.5, -0.5
        weights[pair] *= 0.3
        yield signed(np.vstack([(up - down)[kept], signs]), weights)


# Fitted on one thread of a shared core, to a factor of about three: seconds per cell of all searches.
SECONDS_OF_CELL = 0.06


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    size, seconds = p_identity_kernel.needs(program, env)
    return 3.0 * size, 3.0 * seconds + SECONDS_OF_CELL * env["W"].shape[1]


def signed_search(
    gram: Array, most: int, *, queries: Array, count: int | None, seed: int, limit: float, clock: Clock
) -> Generator[SearchState, None, None]:
    """States of the search: of that of p_identity, then of signed starts until nothing is gained.

    Arguments as ``search``; ``count``: of the starts of p_identity, the signed ones, and the pairs.
    """
    n = len(gram)
    few = min(most, -(-n // p_identity_kernel.CELLS_OF_ROW))  # rows of p_identity
    for state in search(gram, few, queries=queries, count=count, seed=seed, limit=limit, clock=clock):
        best = replace(state, rows=signed(state.rows, np.ones(n)), stop=None)
        yield best
    rng, pairs = np.random.default_rng([seed, n, 1]), count or min(MOST_PAIRS, PAIR_CELLS // n**2)
    total = signed(np.sqrt(np.diag(gram) / np.diag(gram).max())[None], np.ones(n))
    random = (
        signed(rng.random((k, n)) * rng.choice([-1, 0, 1], (k, n), p=[0.16, 0.2, 0.64]), 0.2 + rng.random(n))
        for k in rng.integers(1, most + 1, count or pairs // PAIRS_PER_SIGNED)
    )
    others = itertools.chain(random, with_pairs(total, most, pairs, rng))
    before, stop = math.inf, None
    while best.value < before * (1.0 - LEAST_GAIN) and stop in (None, Stop.SOLVED):
        before = best.value
        chosen = itertools.chain(with_pairs(best.rows, most, pairs, rng), others)
        for state in follow(
            gram, SignedObjective, (*FIRST_ROUNDS, rounds(gram)[-1]), chosen, best, limit, clock
        ):
            best, stop = replace(state, stop=None), state.stop
            yield best
    yield replace(best, stop=stop)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point: arguments as ``searched``."""
    return searched(
        signed_search, lambda rows: dict(zip("PNd", parts(rows), strict=True)), env, options, clock
    )
