"""A kernel for replace_one: strategies for rows that move, from weights of the pairs of cells.

D holds the weights, of sum 1, M is the sum of D[i, j] (eᵢ - eⱼ)(eᵢ - eⱼ)ᵀ and G = VᵀV. Where the total is
known, the Lagrangian at D is least at the X with X M X = G, the geometric mean of M⁻¹ and G, and is f² there,
f = nuclear(V M^½). The error of that X is f, so that f times its largest squared length of a difference is an
objective, and f² a bound. Where rules may drop rows, "no cell" is one more cell, of zeros in the queries.

It is l2_strategy with a column V (eᵢ - eⱼ) for each pair in place of one for each cell, and up to some cells
the steps are those of ``nuclear``. Of more cells the pairs are too many for second-order steps: then weights
are multiplied by a power of the lengths, which raises the bound as long as the power is not too large.
"""

import itertools
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmopt.errors import UnsuitableError
from mmopt.limits import Stop
from mmopt.numerics import Array, eigh
from mmopt.solvers.nuclear.interior_point import search
from mmopt.solvers.nuclear.problem_and_iterates import whole
from mmopt.solvers.options_points_and_clock import Clock, KernelStep, Options, Pace, Point

PROGRAMS = ("replace_one",)

TOLERANCE = 1e-4  # the gap that multiplied weights reach in some hundred steps
SECOND_ORDER = 64  # cells up to which steps are of second order
LEAST = 1e-14  # an eigenvalue of G, of the mean, in place of 0: for queries that do not tell all cells apart
POWER, MOST_POWER, GROWTH = 2.0, 6.0, 1.03  # of the lengths: at first, at most, from step to step
# Fitted on one thread of a shared core, to a factor of about three.
PAIR_SECONDS, STEP_SECONDS = 4.8e-9, 3.6e-6  # per fifth power of few cells, per cube of many


@dataclass(frozen=True)
class Pairs:
    """G (N, N) of queries over N cells, without their part along the ones.

    cells : n, which is N - 1 with "no cell".
    """

    gram: Array
    cells: int

    @classmethod
    def of(cls, env: Mapping[str, Any]) -> "Pairs":
        """The problem of the program's givens, which are scaled to a size near 1."""
        queries = np.pad(np.asarray(env["V"], dtype=float), ((0, 0), (0, int(np.any(env["e"])))))
        queries -= queries.mean(axis=1, keepdims=True)
        return cls(queries.T @ queries, env["V"].shape[1])

    def at(self, weights: Array) -> tuple[float, Array]:
        """f and X at symmetric weights of sum 1; along the ones M is 2 / N, its mean, and G is 1."""
        size, identity = len(weights), np.eye(len(weights))
        values, vectors = eigh(2.0 * (np.diag(weights.sum(axis=1)) - weights + 1.0 / size**2))
        roots = np.sqrt(np.maximum(values, LEAST * values[-1]))
        root, inverse = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
        lifted = self.gram + 1.0 / size + LEAST * np.trace(self.gram) / size * identity
        squares, turned = eigh(root @ lifted @ root)
        lengths = np.sqrt(np.maximum(squares, 0.0))
        half = inverse @ (turned * np.sqrt(lengths))
        return float(lengths.sum()) - math.sqrt(2.0 / size), half @ half.T

    def point(self, weights: Array, count: int, gap: float, estimate: Any, stop: Stop | None) -> Point:
        """X of the program, and the multipliers."""
        (norm, gram), n = self.at(weights), self.cells
        if n < len(gram):  # "no cell" is at the origin
            gram = gram - gram[:, n:] - gram[n:] + gram[n, n]
        moved, dropped = norm**2 * weights[:n, :n], 2.0 * norm**2 * weights[:n, n:].sum(axis=1)
        return Point(
            {"X": gram[:n, :n]},
            {"moved": moved, "dropped": dropped},
            count,
            f"gap {gap:.1e} as reported by the kernel",
            stop,
            estimate=estimate,
        )


def are_few(env: Mapping[str, Any]) -> bool:
    """Whether steps are of second order."""
    return bool(env["V"].shape[1] <= SECOND_ORDER)


def needs(program: str, env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes (besides those of any solve) and seconds for the givens of a program that the kernel claims."""
    n = env["V"].shape[1]
    if are_few(env):
        return 2.0 * n**4 + 32.0 * n**3, 0.05 + PAIR_SECONDS * n**5
    return 96.0 * n**2, STEP_SECONDS * n**3


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Points of the program with its givens in ``env``: the first at the gap asked for, then closer.

    options : ``tolerance`` and ``max_iterations`` (steps) count. clock : looked at after every step.
    """
    problem, few = Pairs.of(env), are_few(env)
    if not np.trace(problem.gram) > LEAST:
        raise UnsuitableError(
            "every query is a multiple of the total, which no replaced row changes",
            hint="it needs no strategy",
        )
    pace = Pace.of(options, clock, 0.9, 0.1, most=300 if few else 20_000, finest=1e-12)
    clock.handed_over = clock.elapsed
    yield from pace.points(_second_order(problem, pace) if few else _multiplied(problem))


def _step(problem: Pairs, weights: Array, count: int, objective: float, bound: float) -> KernelStep:
    """The step to symmetric weights of sum 1."""
    gap, estimate = objective / bound - 1.0, (objective, bound)
    return KernelStep(count, gap, estimate, partial(problem.point, weights, count, gap, estimate))


def _second_order(problem: Pairs, pace: Pace) -> Iterator[KernelStep]:
    """Steps of the interior point of ``nuclear`` on the pairs."""
    values, vectors = eigh(problem.gram)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    left, right = np.triu_indices(len(root), 1)
    steps = search(whole(root[:, left] - root[:, right]))
    at = next(steps)
    for count in itertools.count(1):
        weights = np.zeros_like(root)
        weights[left, right] = weights[right, left] = at.cells / 2.0
        yield _step(problem, weights, count, at.norm**2 * (1.0 + at.slope), at.norm**2)
        at = steps.send(pace.wanted)


def _multiplied(problem: Pairs) -> Iterator[KernelStep]:
    """Steps of weights times a power of the lengths; one that lowers the bound is taken again with a half."""
    weights = 1.0 - np.eye(len(problem.gram))
    weights, power, best = weights / weights.sum(), POWER, 0.0
    for count in itertools.count(1):
        norm, gram = problem.at(weights)
        if norm < best:
            power = max(1.0, power / 2.0)
        else:
            lengths = np.add.outer(np.diag(gram), np.diag(gram)) - 2.0 * gram
            best, before, power = norm, weights, min(MOST_POWER, power * GROWTH)
        yield _step(problem, before, count, best * float(lengths.max()), best**2)
        weights = before * np.maximum(lengths / lengths.max(), 0.0) ** power
        weights = weights / weights.sum()
