"""A strategy rounded to integers, so that its answers and its sensitivity are exact.

Rounding A itself would move its row space when it is rank deficient. Instead, with an integer basis B
(k, n) of the workload's row space and Sigma = B (AᵀA)⁺ Bᵀ the covariance of B x under A, the matrix
rint(2^bits Sigma^(-1/2)) B is measured, or c Sigma^(-1/2) B where that is integer for some c. It is integer,
its row space is the workload's whenever its k x k core has full rank, and before rounding it costs no more
than A: Bᵀ Sigma⁻¹ B ⪯ AᵀA, because a least-squares estimate of B x uses no more than what A measured.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy.rounding.answering import Reconstruction, dense
from mmopt.privacy.rounding.exact import integer_product, largest_entry, root_above, squared_sensitivity
from mmopt.privacy.rounding.lattice import (
    check_loss,
    check_rank,
    choose_bits,
    inverse_root,
    is_one_count,
    rint,
    rounded_core,
    unsupported,
)
from mmopt.privacy.rounding.protocol import MAX_ROWS, Floats, Integers, Neighbours, Part
from mmopt.strategies.dense import Strategy
from mmopt.workloads.workload import Workload

__all__ = ["BIAS_LIMIT", "IntegerStrategy", "check_bias", "divide_by_gcd", "round_strategy"]


BIAS_LIMIT = 1e-6
"""Largest accepted error of a rounded reconstruction, in units of the workload's largest entry."""


@dataclass(frozen=True, eq=False)
class IntegerStrategy:
    """The integer matrix ``core @ basis`` that a release measures.

    Attributes
    ----------
    core : (k, r) int64; ``basis`` : (r, n) int64. For norm 2, r = k with an integer basis; otherwise
        ``basis`` is the identity and r = n. For norm 1, r <= k.
    matrix : (k, n) int64, their product.
    bits : the core is rint(2^bits C) for a real C at unit noise; may be negative. Where c C is integer the
        core is that, bits are 0, and unit noise is ``relative`` = c.
    neighbours : what the sensitivity refers to.
    squared_sensitivity : exact integer; ``sensitivity`` : its root rounded up (units of ``matrix``); by
        ``exact.squared_sensitivity``.
    reconstruction : R (m, k), unweighted queries = R @ matrix, up to ``bias``.
    variances : (m,) of the queries at unit noise on ``2^-bits matrix``.
    bias : largest error of the rounded row space, in units of the queries' (or their basis') largest
        entry: float rounding (about 1e-15) with an integer basis, at most BIAS_LIMIT without.
    loss : largest factor by which rounding multiplied the variance of a query (norm 1: at equal privacy).
    norm : 1 for Laplace noise, 2 for Gaussian noise.
    """

    core: Integers
    basis: Integers
    matrix: Integers
    bits: int
    neighbours: Neighbours
    squared_sensitivity: int
    sensitivity: float
    reconstruction: Reconstruction
    variances: Floats
    bias: float
    loss: float
    norm: int = 2
    relative: float = 1.0

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the measured matrix: its shape, entries in row-major order, and its unit noise."""
        digest = hashlib.sha256(
            f"integer-strategy 2 {self.matrix.shape} {self.bits} {self.relative!r}\n".encode()
        )
        digest.update(np.ascontiguousarray(self.matrix, dtype="<i8").tobytes())
        return digest.hexdigest()

    @property
    def rows(self) -> int:
        """k, the number of measured queries."""
        return len(self.matrix)

    @property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        is_one = self.neighbours == "add-remove" and is_one_count(self.matrix)
        return (Part(self.rows, self.squared_sensitivity, self.largest_answer, self.relative, is_one),)

    @property
    def largest_answer(self) -> int:
        """Bound on abs(matrix @ x) for a table of at most MAX_ROWS rows."""
        return largest_entry(self.matrix) * MAX_ROWS

    def standard_errors(self, deviations: Floats) -> Floats:
        """Of the queries, (m,), at noise of this standard deviation, (1,)."""
        return np.asarray(
            np.sqrt(self.variances) * np.ldexp(float(deviations[0]) / self.relative, -self.bits)
        )

    def answers(self, counts: Integers) -> Integers:
        """The exact answers (k,) for a data vector (n,)."""
        return integer_product(self.matrix, counts)

    def estimate(self, noisy: Floats | Integers, deviations: Floats | None = None) -> Floats:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (k,)."""
        return self.reconstruction.apply(noisy.astype(float))


