"""What every implicit matrix can do, whether it is one attribute's block or stands over the whole domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator

from mmopt.errors import OptionError, WorkloadError
from mmopt.numerics.arrays import Array, fits_memory, require_memory
from mmopt.numerics.outward import root_up

__all__ = ["NUMBER", "Implicit", "LargestNorm", "MatrixBytes"]

AT_A_TIME = 2**21  # numbers of a product that are held where only their squares are asked for
NUMBER = 8
"""Bytes of one number: an entry, a size, a scale."""


class LargestNorm(NamedTuple):
    """The largest norm of a column.

    ``value`` is at least the exact one. With ``is_attained`` some column has it, up to the rounding upwards;
    otherwise it is an upper bound: the norms of the parts' largest columns put together, which may be
    different columns.
    """

    value: float
    is_attained: bool


@dataclass(frozen=True)
class MatrixBytes:
    """Bytes of a matrix: ``implicit`` of the numbers held for it, ``explicit`` as an array of doubles."""

    implicit: int
    explicit: int


class Implicit(ABC):
    """A real matrix (rows, columns) that is never formed unless ``matrix`` is called. Immutable.

    Vectors lie along the last axis of arrays, so that a block of them is (…, columns) or (…, rows).
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(rows, columns); may be far beyond what an array can have."""

    def apply(self, x: npt.ArrayLike) -> Array:
        """M x along the last axis: (…, columns) to (…, rows); x itself where M is the identity.

        WorkloadError for vectors of another length, TooLargeError for a result beyond the memory limit.
        """
        rows, columns = self.shape
        return self._apply(self._vectors(x, columns, rows))

    def adjoint(self, y: npt.ArrayLike) -> Array:
        """Mᵀ y along the last axis: (…, rows) to (…, columns); errors as for ``apply``."""
        rows, columns = self.shape
        return self._adjoint(self._vectors(y, rows, columns))

    def _vectors(self, x: npt.ArrayLike, length: int, result: int) -> Array:
        vectors = np.asarray(x, dtype=np.float64)
        if vectors.shape[-1:] != (length,):
            raise WorkloadError(
                f"a product with {self!r} takes vectors of {length:,} numbers along the last axis, "
                f"found an array of shape {vectors.shape}"
            )
        shape = (*vectors.shape[:-1], result)
        if not fits_memory(shape):  # products are many, and the name may be long
            require_memory(shape, f"product with {self!r}")
        return vectors

    def squared_lengths(self, directions: Array) -> Array:
        """Squared length of each row of M D, (rows,), for D (columns, k): some columns of D at a time.

        With M the queries and D Dᵀ a covariance of the cells these are the queries' variances.
        """
        total = np.zeros(self.shape[0])
        width = max(1, AT_A_TIME // len(total))
        for start in range(0, directions.shape[1], width):
            found = self.apply(directions[:, start : start + width].T)
            total += np.einsum("ij,ij->j", found, found)
        return total

    @abstractmethod
    def _apply(self, x: Array) -> Array: ...

    @abstractmethod
    def _adjoint(self, y: Array) -> Array: ...

    @abstractmethod
    def entrywise(self, norm: int) -> Implicit:
        """The matrix of |mᵢⱼ| (norm 1) or mᵢⱼ² (norm 2); this one itself where its entries are 0 and 1."""

    @abstractmethod
    def column_powers(self, norm: int) -> Array:
        """Σᵢ |mᵢⱼ|^norm of each column, rounded upwards, (columns,); exact for small integers."""

    @abstractmethod
    def holdings(self) -> Iterator[tuple[int, int]]:
        """What is held to stand for the matrix: an identity of each piece, and its bytes."""

    @abstractmethod
    def _dense(self) -> Array: ...

    def matrix(self) -> Array:
        """All entries, dense (rows, columns); TooLargeError beyond the memory limit."""
        require_memory(self.shape, f"matrix of {self!r}")
        return self._dense()

    def gram(self) -> Array:
        """Gram matrix MᵀM, (columns, columns); TooLargeError beyond the memory limit."""
        require_memory((self.shape[1],) * 2, f"Gram matrix of {self!r}")
        return self._gram()

    def _gram(self) -> Array:
        """Column by column, from products with unit vectors; kinds that know better say so."""
        rows, columns = self.shape
        step = max(1, columns**2 // rows)  # no more than the result takes
        parts = []
        for start in range(0, columns, step):
            unit = np.zeros((min(step, columns - start), columns))
            unit[np.arange(len(unit)), start + np.arange(len(unit))] = 1.0
            parts.append(self.adjoint(self.apply(unit)))
        return np.concatenate(parts)

    def column_norms(self, norm: int) -> Array:
        """L1 (norm 1) or L2 (norm 2) norm of each column, (columns,), rounded upwards.

        For small integers the L1 norm is exact, and the L2 norm is exact or the least float above.
        TooLargeError when one number per column is beyond the memory limit; OptionError for another norm.
        """
        _norm_of(norm)
        require_memory(self.shape[1:], f"column norms of {self!r}", "ask for the largest one")
        return _rooted(self.column_powers(norm), norm)

    def largest_column_norm(self, norm: int) -> LargestNorm:
        """The largest column norm, rounded upwards, without a number per column where the kind can.

        It says whether some column attains it; OptionError for a norm other than 1 and 2.
        """
        power, is_attained = self.largest_power(_norm_of(norm))
        return LargestNorm(float(_rooted(np.array(power), norm)), is_attained)

    def largest_power(self, norm: int) -> tuple[float, bool]:
        """The largest of ``column_powers``, and whether a column attains it or it is only an upper bound."""
        require_memory(self.shape[1:], f"column norms of {self!r}")
        return float(self.column_powers(norm).max()), True

    def operator(self) -> LinearOperator:
        """A scipy ``LinearOperator`` (rows, columns) with products by vectors and blocks, both ways.

        TooLargeError when a vector of this length is beyond the memory limit.
        """
        for length in self.shape:
            require_memory((length,), f"vector for the operator of {self!r}")
        return LinearOperator(
            shape=self.shape,
            dtype=np.float64,
            matvec=lambda x: self.apply(x.ravel()),
            rmatvec=lambda y: self.adjoint(y.ravel()),
            matmat=lambda x: self.apply(x.T).T,
            rmatmat=lambda y: self.adjoint(y.T).T,
        )

    def sizes(self) -> MatrixBytes:
        """Bytes held to stand for the matrix (a piece used several times counts once), and of all entries."""
        rows, columns = self.shape
        return MatrixBytes(sum(dict(self.holdings()).values()), NUMBER * rows * columns)


def _norm_of(norm: int) -> int:
    """The norm; OptionError unless it is 1 or 2."""
    if norm not in (1, 2):
        raise OptionError(f"the norm of columns is {norm!r}, expected 1 (Laplace) or 2 (Gaussian)")
    return norm


def _rooted(powers: Array, norm: int) -> Array:
    return root_up(powers) if norm == 2 else powers
