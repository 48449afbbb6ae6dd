"""Orbits of queries whose weights may be kept equal: attributes that are asked about alike, say.

On parts of one column N is Σ μ √(p Σⱼ qⱼ tⱼ²). Colour the parts and the orbits of queries until parts of one
colour see the same numbers t² from each colour of queries, and queries from each colour of parts (an
equitable partition). The mean of q over each colour then gives every part the mean over the parts of its
colour, and as the root is concave N does not fall (as for linear programs: Grohe, Kersting, Mladenov & Selman
2014, Dimension reduction via colour refinement). So a step has one unknown per colour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.numerics.components import Array, Ints
from mmopt.solvers.nuclear.problem import Problem
from mmopt.solvers.nuclear.spectrum import Iterate

__all__ = ["Fold", "fold_of"]


# Of logarithms: numbers that only rounding tells apart count as equal. Bounds are of the numbers themselves.
DIGITS = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """A problem over the colours of queries: ``labels`` (t,) the colour of each orbit, ``counts`` of each."""

    problem: Problem
    labels: Ints
    counts: Array

    def iterate(self, at: Iterate) -> Iterate:
        """What a step wants to know, the shares of a colour added up."""
        weights = self._sums(at.weights)
        return replace(at, queries=self._sums(at.queries), weights=weights, variance=self._sums(at.variance))

    def spread(self, queries: Array | None) -> Array:
        """Shares of colours as shares of orbits."""
        assert queries is not None
        return np.asarray((queries / self.counts)[self.labels])

    def _sums(self, shares: Array) -> Array:
        return np.bincount(self.labels, shares, minlength=len(self.counts)).astype(np.float64, copy=False)


def fold_of(problem: Problem) -> Fold | None:
    """The colours of a problem whose parts have one column each; None for another, or where all differ."""
    lines = problem.lines
    if lines is None or problem.others or lines.queries is None:
        return None
    floors = np.zeros_like(problem.targets) if problem.floors is None else problem.floors
    queries = _numbered(_rounded(problem.targets), _rounded(floors))
    parts = _numbered(_rounded(lines.multiplicities), lines.cells)
    entries = _numbered(_rounded(lines.entries))
    known, count = 0, int(queries.max()) + 1
    while known < count:
        parts = _numbered(parts, _seen(queries[lines.queries], entries, lines.rows, lines.count))
        queries = _numbered(queries, _seen(parts[lines.rows], entries, lines.queries, len(queries)))
        known, count = count, int(queries.max()) + 1
    if count == len(queries):
        return None
    counts = np.bincount(queries).astype(np.float64)
    own = tuple(replace(part, queries=queries[part.queries]) for part in problem.parts)
    targets, floors = (np.bincount(queries, values) for values in (problem.targets, floors))
    return Fold(
        replace(problem, parts=own, targets=targets, floors=None if problem.floors is None else floors),
        queries,
        counts,
    )


def _rounded(values: Any) -> Array:
    """Logarithms of magnitudes, rounded."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.round(np.log(np.abs(values)), DIGITS) + 0.0)


def _numbered(*keys: npt.NDArray[Any]) -> Ints:
    """A number for each different tuple of keys."""
    out = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        own = np.unique(key, return_inverse=True)[1].reshape(-1)
        out = np.unique(out * (int(own.max()) + 1) + own, return_inverse=True)[1].reshape(-1)
    return out


def _seen(colours: Ints, entries: Ints, places: Ints, count: int) -> npt.NDArray[np.uint64]:
    """A random number for the colours with their entries that each place sees, whatever their order."""
    pairs = _numbered(colours, entries)
    drawn = np.random.default_rng(0).integers(2**63, size=int(pairs.max()) + 1, dtype=np.uint64)
    out = np.zeros(count, dtype=np.uint64)
    np.add.at(out, places, drawn[pairs])
    return out
