"""A kernel for banded_strategy: banded Gram matrices of strategies for a stream, by quasi-Newton steps.

A banded X > 0 is A.T @ A for exactly one lower-triangular A with as many bands and a positive diagonal, so
that the search over A finds the optimum of the convex problem in X: no stationary point is another one.
With unit columns L, A = L diag(√s) has the diagonal s = C.T @ v of X, and the objective is the error times
the sum of v >= 0: no constraint is left but the sign of v. Error, gradient and gap cost O(n r b) by banded
solves, for r queries.

**The bound at X.** With Q = W X⁻¹ the program's Y is Q.T @ Q without its entries E in the band off the
diagonal. Up to the square of E, which goes to zero, nuclear(W Y^½) is the error less tr(X E) / 2.
"""

import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg.lapack
import scipy.optimize

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array, rank
from mmopt.solvers.options_points_and_clock import Clock, KernelStep, Options, Pace, Point

PROGRAMS = ("banded_strategy",)

STEPS_BETWEEN_GAPS = 10
STEPS_SHOWN = 200  # after so many a display hears of it
LBFGS_MEMORY = 30  # pairs of steps and gradients
LEAST_SHARE = 1e-12  # of the windows, at first of sum 1: the root of a share of zero has no slope
# Fitted on one thread of a shared core, to a factor of about three.
SECONDS_OF_STEP = 2e-9  # per product of cells, queries and bands
TYPICAL_STEPS = 500
ARRAYS_OF_QUERIES = 6  # of the size of the queries that are held at a time


def takes(env: Mapping[str, Any]) -> bool:
    """Whether ``near`` is a band of ones, some row of C >= 0 covers every cell, and X needs an inverse.

    It does where the queries tell all cells apart; else the best X may be singular, and no A leads there.
    """
    near, cover = np.asarray(env["near"], dtype=float), np.asarray(env["C"], dtype=float)
    apart = np.abs(np.subtract.outer(np.arange(len(near)), np.arange(len(near))))
    is_band = np.array_equal(near, (apart < near[0].sum()).astype(float))
    is_covered = (cover >= 0).all() and cover.any(axis=0).all()
    return bool(is_band and is_covered and rank(np.asarray(env["W"], dtype=float)) == len(near))


