"""l1_strategy, natively: error, gradient and starts of strategies of any signs, for the search of p_identity.

The strategy is A = S D⁻¹ with S = [diag(d); P - N], D = diag(s), s = d + 1ᵀ(P + N), and d, P, N >= 0. Its
columns have an L1 norm of at most 1, whatever these are, and every strategy has this form. With M = SᵀS =
diag(d)² + (P - N)ᵀ(P - N) the error is

    tr(G (AᵀA)⁻¹) = tr(D G D M⁻¹),

with the derivatives 2 (G ∘ M⁻¹) s by s and -M⁻¹ D G D M⁻¹ by M, all in O(n³).

The search starts from the end of p_identity, which has d = 1 and N = 0, so that it never ends above it, and
from signed rows: Haar's, and random ones for a random share of the cells.
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
STARTS_AND_ROUNDS = (
    (24, 60, 300, (40, 100, 2000)),
    (64, 20, 100, (60, 300, 2000)),
    (256, 6, 10, (60, 200, 500)),
    (math.inf, 0, 0, (60,)),
)
HOPS = 4  # searches from the best point, at most
LEAST_GAIN = 1e-7  # of a search from which another one starts, relatively
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
        inverse = scipy.linalg.cho_solve(factor, np.eye(len(m)), check_finite=False)
        scaled = self.gram * s * s[:, None]
        by_rows = -2.0 * scipy.linalg.cho_solve(factor, scaled @ inverse, check_finite=False)
        turned = rows @ by_rows
        by_sum = 2.0 * ((self.gram * inverse) @ s)
        gradient = np.vstack([turned, -turned, d * np.diag(by_rows)]) + by_sum
        return float(np.sum(scaled * inverse)), gradient


def signed_starts(n: int, most: int, seed: int) -> Iterator[StartRows]:
    """Starts without end: rows of Haar's wavelet, then random rows with random zeros."""
    rng = np.random.default_rng([seed, n, 1])
    halves = [2**level for level in range(1, max(2, n.bit_length()))]
    haar = [
        np.where(np.arange(n) // (size // 2) % 2, -1.0, 1.0) * (np.arange(n) // size == at)
        for size in halves
        for at in range(-(-n // size))
    ]
    yield signed(
        "wavelet",
        0.3 * np.array([np.ones(n), *haar])[:most] + 0.01 * rng.random((min(most, 1 + len(haar)), n)),
        np.ones(n),
    )
    for number in itertools.count(1):
        k = int(rng.integers(1, most + 1))
        rows = rng.random((k, n)) * (rng.random((k, n)) < 0.8) * rng.choice([-1.0, 1.0], (k, n), p=[0.2, 0.8])
        yield signed(f"signed {number}", rows, 0.2 + rng.random(n))


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
        yield signed("pair", np.vstack([rows, signs]), weights)


def signed(name: str, rows: Array, d: Array) -> StartRows:
    """A start from rows (k, n) of any sign and the weights of the cells."""
    return StartRows(name, np.vstack([np.maximum(rows, 0.0), np.maximum(-rows, 0.0), d]))


# Fitted on one thread of a shared core, to a factor of about three.
CUBIC, SECONDS_OF_STEP = 2e-8, 5e-5  # per cube of the cells; and of any size


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    n = float(env["W"].shape[1])
    size, seconds = p_identity_kernel.needs(program, env)
    count, pairs, rounds = _plan(n)
    steps, left = 0.0, count + 3.0*min(pairs, n*n/2)
    for most in rounds:
        steps, left = steps + left * most, math.ceil(left / STARTS_PER_FOLLOWED)
    return size, seconds + steps * (SECONDS_OF_STEP + CUBIC * n**3)


def _plan(n: float) -> tuple[int, int, tuple[int, ...]]:
    """The numbers of signed starts and of pairs and the steps of each round, for so many cells."""
    return next(row for size, *row in STARTS_AND_ROUNDS if n <= size)


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
    count, most_pairs, steps = _plan(n)
    pairs = options.starts or most_pairs
    state = SearchState(np.zeros((1, n)), math.inf, 0, (), 0)
    for state in search(gram, most, queries=root, count=options.starts, seed=seed, limit=limit, clock=clock):
        yield Point({}, {}, state.iterations, "", estimate=(state.value, None))
    best, value = signed("p_identity", state.rows, np.ones(n)), state.value
    rng = np.random.default_rng([seed, n, 2])
    chosen = itertools.chain(
        itertools.islice(signed_starts(n, most, seed), options.starts or count),
        with_pairs(np.sqrt(np.diag(gram) / np.diag(gram).max())[None], np.ones(n), most, pairs, rng),
    )
    for hop in itertools.count():
        used, limit = used + state.iterations, limit - state.iterations
        before = value
        for state in follow(gram, SignedObjective.of, [(1, most) for most in steps], itertools.chain([best], chosen), limit, clock):
            if state.value < value:
                best, value = StartRows("best", state.rows), state.value
            yield Point({}, {}, used + state.iterations, "", estimate=(value, None))
        if hop == HOPS or state.stop != Stop.SOLVED or (hop and value > before * (1.0 - LEAST_GAIN)):
            break
        k = len(best.rows) // 2
        chosen = with_pairs(best.rows[:k] - best.rows[k:-1], best.rows[-1], most, pairs, rng)
    k = len(best.rows) // 2
    rows = np.zeros((2, most, n))
    rows[:, :k] = best.rows[:-1].reshape(2, k, -1)
    # What both have in common only adds to the sums.
    rows -= rows.min(axis=0)
    stop, text = (Stop.LOCAL, summary(state)) if state.stop == Stop.SOLVED else (state.stop, "")
    raw = f"{np.count_nonzero(rows.any(axis=(0, 2)))} rows of several cells"
    values = {"d": best.rows[-1], "P": rows[0], "N": rows[1]}
    yield Point(values, {}, used + state.iterations, raw, stop, estimate=(value, None), summary=text)
