"""Attributes together: every choice of one component per attribute is a component of the cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse

from mmopt.components import Space
from mmopt.errors import TooLargeError
from mmopt.queries.arrays import Array, Ints, require_memory
from mmopt.queries.symmetry.attribute import Attribute

__all__ = ["Cells", "Chosen", "Joint", "choices", "kron_rows"]

MOST = 200_000
"""Components that are held, at most."""

Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """A component of the cells: one part per attribute, and which of its basis vectors are kept."""

    key: Key
    kept: Ints


@dataclass(frozen=True, eq=False)
class Joint:
    """The symmetries of all attributes together; orbits of cells in the order of the attributes."""

    attributes: tuple[Attribute, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a.sizes) for a in self.attributes)

    @property
    def is_trivial(self) -> bool:
        return all(len(a.sizes) == len(a.classes) for a in self.attributes)

    def multiplicity(self, key: Key) -> int:
        return math.prod(a.parts[k].multiplicity for a, k in zip(self.attributes, key, strict=True))

    def dim(self, key: Key) -> int:
        return math.prod(a.parts[k].dim for a, k in zip(self.attributes, key, strict=True))

    def labels(self, key: Key) -> Ints:
        """The orbit of each basis vector of a component."""
        require_memory((self.dim(key),), "component")
        out = np.zeros(1, dtype=np.int64)
        for a, k in zip(self.attributes, key, strict=True):
            out = np.add.outer(out * len(a.sizes), a.parts[k].labels).ravel()
        return out

    def sizes(self) -> Array:
        """(o,) cells of each orbit, each rounded once."""
        require_memory((math.prod(self.shape),), "list of orbits")
        exact = math.prod(len(a.classes) for a in self.attributes) < 2**53
        out = np.ones(1) if exact else np.ones(1, dtype=object)
        for a in self.attributes:
            out = np.multiply.outer(out, a.sizes.astype(out.dtype)).ravel()
        return np.asarray([float(x) for x in out]) if not exact else np.asarray(out, dtype=np.float64)

    def orbit_of(self) -> Ints:
        """(n,) the orbit of each cell."""
        require_memory((math.prod(len(a.classes) for a in self.attributes),), "orbit of each cell")
        out = np.zeros(1, dtype=np.int64)
        for a in self.attributes:
            out = np.add.outer(out * len(a.sizes), a.orbit_of).ravel()
        return out

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
            sizes=self.sizes(),
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

    joint: Joint = field(kw_only=True)
    chosen: tuple[Chosen, ...] = field(kw_only=True)


def choices(options: Sequence[Sequence[int]]) -> Iterator[Key]:
    """One part per attribute in every way; TooLargeError for more than ``MOST``."""
    count = math.prod(len(own) for own in options)
    if count > MOST:
        raise TooLargeError(
            f"a product of the workload splits into {count:,} components; the limit is {MOST:,}",
            hint="group values of the attributes",
        )
    return itertools.product(*options)


def kron_rows(matrices: Sequence[Array]) -> Array:
    """The Kronecker product, if it fits in memory."""
    require_memory(
        (math.prod(m.shape[0] for m in matrices), math.prod(m.shape[1] for m in matrices)),
        "root of a component",
    )
    scale = math.prod(float(m[0, 0]) for m in matrices if m.size == 1)
    out = np.full((1, 1), scale)
    for m in matrices:
        if m.size > 1:
            out = np.asarray(np.kron(out, m), dtype=np.float64)
    return out