@dataclass(frozen=True)
class Banded:
    """The problem: W (r, n), C (h, n), and how many bands A has with its diagonal.

    A point is one vector: the entries of L below its diagonal, band by band, then v (h,).
    """

    queries: Array
    cover: Array
    bands: int

    @property
    def n(self) -> int:
        return int(self.queries.shape[1])

    @property
    def places(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which entries (bands - 1, n) of the lower bands lie within the matrix."""
        return np.add.outer(np.arange(1, self.bands), np.arange(self.n)) < self.n

    def start(self) -> Array:
        """Noise on the cells, all windows alike."""
        count = len(self.cover)
        return np.concatenate([np.zeros(int(self.places.sum())), np.full(count, 1.0 / count)])

    def factor(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """The bands (b, n) of A at a point, the bands of L, s and v; row k is k below the diagonal."""
        below, shares = np.split(x, [len(x) - len(self.cover)])
        lower = np.zeros((self.bands, self.n))
        lower[0] = 1.0
        lower[1:][self.places] = below
        diagonal = self.cover.T @ shares
        return lower * (np.sqrt(diagonal) / np.sqrt(np.square(lower).sum(axis=0))), lower, diagonal, shares

    def solved(self, factor: Array) -> tuple[Array, Array]:
        """The transposes (n, r) of W A⁻¹ and of W X⁻¹, from the bands of A."""
        half = _solve(factor, self.queries.T, "T")
        return half, _solve(factor, half, "N")

    def value(self, x: Array) -> tuple[float, Array]:
        """The error times the sum of the shares, with its gradient."""
        factor, lower, diagonal, shares = self.factor(x)
        half, whole = self.solved(factor)
        error, count = float(np.square(half).sum()), float(shares.sum())
        by_factor = -2.0 * _bands(half, whole, self.bands)
        lengths, roots = np.sqrt(np.square(lower).sum(axis=0)), np.sqrt(diagonal)
        along = (by_factor * lower).sum(axis=0)
        by_lower = by_factor * (roots / lengths) - lower * (along * roots / lengths**3)
        by_shares = self.cover @ (along / (2.0 * lengths * roots)) * count + error
        return error * count, np.concatenate([count * by_lower[1:][self.places], by_shares])

    def gap(self, x: Array) -> tuple[float, float]:
        """The objective, and nearly the program's own gap, by **The bound at X** above."""
        factor, _, _, shares = self.factor(x)
        half, whole = self.solved(factor)
        error, count = float(np.square(half).sum()), float(shares.sum())
        prices = _bands(whole, whole, self.bands)
        inside = sum(float(_band_of_gram(factor, k) @ prices[k]) for k in range(1, self.bands))
        dearest = float((self.cover @ prices[0]).max())
        return error * count, error * count * dearest / (error - inside) ** 2 - 1.0

    def gram(self, x: Array) -> tuple[Array, Array]:
        """X (n, n) and v, of sum 1."""
        factor, _, _, shares = self.factor(x)
        count, full = float(shares.sum()), np.zeros((self.n, self.n))
        for k in range(self.bands):
            full[np.arange(k, self.n), np.arange(self.n - k)] = factor[k, : self.n - k]
        return full.T @ full / count, shares / count


def _solve(factor: Array, right: Array, transposed: str) -> Array:
    """A⁻¹ or A⁻ᵀ times the columns of a matrix, for the bands of a lower-triangular A."""
    solution, fault = scipy.linalg.lapack.dtbtrs(factor, right, uplo="L", trans=transposed)
    if fault:
        raise np.linalg.LinAlgError(f"diagonal entry {fault} of the factor is zero")
    return np.asarray(solution)


def _bands(left: Array, right: Array, count: int) -> Array:
    """The entries (i + k, i) of left @ right.T, a row for each k < count."""
    n = len(left)
    bands = np.zeros((count, n))
    for k in range(count):
        bands[k, : n - k] = np.einsum("ij,ij->i", left[k:], right[: n - k])
    return bands


def _band_of_gram(factor: Array, k: int) -> Array:
    """The entries (i + k, i) of A.T @ A, (n,)."""
    n = factor.shape[1]
    band = np.zeros(n)
    band[: n - k] = (factor[k:, : n - k] * factor[: len(factor) - k, k:]).sum(axis=0)
    return band


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (besides those of any solve) and seconds for the givens of a program that the kernel claims."""
    (r, n), bands = env["W"].shape, float(np.sum(env["near"][0]))
    memory = 8.0 * (ARRAYS_OF_QUERIES * r * n + 4.0 * n * n)
    return memory, 0.01 + TYPICAL_STEPS * SECONDS_OF_STEP * n * r * (bands + 2)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points of the program with its givens in ``env``: the first at half the gap asked for, then closer.

    options : ``tolerance`` and ``max_iterations`` (steps) count. clock : looked at after every step.
    """
    near = np.asarray(env["near"], dtype=float)
    queries, cover = (np.asarray(env[name], dtype=float) for name in ("W", "C"))
    problem = Banded(queries, cover, int(near[0].sum()))
    pace = Pace.of(options, clock, 0.5, 0.1, most=20_000, finest=1e-13)
    yield from pace.points(_search(problem, pace))


def _search(problem: Banded, pace: Pace) -> Iterator[KernelStep]:
    """Steps towards ever smaller gaps, some hundreds at a time."""
    x, count, objective = problem.start(), 0, math.inf
    while True:
        before = objective
        x, steps = _steps(problem, x, pace.wanted, pace.clock, min(STEPS_SHOWN, pace.limit - count))
        count += steps
        objective, gap = problem.gap(x)
        estimate = (objective, objective / (1.0 + gap))
        point = partial(_point, problem, x, count, gap, estimate)
        yield KernelStep(count, gap, estimate, point, done=not objective < before and gap > pace.wanted)


def _point(
    problem: Banded, x: Array, count: int, gap: float, estimate: tuple[float, float], stop: Stop | None
) -> Point:
    """The point after so many steps: X and v of the program."""
    gram, shares = problem.gram(x)
    return Point(
        {"X": gram, "v": shares},
        {},
        count,
        f"gap {gap:.1e} as reported by the kernel",
        stop,
        estimate=estimate,
    )


def _steps(problem: Banded, x: Array, wanted: float, clock: Clock, most: float) -> tuple[Array, int]:
    """Steps of L-BFGS-B until the gap is reached, time is over, or ``most`` are made; and how many."""
    taken = 0

    def watch(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        nonlocal taken
        taken += 1
        is_counted = taken % STEPS_BETWEEN_GAPS == 0
        if clock.is_over or (is_counted and problem.gap(intermediate_result.x)[1] <= wanted):
            raise StopIteration

    least = np.full(len(x), -np.inf)
    least[len(x) - len(problem.cover) :] = LEAST_SHARE
    result = scipy.optimize.minimize(
        problem.value,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=scipy.optimize.Bounds(least, np.inf),
        callback=watch,
        options={
            "maxiter": int(most),
            "maxfun": 2 * int(most) + 20,
            "maxcor": LBFGS_MEMORY,
            "ftol": 0.0,
            "gtol": 0.0,
        },
    )
    return np.asarray(result.x), taken