def round_strategy(
    strategy: Strategy, workload: Workload, neighbours: Neighbours = "add-remove"
) -> IntegerStrategy:
    """Round `strategy` for `workload` as the module says.

    Raises
    ------
    WorkloadError : the strategy does not support the workload, or rounding loses its rank, more than
        LOSS_LIMIT of a variance, or (non-integer workloads) more than BIAS_LIMIT of a query.
    PrivacyError : `strategy` bounds the L1 norm, for Laplace noise.
    """
    if strategy.norm != 2:
        raise PrivacyError(
            f"the strategy bounds the L{strategy.norm} norm of its columns (Laplace noise), "
            "expected L2 (Gaussian)",
            hint="solve a program with 'norm 2', such as l2_strategy",
        )
    if strategy.matrix.shape[1] != workload.n:
        raise WorkloadError(f"the strategy has {strategy.matrix.shape[1]} cells, the workload {workload.n}")
    if not strategy.supports(workload):
        raise unsupported()
    basis = workload.integer_basis
    if basis is not None:
        basis = divide_by_gcd(basis)
        real = inverse_root(strategy.covariance(basis.astype(float)))
        core, bits, relative = rounded_core(real, _length(real @ basis))
        check_rank(core, bits)
        # The queries are those of x projected to workload.basis; both bases span the same space.
        change = np.linalg.lstsq(basis.T.astype(float), workload.basis.T, rcond=None)[0].T
        bias = check_bias(workload.basis, change @ basis)
        told = np.linalg.solve(core.T.astype(float), change.T).T
        right = told if workload.rank == workload.n else workload.basis.T @ told
        reconstruction = Reconstruction(workload.implicit(weighted=False), right)
        matrix = integer_product(core, basis)
    else:
        real = inverse_root(strategy.covariance(workload.basis)) @ workload.basis
        bits, relative = choose_bits(_length(real)), 1.0
        core, basis = rint(np.ldexp(real, bits)), np.eye(workload.n, dtype=np.int64)
        check_rank(core, bits)
        matrix = core
        reconstruction, bias = _least_squares(workload.queries, core)
    variances = np.ldexp(reconstruction.squared_lengths(), 2 * bits) * relative**2
    loss = check_loss(variances, strategy.variances(workload), bits)
    squared = squared_sensitivity(matrix, 2, neighbours, workload.domain.may_drop)
    for array in (core, basis, matrix, variances):
        array.flags.writeable = False
    return IntegerStrategy(
        core,
        basis,
        matrix,
        bits,
        neighbours,
        squared,
        root_above(squared),
        reconstruction,
        variances,
        bias,
        loss,
        relative=relative,
    )


def divide_by_gcd(basis: Integers) -> Integers:
    """Rows over their greatest common divisor: the same row space, more bits left for the core."""
    divisors = np.gcd.reduce(basis, axis=1)
    return np.asarray(basis // np.maximum(divisors, 1)[:, None], dtype=np.int64)


def _length(real: Floats) -> float:
    """The largest norm of a column."""
    return math.sqrt(float(np.einsum("ij,ij->j", real, real).max()))


def _least_squares(queries: Floats, core: Integers) -> tuple[Reconstruction, float]:
    """Reconstruction of least bias through a core that is not exactly the workload's row space."""
    q, r = np.linalg.qr(core.T.astype(float))
    reconstruction = np.asarray(np.linalg.solve(r, q.T @ queries.T).T, dtype=np.float64)
    return dense(reconstruction), check_bias(queries, reconstruction @ core)


def check_bias(wanted: Floats, reached: Floats) -> float:
    """Largest difference over the largest wanted entry; WorkloadError above BIAS_LIMIT."""
    bias = float(np.abs(wanted - reached).max() / np.abs(wanted).max())
    if not bias <= BIAS_LIMIT:
        raise WorkloadError(
            f"rounding the strategy to integers biases a query by {bias:.3g} of its largest entry per row of "
            f"data, the limit is {BIAS_LIMIT:g}",
            hint="write the queries with integers (multiply them by a common denominator)",
        )
    return bias
