"""Queries given as a matrix, dense or sparse, and weights and targets of queries.

They are read, checked and kept unchanged. Every message has the value found and the value expected.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, frozen
from mmopt.numerics.outward import column_powers
from mmopt.workloads.blocks.implicit_matrix import Implicit, describe_array, ordered

AnyMatrix: TypeAlias = np.typing.ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-100, 1e100
"""Range of the numbers taken: their squares and products stay far from overflow and underflow."""


class Given(Implicit):
    """A matrix (m, n) kept unchanged, read-only; build it with ``read``, which checks and copies.

    Parameters
    ----------
    values : the entries.
    names : of the queries, for labels, or none.
    """

    def __init__(self, values: Array | scipy.sparse.csr_array, names: Sequence[str] = ()) -> None:
        super().__init__(values.shape[1], values.shape[0])
        if names and len(names) != self.rows:
            raise WorkloadError(f"{self.rows} predicates have {len(names)} labels")
        self.values = values
        self.names = tuple(names)

    @property
    @abstractmethod
    def arrays(self) -> tuple[np.typing.NDArray[Any], ...]:
        """The arrays that determine the entries."""

    def entrywise(self, norm: int) -> Implicit:
        return type(self)(abs(self.values) if norm == 1 else self.values * self.values, self.names)

    def column_powers(self, norm: int) -> Array:
        return column_powers(self.values, norm)

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self.values), sum(array.nbytes for array in self.arrays)

    def describe(self) -> list[object]:
        return [self.kind, self.size, *map(describe_array, self.arrays)]

    def __repr__(self) -> str:
        return f"{self.kind}({self.rows} × {self.size})"


class Dense(Given):
    """A matrix held as an array."""

    kind = "predicates"
    values: Array

    @staticmethod
    def read(matrix: np.typing.ArrayLike, labels: Sequence[str] = ()) -> "Dense":
        """A checked, read-only copy of a matrix of queries.

        Raises
        ------
        WorkloadError : not numbers, not 2-D, no row, no column, NaN or infinity, or a row of zeros; or a
            number of labels that is not the number of rows.
        """
        if np.ma.isMaskedArray(matrix):  # numpy would forget which entries are not to be used
            raise WorkloadError("the query matrix is a masked array", hint="fill it: numpy.ma.filled")
        try:
            raw = np.asarray(matrix)
        except ValueError as error:
            raise WorkloadError(f"the query matrix is not rectangular: {error}") from None
        _check_real(raw.dtype)
        if raw.ndim != 2:
            raise WorkloadError(
                f"the query matrix has {raw.ndim} dimension{'' if raw.ndim == 1 else 's'}, expected 2",
                hint="one query is a matrix of one row" if raw.ndim == 1 else "",
            )
        if 0 in raw.shape:
            m, n = raw.shape
            raise WorkloadError(f"the query matrix is {m} × {n}, expected at least one query and one cell")
        dense = np.add(raw, 0.0, dtype=np.float64, order="C")  # a copy, and no minus zeros
        finite = np.isfinite(dense)
        if not finite.all():
            row, column = (int(i) for i in np.argwhere(~finite)[0])
            raise _not_finite(_name(row, labels), dense[row, column], column)
        _check_magnitudes(np.maximum(dense.max(axis=1), -dense.min(axis=1)), labels)
        return Dense(frozen(dense), labels)

    @property
    def arrays(self) -> tuple[np.typing.NDArray[Any], ...]:
        return (self.values,)

    def _take(self, index: Ints) -> Array:
        return np.asarray(self.values[index])

    def _dense(self) -> Array:
        return self.values

    def _gram(self) -> Array:
        return np.asarray(self.values.T @ self.values)

    def _apply(self, x: Array) -> Array:
        return np.asarray(x @ self.values.T)

    def _adjoint(self, y: Array) -> Array:
        return np.asarray(y @ self.values)

    def classes(self) -> Ints:
        return column_classes(self.values)


class Sparse(Given):
    """A matrix held in CSR form."""

    kind = "sparse predicates"
    values: scipy.sparse.csr_array

    @staticmethod
    def read(matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, labels: Sequence[str] = ()) -> "Sparse":
        """A checked, read-only copy of a sparse matrix of queries, without stored zeros.

        Raises
        ------
        WorkloadError : not 2-D, empty, not real, NaN or infinite entries, or a query of zeros; or a number
            of labels that is not the number of rows.
        """
        raw = scipy.sparse.csr_array(matrix, copy=True)
        if raw.ndim != 2 or 0 in raw.shape:
            raise WorkloadError(
                f"the query matrix has the shape {raw.shape}, expected at least one query and one cell"
            )
        _check_real(raw.dtype)
        values = raw.astype(np.float64)
        values.sum_duplicates()
        values.eliminate_zeros()
        wrong = ~np.isfinite(values.data)
        if wrong.any():
            entry = int(np.argmax(wrong))
            row = int(np.searchsorted(values.indptr, entry, side="right")) - 1
            raise _not_finite(str(row), values.data[entry], values.indices[entry])
        _check_magnitudes(abs(values).max(axis=1).toarray().ravel())
        for array in (values.data, values.indices, values.indptr):
            frozen(array)
        return Sparse(values, labels)

    @property
    def arrays(self) -> tuple[np.typing.NDArray[Any], ...]:
        """The arrays, with rows sorted and no stored zeros."""
        return self.values.indptr, self.values.indices, self.values.data

    def _take(self, index: Ints) -> Array:
        return np.asarray(self.values[index].toarray())

    def _gram(self) -> Array:
        return self.gram_of_weighted(np.ones(self.rows))

    def gram_of_weighted(self, weights: Array) -> Array:
        return np.asarray((self.values.T @ (scipy.sparse.diags_array(weights) @ self.values)).toarray())

    def _apply(self, x: Array) -> Array:
        return np.asarray((self.values @ x.reshape(-1, self.size).T).T.reshape(*x.shape[:-1], self.rows))

    def _adjoint(self, y: Array) -> Array:
        return np.asarray((self.values.T @ y.reshape(-1, self.rows).T).T.reshape(*y.shape[:-1], self.size))

    def classes(self) -> Ints:
        columns = self.values.tocsc()
        spans = [slice(*ends) for ends in itertools.pairwise(columns.indptr)]
        keys = [columns.indices[span].tobytes() + columns.data[span].tobytes() for span in spans]
        numbers: dict[bytes, int] = {b"": -1}
        return ordered(np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64))

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self.values.nnz} entries)"


def _check_real(dtype: np.dtype[np.generic]) -> None:
    """WorkloadError unless the type is one of real numbers."""
    if dtype.kind not in "biuf":
        raise WorkloadError(f"the query matrix holds {dtype.name} values, expected real numbers")


def _not_finite(name: str, entry: float, cell: int) -> WorkloadError:
    """The error for an entry that is infinite or no number."""
    return WorkloadError(f"query {name} has the entry {entry:g} at cell {cell}, expected finite numbers")


def _check_magnitudes(largest: Array, names: Sequence[str] = ()) -> None:
    """WorkloadError for the first query of zeros, or whose squares would leave the range of doubles.

    ``largest`` (m,) is the largest magnitude of each query's entries.
    """
    if not largest.all():
        row = int(np.argmin(largest != 0))
        raise WorkloadError(f"query {_name(row, names)} is all zero", hint="leave it out: its answer is 0")
    extreme = (largest < SMALLEST_NUMBER) | (largest > LARGEST_NUMBER)
    if extreme.any():
        row = int(np.argmax(extreme))
        raise WorkloadError(
            f"query {_name(row, names)} has entries of magnitude {largest[row]:g}, "
            f"expected between {SMALLEST_NUMBER:g} and {LARGEST_NUMBER:g}",
            hint="scale the query",
        )


def _name(row: int, names: Sequence[str]) -> str:
    """The number of a query for messages, with its name where it has one."""
    return f"{row} ('{names[row]}')" if row < len(names) else str(row)


def positive(value: float, what: str, infinite: bool = False) -> float:
    """The number as a float; WorkloadError unless it is positive (and finite, unless ``infinite``)."""
    wanted = "a positive number" + ("" if infinite else ", not infinite")
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise WorkloadError(f"{what} is {value!r}, expected {wanted}")
    if not value > 0 or (math.isinf(value) and not infinite):
        raise WorkloadError(f"{what} is {value:g}, expected {wanted}")
    if not SMALLEST_NUMBER <= value <= LARGEST_NUMBER and not math.isinf(value):
        raise WorkloadError(
            f"{what} is {value:g}, expected between {SMALLEST_NUMBER:g} and {LARGEST_NUMBER:g}"
        )
    return float(value)


def per_query(values: np.typing.ArrayLike | None, m: int, what: str, default: float) -> Array:
    """One positive number per query, (m,), from an array, one number for all, or None for the default.

    A default of infinity allows infinity.
    """
    if values is None:
        return frozen(np.full(m, default))
    if np.ma.isMaskedArray(values):
        raise WorkloadError(f"the {what}s are a masked array", hint="fill it: numpy.ma.filled")
    raw = np.asarray(values)
    if raw.dtype.kind not in "iuf":
        raise WorkloadError(f"the {what}s hold {raw.dtype.name} values, expected real numbers")
    if raw.ndim == 0:
        raw = np.full(m, raw)
    if raw.shape != (m,):
        size = len(raw) if raw.ndim == 1 else f"an array of shape {raw.shape}"
        raise WorkloadError(f"the workload has {m} queries but {size} {what}s were given")
    numbers = np.array(raw, dtype=np.float64)
    infinite = math.isinf(default)
    fine = ((numbers >= SMALLEST_NUMBER) & (numbers <= LARGEST_NUMBER)) | (infinite & (numbers == np.inf))
    if not fine.all():
        i = int(np.argmin(fine))
        positive(float(numbers[i]), f"the {what} of query {i}", infinite)
    return frozen(numbers)


def column_classes(matrix: Array) -> Ints:
    """Classes of the columns of a dense matrix (m, n), compared exactly."""
    columns = np.ascontiguousarray(matrix.T) + 0.0  # minus zero equals zero
    keys = columns.view(np.dtype((np.void, columns.dtype.itemsize * columns.shape[1]))).ravel()
    _, inverse = np.unique(keys, return_inverse=True)
    return ordered(np.where(columns.any(axis=1), inverse.reshape(-1), -1).astype(np.int64))
