"""The polar factors of the weighted queries: with them the nuclear norm is bounded, nothing decomposed."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace as namespace

from mmopt.numerics.singular_vectors import panels
from mmopt.solvers.nuclear.problem import Array, Part, Problem
from mmopt.solvers.nuclear.spectrum import Iterate, Spectrum

__all__ = ["polar_of"]


SHORT = 0.25  # of the smaller side may be missing in the rank


def polar_of(problem: Problem, at: Iterate) -> Array | tuple[Array, ...] | None:
    """U Vᵀ of K = U diag(s) Vᵀ, of every part where there are several, from an iterate with numpy's arrays.

    A part of nearly full rank has one of orthonormal rows or columns all the same: with what is orthogonal to
    U times what is orthogonal to V, of which K sees nothing. None where a part is far from full rank, and
    with parts of one column, whose norm is a length: nothing is to be saved.
    """
    pairs = list(zip(problem.parts, at.spectra, strict=False))
    if problem.lines is not None or any(_missing(p, f) > SHORT * min(p.rows.shape) for p, f in pairs):
        return None
    found = tuple(_polar(part, f, at.cells / problem.cells) for part, f in pairs)
    return found[0] if problem.plain else found


def _missing(part: Part, found: Spectrum) -> int:
    return int(min(part.rows.shape) - found.values.shape[0])


def _polar(part: Part, found: Spectrum, p: Array) -> Array:
    left = _left(part, found, p)
    polar = left @ found.right.T
    if missing := _missing(part, found):
        beside, under = (_complement(vectors, missing) for vectors in (left, found.right))
        for here in panels(len(polar)):
            polar[here] += beside[here] @ under.T
    return polar


def _complement(vectors: Array, count: int) -> Array:
    """So many orthonormal columns that are orthogonal to orthonormal ones."""
    found = np.cos(np.outer(np.arange(len(vectors)), np.arange(1, count + 1)) + 1.0)
    for _ in range(2):  # the second time for what rounding left of the first
        found = np.linalg.qr(found - vectors @ (vectors.T @ found))[0]
    return np.asarray(found)


def _left(part: Part, found: Spectrum, p: Array) -> Array:
    if found.left is not None:
        return found.left
    xp = namespace(p)
    return (part.rows * xp.sqrt(xp.take(p, part.cells))) @ found.right / found.values
