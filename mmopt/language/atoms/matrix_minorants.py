"""Affine functions below inverses, roots and the nuclear norm, with proof (what that is: ``minorants.py``).

For K of any origin, and Y positive definite:

- inv(F) - (K + Kᵀ - Kᵀ F K) = (K - F⁻¹)ᵀ F (K - F⁻¹) is psd, so <G, inv(F)> >= 2 <G, K> - <K G Kᵀ, F>
  for psd G.
- root is concave in the order of psd matrices, and its derivative at Y² takes F to the D with Y D + D Y = F
  (Bhatia, Matrix Analysis, V.1 and X.3). So root(F) is below Y / 2 + D, and <G, D> = <M, F> with
  Y M + M Y = G: for symmetric R = G - (Y M + M Y), M is off by at most ‖R‖ / (2 λ(Y)), λ the least
  eigenvalue.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mmopt.language.atoms.minorants import LEAST_POINT, NOTHING, Minorant, Near, by_slopes, inner, slope_of
from mmopt.numerics import ball_functions, balls, matrix_functions
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import Ball, exact

__all__ = ["inv", "nuclear", "root"]

LEAST_EIGENVALUE = 1e-13  # of the largest: what is below is rounding


def largest_singular(z: Array) -> float:
    """At least the largest singular value of a matrix; infinity where it is not proved."""
    wide = exact(z if len(z) <= z.shape[1] else z.T)
    gram = balls.matmul(wide, balls.transpose(wide))
    square = -ball_functions.smallest_eigenvalue(balls.neg(gram))
    return float(np.sqrt(max(square, 0.0))) * (1.0 + 4 * EPS) if np.isfinite(square) else np.inf


def _contraction(z: Array) -> Ball:
    """A matrix of singular values at most 1, near a given one."""
    largest = largest_singular(z)
    if not np.isfinite(largest):
        return exact(np.zeros(z.shape))
    return exact(z) if largest <= 1.0 else by_slopes(exact((1.0 - 4 * EPS) / largest), exact(z))


def nuclear(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """Above <Z, x> for every Z of singular values at most 1."""
    z = slope_of(bar, near)
    if not np.isfinite(z).all():
        u, _, vt = np.linalg.svd(np.nan_to_num(near.points[0]), full_matrices=False)
        z = u @ vt
    return NOTHING, (by_slopes(bar, _contraction(z)),)


# -- matrices


def _psd_root(matrix: Array) -> tuple[Array, Array]:
    """The root of a matrix and its pseudo-inverse, of the eigenvalues that are clearly positive."""
    values, vectors = matrix_functions.eigh(matrix)
    kept = values > LEAST_EIGENVALUE * max(float(values[-1]), 0.0)
    roots = np.sqrt(values[kept])
    inside = vectors[:, kept]
    return (inside * roots) @ inside.T, (inside / roots) @ inside.T


def _symmetric(told: Any) -> Array | None:
    """The symmetric part of a slope; None where it is not there."""
    if told is None or not np.isfinite(told).all():
        return None
    return np.asarray((told + told.T) / 2)


def inv(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """2 <G, K> - <K G Kᵀ, F>, with K such that K G Kᵀ is the slope told, else K the inverse of the point."""
    told = _symmetric(near.slopes[0])
    k = matrix_functions.inv(matrix_functions.psd_floor(np.nan_to_num(near.points[0])))
    k = np.where(np.isfinite(k), k, 0.0)
    if told is not None and told.any() and np.isfinite(bar.mid).all():
        half, back = _psd_root(bar.mid)
        other, _ = _psd_root(-told)
        u, _, vt = np.linalg.svd(other @ half)
        k = other @ (u @ vt) @ back
    by = exact(k)
    pulled = balls.matmul(balls.matmul(by, bar), balls.transpose(by))
    return balls.mul(exact(2.0), inner(bar, by)), (balls.neg(pulled),)


def _between(matrix: Array, right: Array) -> Array:
    """The D with M D + D M = right, for a positive definite M."""
    values, vectors = matrix_functions.eigh(matrix)
    values = np.maximum(values, LEAST_EIGENVALUE * max(float(values[-1]), LEAST_POINT))
    inside = vectors.T @ ((right + right.T) / 2) @ vectors
    out = vectors @ (inside / np.add.outer(values, values)) @ vectors.T
    return np.asarray((out + out.T) / 2)


def root(bar: Ball, near: Near, a: Ball | None) -> Minorant:
    """<G, Y> / 2 + <M, F>, with Y such that M is the slope told, else Y the root of the point."""
    told, point = _symmetric(near.slopes[0]), matrix_functions.psd_floor(np.nan_to_num(near.points[0]))
    tried = [matrix_functions.root(point), np.eye(len(point))]
    if told is not None and told.any() and np.isfinite(bar.mid).all():
        tried.insert(0, _between(-told, -bar.mid))
    for y in tried:
        y = (y + y.T) / 2
        least = ball_functions.smallest_eigenvalue(exact(y))
        if least > 0:
            break
    m, by = exact(_between(y, bar.mid)), exact(y)
    rest = balls.sub(bar, balls.add(balls.matmul(by, m), balls.matmul(m, by)))
    off = balls.norm(rest) / (2.0 * least) * balls.GROW
    return balls.mul(exact(0.5), inner(bar, by)), (balls.rounded(m.mid, np.full(y.shape, off)),)
