"""The components of one attribute, and of several together.

The group of an attribute swaps the values of each class C at will, and may also reverse the order of the
values, which maps class C to class σ(C). Its orbits are C ∪ σ(C), and R^size splits into

- *even*: vectors constant on orbits, with the basis 1_O/√|O|; multiplicity 1;
- *odd*: vectors constant on classes, opposite on C and σ(C): (1_C - 1_σ(C))/√(2|C|); multiplicity 1;
- a *rest* per orbit of classes of size s > 1: vectors that sum to zero on C and on σ(C); one dimension with
  multiplicity s - 1, or 2 (s - 1) where σ(C) is another class.

Attributes together: every choice of one component per attribute is a component of the cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import scipy.sparse

from mmopt.errors import TooLargeError
from mmopt.limits import require_memory
from mmopt.numerics import EPS, Array, Ints, Space, frozen, stacked_root


@dataclass(frozen=True, eq=False)
class AttributePart:
    """A component of one attribute: ``kind`` "even", "odd" or "rest"; ``labels`` (dim,) its orbits."""

    kind: str
    multiplicity: int
    labels: Ints

    @property
    def dim(self) -> int:
        """Number of basis vectors, copies not counted."""
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class AttributeSymmetry:
    """Classes of values (size,), numbered from 0, and the class to which the reversal maps each (r,)."""

    classes: Ints
    mirror: Ints

    @staticmethod
    def of(classes: Ints, reversal: bool) -> AttributeSymmetry:
        """The symmetry of classes numbered by their first value, perhaps with the reversal of the order."""
        count = int(classes.max()) + 1
        mirror = np.arange(count)
        if reversal:
            mirror[classes] = classes[::-1]
            if not np.array_equal(mirror[classes], classes[::-1]):  # classes that differ only by rounding
                mirror = np.arange(count)
        return AttributeSymmetry(classes, mirror)

    @cached_property
    def is_mirrored(self) -> bool:
        """Whether the reversal is among the symmetries, other than by swaps."""
        return bool((self.mirror != np.arange(len(self.mirror))).any())

    @property
    def is_reversal(self) -> bool:
        """Whether the reversal is the only symmetry: no two values can be swapped."""
        return self.is_mirrored and len(self.mirror) == len(self.classes)

    @cached_property
    def class_sizes(self) -> Ints:
        """(r,) values in each class."""
        return np.bincount(self.classes)

    @cached_property
    def leads(self) -> Ints:
        """(o,) the first class of each orbit."""
        return np.unique(np.minimum(self.mirror, np.arange(len(self.mirror))))

    @cached_property
    def orbit_of_class(self) -> Ints:
        """(r,) the orbit of each class."""
        return np.searchsorted(self.leads, np.minimum(self.mirror, np.arange(len(self.mirror))))

    @cached_property
    def orbit_of(self) -> Ints:
        """(size,) the orbit of each value."""
        return np.asarray(self.orbit_of_class[self.classes])

    @cached_property
    def sizes(self) -> Ints:
        """(o,) values in each orbit."""
        return np.bincount(self.orbit_of)

    @cached_property
    def pairs(self) -> Ints:
        """(pairs, 2) the classes that are mirror images of each other."""
        first = np.flatnonzero(self.mirror > np.arange(len(self.mirror)))
        return np.column_stack([first, self.mirror[first]])

    @cached_property
    def parts(self) -> tuple[AttributePart, ...]:
        """The components: even, odd (if there is one), then the rests by orbit."""
        even = AttributePart("even", 1, np.arange(len(self.sizes)))
        odd = AttributePart("odd", 1, self.orbit_of_class[self.pairs[:, 0]])
        copies = (self.sizes - np.bincount(self.orbit_of_class)).tolist()  # per orbit 1 or 2 classes
        rests = [AttributePart("rest", count, np.array([o])) for o, count in enumerate(copies) if count]
        return (even, odd, *rests) if odd.dim else (even, *rests)

    def sums(self, rows: Array) -> Array:
        """Sums of each row over the classes, (k, r); exact for small whole numbers. May be the rows."""
        if len(self.mirror) == len(self.classes):
            return rows
        places = self.classes, np.arange(len(self.classes))
        return np.asarray((scipy.sparse.csr_array((np.ones(len(self.classes)), places)) @ rows.T).T)

    def flat(self, part: AttributePart, sums: Array) -> Array:
        """Coordinates (k, dim) on an even or odd part of k rows with these sums over classes."""
        sides = self.leads if part.kind == "even" else self.pairs[:, 0]
        one, other = (np.take(sums, classes, axis=1) for classes in (sides, self.mirror[sides]))
        if part.kind == "even":
            return np.asarray((one + other * (self.mirror[sides] != sides)) / np.sqrt(self.sizes))
        return np.asarray((one - other) / np.sqrt(2.0 * self.class_sizes[sides]))

    def root(
        self, part: AttributePart, root: Array, sums: Array, blocks: Callable[[], Iterable[Array]], mean: bool
    ) -> Array:
        """Rows (·, dim) whose Gram matrix is that of RᵀR on the part, R the ``root``; none where it is zero.

        On a rest the one number is g_vv - g_vw for two values v, w of the class, which is half the squared
        length of the difference of two columns of the root: no digits are lost. With ``mean`` it is that of
        the mean of all images of RᵀR, which need not be symmetric itself: the trace over the multiplicity. On
        an even or odd part the images differ by signs at most.

        Rows no larger than the rounding of the whole root are computed from the queries themselves,
        ``blocks`` of which have the same Gram matrix: a part is left out where every single query is zero on
        it.
        """
        if part.kind != "rest":
            rows = self.flat(part, sums)
        elif mean:
            rows = self.of_query(part, root, sums)
        else:
            first = np.argmax(self.orbit_of == part.labels[0])
            v, w = np.flatnonzero(self.classes == self.classes[first])[:2]
            rows = np.linalg.norm(root[:, v] - root[:, w]).reshape(1, 1) / np.sqrt(2.0)
        most = 2 * part.dim if mean else part.dim
        out = stacked_root([rows], part.dim, most)
        if np.linalg.norm(out) <= 8 * max(root.shape) * EPS * float(np.linalg.norm(root)):
            each = (self.of_query(part, block, self.sums(block)) for block in blocks())
            out = stacked_root(each, part.dim, most)
        return out if out.any() else out[:0]

    def of_query(self, part: AttributePart, rows: Array, sums: Array, counts: Ints | int = 1) -> Array:
        """(k, dim) t with t tᵀ the Gram matrix, on the part, of the orbit of each of the rows (k, size).

        ``counts`` (k,): queries in each orbit. On an even or odd part all queries of an orbit have the same
        coordinates z up to sign, so t = √count z. On a rest the Gram matrix is a number; times the
        multiplicity it is the squared length of the queries' projections, equal for all. Entries within the
        rounding of a query's length count as zero: far below the part that a strategy may miss of a query
        that it supports.
        """
        scale = np.sqrt(np.broadcast_to(counts, len(rows)))[:, None]
        if part.kind != "rest":
            out = scale * self.flat(part, sums)
        else:
            squares = np.zeros(len(rows))
            for c in np.flatnonzero(self.orbit_of_class == part.labels[0]):
                columns = rows[:, self.classes == c]
                off = columns - columns[:, :1]  # exactly zero where the row is constant
                squares += np.square(off - off.mean(axis=1, keepdims=True)).sum(axis=1)
            out = scale * np.sqrt(squares / part.multiplicity)[:, None]
        tiny = 8 * rows.shape[1] * EPS * np.linalg.norm(rows, axis=1)[:, None] * scale
        return np.where(np.abs(out) > tiny, out, 0.0)

    def coordinates(self, rows: Array, counts: Ints | int = 1) -> list[Array]:
        """``of_query`` on every part."""
        sums = self.sums(rows)
        return [self.of_query(part, rows, sums, counts) for part in self.parts]

    def basis(self, part: AttributePart) -> scipy.sparse.csr_array:
        """(size, dim multiplicity) orthonormal columns, the copies of a basis vector next to each other."""
        if part.kind == "rest":
            wanted = np.flatnonzero(self.orbit_of_class == part.labels[0])
            return scipy.sparse.csr_array(
                scipy.sparse.hstack(
                    [_sum_zero(np.flatnonzero(self.classes == c), len(self.classes)) for c in wanted]
                )
            )
        if part.kind == "even":
            classes, columns = np.arange(len(self.mirror)), self.orbit_of_class
            entries = 1.0 / np.sqrt(self.sizes[columns])
        else:
            classes, columns = self.pairs.T.ravel(), np.tile(np.arange(part.dim), 2)
            entries = np.repeat([1.0, -1.0], part.dim) / np.sqrt(2.0 * self.class_sizes[classes])
        shape = (len(self.mirror), part.dim)
        return scipy.sparse.csr_array((entries, (classes, columns)), shape=shape)[self.classes]


def _sum_zero(values: Ints, n: int) -> scipy.sparse.csr_array:
    """Orthonormal columns (n, s - 1) on the s values that sum to zero (Helmert)."""
    s = len(values)
    j = np.arange(1.0, s)
    above = np.triu(np.ones((s, s - 1)))
    block = np.where(np.arange(s)[:, None] == np.arange(1, s), -j, above) / np.sqrt(j * (j + 1))
    rows = np.repeat(values, s - 1)
    return scipy.sparse.csr_array((block.ravel(), (rows, np.tile(np.arange(s - 1), s))), shape=(n, s - 1))


#: The most components that are kept.
MOST_COMPONENTS = 200_000

#: A component of the cells: for each attribute the number of one of its parts.
Key = tuple[int, ...]

Asked = TypeVar("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Chosen:
    """A component of the cells: one part per attribute, and which of its basis vectors are kept."""

    key: Key
    kept: Ints


@dataclass(frozen=True, eq=False)
class Joint:
    """The symmetries of all attributes together; orbits of cells in the order of the attributes."""

    attributes: tuple[AttributeSymmetry, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Orbits of each attribute."""
        return tuple(len(a.sizes) for a in self.attributes)

    @property
    def is_trivial(self) -> bool:
        """Whether every value is an orbit: no symmetry but the identity."""
        return all(len(a.sizes) == len(a.classes) for a in self.attributes)

    @cached_property
    def _copies(self) -> tuple[tuple[int, ...], ...]:
        """The multiplicity of each part of each attribute."""
        return tuple(tuple(part.multiplicity for part in a.parts) for a in self.attributes)

    @cached_property
    def _split(self) -> tuple[int, ...]:
        """The attributes with more than one orbit; the others have parts of one dimension."""
        return tuple(i for i, a in enumerate(self.attributes) if len(a.sizes) > 1)

    def multiplicity(self, key: Key) -> int:
        """The copies of each basis vector of a component."""
        return math.prod([copies[k] for copies, k in zip(self._copies, key, strict=True)])

    def dim(self, key: Key) -> int:
        """The number of basis vectors of a component, copies not counted."""
        return math.prod([self.attributes[i].parts[key[i]].dim for i in self._split])

    def labels(self, key: Key) -> Ints:
        """The orbit of each basis vector of a component."""
        require_memory((self.dim(key),), "component")
        split = [(self.attributes[i], key[i]) for i in self._split]
        return mixed([(a.parts[k].labels, len(a.sizes)) for a, k in split])

    @cached_property
    def sizes(self) -> Array:
        """(o,) cells of each orbit, each rounded once; read-only."""
        require_memory((math.prod(self.shape),), "list of orbits")
        exact = math.prod(len(a.classes) for a in self.attributes) < 2**53
        out = np.ones(1) if exact else np.ones(1, dtype=object)
        for a in self.attributes:
            out = np.multiply.outer(out, a.sizes.astype(out.dtype)).ravel()
        return frozen(out.astype(np.float64))

    def orbit_of(self) -> Ints:
        """(n,) the orbit of each cell."""
        require_memory((math.prod(len(a.classes) for a in self.attributes),), "orbit of each cell")
        return mixed([(a.orbit_of, len(a.sizes)) for a in self.attributes])

    def basis(self, chosen: Chosen) -> scipy.sparse.csr_array:
        """(n, kept multiplicity): the copies of a basis vector next to each other."""
        out = scipy.sparse.csr_array(np.ones((1, 1)))
        shape: list[int] = []
        for a, k in zip(self.attributes, chosen.key, strict=True):
            out = scipy.sparse.csr_array(scipy.sparse.kron(out, a.basis(a.parts[k])))
            shape += [a.parts[k].dim, a.parts[k].multiplicity]
        order = np.arange(math.prod(shape)).reshape(shape)
        order = order.transpose([*range(0, len(shape), 2), *range(1, len(shape), 2)])
        wanted = order.reshape(self.dim(chosen.key), -1)[chosen.kept].ravel()
        return scipy.sparse.csr_array(out.tocsc()[:, wanted])

    def space(self, chosen: Sequence[Chosen]) -> Cells:
        """The cells, with these components kept."""
        return Cells(
            multiplicities=np.array([float(self.multiplicity(c.key)) for c in chosen]),
            dims=tuple(len(c.kept) for c in chosen),
            labels=tuple(self.labels(c.key)[c.kept] for c in chosen),
            sizes=self.sizes,
            total=math.prod(len(a.classes) for a in self.attributes),
            orbits=self.orbit_of,
            bases=lambda at: self.basis(chosen[at]),
            joint=self,
            chosen=tuple(chosen),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Space):
    """The space of the cells, with the symmetries of its attributes.

    ``joint`` and ``chosen`` determine everything else: ``joint.space(chosen)`` is the same space again.
    """

    labels: tuple[Ints, ...]
    sizes: Array
    joint: Joint = field(kw_only=True)
    chosen: tuple[Chosen, ...] = field(kw_only=True)


