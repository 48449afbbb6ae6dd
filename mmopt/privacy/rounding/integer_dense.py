"""A strategy rounded to an integer matrix, so that its answers and its sensitivity are exact.

Rounding A itself would move its row space when it is rank deficient. Instead, with an integer basis B
(k, n) of the workload's row space and Sigma = B (AᵀA)⁺ Bᵀ the covariance of B x under A, the matrix
rint(2^bits Sigma^(-1/2)) B is measured, or c Sigma^(-1/2) B where that is integer for some c. It is integer,
its row space is the workload's whenever its k x k core has full rank, and before rounding it costs no more
than A: Bᵀ Sigma⁻¹ B ⪯ AᵀA, because a least-squares estimate of B x uses no more than what A measured. That is
for Gaussian noise; for Laplace noise the rows are kept (``rounded_rows.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.errors import PrivacyError
from mmopt.numerics.arrays import AnyInts, Array, Ints, frozen
from mmopt.numerics.pseudoinverse import pinv
from mmopt.privacy.rounding.integer_arithmetic import (
    exactly,
    integer_product,
    largest_entry,
    root_above,
    squared_sensitivity,
)
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, OneNoise, Part, digest
from mmopt.privacy.rounding.rounded_rows import (
    COLUMN_BITS,
    check_bias,
    check_fit,
    check_rank,
    choose_bits,
    closest,
    divide_by_gcd,
    inverse_root,
    is_one_count,
    kept_rows,
    loss_of,
    rint,
    rounded_core,
)
from mmopt.strategies import ADD_REMOVE, Neighbours, Strategy
from mmopt.workloads import Implicit, Workload
from mmopt.workloads.blocks.range_blocks import Identity

__all__ = ["IntegerStrategy", "Reconstruction", "as_is", "round_dense", "round_rows", "round_strategy"]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """R (m, k) with queries = R @ measured: ``left @ right``, of which the left factor may be implicit."""

    left: Implicit
    right: Array

    @property
    def matrix(self) -> Array:
        """R itself."""
        return self.left.apply(self.right.T).T

    def apply(self, answers: Array) -> Array:
        """R x (m,) for answers x (k,)."""
        return np.array(self.left.apply(self.right @ answers))

    def squared_lengths(self) -> Array:
        """Squared length of each row, (m,)."""
        return self.left.squared_lengths(self.right)


def as_is(matrix: Array) -> Reconstruction:
    """R as it is: the identity is on its left."""
    return Reconstruction(Identity(len(matrix)), frozen(matrix))


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerStrategy(OneNoise):
    """The integer matrix ``core @ basis`` that a release measures.

    core : (k, r) int64; ``basis`` : (r, n) int64. For norm 2, r = k with an integer basis; otherwise
        ``basis`` is the identity and r = n. For norm 1, r <= k.
    matrix : (k, n) int64, their product.
    bits : the core is rint(2^bits C) for a real C at unit noise; may be negative. Where c C is integer the
        core is that, bits are 0, and unit noise is ``relative`` = c.
    squared_sensitivity : by ``integer_arithmetic.squared_sensitivity``, in units of ``matrix``.
    reconstruction : R (m, k), unweighted queries = R @ matrix, up to ``bias``.
    bias : largest error of the rounded row space, in units of the queries' (or their basis') largest
        entry: float rounding (about 1e-15) with an integer basis, at most BIAS_LIMIT without.
    loss : largest factor by which rounding multiplied the variance of a query (norm 1: at equal privacy).
    """

    core: Ints
    basis: Ints
    matrix: Ints
    reconstruction: Reconstruction

    compares_columns = True

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of the measured matrix: its shape, entries in row-major order, and its unit noise."""
        return digest(f"integer-strategy 2 {self.matrix.shape} {self.bits} {self.relative!r}\n", self.matrix)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        is_one = self.neighbours.is_one_row and is_one_count(self.matrix)
        answer = largest_entry(self.matrix) * MAX_ROWS
        return (Part(len(self.matrix), self.squared_sensitivity, answer, self.relative, is_one),)

    @property
    def is_biased(self) -> bool:
        """Whether the queries have no integer basis."""
        return self.workload.integer_basis is None

    def squared_sensitivities(self) -> list[int]:
        """That of the matrix."""
        return [squared_sensitivity(self.matrix, self.norm, self.changes)]

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (k,) for a data vector (n,)."""
        return exactly(self.matrix.__matmul__, counts, self.parts[0].largest_answer)

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (k,)."""
        return self.reconstruction.apply(noisy.astype(float))


def round_dense(strategy: Strategy, workload: Workload, neighbours: Neighbours) -> IntegerStrategy:
    """Round a matrix for the noise of its norm; errors as ``round_strategy`` and ``round_rows``."""
    own = round_rows if strategy.norm == 1 else round_strategy
    return closest(lambda most: own(strategy, workload, neighbours, most), COLUMN_BITS)


