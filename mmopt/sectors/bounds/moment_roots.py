"""Roots of the moments of a measure, with what is proved of them.

Let Q be the exact moments of a component, ‖Q - Q̃‖₂ <= off for the computed ones, and J the Cholesky factor of
Q̃. With e at least ‖Q - J Jᵀ‖₂ and η at most the eigenvalues of J Jᵀ, (1 - e/η) J Jᵀ ⪯ Q ⪯ (1 + e/η) J Jᵀ.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.ball_functions import below_eigenvalues
from mmopt.numerics.balls import GROW, exact, matmul, norm, sub
from mmopt.numerics.spanned_cells import Moments
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import RowSpace

__all__ = ["moments_of", "root_of_moments"]


def moments_of(space: RowSpace, mixture: Mixture) -> Moments:
    """What is proved of the moments of a measure; its weights need not have sum 1."""
    found = zip(space.moments(mixture), space.moments_rounding(mixture), strict=True)
    pairs = [root_of_moments((q + q.T) / 2, off + 2 * EPS * float(np.linalg.norm(q))) for q, off in found]
    roots, offs = zip(*pairs, strict=True)
    return Moments(roots, offs, space.mass(mixture))


def root_of_moments(moments: Array, off: float) -> tuple[Array, float]:
    """J (d, d) and e/η of one component, its moments symmetric; 0 and infinity where nothing is proved."""
    nothing = np.zeros_like(moments), math.inf
    if not (np.isfinite(moments).all() and math.isfinite(off)):
        return nothing
    if moments.shape == (1, 1):
        value = float(moments[0, 0])
        return (np.sqrt(moments), (off / value + 4 * EPS) * GROW) if value > off else nothing
    lower, failed = scipy.linalg.lapack.dpotrf(moments, lower=1, clean=1)
    if failed:
        return nothing
    wrong = (off + norm(sub(exact(moments), matmul(exact(lower), exact(lower.T))))) * GROW
    least = below_eigenvalues(exact(moments), lower) - wrong
    return (lower, wrong / least * GROW) if least > wrong else nothing
