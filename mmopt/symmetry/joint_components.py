"""Attributes together: every choice of one component per attribute is a component of the cells."""

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
from mmopt.numerics.arrays import Array, Ints, frozen, require_memory
from mmopt.numerics.split_arrays import Space
from mmopt.symmetry.attribute_components import AttributeSymmetry

__all__ = ["Cells", "Chosen", "Joint", "Key", "Local", "combined", "made_of", "mixed"]

MOST_COMPONENTS = 200_000
"""Components that are held, at most."""

Key = tuple[int, ...]
Asking = TypeVar("Asking")
Made = TypeVar("Made")


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
        return tuple(len(a.sizes) for a in self.attributes)

    @property
    def is_trivial(self) -> bool:
        return all(len(a.sizes) == len(a.classes) for a in self.attributes)

    @cached_property
    def _copies(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(part.multiplicity for part in a.parts) for a in self.attributes)

    @cached_property
    def _split(self) -> tuple[int, ...]:
        """The attributes with more than one orbit; the others have parts of one dimension."""
        return tuple(i for i, a in enumerate(self.attributes) if len(a.sizes) > 1)

    def multiplicity(self, key: Key) -> int:
        return math.prod([own[k] for own, k in zip(self._copies, key, strict=True)])

    def dim(self, key: Key) -> int:
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
        """(n, kept multiplicity): the copies of a basis vector side by side."""
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
    """The space of the cells, which knows the symmetries of the attributes that it comes from.

    ``joint`` and ``chosen`` say everything else: ``joint.space(chosen)`` is the same space again.
    """

    labels: tuple[Ints, ...]
    sizes: Array
    joint: Joint = field(kw_only=True)
    chosen: tuple[Chosen, ...] = field(kw_only=True)


def made_of(
    joint: Joint, products: Iterable[Sequence[Asking]], make: Callable[[AttributeSymmetry, Asking], Made]
) -> Iterator[list[Made]]:
    """What is made of each product's pieces, one per attribute; those of several products are made once."""
    known: dict[tuple[int, int], Made] = {}
    for pieces in products:
        for at, piece in enumerate(pieces):
            if (at, id(piece)) not in known:
                known[at, id(piece)] = make(joint.attributes[at], piece)
        yield [known[at, id(piece)] for at, piece in enumerate(pieces)]


def mixed(numbers: Iterable[tuple[Ints, int]]) -> Ints:
    """The number of every choice of one entry each, from numbers below a count each."""
    out = np.zeros(1, dtype=np.int64)
    for own, count in numbers:
        out = np.add.outer(out * count, own).ravel()
    return out


@dataclass(frozen=True, eq=False)
class Local:
    """What a piece has on the parts of its attribute: ``rows[k]`` (·, dim), parts of zeros left out."""

    rows: Mapping[int, Array]

    @staticmethod
    def of(parts: Iterable[Array]) -> Local:
        """From the rows on every part."""
        return Local({k: rows for k, rows in enumerate(parts) if rows.any()})

    @cached_property
    def keys(self) -> list[int]:
        return sorted(self.rows)

    @cached_property
    def numbers(self) -> Mapping[int, float] | None:
        """The rows where they are a number each; else None."""
        numbers = {k: float(rows[0, 0]) for k, rows in self.rows.items() if rows.size == 1}
        return numbers if len(numbers) == len(self.rows) else None

    @cached_property
    def only(self) -> tuple[int, float] | None:
        """The part and the number there, where that is all; else None."""
        return next(iter(self.numbers.items())) if self.numbers and len(self.numbers) == 1 else None


def combined(pieces: Sequence[Local]) -> Iterator[tuple[Key, Array]]:
    """Every component on which a product is not zero, and the Kronecker product of its pieces' rows there.

    Most pieces of a product over many attributes are totals, of which there is one number.

    Raises
    ------
    TooLargeError : too many components, or a component that does not fit in memory.
    """
    known = [piece.only for piece in pieces]
    free = [i for i, own in enumerate(known) if own is None]
    key = [0 if own is None else own[0] for own in known]
    scale = math.prod([own[1] for own in known if own is not None])
    numbers = [pieces[i].numbers for i in free]
    options = [pieces[i].keys for i in free]
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
            values = [own[k] for own, k in zip(numbers, picked, strict=True) if own is not None]
            rows = np.array([[math.prod(values, start=scale)]])
        yield tuple(key), rows


def _kron_rows(matrices: Sequence[Array], scale: float) -> Array:
    """The Kronecker product, if it fits in memory."""
    shape = math.prod([m.shape[0] for m in matrices]), math.prod([m.shape[1] for m in matrices])
    require_memory(shape, "root of a component")
    out = np.full((1, 1), math.prod([float(m[0, 0]) for m in matrices if m.size == 1], start=scale))
    for m in matrices:
        if m.size > 1:
            out = np.asarray(np.kron(out, m), dtype=np.float64)
    return out
