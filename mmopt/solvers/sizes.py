"""How large the unknowns of a cone problem are, going by its coefficients alone.

``1e-12 x >= 1`` speaks of an x near 1e12. Factors d of the columns and e of the rows that bring every
coefficient and every limit near one (in the least squares of their logarithms: Curtis & Reid 1972, On
the automatic scaling of matrices for Gaussian elimination) say so for all unknowns at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mmopt.numerics.components import Array

__all__ = ["natural_sizes"]


def natural_sizes(a: Any, b: Array, left_out: Array) -> Array:
    """The size of each unknown of ``a @ x <= b``, at least 1; the columns ``left_out`` do not count.

    a : (m, n) sparse. b : (m,). left_out : (n,) bool.
    """
    import scipy.sparse as sp
    from scipy.sparse.linalg import lsqr

    entries = a.tocoo()
    used = (entries.data != 0) & ~left_out[entries.col]
    rows, columns, values = entries.row[used], entries.col[used], np.abs(entries.data[used])
    limits = np.flatnonzero(b)
    m, n = a.shape
    k = len(values)
    number = np.concatenate([np.arange(k), np.arange(k), k + np.arange(len(limits))])
    unknown = np.concatenate([columns, n + rows, n + limits])
    matrix = sp.csr_array((np.ones(len(number)), (number, unknown)), shape=(k + len(limits), n + m))
    right = -np.log(np.concatenate([values, np.abs(b[limits])]))
    logs = lsqr(matrix, right, atol=1e-6, btol=1e-6, iter_lim=1000)[0][:n]
    return np.asarray(np.exp(np.clip(logs, 0.0, 200.0)))
