"""What multipliers prove about a cone problem, whoever found them.

minimize c @ x subject to A @ x + s = b with s in a cone K. For any y in the dual cone,

    c @ x = (c + A.T @ y) @ x - b @ y + y @ s >= -b @ y - |c + A.T @ y|_1 |x|_inf

for every feasible x. With c = 0 and b @ y < 0 no x with |x|_inf below -b @ y / |A.T @ y|_1 is feasible
(Farkas). That is what a float can prove: the last term is the price of a residual that is not zero.

How large the unknowns are, going by the coefficients alone: ``1e-12 x >= 1`` speaks of an x near 1e12.
Factors d of the columns and e of the rows that bring every coefficient and every limit near one (in the least
squares of their logarithms: Curtis & Reid 1972, On the automatic scaling of matrices for Gaussian
elimination) say so for all unknowns at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.numerics.arrays import EPS, Array
from mmopt.solvers.solver_protocol import Vectors

__all__ = ["Proof", "natural_sizes", "prove"]


@dataclass(frozen=True)
class Proof:
    """No feasible point while its entries, and those that the cones add, are below ``radius``.

    value : -b @ y, rounded down. residual : |c + A.T @ y|_1 / value, rounded up. radius : 1 / residual.
    reach : up to how many times the natural sizes of the unknowns it holds (``sizes``).
    """

    value: float
    residual: float
    reach: float

    @property
    def radius(self) -> float:
        return 1.0 / self.residual if self.residual > 0 else np.inf


def prove(vectors: Vectors) -> Proof | None:
    """A proof that c @ x > 0 for every feasible point, or None.

    y is first moved into the dual cone. Cones other than the nonnegative, second-order and psd ones are
    not read (None).
    """
    data = vectors.handed.data
    y = _inside(vectors)
    if y is None or not np.isfinite(y).all():
        return None
    a, b = data["A"], np.asarray(data["b"], dtype=float)
    cost = np.asarray(data["c"], dtype=float)
    size = np.abs(y)
    terms = 4.0 + float(np.diff(a.tocsc().indptr).max(initial=0))
    # The last terms bound the rounding of these sums, and of the entries of A and b themselves.
    off = np.abs(cost + a.T @ y) + terms * EPS * (np.abs(a).T @ size + np.abs(cost))
    value = float(-b @ y - (4.0 + len(b)) * EPS * (np.abs(b) @ size))
    if not value > 0:
        return None
    weighted = float(off @ natural_sizes(a, b, cost != 0))
    return Proof(value, float(off.sum()) / value, value / weighted if weighted > 0 else np.inf)


def _inside(vectors: Vectors) -> Array | None:
    """y moved into the dual cone: signs clipped, cones widened, eigenvalues clipped and lifted."""
    dims = vectors.handed.cones
    if dims.exp or len(dims.p3d) or len(dims.pnd):
        return None
    y = np.array(vectors.y, dtype=float)
    at = int(dims.zero)
    y[at : at + dims.nonneg] = np.maximum(y[at : at + dims.nonneg], 0.0)
    at += int(dims.nonneg)
    for size in dims.soc:
        norm = float(np.linalg.norm(y[at + 1 : at + size]))
        y[at] = max(y[at], norm * (1.0 + (4.0 + size) * EPS))
        at += int(size)
    for side in dims.psd:
        triangle = side * (side + 1) // 2
        y[at : at + triangle] = _psd(y[at : at + triangle], int(side), vectors.handed.solver)
        at += triangle
    return y if at == len(y) else None


def _psd(entries: Array, side: int, solver: str) -> Array:
    """A triangle, off-diagonal entries times √2: upper for Clarabel, lower for SCS, column by column."""
    index = np.tril_indices(side) if solver == "CLARABEL" else np.triu_indices(side)
    weight = np.where(index[0] == index[1], 1.0, np.sqrt(2.0))
    matrix = np.zeros((side, side))
    matrix[index] = entries / weight
    matrix = matrix + matrix.T - np.diag(np.diag(matrix))
    if not np.isfinite(matrix).all():
        return entries
    values, vectors = np.linalg.eigh(matrix)
    lift = 8.0 * side * EPS * float(np.abs(values).max(initial=0.0))
    matrix = (vectors * (np.maximum(values, 0.0) + lift)) @ vectors.T
    return np.asarray(matrix[index] * weight)


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
