"""A row space whose cells are listed, for tests: one attribute of values that can be swapped, one of none.

All cells of shape (s, d) are asked: identity on the first attribute times given rows on the second. With P
the rows times the basis of the second over d, the component without a rest, and that of the rest, which
stands there s - 1 times, both have the root P / √s; and both have the moments of the second one's measure,
since the first has a single orbit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.numerics.split_arrays import Space, Split
from mmopt.sectors.measures import Mixture
from mmopt.sectors.plain.moments_rounding import basis_rounding, component_rounding, products_rounding
from mmopt.sectors.row_space import Largest, RowSpace

__all__ = ["ExplicitSpace", "explicit_space"]


@dataclass(frozen=True, eq=False)
class ExplicitSpace(RowSpace):
    """See above; ``basis`` (d, d), the constant first, has orthonormal rows under the uniform measure."""

    space: Space
    root: Split
    shape: tuple[int, ...]
    basis: Array
    root_rounding: float = field(default=64 * EPS)

    def moments(self, mixture: Mixture) -> tuple[Array, ...]:
        measure = mixture.weights @ mixture.factors[1]
        found = (self.basis * measure) @ self.basis.T
        return found, found

    def moments_rounding(self, mixture: Mixture) -> tuple[float, ...]:
        products = products_rounding(mixture, 2)
        basis = basis_rounding(self.basis, np.ones(len(self.basis)))
        return tuple(component_rounding(q, products, basis, 2) for q in self.moments(mixture))

    def lengths(self, parts: Sequence[Array], cells: Ints) -> Array:
        values = self.basis[:, cells[:, 1]]
        often = self.space.multiplicities
        return sum(
            mu * np.einsum("ac,ab,bc->c", values, part, values) for mu, part in zip(often, parts, strict=True)
        )

    def moments_of_each(self, mixture: Mixture, parts: Sequence[Array]) -> Array:
        return mixture.factors[1] @ self.lengths(parts, self._cells)

    def means(self, mixture: Mixture, parts: Sequence[Array]) -> tuple[Array, ...]:
        found = self.lengths(parts, self._cells)
        return (mixture.factors[1] @ found)[:, None], np.tile(found, (mixture.count, 1))

    def largest(self, parts: Sequence[Array], seconds: float) -> Largest:
        found = self.lengths(parts, self._cells)
        at = int(found.argmax())
        return Largest(float(found[at]) * (1 + 1e-9), float(found[at]), self._cells[at], True)

    @property
    def _cells(self) -> Ints:
        return np.array([[0, value] for value in range(self.shape[1])])


def explicit_space(swapped: int, rows: Array) -> ExplicitSpace:
    """The queries identity (s) ⊗ ``rows`` (p, d)."""
    d = rows.shape[1]
    columns = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, : d - 1]]))[0]
    basis = np.sqrt(d) * columns.T
    basis[0] = 1.0
    root = rows @ basis.T / d / np.sqrt(swapped)
    space = Space(np.array([1.0, swapped - 1.0]), (d, d))
    split = Split(space.abstract((len(root), len(root))), space, (root, root))
    return ExplicitSpace(space, split, (1, d), basis)
