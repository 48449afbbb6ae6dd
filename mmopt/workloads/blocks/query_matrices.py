"""Query matrices: the operations of every block, kept implicit, and matrices that are given, dense or sparse.

A block is over one attribute or the whole domain. An array of classes (n,) int64 marks equal columns: they
share a number >= 0, all-zero columns have -1. Given matrices, and weights and targets of queries, are read,
checked and kept unchanged; every message has the value found and the value expected.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator

from mmopt.errors import WorkloadError
from mmopt.limits import fits_memory, require_memory
from mmopt.numerics.arrays import (
    Array,
    Ints,
    check_norm,
    column_powers,
    frozen,
    root_up,
    rounding_of_root,
    stacked_root,
)
from mmopt.workloads.domain import Attribute

NUMBERS_AT_A_TIME = 2**21  # numbers of a product that are kept where only their squares are needed
#: Bytes of one number: an entry, a size, a scale.
NUMBER_BYTES = 8


@dataclass(frozen=True)
class MatrixBytes:
    """Bytes of a matrix: ``implicit`` of the numbers held for it, ``explicit`` as an array of doubles."""

    implicit: int
    explicit: int


class Implicit(ABC):
    """A real matrix (rows, size) that is never formed unless ``matrix`` is called. Immutable.

    One query a row, one cell a column. Vectors lie along the last axis of arrays, so that a block of them is
    (…, size) or (…, rows).

    Parameters
    ----------
    size : number of cells.
    rows : number of queries; that of the cells unless it is given.
    """

    kind: str
    #: For a block with a closed form, the values that determine the matrix in addition to kind and size.
    parameters: tuple[int, ...] = ()
    #: Names of the queries, for labels; "predicate 0", "predicate 1", … where there are none.
    names: tuple[str, ...] = ()
    #: A weight per query, (rows,); None where the block has none.
    row_weights: Array | None = None
    #: Whether the columns are independent by the kind alone (False: not known).
    full_rank: bool = False

    def __init__(self, size: int, rows: int | None = None) -> None:
        if size < 1:
            raise WorkloadError(f"a query block needs at least one cell, found {size}")
        self.size = int(size)
        """Number of columns: cells of the attribute, or of the domain."""
        self.rows = int(size if rows is None else rows)
        """Number of queries."""
        self.shape = (self.rows, self.size)
        """(rows, size); may be far beyond what an array can have."""
        self.full_rank = self.full_rank or size == 1
        self.root_rounding = rounding_of_root(*self.shape)
        """γ with R = Qᵀ (M + E), Q orthonormal and ‖E‖ <= γ ‖M‖ (Frobenius), M the queries, R ``root()``."""

    def apply(self, x: np.typing.ArrayLike) -> Array:
        """M x along the last axis: (…, size) to (…, rows); x itself where M is the identity.

        WorkloadError for vectors of another length, TooLargeError for a result beyond the memory limit.
        """
        return self._apply(self._vectors(x, self.size, self.rows))

    def adjoint(self, y: np.typing.ArrayLike) -> Array:
        """Mᵀ y along the last axis: (…, rows) to (…, size); errors as for ``apply``."""
        return self._adjoint(self._vectors(y, self.rows, self.size))

    def _vectors(self, x: np.typing.ArrayLike, length: int, result: int) -> Array:
        """Vectors of this length, checked, whose products have the length ``result``; errors as ``apply``."""
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

    @abstractmethod
    def _apply(self, x: Array) -> Array: ...

    @abstractmethod
    def _adjoint(self, y: Array) -> Array: ...

    def operator(self) -> LinearOperator:
        """A scipy ``LinearOperator`` (rows, size) with products by vectors and blocks, both ways.

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

    def take(self, index: Ints) -> Array:
        """The dense rows of these numbers, (len(index), size); TooLargeError beyond the memory limit."""
        require_memory((len(index), self.size), f"rows of {self!r}")
        return self._take(index)

    @abstractmethod
    def _take(self, index: Ints) -> Array: ...

    def chunks(self, length: int) -> Iterator[Array]:
        """All rows, dense, at most ``length`` at a time."""
        for start in range(0, self.rows, length):
            yield self.take(np.arange(start, min(start + length, self.rows)))

    def matrix(self) -> Array:
        """All entries, dense (rows, size); TooLargeError beyond the memory limit."""
        require_memory(self.shape, f"matrix of {self!r}")
        return self._dense()

    def _dense(self) -> Array:
        return self._take(np.arange(self.rows))

    @abstractmethod
    def entrywise(self, norm: int) -> Implicit:
        """The matrix of |mᵢⱼ| (norm 1) or mᵢⱼ² (norm 2); this one itself where its entries are 0 and 1."""

    def squared_norms(self) -> Array:
        """Squared L2 norm of each row, (rows,)."""
        require_memory((self.rows,), f"list of the squared norms of {self!r}")
        return self.entrywise(2).apply(np.ones(self.size))

    def squared_lengths(self, directions: Array) -> Array:
        """Squared length of each row of M D, (rows,), for D (size, k): some columns of D at a time.

        With M the queries and D Dᵀ a covariance of the cells these are the queries' variances.
        """
        total = np.zeros(self.rows)
        width = max(1, NUMBERS_AT_A_TIME // len(total))
        for start in range(0, directions.shape[1], width):
            products = self.apply(directions[:, start : start + width].T)
            total += np.einsum("ij,ij->j", products, products)
        return total

    @abstractmethod
    def column_powers(self, norm: int) -> Array:
        """Σᵢ |mᵢⱼ|^norm of each column, rounded upwards, (size,); exact for small integers."""

    def largest_column_norm(self, norm: int) -> float:
        """The largest column norm, rounded upwards, without a number per column where the kind allows it.

        Where there are more cells than fit in memory it may be an upper bound: the norms of the parts'
        largest columns put together, which may be different columns.

        OptionError for a norm other than 1 and 2.
        """
        check_norm(norm)
        return float(rooted(np.array(self.largest_power(norm)), norm))

    def largest_power(self, norm: int) -> float:
        """The largest of ``column_powers``, or an upper bound as ``largest_column_norm``."""
        require_memory(self.shape[1:], f"column norms of {self!r}")
        return float(self.column_powers(norm).max())

    @abstractmethod
    def classes(self) -> Ints:
        """(size,) class of each column: equal columns share a number >= 0; an all-zero column has -1."""

    def gram(self) -> Array:
        """Gram matrix MᵀM, (size, size); TooLargeError beyond the memory limit."""
        require_memory((self.size,) * 2, f"Gram matrix of {self!r}")
        return self._gram()

    def _gram(self) -> Array:
        """Column by column, from products with unit vectors; kinds with a faster way override it."""
        rows, columns = self.shape
        step = max(1, columns**2 // rows)  # no more than the result takes
        parts = []
        for start in range(0, columns, step):
            unit = np.zeros((min(step, columns - start), columns))
            unit[np.arange(len(unit)), start + np.arange(len(unit))] = 1.0
            parts.append(self.adjoint(self.apply(unit)))
        return np.concatenate(parts)

    def root(self) -> Array:
        """R (r, size) with RᵀR = ``gram()`` and r <= min(rows, size), not computed from the Gram matrix.

        TooLargeError beyond the memory limit.
        """
        require_memory((min(self.shape), self.size), f"root of the Gram matrix of {self!r}")
        return self._root()

    def _root(self) -> Array:
        return stacked_root(self.chunks(max(64, self.size)), self.size)

    def gram_of_weighted(self, weights: Array) -> Array:
        """Gram matrix (size, size) of the rows scaled by √weights (rows,); weights positive."""
        total = np.zeros((self.size, self.size))
        for rows in self._scaled_chunks(weights):
            total += rows.T @ rows
        return total

    def root_of_weighted(self, weights: Array) -> Array:
        """R (r, size) with RᵀR = ``gram_of_weighted``, r <= min(rows, size), not computed from it."""
        return stacked_root(self._scaled_chunks(weights), self.size)

    def _scaled_chunks(self, weights: Array) -> Iterator[Array]:
        """All rows times √weights, dense, some at a time."""
        step = max(64, self.size)
        for place, rows in enumerate(self.chunks(step)):
            yield np.sqrt(weights[place * step :][: len(rows)])[:, None] * rows

    def spanning(self) -> Implicit:
        """A block with the same row space; it has at most ``size`` rows where the kind allows it."""
        return self

    @property
    def title(self) -> str:
        """The name of a group of these queries."""
        return self.kind

    @property
    def plain(self) -> Implicit:
        """These queries without weights."""
        return self

    def weighed(self) -> Implicit:
        """The queries scaled by the square roots of their weights, for total error."""
        return self

    def labels(self, attribute: Attribute) -> list[str]:
        """One text per query; empty for the total."""
        return [
            f"{attribute.name} in {n}" for n in self.names or (f"predicate {i}" for i in range(self.rows))
        ]

    def viewed(self, attribute: Attribute) -> tuple[Implicit, Attribute]:
        """The block over what its queries are about, and that: the attribute, or a level of it."""
        return self, attribute

    def holdings(self) -> Iterator[tuple[int, int]]:
        """The storage of the matrix: an identity of each piece, and its bytes.

        The size alone, for a block with a closed form.
        """
        yield id(self), NUMBER_BYTES

    def sizes(self) -> MatrixBytes:
        """Bytes stored for the matrix (a piece used several times counts once), and of all entries."""
        return MatrixBytes(sum(dict(self.holdings()).values()), NUMBER_BYTES * self.rows * self.size)

    def describe(self) -> list[object]:
        """Plain data that determines the matrix, for hashes and comparison."""
        return [self.kind, self.size, *self.parameters]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Implicit) and self.describe() == other.describe()

    def __hash__(self) -> int:
        return hash(repr(self.describe()))

    def __repr__(self) -> str:
        return f"{self.kind}({', '.join(map(str, (self.size, *self.parameters)))})"


def rooted(powers: Array, norm: int) -> Array:
    """Norms from their powers, rounded upwards."""
    return root_up(powers) if norm == 2 else powers


def ordered(classes: Ints) -> Ints:
    """Classes numbered 0, 1, … in the order in which they first occur; -1 stays."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    first = np.where(classes[first] < 0, -1, first)  # untouched cells sort before all others
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first)) - int((first < 0).sum())
    rank[first < 0] = -1
    return np.asarray(rank[inverse.reshape(classes.shape)])


def refine(parts: Sequence[Ints]) -> Ints:
    """Classes of columns that are equal in every part; a column is zero when it is in every part."""
    result = parts[0]
    for part in parts[1:]:
        result = ordered((result + 1) * (int(part.max()) + 2) + part)  # -1 when both are untouched
    return ordered(result)


def describe_array(array: np.typing.ArrayLike) -> list[object]:
    """Shape and SHA-256 of the values as little-endian doubles in row-major order, for hashes."""
    values = np.ascontiguousarray(np.asarray(array, dtype="<f8") + 0.0)
    return [list(values.shape), hashlib.sha256(values.tobytes()).hexdigest()]


# -- given matrices


AnyMatrix: TypeAlias = np.typing.ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix
#: Range of the numbers taken: their squares and products stay far from overflow and underflow.
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-100, 1e100


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
    def read(matrix: np.typing.ArrayLike, labels: Sequence[str] = ()) -> Dense:
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
    def read(matrix: scipy.sparse.sparray | scipy.sparse.spmatrix, labels: Sequence[str] = ()) -> Sparse:
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
