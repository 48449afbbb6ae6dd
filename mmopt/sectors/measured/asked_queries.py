"""Queries with targets in the space that they span: what they ask of it, orbit after orbit of queries.

Let a query ask ℓ_κ (d, copies) of a component. The rows t of its orbit, the queries that permutations of
values make of it, have the Gram matrix Σ ℓ_κ ℓ_κᵀ over the orbit, divided by the copies. Its variance under a
covariance Σ_κ ⊗ I is Σ_κ μ_κ / size Σ_t t Σ_κ tᵀ, as in ``symmetry.split_targets``. An orbit is one of rows
for each attribute, by permutations of its values, and t has one number for each rest. With nothing that can
be swapped each query is its own orbit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.sectors.plain.attribute_bases import AttributeBasis
from mmopt.sectors.plain.functions_of_few import SectorComponent
from mmopt.sectors.row_space import RowSpace
from mmopt.symmetry.attribute_queries import Piece, terms_of
from mmopt.symmetry.split_targets import row_orbits
from mmopt.symmetry.value_swaps import interchangeable
from mmopt.workloads import Workload
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["as_targets", "asked_sources", "matrix_of"]

# Of each component rows t, and the number of the orbit that each is of; sizes of the orbits, their targets.
QueryOrbits = tuple[list[tuple[Array, Ints]], Array, Array]


def as_targets(workload: Workload) -> Workload:
    """The queries unweighted, each product with the weight 1 / target: swaps then keep targets, too."""
    products = [replace(p.unweighted(), weight=1.0 / p.target) for p in workload.products or ()]
    return Workload.from_products(workload.domain, products)


def asked_sources(rows: RowSpace, cells: Space, workload: Workload) -> dict[str, Split | Level] | str:
    """What programs take of a workload with targets, on ``cells`` of its row space; or why nothing is known.

    rows : the row space of ``as_targets(workload)``.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    if not workload.has_all_targets:
        return "queries without a target are not known there"
    found = _orbits_of(rows, as_targets(workload), [p.target for p in workload.products or ()])
    if isinstance(found, str):
        return found
    inner = cells.abstract(cells.dims)
    queries = _space(found, cells, workload)
    return {
        "workload.representation": Split(queries, inner, tuple(own for own, _ in found[0])),
        "workload.basis": Split(inner, cells, tuple(np.eye(d) for d in cells.dims)),
        "workload.targets": Level(queries, found[2]),
    }


def matrix_of(rows: RowSpace, cells: Space, workload: Workload) -> Split | str:
    """The queries, weighted, on ``cells`` of their row space ``rows``; or why they are not known.

    A query of weight w is one times √w, as is one whose target is 1 / w divided by the root of its target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    asked = workload.weighed
    found = _orbits_of(rows, asked, [1.0 / p.weight for p in asked.products or ()])
    if isinstance(found, str):
        return found
    scales = 1.0 / np.sqrt(found[2])
    parts = tuple(own * scales[label, None] for own, label in found[0])
    return Split(_space(found, cells, workload), cells, parts)


def _space(found: QueryOrbits, cells: Space, workload: Workload) -> Space:
    """The space of the queries, by orbits."""
    parts, sizes, _ = found
    return Space(
        cells.multiplicities,
        tuple(len(own) for own, _ in parts),
        labels=tuple(label for _, label in parts),
        sizes=sizes,
        total=workload.m,
    )


@dataclass(frozen=True, eq=False)
class _FactorOrbits:
    """Orbits of the rows of a factor: how many rows each has, and t on each kind of function.

    flat : (q, o) on the constant and the contrasts. rests : by orbit of values (q,).
    """

    counts: Array
    flat: Array
    rests: Mapping[int, Array]

    @staticmethod
    def of(basis: AttributeBasis, piece: Piece) -> _FactorOrbits:
        orbits = row_orbits(basis.symmetry, piece)
        # Where a factor has weights of its rows, these tell them apart.
        scale = np.sqrt(orbits.targets / basis.size)
        even = orbits.local.rows.get(0, np.zeros((orbits.size, basis.orbits)))
        parts = basis.symmetry.parts
        return _FactorOrbits(
            orbits.counts.astype(np.float64),
            basis.turned(scale[:, None] * even),
            {int(parts[k].labels[0]): scale * own[:, 0] for k, own in orbits.local.rows.items() if k},
        )


def _orbits_of(rows: RowSpace, asked: Workload, targets: Sequence[float]) -> QueryOrbits | str:
    """The rows of the products that ``rows`` is the space of, with their targets; or why they are not known.

    An orbit is one of rows for each attribute of a product, its row t one for each factor multiplied. The
    weight of a product is one divided by its target.
    """
    _, terms = terms_of(asked, with_targets=False)
    looked = [{i: p for i, p in enumerate(term.pieces) if p.kind != "total"} for term in terms]
    known: dict[tuple[int, int], _FactorOrbits] = {}
    for i, piece in {(i, id(p)): (i, p) for own in looked for i, p in own.items()}.values():
        basis = rows.bases[i]
        is_swapped = basis.orbits < basis.size
        if is_swapped and not _is_finer(basis.symmetry.classes, interchangeable(piece, by_rows=True)):
            return "values can be swapped in the sum of the queries' squares, and not query by query"
        known[i, id(piece)] = _FactorOrbits.of(basis, piece)
    factors = [{i: known[i, id(p)] for i, p in own.items()} for own in looked]
    counts = [kron([np.ones(1), *(f.counts for f in own.values())]) for own in factors]
    starts = np.cumsum([0, *map(len, counts)])
    entries = sum(sum(len(counts[at]) for at in own.products) * own.dim for own in rows.components)
    require_memory((entries,), "queries in the space that they span")
    parts = []
    for component in rows.components:
        blocks = [_on_component(component, factors[at], rows.asked[at].factors) for at in component.products]
        own = np.vstack(blocks)
        labels = np.concatenate([np.arange(starts[at], starts[at + 1]) for at in component.products])
        has_any = own.any(axis=1)
        parts.append((own[has_any], labels[has_any]))
    each = [np.full(len(own), target) for own, target in zip(counts, targets, strict=True)]
    return parts, np.concatenate(counts), np.concatenate(each)


def _is_finer(classes: Ints, coarse: Ints) -> bool:
    """Whether each class is within one of the coarse ones."""
    return len(np.unique(np.stack([classes, coarse], axis=1), axis=0)) == int(classes.max()) + 1


def _on_component(
    component: SectorComponent, factors: Mapping[int, _FactorOrbits], told: Mapping[int, Any]
) -> Array:
    """(q, dim) rows t of the orbits of a product; ``told``: attributes of which it tells values apart."""
    rests = dict(component.rests)
    count = math.prod(len(own.counts) for own in factors.values())
    found = np.zeros((count, component.dim))
    for sector, place in component.places.items():
        if not set(sector) <= set(told):
            continue
        each = [np.ones((1, 1))]
        for i, own in factors.items():
            if i in rests:
                each.append(own.rests.get(rests[i], np.zeros(len(own.counts)))[:, None])
            else:
                each.append(own.flat[:, 1:] if i in sector else own.flat[:, :1])
        found[:, place] = kron(each)
    return found