def results_by_piece(
    joint: Joint, products: Iterable[Sequence[Asked]], compute: Callable[[AttributeSymmetry, Asked], Result]
) -> Iterator[list[Result]]:
    """``compute`` applied to each product's pieces, one per attribute; once to pieces of several products."""
    results: dict[tuple[int, int], Result] = {}
    for pieces in products:
        for at, piece in enumerate(pieces):
            if (at, id(piece)) not in results:
                results[at, id(piece)] = compute(joint.attributes[at], piece)
        yield [results[at, id(piece)] for at, piece in enumerate(pieces)]


def mixed(numbers: Iterable[tuple[Ints, int]]) -> Ints:
    """The number of every choice of one entry from each array, as of cells in row-major order.

    numbers : the arrays, each with a count that its entries are below.
    """
    out = np.zeros(1, dtype=np.int64)
    for entries, count in numbers:
        out = np.add.outer(out * count, entries).ravel()
    return out


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of a piece on the parts of its attribute: ``rows[k]`` (·, dim), ascending, without zeros."""

    rows: Mapping[int, Array]

    @staticmethod
    def of(parts: Iterable[Array]) -> PartRows:
        """A piece from its rows on every part."""
        return PartRows({k: rows for k, rows in enumerate(parts) if rows.any()})

    @cached_property
    def numbers(self) -> Mapping[int, float] | None:
        """The rows where they are a number each; else None."""
        numbers = {k: float(rows[0, 0]) for k, rows in self.rows.items() if rows.size == 1}
        return numbers if len(numbers) == len(self.rows) else None

    @cached_property
    def only_number(self) -> tuple[int, float] | None:
        """The part and the number there, where the piece has no more; else None."""
        return next(iter(self.numbers.items())) if self.numbers and len(self.numbers) == 1 else None


def combined(pieces: Sequence[PartRows]) -> Iterator[tuple[Key, Array]]:
    """Every component on which a product is not zero, and the Kronecker product of its pieces' rows there.

    Most pieces of a product over many attributes are totals, which have only one number.

    Raises
    ------
    TooLargeError : too many components, or a component that does not fit in memory.
    """
    single = [piece.only_number for piece in pieces]
    free = [i for i, number in enumerate(single) if number is None]
    key = [0 if number is None else number[0] for number in single]
    scale = math.prod([number[1] for number in single if number is not None])
    numbers = [pieces[i].numbers for i in free]
    options = [pieces[i].rows for i in free]
    count = math.prod(map(len, options))
    if count > MOST_COMPONENTS:
        raise TooLargeError(
            f"a product of the workload splits into {count:,} components; the limit is {MOST_COMPONENTS:,}",
            hint="group values of the attributes",
        )
    for picked in itertools.product(*options):
        for i, k in zip(free, picked, strict=True):
            key[i] = k
        if None in numbers:
            rows = _kron_rows([pieces[i].rows[k] for i, k in zip(free, picked, strict=True)], scale)
        else:
            values = [each[k] for each, k in zip(numbers, picked, strict=True) if each is not None]
            rows = np.array([[math.prod(values, start=scale)]])
        yield tuple(key), rows


def _kron_rows(matrices: Sequence[Array], scale: float) -> Array:
    """``scale`` times the Kronecker product; TooLargeError where it does not fit in memory."""
    shape = math.prod([m.shape[0] for m in matrices]), math.prod([m.shape[1] for m in matrices])
    require_memory(shape, "root of a component")
    out = np.full((1, 1), math.prod([float(m[0, 0]) for m in matrices if m.size == 1], start=scale))
    for m in matrices:
        if m.size > 1:
            out = np.asarray(np.kron(out, m), dtype=np.float64)
    return out
