"""The counts of tables whose answers are nearest to released ones: a quadratic program in sparse matrices.

Where a count for each cell would be too many, refined answers are those of tables that agree where they
overlap (``workloads.agreeing_tables``). The tables of the population obey all lines of ``refine_tables``, so
that what is said of a projection holds: the sum of squares, in standard errors, of true answers from refined
ones is no larger than before, with true totals and before rounding. It is not said of any single answer, nor
that one table of all cells has these answers.

Distances are those of the answers, each in its standard error, as for counts of cells. Distances of the
measured values would weigh many small counts together: in simulations, answers were then farther from the
truth in both measures.

Clarabel solves it, around whole numbers near the answers. What is proved of its point is computed by
``refined_answers.figures_of``, with the products of sparse rows in balls.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsmr

from mmopt.errors import SolverError
from mmopt.limits import time_left
from mmopt.mechanism.release_writing import KEPT
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball, absolute, exact, product, sub
from mmopt.solvers.conic_solvers import run_clarabel

FINEST = 1e-10  # Clarabel's tolerance
MOST_STEPS = 300  # of least squares without limits, for a start


def nearest_tables(
    queries: sparse.csr_array, estimates: Array, errors: Array, rows: sparse.csr_array, values: Array
) -> tuple[Array, Array, Array, float, str]:
    """Counts (c,) >= 0 of all tables, whose ``queries`` (m, c) are nearest to the ``estimates``, in their
    ``errors``; of what is known, ``rows`` (k, c) @ counts are the ``values``: 0 where tables agree.

    They are whole numbers plus a rest, in two arrays. Also the multipliers of the rows; by how much these are
    missed at most; and the word of the solver.

    Raises
    ------
    SolverError : no such counts were found, or not in time.
    """
    import clarabel

    scaled = sparse.csr_array(sparse.diags_array(1.0 / errors) @ queries)
    # As for counts of cells, numbers near the answers are subtracted, and the rest keeps its digits.
    around = np.concatenate([estimates / errors, values])
    base = np.rint(np.maximum(lsmr(sparse.vstack([scaled, rows]), around, maxiter=MOST_STEPS)[0], 0.0))
    off, size = less(values, rows, base), len(base)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.equilibrate_enable = False  # with it, it gave up early on a third of the surveys that were tried
    settings.tol_feas = settings.tol_gap_rel = settings.tol_gap_abs = FINEST
    raw = run_clarabel(
        sparse.csc_array(sparse.triu(2.0 * scaled.T @ scaled)),
        -2.0 * scaled.T @ ((estimates - queries @ base) / errors),
        sparse.csc_array(sparse.vstack([rows, -sparse.eye_array(size)])),
        np.concatenate([off.mid, base]),
        [clarabel.ZeroConeT(len(values)), clarabel.NonnegativeConeT(size)],
        settings,
        lambda _: time_left() <= 0.0,
    )
    x, z = np.maximum(np.array(raw.x), -base), np.array(raw.z)[: len(values)]
    missed = float(absolute(sub(product(rows, exact(x)), off)).upper.max(initial=0.0))
    if not missed <= KEPT:  # nor NaN
        raise SolverError(f"no refined answers were found: {raw.status}", hint="allow more time")
    return base, x, z, missed, str(raw.status)


def less(values: Array, matrix: Any, base: Array) -> Ball:
    """values - matrix @ base; the product is exact where it is of whole numbers."""
    entries = matrix.data if sparse.issparse(matrix) else matrix
    is_whole = bool((entries == np.rint(entries)).all()) and (
        float((abs(matrix) @ np.abs(base)).max(initial=0.0)) < 2.0**53
    )
    return sub(exact(values), exact(matrix @ base) if is_whole else product(matrix, exact(base)))
