"""A dense strategy rounded to an integer matrix, so that its answers and its sensitivity are exact.

Rounding A itself would move its row space when it is rank deficient. Instead, with an integer basis B
(k, n) of the workload's row space and Sigma = B (AᵀA)⁺ Bᵀ the covariance of B x under A, the matrix
rint(2^bits Sigma^(-1/2)) B is measured, or c Sigma^(-1/2) B where that is integer for some c. It is integer,
its row space is the workload's whenever its k x k core has full rank, and before rounding it costs no more
than A: Bᵀ Sigma⁻¹ B ⪯ AᵀA, because a least-squares estimate of B x uses no more than what A measured.

That is for Gaussian noise, where a rotation of A is as good as A; for Laplace noise, as rotations change an
L1 norm, the rows are kept. Cells that no query tells apart are merged, and A's mean over each class of cells
is measured: an average of columns is never longer than the longest, and as estimates of the queries it is no
worse, since (P AᵀA P)⁺ ⪯ P (AᵀA)⁺ P for the projection P on vectors that are constant on the classes. Rows
that become multiples of each other are added up. Where these means are dependent, A = C B with an integer
basis B of the workload's row space, and rint(2^bits C) B is measured. In both cases the integers span the
workload's row space whenever their core has full column rank.

Where neighbours keep the number of rows N (``Neighbours.keeps_total``), it is used as it is. Then B x is that
of the other cells, with the last column taken from all, plus N times that column: no difference of columns
changes when one vector is taken from all, and a column is zero. Where the queries span the total, what is
measured is one dimension less, and its least-squares estimate no worse.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mmopt.errors import PrivacyError, TooLargeError, WorkloadError
from mmopt.numerics.arrays import AnyInts, Array, Ints, frozen, pinv
from mmopt.privacy.rounding.norms_and_measured_integers import (
    MAX_ROWS,
    MeasuredT,
    OneNoise,
    Part,
    digest,
    exactly,
    integer_product,
    largest_entry,
    root_above,
    squared_sensitivity,
)
from mmopt.strategies import ADD_REMOVE, Neighbours, Strategy
from mmopt.workloads import (
    Identity,
    Implicit,
    Workload,
)

# Largest accepted error of a rounded reconstruction, in units of the workload's largest entry.
BIAS_LIMIT = 1e-6

# Factor on the variance of a query by rounding, above which more bits are taken, or it is reported.
WORTH_SAYING = 1.001

# Column norms up to 2^29: squared differences stay below 2^62, answers below 2^60. Where that is not
# enough, up to 2^42: answers are Python integers, and noise, at an epsilon above 1e-4, stays below 2^62.
COLUMN_BITS = (29, 42)

_SOLVED = 1e-7  # of the largest entry: the error of a solver on an entry that should be 0

_SIZES_DIFFER = "the queries differ too much in size for 64-bit integers; scale the large ones down"
_CLEAR = 1e-8  # singular values below this part of the largest are rounding errors of a dependency


def inverse_root(covariance: Array) -> Array:
    """The symmetric Sigma^(-1/2); WorkloadError when Sigma is singular to working accuracy."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    if not (np.isfinite(values).all() and values[0] > values[-1] * len(values) * 2.0**-52):
        raise WorkloadError(
            "the covariance of the measured basis is singular: eigenvalues from "
            f"{values[0]:.3g} to {values[-1]:.3g}",
            hint="the strategy measures some queries with almost no noise compared to others",
        )
    root = np.asarray((vectors / np.sqrt(values)) @ vectors.T, dtype=np.float64)
    return (root + root.T) / 2


def choose_bits(largest: float, most: int = COLUMN_BITS[0]) -> int:
    """The most bits that keep column norms, of which this is the largest, about 2^most or below."""
    return most - math.ceil(math.log2(largest))


def closest(rounded: Callable[[int], MeasuredT], sizes: Sequence[int]) -> MeasuredT:
    """A strategy rounded to the fewest of these bits that add next to nothing to a variance, else the best.

    ``rounded`` rounds it to some bits, of ``sizes``, ascending. Errors as ``rounded`` at the most bits.
    """
    tries: list[MeasuredT] = []
    for bits in sizes:
        try:
            tries.append(rounded(bits))
        except (WorkloadError, TooLargeError):
            if bits == sizes[-1] and not tries:
                raise
        else:
            if tries[-1].loss <= WORTH_SAYING:
                break
    return min(tries, key=lambda one: one.loss)


