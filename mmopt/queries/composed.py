"""The blocks without a closed form: explicit predicates, and unions of other blocks."""

from __future__ import annotations

import numpy as np

from mmopt.queries.arrays import Array, Ints, stacked_root
from mmopt.queries.classes import column_classes, refine
from mmopt.queries.describe import describe_array
from mmopt.queries.domain import Attribute
from mmopt.queries.factor_base import Factor
from mmopt.queries.labels import group_label
from mmopt.queries.structured import Identity

__all__ = ["Predicates", "Union"]


class Predicates(Factor):
    kind = "predicates"

    def __init__(self, matrix: Array, names: tuple[str, ...]) -> None:
        super().__init__(matrix.shape[1])
        self._matrix = matrix
        self.names = names

    @property
    def rows(self) -> int:
        return int(self._matrix.shape[0])

    def take(self, index: Ints) -> Array:
        rows: Array = self._matrix[index]
        return rows

    def gram(self) -> Array:
        return np.asarray(self._matrix.T @ self._matrix)

    def root(self) -> Array:
        return stacked_root([self._matrix], self.size)

    def apply(self, x: Array) -> Array:
        return np.asarray(x @ self._matrix.T)

    def squared_norms(self) -> Array:
        return np.asarray(np.square(self._matrix).sum(axis=1))

    def classes(self) -> Ints:
        return column_classes(self._matrix)

    def labels(self, attribute: Attribute) -> list[str]:
        return [group_label(attribute, name) for name in self.names]

    def describe(self) -> list[object]:
        return [self.kind, self.size, describe_array(self._matrix)]

    def __repr__(self) -> str:
        return f"predicates({self.rows} × {self.size})"


class Union(Factor):
    """The rows of the parts, one part after the other."""

    kind = "union"

    def __init__(self, parts: tuple[Factor, ...]) -> None:
        super().__init__(parts[0].size)
        self.parts = parts

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def full_rank(self) -> bool:
        return any(part.full_rank for part in self.parts)

    def take(self, index: Ints) -> Array:
        rows: Array = np.empty((len(index), self.size))
        start = 0
        for part in self.parts:
            chosen = (start <= index) & (index < start + part.rows)
            rows[chosen] = part.take(index[chosen] - start)
            start += part.rows
        return rows

    def gram(self) -> Array:
        total = np.zeros((self.size, self.size))
        for part in self.parts:
            total += part.gram()
        return total

    def root(self) -> Array:
        return stacked_root((part.root() for part in self.parts), self.size)

    def apply(self, x: Array) -> Array:
        return np.concatenate([part.apply(x) for part in self.parts], axis=-1)

    def squared_norms(self) -> Array:
        return np.concatenate([part.squared_norms() for part in self.parts])

    def classes(self) -> Ints:
        return refine([part.classes() for part in self.parts])

    def spanning(self) -> Factor:
        return Identity(self.size) if self.full_rank else Union(tuple(p.spanning() for p in self.parts))

    def labels(self, attribute: Attribute) -> list[str]:
        return [label for part in self.parts for label in part.labels(attribute)]

    def describe(self) -> list[object]:
        return [self.kind, self.size, [part.describe() for part in self.parts]]

    def __repr__(self) -> str:
        return f"union({', '.join(map(repr, self.parts))})"
