"""Points of the nuclear-norm kernel for a program that it claims."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from mmopt.numerics.components import Level, Split
from mmopt.solvers.nuclear.coarse import start
from mmopt.solvers.nuclear.conditioned import care
from mmopt.solvers.nuclear.forms import FORMS
from mmopt.solvers.nuclear.placed import fetched, placed
from mmopt.solvers.nuclear.polar import polar_of
from mmopt.solvers.nuclear.search import search
from mmopt.solvers.nuclear.spectrum import Iterate, bare, whole_of
from mmopt.solvers.options import Clock, Options, Point

__all__ = ["points"]

LIMIT = 300
PATIENCE = 12  # iterations in which the gap has to fall by a tenth
SAFE = 0.99  # of the gap asked for: the program's own evaluation rounds to the worse side
LATER = 0.1  # of the gap wanted
CLOSE = 1e-7  # for gaps below it a nuclear norm is decomposed again: from a polar factor it loses up to 1e-8
# No gap below this is seen in floating point. The first point comes at 100 times that, which is in reach.
DIGITS = 1e-14


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
    wanted, is_first = SAFE * max(options.tolerance, 100 * DIGITS), True
    best = [gap_of(upper, lower)]
    limit = options.max_iterations or LIMIT
    while True:
        gap = best[-1]
        stalled = len(best) > PATIENCE and gap > 0.9 * best[-PATIENCE]
        over = len(best) >= limit
        final = over or stalled or clock.is_over or wanted < DIGITS
        if gap <= wanted or final:
            stop = "stopped" if clock.is_over else "iteration limit" if over and not stalled else "solved"
            pair = (lower, upper) if form.dual else (upper, lower)
            caring = care(wanted, is_first, problem.cells.shape[0])
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
            polar = polar_of(problem, priced) if wanted > CLOSE else None
            del chosen, priced
            raw = f"gap {gap:.1e} by its own count"
            yield Point(values, multipliers, len(best), raw, final, stop, polar=polar)
            if final:
                return
            del values, multipliers, polar
            wanted, is_first = 0.1 * wanted, False
            search_on = search(here, again)
            upper = lower = bare(next(search_on))
        else:
            del at
            ends = form.worth(env, upper.upper), form.worth(env, lower.lower)
            yield Point({}, {}, len(best), "", False, estimate=ends[::-1] if form.dual else ends)
        at = search_on.send(wanted)
        # Of points that are as good the later one: what rounding did to one it may not do to the next.
        upper = bare(at) if at.upper < upper.upper * (1.0 + LATER * wanted) else upper
        lower = bare(at) if at.lower > lower.lower else lower
        best.append(gap_of(upper, lower))


def gap_of(upper: Iterate, lower: Iterate) -> float:
    return upper.upper / lower.lower - 1.0


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of any library as numpy's; what is split into components stays so."""
    return {n: v if isinstance(v, Split | Level) else np.asarray(v, dtype=float) for n, v in values.items()}