def common_step(values: Array, accuracy: float) -> float | None:
    """The largest number that all values are multiples of, to `accuracy` times the largest value; or None.

    The least of the values in 1 to 64 parts is tried; the largest may be 2^20 of them.
    """
    sizes = np.unique(np.abs(values))
    sizes = sizes[sizes > accuracy * sizes[-1]]
    steps = float(sizes[0]) / np.arange(1, 65)
    steps = steps[sizes[-1] / steps <= 2.0**20]
    for some in (sizes[:8], sizes):  # eight values rule most steps out
        counts = some / steps[:, None]
        allowed = np.minimum(accuracy * sizes[-1] / steps, 1e-4)  # also for the smallest ones
        steps = steps[np.abs(counts - np.rint(counts)).max(axis=1) <= allowed]
    return float(steps[0]) if len(steps) else None


def rounded_core(real: Array, length: float, most: int) -> tuple[Ints, int, float]:
    """The integers measured for a real core, their bits, and their noise over 2^bits at unit noise on it.

    A core that is a multiple of integers, to the accuracy of solvers, is measured as these integers:
    (integers, 0, one over the number). Any other is rint(2^bits core), of columns of this `length`, as
    ``choose_bits``.
    """
    if (step := common_step(real, _SOLVED)) is not None:
        integers = rint(real / step)
        if np.linalg.matrix_rank(integers) == integers.shape[1]:
            return integers, 0, float(np.abs(integers).max() / np.abs(real).max())
    bits = choose_bits(length, most)
    return rint(np.ldexp(real, bits)), bits, 1.0


def is_one_count(matrix: Ints) -> bool:
    """Whether no column has more than one entry that is not 0."""
    return bool(((matrix != 0).sum(axis=0) <= 1).all())


def rint(real: Array) -> Ints:
    """The nearest integers; WorkloadError from 2^52 on."""
    rounded = np.rint(real)
    if not np.abs(rounded).max() < 2.0**52:  # beyond, float64 holds no fractions and the cast may overflow
        raise WorkloadError(f"a rounded strategy entry is {np.abs(rounded).max():.3g}, the limit is 2^52")
    return rounded.astype(np.int64)


def check_rank(core: Ints, bits: int) -> None:
    """WorkloadError unless the core has full rank with a margin far above float error."""
    values = np.linalg.svd(core.astype(float), compute_uv=False)
    if not values[-1] > values[0] * 1e-12:
        raise WorkloadError(
            f"the strategy rounded to {bits} bits loses rank: singular values from "
            f"{values[-1]:.3g} to {values[0]:.3g}",
            hint=_SIZES_DIFFER,
        )


def loss_of(rounded: Array, unrounded: Array) -> float:
    """The largest growth of a variance, as a factor; WorkloadError where a query is lost."""
    loss = float(np.max(rounded / unrounded))
    if not math.isfinite(loss):
        raise WorkloadError("rounding the strategy to integers loses a query", hint=_SIZES_DIFFER)
    return loss


