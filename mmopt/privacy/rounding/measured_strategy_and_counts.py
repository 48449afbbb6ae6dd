"""Integers that a release measures: their base class, their parts, and the tables of counts that they read.

Two base classes derive from ``Measured``: ``OneNoise`` below, whose rows all get the same noise, and
``InFactors`` (``integer_factors.py``). Some strategies need of the data only counts of rows by tables over
few attributes: over 10^20 cells there is no data vector, but the table of any two attributes is small.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from mmopt.errors import DataError, OptionError
from mmopt.numerics.arrays import AnyInts, Array, Ints
from mmopt.privacy.rounding.integer_norms_and_sensitivity import root_above
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload


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
    compares_columns : whether columns are compared where neighbours need it; else
        ``integer_norms_and_sensitivity.bound_by_column``.
    """

    workload: Workload
    neighbours: Neighbours
    norm: int
    variances: Array
    bits: int = 0
    bias: float = 0.0
    loss: float = 1.0

    compares_columns = False

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
