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

# Cells up to which there are so many signed starts, and quasi-Newton steps of each round.
STARTS_AND_ROUNDS = (
    (16, 400, (40, 200, 2000)),
    (64, 40, (60, 300, 2000)),
    (256, 6, (60, 200, 500)),
    (math.inf, 0, (60,)),
)


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


def signed(name: str, rows: Array, d: Array) -> StartRows:
    """A start from rows (k, n) of any sign and the weights of the cells."""
    return StartRows(name, np.vstack([np.maximum(rows, 0.0), np.maximum(-rows, 0.0), d]))


# Fitted on one thread of a shared core, to a factor of about three.
CUBIC, SECONDS_OF_STEP = 2e-8, 5e-5  # per cube of the cells; and of any size


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (without those of any solve) and seconds for the givens of a program that the kernel claims."""
    n = float(env["W"].shape[1])
    size, seconds = p_identity_kernel.needs(program, env)
    count, rounds = _plan(n)
    steps, left = 0.0, count + 1.0
    for most in rounds:
        steps, left = steps + left * most, math.ceil(left / STARTS_PER_FOLLOWED)
    return size, seconds + steps * (SECONDS_OF_STEP + CUBIC * n**3)


def _plan(n: float) -> tuple[int, tuple[int, ...]]:
    """The number of signed starts and the steps of each round, for so many cells."""
    return next((count, steps) for size, count, steps in STARTS_AND_ROUNDS if n <= size)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point.

    env : the program's givens, and the dimension p. options : ``starts`` (of each of both searches), ``seed``
    and ``max_iterations`` (of all together) count. clock : looked at after every step.
    """
    root, most = np.asarray(env["W"], dtype=float), int(env["p"])
    gram, seed, limit = root.T @ root, options.seed or 0, options.max_iterations or math.inf
    count, steps = _plan(len(gram))
    before = SearchState(np.zeros((1, len(gram))), math.inf, 0, (), 0)
    for before in search(gram, most, queries=root, count=options.starts, seed=seed, limit=limit, clock=clock):
        yield Point({}, {}, before.iterations, "", estimate=(before.value, None))
    first = signed("p_identity", before.rows, np.ones(len(gram)))
    others = itertools.islice(signed_starts(len(gram), most, seed), options.starts or count)
    rounds = [(1, most) for most in steps]
    limit -= before.iterations
    for state in follow(gram, SignedObjective.of, rounds, [first, *others], limit, clock):
        used, estimate = before.iterations + state.iterations, (state.value, None)
        if not state.stop:
            yield Point({}, {}, used, "", estimate=estimate)
            continue
        k = len(state.rows) // 2
        rows = np.zeros((2, most, len(gram)))
        rows[:, :k] = state.rows[:-1].reshape(2, k, -1)
        # What both have in common only adds to the sums.
        rows -= rows.min(axis=0)
        values = {"d": state.rows[-1], "P": rows[0], "N": rows[1]}
        stop, text = (Stop.LOCAL, summary(state)) if state.stop == Stop.SOLVED else (state.stop, "")
        raw = f"{np.count_nonzero(rows.any(axis=(0, 2)))} rows of several cells"
        yield Point(values, {}, used, raw, stop, estimate=estimate, summary=text)
