"""Accuracy targets: queries, basis and targets of a workload by components.

The group maps queries to queries of the same product (up to sign), so queries have orbits too: one query per
attribute from an orbit of the factor's queries. On a component, the queries W_o of an orbit have the Gram
matrix W_oᵀ W_o = t_o t_oᵀ with t_o = ⊗ᵢ tᵢ, one vector per attribute (see ``AttributeSymmetry.of_query``).
These rows are the workload on the component: Wᵀ diag(q) W has there the matrix Σ_o q_o t_o t_oᵀ for every q
that is constant on orbits, and the variance of a query of orbit o is Σ_κ μ_κ/size_o t_oᵀ Σ_κ t_o.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from mmopt.numerics.arrays import EPS, Array, Ints, require_memory, svd
from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.symmetry.attribute_components import AttributeSymmetry
from mmopt.symmetry.attribute_queries import Piece, PieceRows, Term
from mmopt.symmetry.joint_components import Chosen, Joint, Key, Local, combined, made_of, mixed
from mmopt.symmetry.split_totals import independent_columns
from mmopt.symmetry.value_swaps import keys, swapped
from mmopt.workloads.blocks.all_ranges import AllRange

__all__ = ["AskedProduct", "AskedRows", "RowOrbits", "asked_of", "asked_rows", "row_orbits"]

# Relative: what a query without a target may lie outside the span of those with one, by rounding.
SPAN_TOLERANCE = 1e-10


def asked_of(
    joint: Joint,
    products: Sequence[AskedProduct],
    blocks: Sequence[AskedRows],
    others: dict[Key, Array],
    dense: Callable[[], Array],
) -> dict[str, Split | Level] | None:
    """L (queries with a target × basis rows) and B (basis rows × cells) with L B = the queries; the targets.

    As a program takes them of the workload, from ``asked_rows``; None where they do not determine all others.
    ``others`` are the roots of the queries without a target. ``dense`` gives those with one as a matrix, when
    a basis of the query space is asked for.
    """
    lengths = np.concatenate([p.lengths() for p in products])
    right = tuple(_span(own.rows / lengths[own.numbers, None]) for own in blocks)
    if not _determined(others, [own.chosen for own in blocks], right):
        return None
    left = tuple(
        own.rows if len(basis) == own.rows.shape[1] else own.rows @ basis.T
        for own, basis in zip(blocks, right, strict=True)
    )
    cells = joint.space([own.chosen for own in blocks])
    sizes = [size for p in products for size in p.sizes()]
    queries = Space(
        cells.multiplicities,
        tuple(len(own.numbers) for own in blocks),
        labels=tuple(own.numbers for own in blocks),
        sizes=np.array([float(size) for size in sizes]),
        total=sum(sizes),
        orbits=lambda: np.concatenate([p.orbit_of() for p in products]),
    )
    queries = replace(queries, bases=lambda at: _basis(queries, cells, blocks[at].rows, at, dense()))
    inner = cells.abstract(tuple(len(own) for own in right))
    targets = Level(queries, np.concatenate([p.targets() for p in products]))
    return {
        "workload.representation": Split(queries, inner, left),
        "workload.basis": Split(inner, cells, right),
        "workload.targets": targets,
    }


def _determined(others: dict[Key, Array], chosen: Sequence[Chosen], bases: Sequence[Array]) -> bool:
    """Whether the rows of other queries lie in the span of the basis rows."""
    for key, rows in others.items():
        rest = rows
        for own, basis in zip(chosen, bases, strict=True):
            if own.key == key:
                rest = rest.copy()
                rest[:, own.kept] -= rest[:, own.kept] @ basis.T @ basis
        if float(np.linalg.norm(rest)) > SPAN_TOLERANCE * float(np.linalg.norm(rows)):
            return False
    return True


def _span(unit: Array) -> Array:
    """Orthonormal rows (k, d) that span the rows of queries of length 1; the identity when k = d."""
    if unit.shape[1] == 1:  # no query is zero here
        return np.eye(1)
    values, right = svd(unit)
    rank = int((values > 8 * max(unit.shape) * EPS * values[0]).sum())
    return np.eye(unit.shape[1]) if rank == unit.shape[1] else np.asarray(right[:rank])


def _basis(space: Space, cells: Space, rows: Array, at: int, matrix: Array) -> Any:
    """A basis of the query space, from W T_κ = Σ_o s_o (t_o ⊗ I): s_o = W_o T_κ (t_oᵀ ⊗ I) / |t_o|²."""
    assert space.labels is not None
    orbit = space.orbit_of()
    image = (matrix @ cells.basis(at)).reshape(len(matrix), -1, int(space.multiplicities[at]))
    columns = []
    for t, label in zip(rows, space.labels[at], strict=True):
        own = np.einsum("iac,a->ic", image, t) / float(t @ t)
        columns.append(np.where((orbit == label)[:, None], own, 0.0))
    return scipy.sparse.csr_array(np.hstack(columns))


@dataclass(frozen=True, eq=False)
class RowOrbits:
    """Orbits of queries on one attribute, which its symmetries map to each other, up to sign.

    ``counts`` (o,): how many queries, ``targets`` and ``lengths`` (o,) what they share, ``local`` their rows
    t (o, dim) on the parts; ``labels`` (m,) the orbit of each query of the piece.
    """

    counts: Ints
    targets: Array
    lengths: Array
    local: Local
    labels: Ints

    @property
    def size(self) -> int:
        """Number of orbits, o."""
        return len(self.counts)


def row_orbits(attribute: AttributeSymmetry, piece: Piece) -> RowOrbits:
    """The orbits of a piece that the symmetries of the attribute leave as it is."""
    found: list[tuple[Array, Ints, Array]] = []
    start = 0
    groups = piece.rows()
    labels = np.empty(sum(len(rows.places) for rows in groups), dtype=np.int64)
    for rows in groups:
        _, first, own = np.unique(_labels(rows, attribute), return_index=True, return_inverse=True)
        require_memory((len(first), piece.size), "matrix of queries up to symmetry")
        labels[rows.places] = start + own
        taken = rows.matrix[first] if rows.factor is None else rows.factor.take(first.astype(np.int64))
        found.append((taken, np.bincount(own), rows.targets[first]))
        start += len(first)
    matrix, counts, targets = (np.concatenate(own) for own in zip(*found, strict=True))
    local = Local.of(attribute.coordinates(matrix, counts))
    return RowOrbits(counts, targets, np.linalg.norm(matrix, axis=1), local, labels)


def _labels(rows: PieceRows, attribute: AttributeSymmetry) -> Ints:
    factor = rows.factor
    if factor is None:
        return _joined(rows, attribute)
    if factor.kind == "identity":
        return attribute.orbit_of
    index = np.arange(factor.rows)
    if isinstance(factor, AllRange) and attribute.is_mirrored:
        low, high = factor.ends(index)
        last = factor.size - 1
        other_low, other_high = last - high, last - low
        first = np.minimum(low * factor.size + high, other_low * factor.size + other_high)
        return np.asarray(first)
    return index  # one total; prefixes and ranges of values that stay where they are


def _joined(rows: PieceRows, attribute: AttributeSymmetry) -> Ints:
    """Connected by swaps of neighbours in a class and by the reversal, which generate the group.

    Queries that stand there several times are mapped copy by copy.
    """
    count = len(rows.matrix)
    places: dict[bytes, list[int]] = {}
    for at, key in enumerate(keys(rows.matrix, rows.targets)):
        places.setdefault(key, []).append(at)
    copy = np.empty(count, dtype=np.int64)
    for same in places.values():
        copy[same] = np.arange(len(same))
    edges = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    for own, moved in _images(rows.matrix, attribute):
        found = keys(moved, rows.targets[own])
        edges.append((own, np.array([places[k][copy[at]] for at, k in zip(own, found, strict=True)])))
    tails, heads = (np.concatenate(ends).astype(np.int64) for ends in zip(*edges, strict=True))
    graph = scipy.sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _images(matrix: Array, attribute: AttributeSymmetry) -> Iterator[tuple[Ints, Array]]:
    """The rows that each generator of the group changes, by number, and what becomes of them."""
    for c in range(len(attribute.mirror)):
        values = np.flatnonzero(attribute.classes == c)
        for v, w in itertools.pairwise(values):
            yield swapped(matrix, int(v), int(w))
    if attribute.is_mirrored:
        yield np.arange(len(matrix)), matrix[:, ::-1]


@dataclass(frozen=True, eq=False)
class AskedRows:
    """On a component the rows t (q, d) of the query orbits ``numbers`` (q,), those that are zero left out."""

    chosen: Chosen
    rows: Array
    numbers: Ints


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
        require_memory((self.queries,), "orbit of each query")
        return self.start + mixed([(o.labels, o.size) for o in self.orbits])


def asked_rows(joint: Joint, terms: Sequence[Term]) -> tuple[list[AskedProduct], list[AskedRows]]:
    """The products with a target, and their rows on each component, split into independent blocks."""
    products: list[AskedProduct] = []
    stacks: dict[Key, list[tuple[Array, Ints]]] = {}
    asked = [term for term in terms if term.has_target]
    start = 0
    for term, local in zip(asked, made_of(joint, [term.pieces for term in asked], row_orbits), strict=True):
        products.append(AskedProduct(tuple(local), start, term.target))
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
