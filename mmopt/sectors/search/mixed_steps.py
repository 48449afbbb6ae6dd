"""Fixed points reached in fewer steps: Anderson's mixing of the last few.

Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965); Walker and Ni, SIAM J.
Numer. Anal. 49 (2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array

__all__ = ["MixedSteps"]

REMEMBERED = 10
RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class MixedSteps:
    """The last places (v,) and what each lacks to the fixed point: the plain step from there."""

    places: tuple[Array, ...] = ()
    misses: tuple[Array, ...] = ()

    def with_step(self, place: Array, miss: Array) -> MixedSteps:
        """With one more; the oldest is forgotten."""
        last = slice(1 - REMEMBERED, None)
        return MixedSteps((*self.places[last], place), (*self.misses[last], miss))

    def next(self) -> Array:
        """Where the misses, were they linear, would be least, and the plain step from there."""
        place, miss = self.places[-1], self.misses[-1]
        if len(self.places) == 1:
            return np.asarray(place + miss)
        changes = np.array([miss - own for own in self.misses[:-1]])
        steps = np.array([place - own for own in self.places[:-1]])
        gram = changes @ changes.T
        gram += RIDGE * np.trace(gram) * np.eye(len(gram))
        return np.asarray(place + miss - np.linalg.solve(gram, changes @ miss) @ (steps + changes))
