"""The polar factors of the weighted queries: with them the nuclear norm is bounded, nothing decomposed."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.problem import Part, Problem
from mmopt.solvers.nuclear.spectrum import Iterate, Spectrum

__all__ = ["polar_of"]

Array = Any


def polar_of(problem: Problem, at: Iterate) -> Array | tuple[Array, ...] | None:
    """U Vᵀ of K = U diag(s) Vᵀ, of every part where there are several; None where a part has not full rank.

    With parts of one column, whose norm is a length, nothing is to be saved: None too.
    """
    pairs = list(zip(problem.parts, at.spectra, strict=False))
    if problem.lines is not None or any(f.values.shape[0] < min(p.rows.shape) for p, f in pairs):
        return None
    found = tuple(_left(part, f, at.cells / problem.cells) @ f.right.T for part, f in pairs)
    return found[0] if problem.plain else found


def _left(part: Part, found: Spectrum, p: Array) -> Array:
    if found.left is not None:
        return found.left
    xp = namespace(p)
    return (part.rows * xp.sqrt(xp.take(p, part.cells))) @ found.right / found.values
