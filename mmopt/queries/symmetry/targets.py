"""Accuracy targets: queries, basis and targets of a workload by components.

The group maps queries to queries of the same product (up to sign), so queries have orbits too: one query per
attribute from an orbit of the factor's queries. On a component, the queries W_o of an orbit have the Gram
matrix W_oᵀ W_o = t_o t_oᵀ with t_o = ⊗ᵢ tᵢ, one vector per attribute (see ``Attribute.of_query``). These rows
are the workload on the component: Wᵀ diag(q) W has there the matrix Σ_o q_o t_o t_oᵀ for every q that is
constant on orbits, and the variance of a query of orbit o is Σ_κ μ_κ/size_o t_oᵀ Σ_κ t_o.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.components import Level, Space, Split
from mmopt.queries.arrays import Array, Ints, require_memory, svd
from mmopt.queries.check import no_targets, undetermined
from mmopt.queries.symmetry.attribute import Attribute
from mmopt.queries.symmetry.blocks import independent_columns
from mmopt.queries.symmetry.cells import EPS, component_roots
from mmopt.queries.symmetry.joint import Chosen, Joint, Key, choices, kron_rows
from mmopt.queries.symmetry.pieces import Piece, Term
from mmopt.queries.symmetry.row_orbits import RowOrbits, row_orbits

__all__ = ["Asked", "asked_of"]

# Relative: what a query without a target may lie outside the span of those with one, by rounding.
CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class Asked:
    """L (queries with a target × basis rows), B (basis rows × cells) with L B = the queries; the targets."""

    representation: Split
    basis: Split
    targets: Level
    chosen: tuple[Chosen, ...]


@dataclass(frozen=True, eq=False)
class _Local:
    """The query orbits of a piece, and their rows t (o, dim) on each part on which they are not all zero."""

    orbits: RowOrbits
    rows: dict[int, Array]

    @staticmethod
    def of(piece: Piece, attribute: Attribute) -> _Local:
        own = row_orbits(piece, attribute)
        sums = attribute.sums(own.rows)
        found = {
            k: attribute.of_query(part, own.rows, sums, own.counts) for k, part in enumerate(attribute.parts)
        }
        return _Local(own, {k: t for k, t in found.items() if t.any()})


@dataclass(frozen=True, eq=False)
class _Product:
    """The query orbits of a product: from number ``start`` on, in the order of the attributes."""

    orbits: tuple[RowOrbits, ...]
    start: int
    target: float | None

    @property
    def count(self) -> int:
        return math.prod(len(o.counts) for o in self.orbits)

    @property
    def queries(self) -> int:
        return math.prod(len(o.labels) for o in self.orbits)

    def sizes(self) -> list[int]:
        out = [1]
        for o in self.orbits:
            out = [a * int(b) for a in out for b in o.counts]
        return out

    def targets(self) -> Array:
        return self.orbits[0].targets if self.target is None else np.full(self.count, self.target)

    def lengths(self) -> Array:
        """(count,) the length of a query of each orbit."""
        out = np.ones(1)
        for o in self.orbits:
            out = np.multiply.outer(out, np.linalg.norm(o.rows, axis=1)).ravel()
        return out

    def orbit_of(self) -> Ints:
        """The orbit of each query."""
        require_memory((math.prod(len(o.labels) for o in self.orbits),), "orbit of each query")
        out = np.zeros(1, dtype=np.int64)
        for o in self.orbits:
            out = np.add.outer(out * len(o.counts), o.labels).ravel()
        return self.start + out


def asked_of(joint: Joint, terms: Sequence[Term], count: int, dense: Callable[[], Array]) -> Asked:
    """The queries with a target. WorkloadError where they do not determine all others.

    ``count`` is the number of all queries. ``dense`` gives those with a target as a matrix, when a basis
    of the query space is asked for.
    """
    products: list[_Product] = []
    rows: dict[Key, list[tuple[Array, Ints]]] = {}
    known: dict[tuple[int, Piece], _Local] = {}
    start = 0
    for term in terms:
        if not term.has_target:
            continue
        for place in enumerate(term.pieces):
            if place not in known:
                known[place] = _Local.of(place[1], joint.attributes[place[0]])
        local = [known[place] for place in enumerate(term.pieces)]
        products.append(_Product(tuple(own.orbits for own in local), start, term.target))
        start += products[-1].count
        for key in choices([sorted(own.rows) for own in local]):
            own = kron_rows([own.rows[k] for own, k in zip(local, key, strict=True)])
            used = np.flatnonzero(own.any(axis=1))
            rows.setdefault(key, []).append((own[used], products[-1].start + used))
    if not products:
        raise no_targets()
    lengths = np.concatenate([p.lengths() for p in products])
    chosen: list[Chosen] = []
    left: list[Array] = []
    right: list[Array] = []
    labels: list[Ints] = []
    for key in sorted(rows):
        whole = np.vstack([own for own, _ in rows[key]])
        numbers = np.concatenate([own for _, own in rows[key]])
        for kept in independent_columns(whole):
            used = np.flatnonzero(whole[:, kept].any(axis=1))
            asked = whole if (len(used), len(kept)) == whole.shape else whole[used][:, kept]
            basis = _span(asked / lengths[numbers[used], None])
            chosen.append(Chosen(key, kept))
            left.append(asked if len(basis) == len(kept) else asked @ basis.T)
            right.append(basis)
            labels.append(numbers[used])
    others = [term for term in terms if not term.has_target]
    if not _determined(component_roots(joint, others), chosen, right):
        raise undetermined(count - sum(p.queries for p in products), count)
    cells = joint.space(chosen)
    sizes = [size for p in products for size in p.sizes()]
    queries = Space(
        cells.multiplicities,
        tuple(len(own) for own in labels),
        labels=tuple(labels),
        sizes=np.array([float(size) for size in sizes]),
        total=sum(sizes),
        orbits=lambda: np.concatenate([p.orbit_of() for p in products]),
    )
    queries = _with_bases(queries, cells, (left, right), dense)
    inner = cells.abstract(tuple(len(own) for own in right))
    targets = Level(queries, np.concatenate([p.targets() for p in products]))
    representation, basis_rows = Split(queries, inner, tuple(left)), Split(inner, cells, tuple(right))
    return Asked(representation, basis_rows, targets, tuple(chosen))


def _determined(others: dict[Key, Array], chosen: list[Chosen], bases: list[Array]) -> bool:
    """Whether the rows of other queries lie in the span of the basis rows."""
    for key, rows in others.items():
        rest = rows
        for own, basis in zip(chosen, bases, strict=True):
            if own.key == key:
                rest = rest.copy()
                rest[:, own.kept] -= rest[:, own.kept] @ basis.T @ basis
        if float(np.linalg.norm(rest)) > CLOSE * float(np.linalg.norm(rows)):
            return False
    return True


def _span(unit: Array) -> Array:
    """Orthonormal rows (k, d) that span the rows of queries of length 1; the identity when k = d."""
    values, right = svd(unit)
    rank = int((values > 8 * max(unit.shape) * EPS * values[0]).sum())
    return np.eye(unit.shape[1]) if rank == unit.shape[1] else np.asarray(right[:rank])


def _with_bases(
    space: Space, cells: Space, factors: tuple[list[Array], list[Array]], dense: Callable[[], Array]
) -> Space:
    """The query space with bases, from W T_κ = Σ_o s_o (t_o ⊗ I): s_o = W_o T_κ (t_oᵀ ⊗ I) / |t_o|²."""

    def basis(at: int) -> Any:
        matrix, orbit = dense(), space.orbit_of()
        copies = int(space.multiplicities[at])
        image = (matrix @ cells.basis(at)).reshape(len(matrix), -1, copies)
        assert space.labels is not None
        columns = []
        for t, label in zip(factors[0][at] @ factors[1][at], space.labels[at], strict=True):
            own = np.einsum("iac,a->ic", image, t) / float(t @ t)
            columns.append(np.where((orbit == label)[:, None], own, 0.0))
        return scipy.sparse.csr_array(np.hstack(columns))

    return Space(
        space.multiplicities, space.dims, space.labels, space.sizes, space.total, space.orbits, basis
    )
