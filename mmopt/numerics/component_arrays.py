"""Matrices and vectors kept by component, by orbit or by Kronecker factors; none has the size of its space.

A group of (signed) permutations of the coordinates of R^N splits it into components κ with multiplicities:
the component has a dimension d_κ and occurs μ_κ times. One small matrix X_κ (d_κ, d_κ) per component then
determines a matrix that commutes with the group (Schur's lemma), and one number per orbit of coordinates a
vector that the group leaves unchanged. N may be 10^50; no array has size N.

Parts and values are numpy arrays, or any other numbers of a caller (balls with error bounds).

Components that are left out are zero in every matrix. ``diag(level)`` therefore means its projection on the
kept components; it commutes with invariant matrices, so diag(X) <= 1 survives where a repair adds one. Such a
projection is a contraction, and changes nothing on the kept components.

For a square matrix X on a space with labels, the diagonal is the same at all coordinates of orbit o: Σ_κ μ_κ
/ size_o Σ_{a: label of a in κ is o} X_κ[a, a]. Traces and nuclear norms are Σ_κ μ_κ times those of the parts,
the sum of a level vector is Σ_o size_o value_o, and diag(level) has the parts diag(values[labels_κ]).

**Cells too many to list.** Let the rows of B (r, n) be functions of n cells, orthonormal under the uniform
measure: B Bᵀ = n I. A space of such cells (``Spanned``) splits into components like any other, without
coordinates, and vectors over them are ``Unlisted``:

- The matrix X = Bᵀ N B is a ``Split`` on it with the parts of N, queries W = R B one with those of R. Then
  W X⁺ Wᵀ = R N⁻¹ Rᵀ, as if B were orthonormal. No other product runs over the cells: it would take n.
- The diagonal of X is an ``UnlistedDiagonal``, a function of the cells: only its largest entry is bounded.
- Multipliers of the cells are a ``Measure`` d. Only their sum and moments Q = B diag(d) Bᵀ are computed, by a
  root J of these: the singular values of W diag(√d) are those of R J.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse

from mmopt.errors import OptionError, WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics import float_functions
from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.balls import Ball


@dataclass(frozen=True, eq=False)
class Space:
    """R^N as a sum of components (see above).

    Parameters
    ----------
    multiplicities : (K,) how often each component occurs; whole numbers, as floats.
    dims : dimension of each component.
    labels : per component the orbit of each basis vector, (dims[κ],); None for an abstract space.
    sizes : (o,) number of coordinates of each orbit, as floats; None for an abstract space.
    total : N where components are left out; None: the kept components are all.
    orbits : computes ``orbit_of``; None where the coordinates are abstract.
    bases : computes ``basis``; None where the coordinates are abstract.
    """

    multiplicities: Array
    dims: tuple[int, ...]
    labels: tuple[Ints, ...] | None = None
    sizes: Array | None = None
    total: int | None = None
    orbits: Callable[[], Ints] | None = None
    bases: Callable[[int], Any] | None = None

    is_listed: ClassVar[bool] = True  # False: coordinates are too many for a number each (``Spanned``)

    @property
    def count(self) -> int:
        """Number of components, K."""
        return len(self.dims)

    @property
    def kept(self) -> int:
        """Dimension of the kept components together: Σ μ d."""
        return sum(int(m) * d for m, d in zip(self.multiplicities, self.dims, strict=True))

    @property
    def size(self) -> int:
        """N, the number of coordinates."""
        return self.kept if self.total is None else self.total

    @property
    def largest(self) -> int:
        """The largest dimension of a component."""
        return max(self.dims, default=0)

    def orbit_of(self) -> Ints:
        """(N,) the orbit of each coordinate; WorkloadError where coordinates are abstract."""
        if self.orbits is None:
            raise WorkloadError("an abstract space has no orbits")
        return self.orbits()

    def basis(self, component: int) -> Any:
        """Scipy sparse (N, d μ), orthonormal columns: column a μ + c is copy c of basis vector a.

        WorkloadError where coordinates are abstract.
        """
        if self.bases is None:
            raise WorkloadError("an abstract space has no basis")
        return self.bases(component)

    def matches(self, other: "Space") -> bool:
        """Whether a matrix on one of the spaces can be multiplied with one on the other."""
        return self is other or (
            self.dims == other.dims
            and self.is_listed == other.is_listed
            and np.array_equal(self.multiplicities, other.multiplicities)
            and (
                self.sizes is other.sizes
                if self.sizes is None or other.sizes is None
                else np.array_equal(self.sizes, other.sizes)
            )
        )

    def abstract(self, dims: tuple[int, ...]) -> "Space":
        """A space without coordinates that has the same components, in these dimensions."""
        return Space(self.multiplicities, dims)

    @property
    def words(self) -> str:
        """The split in words: "400 orbits, 96 components of size up to 400"."""
        orbits = "abstract" if self.sizes is None else _counted(len(self.sizes), "orbit")
        return f"{orbits}, {_counted(self.count, 'component')} of size up to {self.largest}"

    def __repr__(self) -> str:
        number = f"{self.size:,}" if self.size < 10**15 else f"about 1e{int(math.log10(self.size))}"
        return f"Space({number}, {self.words})"


def _counted(number: int, word: str) -> str:
    """``1 orbit``, ``2 orbits``."""
    return f"{number} {word}{'' if number == 1 else 's'}"


@dataclass(frozen=True, eq=False)
class Split:
    """The matrix Σ_κ S_κ (part_κ ⊗ I_μ) T_κᵀ from ``columns`` to ``rows``, spaces with the same components.

    ``parts``: one matrix (rows.dims[κ], columns.dims[κ]) per component; numpy arrays or balls.
    """

    rows: Space
    columns: Space
    parts: tuple[Any, ...]

    @property
    def multiplicities(self) -> Any:
        """(K,) how often each part occurs in the matrix."""
        return self.columns.multiplicities

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the dense matrix, in Python ints."""
        return self.rows.size, self.columns.size

    @property
    def is_listed(self) -> bool:
        return self.rows.is_listed and self.columns.is_listed