def round_strategy(
    strategy: Strategy, workload: Workload, neighbours: Neighbours = ADD_REMOVE, most: int = COLUMN_BITS[0]
) -> IntegerStrategy:
    """Round `strategy` for `workload` as the module says, to columns of up to 2^most.

    Raises
    ------
    WorkloadError : the strategy does not support the workload, or rounding loses its rank, or (non-integer
        workloads) more than BIAS_LIMIT of a query.
    PrivacyError : `strategy` bounds the L1 norm, for Laplace noise.
    """
    if strategy.norm != 2:
        raise PrivacyError(
            f"the strategy bounds the L{strategy.norm} norm of its columns (Laplace noise), "
            "expected L2 (Gaussian)",
            hint="solve a program with 'norm 2', such as l2_strategy",
        )
    check_fit(strategy, workload)
    basis = workload.integer_basis
    if basis is not None:
        basis = divide_by_gcd(basis)
        real = inverse_root(strategy.covariance(basis.astype(float)))
        core, bits, relative = rounded_core(real, _length(real @ basis), most)
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
        bits, relative = choose_bits(_length(real), most), 1.0
        core, basis = rint(np.ldexp(real, bits)), np.eye(workload.n, dtype=np.int64)
        check_rank(core, bits)
        matrix = core
        reconstruction, bias = _least_squares(workload.queries, core)
    return _measured(
        strategy, workload, neighbours, (core, basis, matrix), (bits, relative), reconstruction, bias
    )


def round_rows(
    strategy: Strategy, workload: Workload, neighbours: Neighbours = ADD_REMOVE, most: int = COLUMN_BITS[0]
) -> IntegerStrategy:
    """Round a strategy of norm 1 as ``round_strategy`` does one of norm 2, for any rows.

    Raises
    ------
    WorkloadError : as ``kept_rows``; or rounding loses rank.
    PrivacyError : `strategy` bounds the L2 norm, for Gaussian noise.
    """
    if strategy.norm != 1:
        raise PrivacyError(
            f"the strategy bounds the L{strategy.norm} norm of its columns (Gaussian noise), "
            "expected L1 (Laplace)",
            hint="solve a program with 'norm 1', such as p_identity",
        )
    rows = kept_rows(strategy, workload)
    length = float(np.abs(rows.real @ rows.basis).sum(axis=0).max())
    core, bits, relative = rounded_core(rows.real, length, most)
    core = core[core.any(axis=1)]
    check_rank(core, bits)
    matrix = integer_product(core, rows.basis)
    right = rows.back @ pinv(core.astype(np.float64))
    return _measured(
        strategy,
        workload,
        neighbours,
        (core, rows.basis, matrix),
        (bits, relative),
        Reconstruction(workload.implicit(weighted=False), frozen(right)),
        rows.bias,
    )


def _measured(
    strategy: Strategy,
    workload: Workload,
    neighbours: Neighbours,
    integers: tuple[Ints, Ints, Ints],
    scale: tuple[int, float],
    reconstruction: Reconstruction,
    bias: float,
) -> IntegerStrategy:
    """With what follows from ``integers`` (core, basis, matrix), ``scale`` (bits, relative) and R.

    The loss of norm 1 is at equal privacy, as the sensitivity is not rounded down.
    """
    core, basis, matrix = map(frozen, integers)
    bits, relative = scale
    variances = frozen(np.ldexp(reconstruction.squared_lengths(), 2 * bits) * relative**2)
    changes, growth = neighbours.over(workload), 1.0
    squared = squared_sensitivity(matrix, strategy.norm, changes)
    if strategy.norm == 1 and squared:
        before = strategy.sensitivity_to(changes)
        growth = np.ldexp(root_above(squared) / relative, -bits) / before if before > 0 else 1.0
    return IntegerStrategy(
        workload=workload,
        neighbours=neighbours,
        norm=strategy.norm,
        variances=variances,
        squared_sensitivity=squared,
        bits=bits,
        bias=bias,
        loss=loss_of(variances * growth**2, strategy.variances(workload)),
        relative=relative,
        core=core,
        basis=basis,
        matrix=matrix,
        reconstruction=reconstruction,
    )


def _length(real: Array) -> float:
    """The largest norm of a column."""
    return math.sqrt(float(np.einsum("ij,ij->j", real, real).max()))


def _least_squares(queries: Array, core: Ints) -> tuple[Reconstruction, float]:
    """Reconstruction of least bias through a core that is not exactly the workload's row space."""
    q, r = np.linalg.qr(core.T.astype(float))
    reconstruction = np.asarray(np.linalg.solve(r, q.T @ queries.T).T, dtype=np.float64)
    return as_is(reconstruction), check_bias(queries, reconstruction @ core)
