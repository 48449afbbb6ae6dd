"""How the errors of released estimates go together: their covariance matrix, from the law that was drawn."""

from __future__ import annotations

import numpy as np

from mmopt.errors import TooLargeError, whole
from mmopt.mechanism.accuracy import coefficients, deviations
from mmopt.mechanism.release_plan import Plan
from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.privacy.rounding.integer_dense import IntegerStrategy

__all__ = ["covariance"]

_MOST = 2**28  # cells or queries by measured queries: of each of these all estimates are found


def covariance(plan: Plan, rows: Ints) -> Array:
    """Covariance matrix (k, k) of the estimates of the queries of these numbers, (k,); in squared counts.

    Every estimate's error is Σ a_j z_j with the drawn noise z and coefficients a that do not depend on the
    data. The diagonal is the square of the plan's standard errors up to rounding, but for strategies of
    several products with many coefficients, whose standard errors are upper bounds.

    Raises
    ------
    TooLargeError : the coefficients do not fit in memory, or take too long to find.
    """
    require_memory((len(rows), max(len(rows), plan.integer.rows)), "coefficients of the queries' errors")
    own = deviations(plan.law, plan.integer, plan.scale, plan.fineness)
    terms = _coefficients(plan, rows, own) * np.repeat(own, [part.rows for part in plan.integer.parts])
    return np.asarray(terms @ terms.T)


def _coefficients(plan: Plan, rows: Ints, own: Array) -> Array:
    """a (k, measured): what is estimated of these queries from an answer of 1 to one measured query."""
    integer = plan.integer
    if isinstance(integer, IntegerStrategy):
        reconstruction = integer.reconstruction
        return np.asarray(reconstruction.left.take(rows) @ reconstruction.right)
    m, n = plan.workload.shape
    if integer.rows * max(m, n) > _MOST:
        raise TooLargeError(
            f"the covariance of estimates of {m:,} queries over {whole(n)} cells from {integer.rows:,} "
            "measured ones would take too long",
            hint="release a workload of the queries that are compared, or one whose sum or difference is a "
            "query: its standard error says how far that is off",
        )
    return coefficients(integer, own, rows)
