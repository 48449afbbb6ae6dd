"""Queries with targets in the space that they span: what they ask of it, orbit after orbit of queries.

Let a query ask ℓ_κ (d, copies) of a component. The rows t of its orbit, the queries that permutations of the
attributes make of it, have the Gram matrix Σ ℓ_κ ℓ_κᵀ over the orbit, divided by the copies. Its variance
under a covariance Σ_κ ⊗ I is Σ_κ μ_κ / size Σ_t t Σ_κ tᵀ, as in ``symmetry.split_targets``. With nothing that
can be swapped each query is its own orbit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.numerics.split_arrays import Level, Space, Split
from mmopt.sectors.equal.equal_attributes import EqualAttributes
from mmopt.sectors.equal.pair_queries import rows_of
from mmopt.sectors.plain.plain_space import PlainSpace
from mmopt.sectors.row_space import RowSpace
from mmopt.workloads import Product, Workload

__all__ = ["as_targets", "asked_sources", "matrix_of"]

# Of each component rows t, and the number of the orbit that each is of; sizes of the orbits, their targets.
Asked = tuple[list[tuple[Array, Ints]], list[float], list[float]]


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
    found = _asked(rows, workload.products or ())
    if isinstance(found, str):
        return found
    inner = cells.abstract(cells.dims)
    queries = _space(found, cells, workload)
    return {
        "workload.representation": Split(queries, inner, tuple(own for own, _ in found[0])),
        "workload.basis": Split(inner, cells, tuple(np.eye(d) for d in cells.dims)),
        "workload.targets": Level(queries, np.array(found[2])),
    }


def matrix_of(rows: RowSpace, cells: Space, workload: Workload) -> Split | str:
    """The queries, weighted, on ``cells`` of their row space ``rows``; or why they are not known.

    A query of weight w is one times √w, as is one whose target is 1 / w divided by the root of its target.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    found = _asked(rows, [replace(p, target=1.0 / p.weight) for p in workload.weighed.products or ()])
    if isinstance(found, str):
        return found
    scales = 1.0 / np.sqrt(np.array(found[2]))
    parts = tuple(own * scales[label, None] for own, label in found[0])
    return Split(_space(found, cells, workload), cells, parts)


def _space(found: Asked, cells: Space, workload: Workload) -> Space:
    """The space of the queries, by orbits."""
    parts, sizes, _ = found
    return Space(
        cells.multiplicities,
        tuple(len(own) for own, _ in parts),
        labels=tuple(label for _, label in parts),
        sizes=np.array(sizes),
        total=workload.m,
    )


def _asked(rows: RowSpace, products: Sequence[Product]) -> Asked | str:
    """The rows of products with targets; or why they are not known."""
    if isinstance(rows, EqualAttributes):
        return _equal(rows, products)
    if isinstance(rows, PlainSpace) and len(rows.components) == 1:
        return _plain(rows, products)
    return "queries are not known one by one where values can be swapped"


def _equal(rows: EqualAttributes, products: Sequence[Product]) -> Asked | str:
    """By kinds of products: the queries of one choice of attributes stand for all."""
    k = len(rows.shape)
    places = {0: 1, 1: k, 2: k * (k - 1)}
    found: list[tuple[list[Array], list[Ints]]] = [([], []) for _ in rows.space.dims]
    sizes: list[float] = []
    targets: list[float] = []
    standing = 0
    for kind in rows.kinds:
        count = math.prod(f.rows for f in kind.factors)
        choices = places[len(kind.factors)] // (2 if kind.is_symmetric else 1)
        standing += choices
        matrices = [factor.matrix() for factor in kind.factors]
        for at, own in rows_of(rows.coordinates, matrices, kind.is_symmetric):
            found[at][0].append(own)
            found[at][1].append(len(sizes) + np.arange(count))
        sizes += [float(choices)] * count
        targets += [1.0 / kind.weight] * count
    if standing != len(products):
        return "products that stand there several times have no targets there"
    dims = rows.space.dims
    parts = [
        (np.vstack([np.zeros((0, d)), *own]), np.concatenate([np.zeros(0, dtype=np.int64), *labels]))
        for (own, labels), d in zip(found, dims, strict=True)
    ]
    return parts, sizes, targets


def _plain(rows: PlainSpace, products: Sequence[Product]) -> Asked:
    """Every query by its coefficients in the one component."""
    (component,) = rows.components
    count = sum(p.m for p in products)
    require_memory((count, component.dim), "queries in the space that they span")
    found, targets, top = np.zeros((count, component.dim)), [], 0
    places = component.places
    for product in products:
        each = {
            i: f.matrix() @ rows.functions[i] / f.size
            for i, f in enumerate(product.factors)
            if f.kind != "total"
        }
        here = slice(top, top + product.m)
        for sector in component.sectors:
            if set(sector) <= set(each):
                block: Array = np.ones((1, 1))
                for i, own in each.items():
                    block = np.asarray(np.kron(block, own[:, 1:] if i in sector else own[:, :1]))
                found[here, places[sector]] = block
        targets += [product.target] * product.m
        top += product.m
    return [(found, np.arange(count))], [1.0] * count, targets
