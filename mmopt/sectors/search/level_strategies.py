"""Strategies whose columns are nearly all of the same length, from measures that may be negative.

At the best measure f(x) <= 1, with equality where it is positive, and in workloads of queries of few
attributes that is at nearly all cells. So the equation f(x) = 1 for *all* x is solved, for a density of the
few coordinates that f itself has (``RowSpace.profiles``): what a measure gives f depends on these alone. The
solution need not be a measure, so it bounds nothing; but its N is a strategy like any other, of total error
max f · t².

The step h ← h + 2 (f - 1) is that of the multiplicative algorithm d ← d f² (power 2 is the natural one for
tr M^{1/2}, as 1 for log det M: Yu, Annals of Statistics 38, 2010) about a product of measures, mixed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import Profiles, RowSpace
from mmopt.sectors.search.mixed_steps import MixedSteps
from mmopt.sectors.search.spectrum import Spectrum, spectrum

__all__ = ["Solved", "level_strategies"]

Solved = Callable[[Sequence[Array]], Spectrum]
"""The spectrum at moments of a measure."""

POWER = 2.0
SHORTER = 0.5  # part of a step that is tried where the moments are not definite
LEAST_ROOT = 1e-5  # of R Q Rᵀ next to its smallest so far; below it the step was too long
FLAT = 1e-12  # of f - 1, in the mean square


def level_strategies(
    space: RowSpace, profiles: Profiles, measure: Mixture, solved: Solved | None = None
) -> Iterator[Spectrum]:
    """With flatter f each time, mostly; from the product of measures that the profiles are orthonormal under.

    ``solved``: the spectrum at moments; by default that of the space's own queries. Ends where f is flat to
    rounding.
    """
    moments, solved = space.moments(measure), solved or functools.partial(spectrum, space)
    found = solved(moments)
    least = LEAST_ROOT * _smallest(found)
    off = POWER * profiles.coordinates(found.parts)
    off[0] -= POWER
    place = np.zeros(len(off))
    steps = MixedSteps().with_step(place, off)
    while float(np.linalg.norm(off)) > FLAT:
        target = steps.next()
        while True:
            own = profiles.moments(target)
            mass = 1.0 + float(target[0])
            # One more than none: a mass that is not positive has no root.
            found = solved([(q + more) / mass for q, more in zip(moments, own, strict=True)])
            if mass > 0.0 and _smallest(found) > least:
                break
            target = place + SHORTER * (target - place)
        place = target
        off = POWER * profiles.coordinates(found.parts)
        off[0] -= POWER
        steps = steps.with_step(place, off)
        yield found


def _smallest(found: Spectrum) -> float:
    """The smallest root, next to the largest of its component."""
    return min(float(own[0] / own[-1]) for own in found.roots if len(own))
