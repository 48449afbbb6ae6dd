"""What a release needs of an integer strategy, whatever form it has."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["MAX_ROWS", "Measured", "Neighbours"]

Neighbours = Literal["add-remove", "replace-one"]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_ROWS = 2**31
"""Rows that the integers have room for. A public constant: it must not depend on the data."""


class Measured(Protocol):
    """An integer matrix (rows, n) that is measured, and the way back to the queries.

    Attributes
    ----------
    rows : number of measured queries.
    bits : the matrix stands for 2^bits times one of unit noise; may be negative.
    norm : 1 for Laplace noise, 2 for Gaussian noise.
    neighbours : what the sensitivity refers to.
    squared_sensitivity : exact integer, the square of the sensitivity in the norm (for norm 1 that of an
        integer); ``sensitivity`` : its root rounded up (units of the matrix).
    variances : (m,) of the queries at unit noise on 2^-bits times the matrix.
    bias : largest error of the rounded row space, in units of the queries' largest entry.
    loss : largest factor by which rounding multiplied the variance of a query.
    hash : sha256 (hex) of what is measured.
    largest_answer : bound on the absolute answers for a table of at most ``MAX_ROWS`` rows.
    """

    @property
    def rows(self) -> int: ...
    @property
    def bits(self) -> int: ...
    @property
    def norm(self) -> int: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def squared_sensitivity(self) -> int: ...
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
    @property
    def largest_answer(self) -> int: ...

    def answers(self, counts: Integers) -> Integers:
        """The exact answers (rows,) for a data vector (n,)."""

    def estimate(self, noisy: Integers) -> Floats:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,)."""