def divide_by_gcd(basis: Ints) -> Ints:
    """The rows over their greatest common divisor: the row space stays, and the core gets more bits."""
    return np.asarray(basis // np.maximum(np.gcd.reduce(basis, axis=1), 1)[:, None], dtype=np.int64)


def check_bias(wanted: Array, reached: Array) -> float:
    """Largest difference over the largest wanted entry; WorkloadError above BIAS_LIMIT."""
    bias = float(np.abs(wanted - reached).max() / np.abs(wanted).max())
    if not bias <= BIAS_LIMIT:
        raise WorkloadError(
            f"rounding the strategy to integers biases a query by {bias:.3g} of its largest entry per row of "
            f"data, the limit is {BIAS_LIMIT:g}",
            hint="write the queries with integers (multiply them by a common denominator)",
        )
    return bias


def unsupported() -> WorkloadError:
    """The error for a strategy that does not determine all queries."""
    return WorkloadError(
        "the strategy does not support the workload: some query is no combination of its rows",
        hint="solve the strategy for this workload",
    )


@dataclass(frozen=True, eq=False)
class Rows:
    """``real @ basis`` (p, n): the strategy's rows, as far as the queries depend on them.

    real : (p, r), of full column rank. basis : (r, n) integers.
    back : (n, r), queries = queries @ back @ basis. bias : largest error of that, over the largest entry.
    """

    real: Array
    basis: Ints
    back: Array
    bias: float


def check_fit(strategy: Strategy, workload: Workload) -> None:
    """WorkloadError for another number of cells, or a strategy that does not support the workload."""
    if strategy.n != workload.n:
        raise WorkloadError(f"the strategy has {strategy.n} cells, the workload {workload.n}")
    if not strategy.supports(workload):
        raise unsupported()


def rows_on_integer_basis(strategy: Strategy, workload: Workload) -> Rows:
    """The strategy's rows over an integer basis, as the module describes for Laplace noise.

    Raises
    ------
    WorkloadError : another number of cells, a strategy that does not support the workload, or one of fewer
        dimensions than there are classes of cells, for queries that have no integer basis.
    """
    check_fit(strategy, workload)
    classes = workload.cell_classes
    means, first = _class_means(strategy.matrix, classes)
    means = _without_multiples(means, strategy.norm)
    if np.linalg.matrix_rank(means, rtol=_CLEAR) == means.shape[1]:
        basis = np.equal.outer(np.arange(len(first)), classes).astype(np.int64)
        return Rows(means, basis, np.equal.outer(np.arange(workload.n), first).astype(np.float64), 0.0)
    if (integer_basis := workload.integer_basis) is None:
        raise WorkloadError(
            f"the strategy has fewer than {len(first)} dimensions, one for each cell or class of cells, and "
            "the queries have no integer basis",
            hint="write the queries with integers (multiply them by a common denominator)",
        )
    basis = divide_by_gcd(integer_basis)
    solved = np.linalg.lstsq(
        basis.T.astype(np.float64), np.hstack([workload.basis.T, strategy.matrix.T]), rcond=None
    )[0].T
    change, real = solved[: workload.rank], np.ascontiguousarray(solved[workload.rank :])
    return Rows(real, basis, workload.basis.T @ change, check_bias(workload.basis, change @ basis))


def _class_means(matrix: Array, classes: Ints) -> tuple[Array, Ints]:
    """Means of the columns of each class (p, c), and each class's first cell (c,); -1 is left out."""
    order = np.argsort(classes, kind="stable")
    order = order[classes[order] >= 0]
    _, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    means = np.add.reduceat(matrix[:, order], starts, axis=1) / sizes
    # The mean of equal columns is that column, without a rounding error.
    alike = np.maximum.reduceat(matrix[:, order], starts, axis=1)
    same = alike == np.minimum.reduceat(matrix[:, order], starts, axis=1)
    return np.where(same, alike, means), order[starts]


def _without_multiples(rows: Array, norm: int, *, signed: bool = False) -> Array:
    """The rows, with positive (and ``signed``: negative) multiples of each other added up, so that columns
    keep their norms.

    One row (a + b) r measures r better than a r and b r do, with noise of the same scale.
    """
    nonzero = rows[rows.any(axis=1)]
    lengths = np.abs(nonzero).sum(axis=1)
    signs = np.sign(nonzero[np.arange(len(nonzero)), (nonzero != 0).argmax(axis=1)]) if signed else 1.0
    directions = nonzero / (lengths * signs)[:, None]
    distinct = np.unique(np.round(directions, 9), axis=0, return_index=True, return_inverse=True)
    sizes = np.bincount(distinct[2].ravel(), lengths**norm) ** (1 / norm)
    order = np.argsort(distinct[1])
    return rows if len(order) == len(nonzero) else directions[distinct[1][order]] * sizes[order, None]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """R (m, k) with queries = R @ measured: ``left @ right``, whose left factor may be implicit."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerStrategy(OneNoise):
    """The integer matrix that a release measures.

    matrix : (k, n) int64, a core (k, r) times an integer basis (r, n). For norm 2, r = k; where the queries
        have no integer basis, the core is the matrix. For norm 1, r <= k.
    bits : the core is rint(2^bits C) for a real C at unit noise; may be negative. Where c C is integer, the
        core is c C, bits are 0, and unit noise is ``relative`` = c.
    squared_sensitivity : by ``norms_and_measured_integers.squared_sensitivity``, in units of ``matrix``.
    reconstruction : R (m, k), unweighted queries = R @ matrix, up to ``bias``.
    bias : largest error of the rounded row space, in units of the queries' (or their basis') largest
        entry: float rounding (about 1e-15) with an integer basis, at most BIAS_LIMIT without.
    loss : largest factor by which rounding multiplied the variance of a query (norm 1: at equal privacy).
    """

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
        """The squared sensitivity of the matrix."""
        return [squared_sensitivity(self.matrix, self.norm, self.neighbours.over(self.workload))]

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (k,) for a data vector (n,)."""
        return exactly(self.matrix.__matmul__, counts, self.parts[0].largest_answer)

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (k,)."""
        return self.reconstruction.apply(noisy.astype(float))


def round_dense(
    strategy: Strategy, workload: Workload, neighbours: Neighbours, *, uses_total: bool = True
) -> IntegerStrategy:
    """Round a matrix for the noise of its norm; errors as ``round_strategy`` and ``round_rows``.

    uses_total : whether the number of rows is used where neighbours keep it; earlier versions did not.
    """
    uses_total = uses_total and neighbours.over(workload).keeps_total
    if uses_total and not workload.cell_classes.any():  # multiples of the total: nothing is measured
        check_fit(strategy, workload)
        return _as_strategy(
            strategy=strategy,
            workload=workload,
            neighbours=neighbours,
            matrix=np.zeros((1, workload.n), dtype=np.int64),
            bits=0,
            relative=1.0,
            reconstruction=Reconstruction(Identity(workload.m), np.zeros((workload.m, 1))),
            bias=0.0,
            uses_total=True,
        )
    rounding = round_rows if strategy.norm == 1 else round_strategy
    return closest(lambda most: rounding(strategy, workload, neighbours, most, uses_total), COLUMN_BITS)


def round_strategy(
    strategy: Strategy,
    workload: Workload,
    neighbours: Neighbours = ADD_REMOVE,
    most: int = COLUMN_BITS[0],
    uses_total: bool = False,
) -> IntegerStrategy:
    """Round `strategy` for `workload` as described above, to columns of up to 2^most.

    uses_total : whether neighbours keep the number of rows, and it is used.

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
    moved = np.zeros((0, workload.n), dtype=np.int64)
    if (basis := workload.integer_basis) is not None:
        basis, wanted, measured = divide_by_gcd(basis), workload.basis, strategy
        if uses_total and len(moved := _without_total(basis)):
            basis, wanted = moved, wanted - wanted[:, -1:]
            measured = replace(strategy, matrix=strategy.matrix - strategy.matrix[:, -1:])
        real = inverse_root(measured.covariance(basis.astype(float)))
        core, bits, relative = rounded_core(real, _largest_column(real @ basis), most)
        check_rank(core, bits)
        # The queries are those of x projected to workload.basis; both bases span the same space.
        change = np.linalg.lstsq(basis.T.astype(float), wanted.T, rcond=None)[0].T
        bias = check_bias(wanted, change @ basis)
        on_core = np.linalg.solve(core.T.astype(float), change.T).T
        right = on_core if workload.rank == workload.n else workload.basis.T @ on_core
        reconstruction = Reconstruction(workload.implicit(weighted=False), right)
        matrix = integer_product(core, basis)
    else:
        real = inverse_root(strategy.covariance(workload.basis)) @ workload.basis
        bits, relative = choose_bits(_largest_column(real), most), 1.0
        matrix = rint(np.ldexp(real, bits))
        check_rank(matrix, bits)
        # Of least bias: the rounded matrix is not exactly the workload's row space.
        q, r = np.linalg.qr(matrix.T.astype(float))
        right = frozen(np.asarray(np.linalg.solve(r, q.T @ workload.queries.T).T, dtype=np.float64))
        reconstruction = Reconstruction(Identity(len(right)), right)
        bias = check_bias(workload.queries, right @ matrix)
    return _as_strategy(
        strategy, workload, neighbours, matrix, bits, relative, reconstruction, bias, len(moved) > 0
    )