@dataclass(frozen=True, eq=False)
class SpaceVector:
    """A vector over the coordinates of a space."""

    space: Space

    @property
    def shape(self) -> tuple[int]:
        """The shape of the dense vector, in a Python int."""
        return (self.space.size,)


@dataclass(frozen=True, eq=False)
class Level(SpaceVector):
    """The vector with ``values[o]`` at every coordinate of orbit o; an array (o,) or a ball."""

    values: Any


@dataclass(frozen=True, eq=False)
class Unlisted(SpaceVector):
    """A vector over coordinates that are not listed, with the ``space`` of these (a ``Spanned`` one)."""

    is_listed: ClassVar[bool] = False

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that it is made of."""
        return ()


@dataclass(frozen=True, eq=False)
class Kronecker:
    """The Kronecker product of vectors, or of matrices, kept as factors; ``numpy.asarray`` forms it."""

    parts: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dense product, in Python ints."""
        shapes = [part.shape[::-1] for part in self.parts]
        return tuple(math.prod(sizes) for sizes in itertools.zip_longest(*shapes, fillvalue=1))[::-1]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The dense product; TooLargeError where it does not fit in memory."""
        require_memory(self.shape, "Kronecker product")
        parts = (lift(part) if isinstance(part, Split | Level) else part for part in self.parts)
        return np.asarray(reduce(np.kron, parts), dtype)


def lift(value: Split | Level) -> Array:
    """Form the dense matrix (rows.size, columns.size), or vector (space.size,), of numpy parts.

    An abstract space gets the coordinates a μ_κ + c, one component after the other.
    """
    if isinstance(value, Level):
        return np.asarray(np.asarray(value.values, dtype=float)[value.space.orbit_of()])
    out = np.zeros(value.shape)
    left, right = _bases(value.rows), _bases(value.columns)
    for at, part in enumerate(value.parts):
        copies = scipy.sparse.eye_array(int(value.multiplicities[at]))
        middle = scipy.sparse.kron(scipy.sparse.csr_array(np.asarray(part)), copies)
        out += (left[at] @ middle @ right[at].T).toarray()
    return out


def _bases(space: Space) -> list[scipy.sparse.csr_array]:
    """The orthonormal columns of each component, sparse; those of an abstract space are coordinates."""
    if space.bases is not None or space.labels is not None:  # of labels without bases ``basis`` raises
        return [scipy.sparse.csr_array(space.basis(at)) for at in range(space.count)]
    widths = [int(m) * d for m, d in zip(space.multiplicities, space.dims, strict=True)]

    identity = scipy.sparse.eye_array(space.size, format="csc")
    return [
        scipy.sparse.csr_array(identity[:, start : start + width])
        for start, width in zip(np.cumsum([0, *widths]), widths, strict=False)
    ]


def floored(matrix: Split | Array) -> Any:
    """The symmetric part with every eigenvalue at least ``EIGENVALUE_FLOOR`` times the largest of all."""
    if not isinstance(matrix, Split):
        return float_functions.psd_floor(matrix)
    parts = tuple(map(float_functions.symmetric_part, matrix.parts))
    # The trace is at least the largest eigenvalue where the rest is not negative: if all are above the floor
    # of the largest trace, there is none to lift.
    floor = float_functions.EIGENVALUE_FLOOR * max(float(np.trace(part)) for part in parts)
    if not all(float_functions.is_definite(part, floor) for part in parts):
        largest = max(0.0, *(float(float_functions.eigh(part)[0][-1]) for part in parts))
        parts = tuple(float_functions.psd_floor(part, largest) for part in parts)
    return Split(matrix.rows, matrix.columns, parts)


def is_structured(value: Any) -> bool:
    """Whether a value is by components or levels, or is a vector over cells that are not listed."""
    return isinstance(value, Split | Level | Unlisted)


def as_value(value: Any) -> Any:
    """An array of floats; a split value is not changed."""
    return value if is_structured(value) else np.asarray(value, dtype=float)


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for the evaluator: numbers as floats, everything else unchanged."""
    return {n: v if is_structured(v) or np.ndim(v) else float(v) for n, v in values.items()}


