"""What a release needs of an integer strategy, whatever form it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError

__all__ = ["MAX_ROWS", "Floats", "Integers", "Measured", "Neighbours", "Part", "check_type", "replaced"]

Neighbours = Literal["add-remove", "replace-one"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_ROWS = 2**31
"""Rows that the integers have room for. A public constant: it must not depend on the data."""


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


def check_type(name: str, value: object, kind: Any, expected: str) -> None:
    """OptionError unless the argument is of this kind (a type, or several)."""
    if not isinstance(value, kind):
        raise OptionError(f"{name} is of type {type(value).__name__}, expected {expected}")


def replaced(squared: int, norm: int, is_nonnegative: bool) -> int:
    """Bound on the squared norm of a difference of two columns, of ``squared`` norm at most, or one and zero.

    The triangle inequality; for columns without negative entries |a - b|² <= |a|² + |b|² in L2.
    """
    return squared * (2 if norm == 2 and is_nonnegative else 4)


class Measured(Protocol):
    """An integer matrix (rows, n) that is measured, and the way back to the queries.

    Attributes
    ----------
    rows : number of measured queries; ``parts`` : them, by the noise that they get.
    bits : the matrix stands for 2^bits times one of unit noise; may be negative.
    norm : 1 for Laplace noise, 2 for Gaussian noise.
    neighbours : what the sensitivity refers to.
    sensitivity : in the norm, rounded up (units of the matrix; each part over its relative noise).
    variances : (m,) of the queries at unit noise on 2^-bits times the matrix.
    bias : largest error of the rounded row space, in units of the queries' largest entry.
    loss : largest factor by which rounding multiplied the variance of a query.
    hash : sha256 (hex) of what is measured.
    """

    def __hash__(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def bits(self) -> int: ...
    @property
    def norm(self) -> int: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def parts(self) -> tuple[Part, ...]: ...
    @property
    def sensitivity(self) -> float: ...
    @property
    def variances(self) -> Floats: ...
    @property
    def bias(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def hash(self) -> str: ...

    def standard_errors(self, deviations: Floats) -> Floats:
        """Of the queries, (m,), at noise of these standard deviations on the parts, (parts,)."""

    def answers(self, counts: Integers) -> Integers:
        """The exact answers (rows,) for a data vector (n,)."""

    def estimate(self, noisy: Floats | Integers, deviations: Floats | None = None) -> Floats:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,).

        deviations : as above; by default they are as the parts' relative noise.
        """
