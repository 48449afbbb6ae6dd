"""Accuracy targets: queries, basis and targets of a workload by components.

The group maps queries to queries of the same product (up to sign), so queries have orbits too: one query per
attribute from an orbit of the factor's queries. On a component, the queries W_o of an orbit have the Gram
matrix W_oᵀ W_o = t_o t_oᵀ with t_o = ⊗ᵢ tᵢ, one vector per attribute (see ``Attribute.of_query``). These rows
are the workload on the component: Wᵀ diag(q) W has there the matrix Σ_o q_o t_o t_oᵀ for every q that is
constant on orbits, and the variance of a query of orbit o is Σ_κ μ_κ/size_o t_oᵀ Σ_κ t_o.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.numerics.arrays import EPS, Array, svd
from mmopt.numerics.components import Level, Space, Split
from mmopt.symmetry.asked_rows import AskedProduct, AskedRows
from mmopt.symmetry.joint import Chosen, Joint, Key

__all__ = ["Asked", "asked_of"]

# Relative: what a query without a target may lie outside the span of those with one, by rounding.
CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class Asked:
    """L (queries with a target × basis rows), B (basis rows × cells) with L B = the queries; the targets."""

    representation: Split
    basis: Split
    targets: Level


def asked_of(
    joint: Joint,
    products: Sequence[AskedProduct],
    blocks: Sequence[AskedRows],
    others: dict[Key, Array],
    dense: Callable[[], Array],
) -> Asked | None:
    """The queries with a target, from ``asked_rows``; None where they do not determine all others.

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
    return Asked(Split(queries, inner, left), Split(inner, cells, right), targets)


def _determined(others: dict[Key, Array], chosen: Sequence[Chosen], bases: Sequence[Array]) -> bool:
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