def arrays_of(value: Any) -> tuple[Any, ...]:
    """The arrays of a value: itself, its parts, or the values of its orbits."""
    if isinstance(value, Unlisted):
        return value.arrays
    return value.parts if isinstance(value, Split) else (value.values if isinstance(value, Level) else value,)


def each_array(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each of its arrays changed; one over cells that are not listed is returned unchanged."""
    if isinstance(value, Split):
        return replace(value, parts=tuple(map(change, value.parts)))
    if isinstance(value, Unlisted):
        return value
    return replace(value, values=change(value.values)) if isinstance(value, Level) else change(value)


def is_finite(value: Any) -> bool:
    """Whether all entries are finite."""
    return all(bool(np.isfinite(array).all()) for array in arrays_of(value))


def absolute_sum(value: Any) -> float:
    """The sum of the absolute values of a vector's entries."""
    if isinstance(value, Unlisted):  # a measure, which is not negative: its first array has the weights
        return float(value.arrays[0].sum())
    return float(
        np.abs(value.values) @ value.space.sizes if isinstance(value, Level) else np.abs(value).sum()
    )


# The relative difference of arrays that count as equal (a strategy's Gram matrix, the givens of a step).
CLOSE_ARRAY = 1e-8


def same_array(stated: Any, computed: Any) -> bool:
    """Whether two arrays, or matrices by component, agree up to rounding, or both are absent."""
    if stated is None or computed is None:
        return stated is computed
    if not any(isinstance(stated, kind) and isinstance(computed, kind) for kind in (np.ndarray, Split)):
        return False
    ours, theirs = arrays_of(stated), arrays_of(computed)
    if list(map(np.shape, ours)) != list(map(np.shape, theirs)) or not is_finite(stated):
        return False
    multiplicities = computed.multiplicities if isinstance(computed, Split) else np.ones(1)
    differences = [np.asarray(one) - two for one, two in zip(ours, theirs, strict=True)]
    off, size = (
        multiplicities @ [float(np.sum(np.square(array))) for array in arrays]
        for arrays in (differences, theirs)
    )
    return bool(np.sqrt(off) <= CLOSE_ARRAY * np.sqrt(size))


class Moments(NamedTuple):
    """Roots J of a measure's moments Q, with proved errors: (1 - e) J Jᵀ ⪯ Q ⪯ (1 + e) J Jᵀ by component.

    roots : J (d, d) of each component. offs : its e; infinity where nothing is proved. total : the sum of
    the measure.
    """

    roots: tuple[Array, ...]
    offs: tuple[float, ...]
    total: Ball


class Spanned(Space, ABC):
    """The span of functions of cells that are not listed, by component; ``total`` is the number of cells."""

    is_listed = False
    is_restricted: ClassVar[bool] = False  # True: a family of strategies, not all on these functions

    @abstractmethod
    def largest_entry(self, parts: Sequence[Array]) -> float:
        """An upper bound on the entries of the diagonal of Bᵀ N B, N = ``parts`` symmetric; rounded up."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """An upper bound on the squared length of a column of B: ``largest_entry`` of the identity."""

    @abstractmethod
    def moments(self, mixture: Any) -> Moments:
        """The moments of the measure with this ``Measure.mixture``."""

    def root_trace(self, parts: Sequence[Array], mixture: Any) -> float | None:
        """A lower bound on ‖W diag(√d)‖∗ for queries W with these parts and the measure d of this mixture.

        None where it follows from the roots of the moments.
        """
        return None

    @abstractmethod
    def takes(self, mixture: Any) -> bool:
        """Whether a mixture is a measure of these cells, of a kind whose moments can be computed."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """γ such that queries on it are (R + E) B with ‖E‖ <= γ ‖R‖ (Frobenius, multiplicities counted)."""


@dataclass(frozen=True, eq=False)
class UnlistedDiagonal(Unlisted):
    """The diagonal of a matrix on cells that are not listed.

    largest : an upper bound on its largest entry, or a ball that contains the entry.
    """

    largest: float | Ball

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.largest,)


class NumberLessDiagonal(Unlisted):
    """A number less a diagonal: a function of the cells of which nothing is computed."""


@dataclass(frozen=True, eq=False)
class Measure(Unlisted):
    """Multipliers d >= 0 of cells that are not listed: a mixture of products of measures of the attributes.

    space : of the cells; of a saved measure only its sizes. mixture : ``weights`` (J,), and ``factors``, one
    (J, oᵢ) an attribute (``sectors.functions_of_few.Mixture``).

    Raises
    ------
    OptionError : weights or factors that are negative or not finite, or do not fit together; no weight.
    """

    mixture: Any

    def __post_init__(self) -> None:
        shapes = {np.shape(f)[0] if np.ndim(f) == 2 else -1 for f in self.mixture.factors}
        if np.ndim(self.mixture.weights) != 1 or shapes != {len(self.mixture.weights)}:
            raise OptionError("a measure has one weight for each product, and a row in every factor")
        if not all(np.isfinite(a).all() and (a >= 0).all() for a in self.arrays):
            raise OptionError("a measure has weights and factors that are finite and not negative")

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.mixture.weights, *self.mixture.factors)

    @cached_property
    def moments(self) -> Moments:
        """The proved moments, computed once. The space has to be that of the cells."""
        assert isinstance(self.space, Spanned)
        return self.space.moments(self.mixture)


@dataclass(frozen=True, eq=False)
class WeighedQueries(Unlisted):
    """Queries times √d, W diag(√d), with a lower bound on their nuclear norm.

    Only ``nuclear`` takes them. least : the bound, or a ball of it.
    """

    least: float | Ball


@dataclass(frozen=True, eq=False)
class RootOfMeasure(Unlisted):
    """√d of a measure, entry by entry; only ``diag`` of it is of use, in a product with queries."""

    measure: Measure

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.measure.arrays
