"""Integer arithmetic without overflow, and the integers that a release measures.

Products and norms here are such as a privacy claim may rest on. numpy's int64 wraps silently. Each function
bounds its result in Python integers first, then takes float64 (BLAS) where every partial sum is an exact
integer below 2^53, int64 below 2^62, and Python integers otherwise.

Two base classes derive from ``Measured``: ``OneNoise`` below, whose rows all get the same noise, and
``InFactors`` (``integer_factors.py``). Some strategies need of the data only counts of rows by tables over
few attributes: over 10^20 cells there is no data vector, but the table of any two attributes is small.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar, assert_never, runtime_checkable

import numpy as np
from scipy.spatial.distance import cdist

from mmopt.errors import DataError, OptionError, PrivacyError, TooLargeError
from mmopt.numerics.arrays import AnyInts, Array, Ints
from mmopt.numerics.participation import largest_block, largest_sums, most_steps
from mmopt.privacy.epsilon_delta_rho import float_above
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload

_LIMIT = 2**62  # of the sizes of 64-bit integers
_WIDEST = 2**90  # of the sizes of Python integers
_LIMB = 15  # entries below 2^30 split into two limbs whose products float64 sums exactly
_BLOCK = 1024  # columns that are compared with all others at a time


def integer_product(left: Ints, right: Ints) -> Ints:
    """left @ right exactly; TooLargeError when an entry may reach 2^62.

    The bound is (largest absolute row sum of left) x (largest entry of right) when that fits, else
    the product in Python integers decides.
    """
    if left.size == 0 or right.size == 0:
        return np.zeros((left.shape[0], *right.shape[1:]), dtype=np.int64)
    bound = largest_row_sum(left) * largest_entry(right)
    if bound < 2**53:
        return np.asarray((left.astype(float) @ right.astype(float)).astype(np.int64))
    if bound < _LIMIT:
        return np.asarray(left @ right, dtype=np.int64)
    wide = left.astype(object) @ right.astype(object)
    largest = max(abs(int(v)) for v in wide.ravel())
    if largest >= _LIMIT:
        raise TooLargeError(
            f"an integer product has an entry of size {largest}, the limit is 2^62 = {_LIMIT}",
            hint="scale the queries down, or use fewer bits",
        )
    return np.asarray(wide, dtype=np.int64)


def exactly(linear: Callable[[Any], Any], counts: Ints, bound: int) -> AnyInts:
    """A linear function of counts, exactly: int64, or Python integers where ``bound`` is 2^62 or more.

    bound : on the sizes of results, and of all values on the way there, below 2^90. Integers of 64 bits then
    wrap and give results modulo 2^64; those of floating point are nearer to them than 2^62.
    """
    modular = np.asarray(linear(counts))
    if bound < _LIMIT:
        return modular
    if bound >= _WIDEST:
        raise TooLargeError(f"an answer may be of size {bound}, the limit is 2^90", hint="use fewer bits")
    turns = np.rint((linear(counts.astype(np.float64)) - modular) / 2.0**64).astype(np.int64)
    return np.asarray(modular.astype(object) + turns.astype(object) * 2**64, dtype=object)


def largest_entry(matrix: Ints) -> int:
    """Largest absolute entry, as a Python integer (correct at -2^63 too)."""
    return max(abs(int(matrix.max())), abs(int(matrix.min()))) if matrix.size else 0


def largest_row_sum(matrix: Ints) -> int:
    """Largest sum of absolute values in a row, as a Python integer."""
    if largest_entry(matrix) * matrix.shape[1] < _LIMIT:
        return int(np.abs(matrix).sum(axis=1).max(initial=0))
    return max(sum(abs(int(v)) for v in row) for row in matrix)


def largest_squared_norm(matrix: Ints) -> int:
    """Largest squared L2 norm of a column, exactly."""
    return max(map(int, _squared_norms(matrix))) if matrix.size else 0


def largest_squared_difference(matrix: Ints) -> int:
    """Largest squared L2 norm of a difference of two columns, exactly, over all pairs."""
    columns = np.unique(matrix, axis=1)  # equal columns add no new difference
    if (count := columns.shape[1]) < 2:
        return 0
    if not is_small(columns) or 4 * largest_squared_norm(columns) >= _LIMIT:
        wide = columns.astype(object)
        return max(
            max(int(v) for v in ((wide[:, i + 1 :] - wide[:, i : i + 1]) ** 2).sum(axis=0))
            for i in range(count - 1)
        )
    norms = np.asarray(_squared_norms(columns), dtype=np.int64)
    best = 0
    for start in range(0, count, _BLOCK):
        block = slice(start, start + _BLOCK)
        rest = slice(start, count)
        inner = small_product(columns[:, block].T, columns[:, rest])
        best = max(best, int((norms[block, None] + norms[None, rest] - 2 * inner).max()))
    return best


def largest_absolute_difference(matrix: Ints) -> int:
    """Largest L1 norm of a difference of two columns, exactly, over all pairs."""
    if len(columns := np.unique(matrix, axis=1).T) < 2:
        return 0
    if 2 * largest_row_sum(columns) >= 2**53:
        wide = columns.astype(object)
        return max(
            max(int(v) for v in np.abs(wide[i + 1 :] - wide[i]).sum(axis=1)) for i in range(len(wide) - 1)
        )
    real = columns.astype(np.float64)  # every difference and partial sum is an integer below 2^53
    blocks = (cdist(real[i : i + _BLOCK], real[i:], "cityblock") for i in range(0, len(real), _BLOCK))
    return max(int(distances.max()) for distances in blocks)


def squared_sensitivity(matrix: Ints, norm: int, neighbours: Neighbours) -> int:
    """Square of the largest L1 or L2 norm by which neighbours (``over`` the workload) change ``matrix @ x``.

    Exact; for a participation an upper bound, see ``participation_norm``.
    """
    match neighbours.kind:
        case "add-remove" | "rows":
            return _largest_squared(matrix, norm) * neighbours.at_most**2
        case "replace-one":
            moved = (
                largest_squared_difference(matrix) if norm == 2 else largest_absolute_difference(matrix) ** 2
            )
            return max(_largest_squared(matrix, norm), moved) if neighbours.may_drop else moved
        case "participation":
            return _squared_participation(matrix, norm, neighbours)
        case _:
            assert_never(neighbours.kind)


def _largest_squared(matrix: Ints, norm: int) -> int:
    """Square of the largest norm of a column."""
    return largest_squared_norm(matrix) if norm == 2 else largest_row_sum(matrix.T) ** 2


def _squared_participation(matrix: Ints, norm: int, neighbours: Neighbours) -> int:
    """``numerics.participation.participation_norm`` squared, on integers; where sums may reach 2^62, they are
    of weights divided by 2^shift, rounded up.
    """
    b, k = neighbours.separation, most_steps(matrix.shape[1], neighbours.separation, neighbours.at_most)
    ones = np.ones_like(matrix[:, :1])
    weights = np.abs(_gram(matrix)) if norm == 2 else _gram(np.abs(matrix), ones)[:, 0]
    shift = max(0, (largest_entry(weights) * k**norm).bit_length() - 61)
    divided = -(-weights >> shift)
    total: int = int(largest_block(divided, b, k) if norm == 2 else largest_sums(divided, b, k)) << shift
    return total if norm == 2 else total**2


def _gram(left: Ints, right: Ints | None = None) -> Ints:
    """leftᵀ right, by default leftᵀ left, exactly; TooLargeError when an entry may reach 2^62."""
    if right is None and is_small(left) and largest_squared_norm(left) < _LIMIT:
        return small_product(left.T, left)
    return integer_product(left.T, left if right is None else right)


def is_small(matrix: Ints) -> bool:
    """Whether ``small_product`` takes the matrix."""
    return largest_entry(matrix) < 1 << 2 * _LIMB and matrix.shape[0] < 2**23


def bound_by_column(squared: int, norm: int, neighbours: Neighbours, is_nonnegative: bool) -> int:
    """The square of the sensitivity, or a bound on it, where no column has more than this ``squared`` norm.

    Exact for rows added or removed. For rows replaced, by the triangle inequality; for columns without
    negative entries |a - b|² <= |a|² + |b|² in L2.

    Raises
    ------
    PrivacyError : a participation, for which columns have to be compared.
    """
    match neighbours.kind:
        case "add-remove" | "rows":
            return squared * neighbours.at_most**2
        case "replace-one":
            return squared * (2 if norm == 2 and is_nonnegative else 4)
        case "participation":
            raise PrivacyError(
                f"the sensitivity to '{neighbours}' is not known of a strategy in factors or by component, "
                "which is for 'add-remove': its columns are not compared",
                hint="choose a strategy that is a matrix, as programs do over at most 8,192 steps; or write "
                f"'neighbours: {{rows: {neighbours.at_most}}}', which covers it",
            )
        case _:
            assert_never(neighbours.kind)


def root_above(squared: int) -> float:
    """A float proved >= sqrt(squared), within one unit in the last place of the smallest such.

    For a perfect square it is the smallest such.
    """
    root = math.isqrt(squared)
    if root * root == squared:
        return float_above(Fraction(root))
    # isqrt of squared * 4^64 is the root times 2^64 rounded down; one more is above it.
    return float_above(Fraction(math.isqrt(squared << 128) + 1, 2**64))


def _squared_norms(matrix: Ints) -> AnyInts:
    """Squared L2 norm of each column, exactly."""
    if largest_entry(matrix) ** 2 * matrix.shape[0] < _LIMIT:
        return np.asarray(np.einsum("ij,ij->j", matrix, matrix), dtype=np.int64)
    some = (matrix[:, i : i + 128].astype(object) for i in range(0, matrix.shape[1], 128))
    return np.concatenate([(wide * wide).sum(axis=0) for wide in some])


def small_product(left: Ints, right: Ints) -> Ints:
    """left @ right for entries below 2^30 through exact float64 products of 15-bit limbs (BLAS speed).

    A limb is at most 2^15 in size, so each float sum is at most rows x 2^30 <= 2^53 for fewer than
    2^23 rows and every partial sum is exact. The caller has bounded the true result by 2^62, and
    sums modulo 2^64 of exact int64 terms then give it.
    """
    mask = (1 << _LIMB) - 1
    left_high, left_low = (left >> _LIMB).astype(float), (left & mask).astype(float)
    right_high, right_low = (right >> _LIMB).astype(float), (right & mask).astype(float)
    high = (left_high @ right_high).astype(np.int64)
    middle = (left_high @ right_low).astype(np.int64) + (left_low @ right_high).astype(np.int64)
    low = (left_low @ right_low).astype(np.int64)
    return np.asarray((high << (2 * _LIMB)) + (middle << _LIMB) + low, dtype=np.int64)


@runtime_checkable
class CountedTables(Protocol):
    """Rows counted by sets of attributes; ``mmopt.data.counts`` makes one from a table."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each attribute of the domain."""

    def of(self, attributes: tuple[int, ...]) -> Ints:
        """Rows in each cell of these attributes, of their sizes; for () the number of rows counted.

        attributes : their places in the domain, ascending. An Error where they were not counted together.
        """


