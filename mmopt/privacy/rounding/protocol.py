"""What a release needs of an integer strategy, whatever form it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError

__all__ = ["MAX_ROWS", "Floats", "Integers", "Neighbours", "Part", "check_type", "replaced"]

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
