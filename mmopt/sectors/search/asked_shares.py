"""Targets: weights of the queries that are searched for, as those of the cells are.

Let y be shares of the orbits of queries, of sum 1, and q = y / (size · target) the weight of each query. With
R(y)ᵀ R(y) = Σ q tᵀ t over the rows t of all orbits, t(w, y)² = (tr (R Q(w) Rᵀ)^½)² is below the privacy cost
of whatever meets all targets: t is at most the root of the q-weighted variances times the mean cost of it. It
is the least of such roots, over all strategies, so concave in (w, y), and homogeneous of degree ½ in each of
them. Hence the best Σw = Σy = 1 is the best Σw + Σy = 2: cells and queries have one simplex.

    P = σ⁻¹ Uᵀ R Q,  seen = t Pᵀ,  N⁻¹ = t Pᵀ σ⁻¹ P

make the variance of a query at N what t Σ_a seen_a² / σ_a is over its orbit. Derivatives of t in its weight
are those in the weight of a cell with ``seen`` for the vector (``measure_columns.py``); second ones by a cell
and a query have the other sign.

With all variances counted besides (``beside``), q = y / (size · target) + beside · Σy, and nothing changes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints, qr
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.row_space import RowSpace
from mmopt.sectors.search.spectrum import Spectrum

__all__ = ["AskedShares", "with_root"]


@dataclass(frozen=True, eq=False)
class AskedShares:
    """Orbits of queries with targets, and what shares of them make of the queries.

    rows : by component (m, d), as in ``measured.asked_queries``. orbits : by component (m,) the orbit of each
    row. sizes, targets : (o,) of each orbit. beside : the weight that each query has besides.
    """

    rows: tuple[Array, ...]
    orbits: tuple[Ints, ...]
    sizes: Array
    targets: Array
    beside: float = 0.0

    @property
    def even(self) -> Array:
        """(o,) the same share for every query."""
        return np.asarray(self.sizes / self.sizes.sum())

    def weighing(self, space: RowSpace, shares: Array) -> RowSpace:
        """The row space with the queries of these shares (o,) for its root."""
        roots = np.sqrt(shares / (self.sizes * self.targets) + self.beside * float(shares.sum()))
        pairs = zip(self.rows, self.orbits, strict=True)
        return with_root(space, [own * roots[orbit, None] for own, orbit in pairs])

    def seen(self, found: Spectrum) -> tuple[Array, ...]:
        """By component (m, r) t Pᵀ of each row t."""
        each = zip(self.rows, found.turned, found.roots, found.moments, strict=True)
        return tuple(own @ (turned @ q).T / root for own, turned, root, q in each)

    def slopes(self, found: Spectrum, multiplicities: Sequence[float]) -> Array:
        """(o,) the variance at N of each orbit next to its target, over t²: its mean by the shares is 1."""
        total = np.zeros(len(self.sizes))
        each = zip(self.seen(found), found.roots, multiplicities, strict=True)
        for at, (seen, root, often) in enumerate(each):
            total += often / found.total * self.joined(np.square(seen) @ (1.0 / root), at)
        return total

    def joined(self, values: Array, component: int) -> Array:
        """Derivatives by shares (J + o, …) from (J + m, …), the last m by weights of a component's rows."""
        orbit = self.orbits[component]
        count = len(values) - len(orbit)
        summed = np.zeros((len(self.sizes), *values.shape[1:]))
        np.add.at(summed, orbit, values[count:])
        scale = (self.sizes * self.targets).reshape(-1, *(1,) * (values.ndim - 1))
        return np.concatenate([values[:count], summed / scale + self.beside * summed.sum(axis=0)])


def with_root(space: RowSpace, parts: Sequence[Array]) -> RowSpace:
    """The row space with queries (m, d) of each component for its root, up to rotation of their rows."""
    found = copy.copy(space)
    few = tuple(qr(part) if len(part) > part.shape[1] else part for part in parts)
    root = Split(space.space.abstract(tuple(map(len, few))), space.space, few)
    object.__setattr__(found, "root", root)  # of a copy that nobody else has
    return found
