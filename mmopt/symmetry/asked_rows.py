"""The rows of the queries with a target on each component, and the orbits of these queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.symmetry.attribute import Attribute
from mmopt.symmetry.blocks import independent_columns
from mmopt.symmetry.joint import Chosen, Joint, Key, Local, combined
from mmopt.symmetry.pieces import Piece, Term, pieces_at
from mmopt.symmetry.row_orbits import RowOrbits, row_orbits

__all__ = ["AskedProduct", "AskedRows", "asked_rows"]


@dataclass(frozen=True, eq=False)
class AskedRows:
    """On a component the rows t (q, d) of the query orbits ``numbers`` (q,), those that are zero left out."""

    chosen: Chosen
    rows: Array
    numbers: Ints


@dataclass(frozen=True, eq=False)
class _Orbits:
    """The query orbits of a piece, and their rows t (o, dim) on the parts."""

    orbits: RowOrbits
    local: Local

    @staticmethod
    def of(piece: Piece, attribute: Attribute) -> _Orbits:
        own = row_orbits(piece, attribute)
        sums = attribute.sums(own.rows)
        found = {
            k: attribute.of_query(part, own.rows, sums, own.counts) for k, part in enumerate(attribute.parts)
        }
        return _Orbits(own, Local({k: t for k, t in found.items() if t.any()}))


@dataclass(frozen=True, eq=False)
class AskedProduct:
    """The query orbits of a product: from number ``start`` on, in the order of the attributes."""

    orbits: tuple[RowOrbits, ...]
    start: int
    target: float | None

    @cached_property
    def count(self) -> int:
        return math.prod([o.size for o in self.orbits])

    @cached_property
    def queries(self) -> int:
        return math.prod([len(o.labels) for o in self.orbits])

    @cached_property
    def _several(self) -> tuple[RowOrbits, ...]:
        """Those of more than one orbit."""
        return tuple(o for o in self.orbits if o.size > 1)

    def sizes(self) -> list[int]:
        """Queries in each orbit."""
        out = [math.prod([len(o.labels) for o in self.orbits if o.size == 1])]
        for o in self._several:
            out = [a * b for a in out for b in o.counts.tolist()]
        return out

    def targets(self) -> Array:
        """(count,) of each orbit."""
        return self.orbits[0].targets if self.target is None else np.full(self.count, self.target)

    def lengths(self) -> Array:
        """(count,) the length of a query of each orbit."""
        out = np.array([math.prod([o.lengths[0] for o in self.orbits if o.size == 1])])
        for o in self._several:
            out = np.multiply.outer(out, o.lengths).ravel()
        return out

    def orbit_of(self) -> Ints:
        """The orbit of each query."""
        require_memory((math.prod(len(o.labels) for o in self.orbits),), "orbit of each query")
        out = np.zeros(1, dtype=np.int64)
        for o in self.orbits:
            out = np.add.outer(out * len(o.counts), o.labels).ravel()
        return self.start + out


def asked_rows(joint: Joint, terms: Sequence[Term]) -> tuple[list[AskedProduct], list[AskedRows]]:
    """The products with a target, and their rows on each component, split into independent blocks."""
    products: list[AskedProduct] = []
    stacks: dict[Key, list[tuple[Array, Ints]]] = {}
    asked = [term for term in terms if term.has_target]
    known = [
        {piece: _Orbits.of(piece, a) for piece in pieces_at(asked, at)}
        for at, a in enumerate(joint.attributes)
    ]
    start = 0
    for term in asked:
        local = [own[piece] for own, piece in zip(known, term.pieces, strict=True)]
        products.append(AskedProduct(tuple(own.orbits for own in local), start, term.target))
        start += products[-1].count
        for key, rows in combined([own.local for own in local]):
            stacks.setdefault(key, []).append((rows, products[-1].start + np.arange(len(rows))))
    found: list[AskedRows] = []
    for key in sorted(stacks):
        whole = np.concatenate([rows for rows, _ in stacks[key]])
        numbers = np.concatenate([own for _, own in stacks[key]])
        asked_here = np.flatnonzero(whole.any(axis=1))
        whole, numbers = whole[asked_here], numbers[asked_here]
        for kept in independent_columns(whole):
            used = np.flatnonzero(whole[:, kept].any(axis=1))
            rows = whole if (len(used), len(kept)) == whole.shape else whole[used][:, kept]
            found.append(AskedRows(Chosen(key, kept), rows, numbers[used]))
    return products, found
