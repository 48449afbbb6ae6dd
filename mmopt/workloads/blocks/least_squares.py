"""The data vector of least squared residuals from noisy answers, for strategies that are not one product."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg

from mmopt.errors import SolverError
from mmopt.numerics.arrays import Array
from mmopt.workloads.blocks.linear import Implicit

__all__ = ["least_squares"]

TOLERANCE = 1e-12
STEPS = 10_000
BY_TOLERANCE = (0, 1, 2, 4, 5)  # LSMR's reasons to stop that are no failure


def least_squares(matrix: Implicit, noisy: Array, preconditioner: Implicit | None = None) -> Array:
    """x (n,) that minimises ‖A x - y‖ (of all such, P times the shortest), by LSMR (Fong & Saunders 2011).

    Parameters
    ----------
    matrix : A (p, n). noisy : y (p,).
    preconditioner : P (n, k), so that A P has singular values close together; x = P z is sought. Its range
        must hold a minimiser.

    Raises
    ------
    SolverError : not settled after so many steps.
    """
    operator = matrix.operator()
    whole = operator if preconditioner is None else operator @ preconditioner.operator()
    found = scipy.sparse.linalg.lsmr(
        whole, np.asarray(noisy, dtype=float), atol=TOLERANCE, btol=TOLERANCE, conlim=0.0, maxiter=STEPS
    )
    if found[1] not in BY_TOLERANCE:
        raise SolverError(
            f"least squares over {matrix.shape[0]:,} × {matrix.shape[1]:,} did not settle in {STEPS:,} steps",
            hint="the strategy is nearly singular; another template may be better conditioned",
        )
    z = np.asarray(found[0], dtype=np.float64)
    return z if preconditioner is None else preconditioner.apply(z)