def _without_total(basis: Ints) -> Ints:
    """Rows that span those of a basis but for multiples of ones: the last column is taken from all.

    Where ones are a combination of the rows, the last one that is needed for it is left out.
    """
    parts = np.linalg.lstsq(basis.T.astype(float), np.ones(basis.shape[1]), rcond=None)[0]
    is_total = np.allclose(parts @ basis, 1.0, rtol=0.0, atol=_CLEAR)
    needed = np.flatnonzero(is_total & (np.abs(parts) > np.abs(parts).max() / 2))[-1:]
    return divide_by_gcd(np.delete(basis - basis[:, -1:], needed, axis=0))


def round_rows(
    strategy: Strategy,
    workload: Workload,
    neighbours: Neighbours = ADD_REMOVE,
    most: int = COLUMN_BITS[0],
    uses_total: bool = False,
) -> IntegerStrategy:
    """Round a strategy of norm 1, for any rows, as ``round_strategy`` does for norm 2.

    Raises
    ------
    WorkloadError : as ``rows_on_integer_basis``; or rounding loses rank.
    PrivacyError : `strategy` bounds the L2 norm, for Gaussian noise.
    """
    if strategy.norm != 1:
        raise PrivacyError(
            f"the strategy bounds the L{strategy.norm} norm of its columns (Gaussian noise), "
            "expected L1 (Laplace)",
            hint="solve a program with 'norm 1', such as l1_strategy",
        )
    rows = rows_on_integer_basis(strategy, workload)
    # Classes of cells: each column has a single 1.
    uses_total = uses_total and bool((rows.basis >= 0).all() and (rows.basis.sum(axis=0) == 1).all())
    if uses_total:
        # Of classes of cells all but the last one's: its rows are N without the others.
        last, others = rows.basis[:, -1].argmax(), rows.basis[:, -1] == 0
        real = _without_multiples((rows.real - rows.real[:, [last]])[:, others], 1, signed=True)
        rows = Rows(real, rows.basis[others], rows.back[:, others] - rows.back[:, [last]], rows.bias)
    length = float(np.abs(rows.real @ rows.basis).sum(axis=0).max())
    core, bits, relative = rounded_core(rows.real, length, most)
    core = core[core.any(axis=1)]
    check_rank(core, bits)
    matrix = integer_product(core, rows.basis)
    reconstruction = Reconstruction(
        workload.implicit(weighted=False), frozen(rows.back @ pinv(core.astype(np.float64)))
    )
    return _as_strategy(
        strategy, workload, neighbours, matrix, bits, relative, reconstruction, rows.bias, uses_total
    )


def _as_strategy(
    strategy: Strategy,
    workload: Workload,
    neighbours: Neighbours,
    matrix: Ints,
    bits: int,
    relative: float,
    reconstruction: Reconstruction,
    bias: float,
    uses_total: bool,
) -> IntegerStrategy:
    """The integer strategy of a matrix and its reconstruction; ``bits`` and ``relative`` as of
    ``rounded_core``.

    The loss of norm 1 is at equal privacy, as the sensitivity is not rounded down.
    """
    lengths, queries, n = reconstruction.squared_lengths(), workload.implicit(weighted=False), workload.n
    if uses_total:  # a multiple of the total has no error; its length has rounding errors
        lengths[queries.squared_lengths(np.eye(n, n - 1) - np.eye(n, n - 1, -1)) == 0.0] = 0.0
    variances = frozen(np.ldexp(lengths, 2 * bits) * relative**2)
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
        matrix=frozen(matrix),
        reconstruction=reconstruction,
        of_total=queries.apply(np.eye(1, n, n - 1)[0]) if uses_total else 0.0,
    )


def _largest_column(real: Array) -> float:
    """The largest L2 norm of a column."""
    return math.sqrt(float(np.einsum("ij,ij->j", real, real).max()))
