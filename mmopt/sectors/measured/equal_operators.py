"""Operators on queries of at most two of equal attributes that commute with all permutations of these."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array
from mmopt.sectors.measured.equal_blocks import (
    KINDS,
    NAMES,
    Blocks,
    Components,
    applied,
    between,
    blocks_of,
    components_of,
)
from mmopt.sectors.measured.sector_layout import SectorLayout
from mmopt.sectors.measured.sector_operators import Operator, symmetric_root
from mmopt.workloads.blocks.kronecker_products import kron

__all__ = ["EqualOperator", "change_of_equal"]


@dataclass(frozen=True, eq=False)
class EqualOperator(Operator):
    """A matrix that commutes with permutations of k >= 2 attributes.

    components : trivial (1 + c + s)², standard (c + s + t)², sym (s, s), alt (t, t), s = c(c+1)/2,
        t = c(c-1)/2, in the coordinates that ``equal_blocks.py`` and its ``pair_basis`` tell.
    """

    k: int
    components: Components

    @property
    def c(self) -> int:
        """Functions of an attribute beside 1."""
        return len(self.components[2]) - len(self.components[3])

    @property
    def size(self) -> int:
        return 1 + self.k * self.c + self.k * (self.k - 1) // 2 * self.c**2

    @property
    def parts(self) -> Mapping[str, Array]:
        return dict(zip(NAMES, self.components, strict=True))

    @cached_property
    def blocks(self) -> Blocks:
        """The same matrix by blocks."""
        return blocks_of(self.k, self.components)

    def apply(self, vector: Array) -> Array:
        return applied(self.blocks, self.k, vector)

    def inverse(self) -> EqualOperator:
        return self._each(lambda part: np.asarray(np.linalg.inv(part), dtype=np.float64))

    def transposed(self) -> EqualOperator:
        return self._each(lambda part: part.T)

    def gram(self) -> EqualOperator:
        return self._each(lambda part: part.T @ part)

    def root(self) -> EqualOperator:
        return self._each(symmetric_root)

    def times(self, other: EqualOperator) -> EqualOperator:
        """The product with another one."""
        pairs = zip(self.components, other.components, strict=True)
        return EqualOperator(self.k, _four([left @ right for left, right in pairs]))

    def _each(self, change: Callable[[Array], Array]) -> EqualOperator:
        return EqualOperator(self.k, _four([change(part) for part in self.components]))

    def block(self, layout: SectorLayout, attributes: tuple[int, ...]) -> Array:
        numbers = tuple(range(len(attributes)))
        o = self.c + 1
        found = np.empty((o,) * (2 * len(numbers)))
        subsets = [tuple(i for i in numbers if mask >> i & 1) for mask in range(2 ** len(numbers))]
        for rows in subsets:
            for columns in subsets:
                at = tuple(slice(1, None) if i in rows else 0 for i in numbers)
                to = tuple(slice(1, None) if i in columns else 0 for i in numbers)
                shape = (self.c,) * (len(rows) + len(columns))
                found[at + to] = between(self.blocks, rows, columns).reshape(shape)
        return found.reshape(o ** len(numbers), -1)

    def kind_of(self, attributes: tuple[int, ...]) -> Hashable:
        return len(attributes)


def _four(parts: list[Array]) -> Components:
    trivial, standard, sym, alt = parts
    return trivial, standard, sym, alt


def change_of_equal(layout: SectorLayout, other: SectorLayout) -> EqualOperator:
    """``change_of_functions`` where all attributes have the same functions in both layouts."""
    k, step = len(layout.labels), layout.change(0, other)
    mean, inner = step[1:, :1], step[1:, 1:]
    c = len(inner)
    blocks = {(a, b, o): np.zeros((c**a, c**b)) for a, b, o in KINDS}
    blocks[0, 0, 0] = np.ones((1, 1))
    blocks[1, 0, 0], blocks[1, 1, 1] = mean, inner
    blocks[2, 0, 0], blocks[2, 1, 1], blocks[2, 2, 2] = (
        kron([mean, mean]),
        kron([inner, mean]),
        kron([inner] * 2),
    )
    return EqualOperator(k, components_of(k, blocks))