@dataclass(frozen=True, eq=False)
class WholeTable:
    """A data vector (n,) as a source of tables."""

    counts: Ints
    sizes: tuple[int, ...]

    def of(self, attributes: tuple[int, ...]) -> Ints:
        """The sums over all other attributes."""
        others = tuple(i for i in range(len(self.sizes)) if i not in attributes)
        return np.asarray(self.counts.reshape(self.sizes).sum(axis=others), dtype=np.int64)


def maximal_sets(sets: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The sets of attributes that are inside no other, each ascending, larger ones first."""
    masks: list[int] = []
    by_attribute: dict[int, list[int]] = {}  # the ``masks`` that have it
    for attributes in sorted({tuple(sorted(one)) for one in sets}, key=lambda one: (-len(one), one)):
        mask = sum(1 << i for i in attributes)
        candidates = masks if not attributes else min((by_attribute.get(i, []) for i in attributes), key=len)
        if not any(mask & other == mask for other in candidates):
            masks.append(mask)
            for i in attributes:
                by_attribute.setdefault(i, []).append(mask)
    return tuple(tuple(i for i in range(mask.bit_length()) if mask >> i & 1) for mask in masks)


# Rows that the integers have room for. A public constant: it must not depend on the data.
MAX_ROWS = 2**31


@dataclass(frozen=True)
class Part:
    """Rows that get noise of one parameter: ``relative`` times that of the release.

    squared_sensitivity : exact integer, the square of the sensitivity of these rows in the norm (for norm 1
        that of an integer). largest_answer : bound on the absolute answers for at most ``MAX_ROWS`` rows.
    is_one_count : two neighbouring tables never differ in more than one of these rows.
    """

    rows: int
    squared_sensitivity: int
    largest_answer: int
    relative: float = 1.0
    is_one_count: bool = False


Parts = Sequence[Part]


def finer(parts: Parts, fineness: int) -> tuple[Part, ...]:
    """The parts in integers 2^fineness times as large, with noise of as many times the scale."""
    return tuple(
        replace(
            part,
            squared_sensitivity=part.squared_sensitivity << 2 * fineness,
            largest_answer=part.largest_answer << fineness,
            relative=math.ldexp(part.relative, fineness),
        )
        for part in parts
    )


def finest(parts: Parts, scale: float) -> int:
    """The largest fineness at which answers and noise leave two of 62 bits free, 0 or above."""
    # Noise is within 64 scales, as for ``noise.check_scales``.
    largest = max(part.largest_answer + 64 * part.relative * scale for part in parts)
    return max(0, 60 - math.ceil(math.log2(largest)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured(ABC):
    """An integer matrix (rows, n) that is measured, and the way back to the queries, in any form.

    neighbours : to which the sensitivity refers. norm : 1 for Laplace noise, 2 for Gaussian noise.
    variances : (m,) of the queries at unit noise on 2^-bits times the matrix.
    bits : the matrix is 2^bits times one of unit noise; may be negative.
    bias : largest error of the rounded row space, in units of the queries' largest entry.
    loss : largest factor by which rounding multiplied the variance of a query.
    is_biased : whether the bias is more than rounding errors: the queries have no integer basis.
    of_total : coefficients (m,) of the number of rows in the queries, beside those of the measured answers;
        it is used without noise, where neighbours keep it (``check_total``).
    compares_columns : whether columns are compared where neighbours need it; else
        ``bound_by_column``.
    """

    workload: Workload
    neighbours: Neighbours
    norm: int
    variances: Array
    bits: int = 0
    bias: float = 0.0
    loss: float = 1.0
    of_total: Array | float = 0.0

    compares_columns = False

    @property
    def bounds_errors(self) -> bool:
        """Whether ``standard_errors`` are upper bounds of those of the estimates, by least squares."""
        return False

    @property
    def is_biased(self) -> bool:
        """Whether the bias is more than rounding errors."""
        return False

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The measured queries, by the noise that they get."""

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return sum(part.rows for part in self.parts)

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """In the norm, rounded up: in units of the matrix, or of each part over its relative noise."""

    @property
    @abstractmethod
    def hash(self) -> str:
        """sha256 (hex) of the strategy measured."""

    @abstractmethod
    def squared_sensitivities(self) -> list[int]:
        """One for each part, exactly, from the entries of the integers, independent of ``parts``."""

    @abstractmethod
    def standard_errors(self, deviations: Array) -> Array:
        """Standard errors of the queries (m,), at noise of these deviations on the parts (parts,)."""

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (rows,) for a data vector (n,): Python integers where they may reach 2^62."""
        return self.answers_of(WholeTable(counts, self.workload.domain.shape))

    def check_total(self, workload: Workload) -> None:
        """PrivacyError where the number of rows is used, and neighbours may differ in it: one row of ones.

        workload : whose domain says which rows are counted.
        """
        if np.any(self.of_total) and squared_sensitivity(
            np.ones((1, workload.n), dtype=np.int64), self.norm, self.neighbours.over(workload)
        ):
            raise PrivacyError(
                f"the number of rows is used without noise, and '{self.neighbours}' may change it"
            )

    @property
    def tables(self) -> tuple[tuple[int, ...], ...] | None:
        """The sets of attributes whose tables of counts ``answers_of`` needs; None where it has none."""
        return None

    def answers_of(self, tables: CountedTables) -> AnyInts:
        """``answers`` from ``tables``, with no data vector.

        Raises
        ------
        DataError : there are no such tables: the answers need the data vector.
        """
        raise DataError(
            "the data are tables of counts, and this strategy is measured on a data vector",
            hint="count the rows with mmopt.data.counts",
        )

    @abstractmethod
    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,).

        By default the deviations are in proportion to the parts' relative noise.

        Raises
        ------
        TooLargeError : as many numbers as cells do not fit in memory. SolverError : LSMR does not settle.
        """


MeasuredT = TypeVar("MeasuredT", bound=Measured)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneNoise(Measured):
    """Integers that all get the same noise.

    squared_sensitivity : exact integer. relative : unit noise on 2^-bits times the integers.
    """

    squared_sensitivity: int
    relative: float = 1.0

    @property
    def sensitivity(self) -> float:
        """The root of ``squared_sensitivity``, rounded up."""
        return root_above(self.squared_sensitivity)

    def standard_errors(self, deviations: Array) -> Array:
        """Standard errors of the queries, (m,), at noise of this standard deviation, (1,)."""
        return np.asarray(
            np.sqrt(self.variances) * np.ldexp(float(deviations[0]) / self.relative, -self.bits)
        )


def digest(*pieces: str | Ints) -> str:
    """sha256 (hex) of texts and integer arrays, these in row-major order, one after the other."""
    sha = hashlib.sha256()
    for piece in pieces:
        sha.update(piece.encode() if isinstance(piece, str) else np.asarray(piece, dtype="<i8").tobytes())
    return sha.hexdigest()


def check_type(name: str, value: object, kind: Any, expected: str) -> None:
    """OptionError unless the argument is of this kind (a type, or several)."""
    if not isinstance(value, kind):
        raise OptionError(f"{name} is of type {type(value).__name__}, expected {expected}")
