"""Points of the shipped program, from smooth soft maxima to the sharpness asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.solvers.nuclear.conditioned import care, conditioned
from mmopt.solvers.options import Clock, Options, Point
from mmopt.solvers.softmax.weights import Soft, State, direction, state

__all__ = ["PROGRAMS", "points", "search"]

PROGRAMS = ("softmax_step",)

Search = Generator[tuple[State, str], float, None]

GROWTH = 5.0  # of the sharpness from one stage to the next
NEAR = 0.02  # gap at which a stage ends
SAFE = 0.5  # of the gap asked for: the program's own evaluation rounds to the worse side
DIGITS = 1e-13  # no gap below this is seen in floating point
LIMIT = 300
FALL = 0.05  # the barrier aims at this part of the gap
CUT, SHORTEST = 0.25, 1e-6  # a step that does not raise the bound is cut, down to this


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point, then closer ones.

    Parameters
    ----------
    program : one of ``PROGRAMS``.
    env : its givens and parameters by name.
    """
    left, basis = (np.asarray(env[name], dtype=float) for name in ("L", "B"))
    soft = Soft(
        left @ basis,
        np.asarray(env["c"], dtype=float),
        float(env["hybrid"]),
        len(basis),
        float(env["t1"]),
        float(env["t2"]),
    )
    wanted, is_first, limit = SAFE * options.tolerance, True, options.max_iterations or LIMIT
    iterates = search(soft)
    at, place = _silently(iterates, None)
    for count in itertools.count(1):
        over = count >= limit or clock.is_over
        final = over or place == "end" or wanted < DIGITS
        if final or (place == "there" and at.gap <= wanted):
            stop = "stopped" if clock.is_over else "iteration limit" if over else "solved"
            caring = care(wanted, is_first, basis.shape[1])
            (covariance,) = conditioned([basis @ at.noise], caring.condition)
            yield Point({"Sigma": covariance}, {}, count, f"gap {at.gap:.1e} by its own count", final, stop)
            if final:
                return
            wanted, is_first = 0.1 * wanted, False
        else:
            yield Point({}, {}, count, "", False, estimate=(at.upper, at.lower) if place == "there" else None)
        at, place = _silently(iterates, wanted)


def _silently(iterates: Search, wanted: float | None) -> tuple[State, str]:
    """The next iterate, without warnings of numbers that overflow in steps that are then cut."""
    with np.errstate(all="ignore"):
        return next(iterates) if wanted is None else iterates.send(wanted)


def search(soft: Soft) -> Search:
    """Iterates: on the "way" with softer maxima, "there" with those asked for, the "end" if none is better.

    The consumer sends the gap that it wants.
    """
    m, n = soft.rows.shape
    at = state(soft, np.zeros(n), np.zeros(m))
    sharpness = math.log(m * n + 1) / (2.0 * float(at.values.sum()))
    barrier, wanted = math.inf, NEAR
    while True:
        is_there = sharpness >= max(soft.cells, soft.queries)
        now = replace(soft, cells=min(sharpness, soft.cells), queries=min(sharpness, soft.queries))
        at = state(now, at.p, at.q)
        while is_there or at.gap > NEAR:
            barrier = min(barrier, FALL * max(at.gap, 0.3 * wanted) * at.lower / (m + n))
            found = _next(now, at, barrier)
            wanted = (yield at, "way" if not is_there else "there" if found else "end") or wanted
            if found is None:
                break
            at = found
        if is_there:
            return
        sharpness *= GROWTH


def _next(soft: Soft, at: State, barrier: float) -> State | None:
    """The iterate after a step that raises the bound; None where rounding leaves no such step."""
    p, q = direction(soft, at, barrier)
    before = _height(at, barrier)
    length = 1.0
    while length >= SHORTEST:
        found = state(soft, at.p + length * p, at.q + length * q)
        # Close to the end rounding hides what the bound gains, and the gap still tells.
        if _height(found, barrier) > before or found.gap < at.gap:
            return found
        length *= CUT
    return None


def _height(at: State, barrier: float) -> float:
    return at.lower + barrier * float(at.p.sum() + at.q.sum())
