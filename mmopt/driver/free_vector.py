"""The chosen variables of a smooth program as one vector of free (or nonnegative) numbers, and back.

A psd matrix is LᵀL with L triangular, so that every vector gives one (Burer & Monteiro 2003, A nonlinear
programming algorithm for solving semidefinite programs via low-rank factorization); a symmetric one is its
triangle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmopt.language.syntax.syntax_tree import Declaration
from mmopt.numerics.arrays import Array
from mmopt.numerics.matrix_functions import EIGENVALUE_FLOOR, psd_floor


@dataclass(frozen=True)
class Coordinates:
    """The declarations of the chosen variables, with the sizes of the dimensions."""

    declarations: Sequence[Declaration]
    sizes: Mapping[str, int]

    def length(self, d: Declaration) -> int:
        shape = d.shape(self.sizes)
        return shape[0] * (shape[0] + 1) // 2 if d.kind in ("psd", "symmetric") else int(np.prod(shape))

    def lower(self) -> Array:
        """The least value of each number: a little above zero for ``> 0``, -infinity where it is free."""
        least = {"": -np.inf, ">=": 0.0, ">": EIGENVALUE_FLOOR}
        each = [np.full(self.length(d), least[d.sign if d.kind != "psd" else ""]) for d in self.declarations]
        return np.concatenate(each)

    def pack(self, values: Mapping[str, Array]) -> Array:
        """The numbers of a point; declared signs are clipped, psd matrices lifted to positive definite."""
        pieces = [self._flat(d, np.asarray(values[d.name], dtype=float)) for d in self.declarations]
        return np.asarray(np.maximum(np.concatenate(pieces), self.lower()))

    def _flat(self, d: Declaration, value: Array) -> Array:
        if d.kind not in ("psd", "symmetric"):
            return value.ravel()
        if d.kind == "psd":
            lifted = psd_floor(value)
            tiny = EIGENVALUE_FLOOR * (1.0 + float(np.abs(lifted).max(initial=0.0)))
            whole = np.linalg.cholesky(lifted + tiny * np.eye(len(value))).T
        else:
            whole = (value + value.T) / 2
        return np.asarray(whole[np.triu_indices(len(value))])

    def _pieces(self, x: Array) -> list[tuple[Declaration, Array]]:
        ends = np.cumsum([self.length(d) for d in self.declarations])
        return list(zip(self.declarations, np.split(x, ends[:-1]), strict=True))

    def unpack(self, x: Array) -> dict[str, Array]:
        """The point of the numbers."""
        out: dict[str, Array] = {}
        for d, piece in self._pieces(x):
            if d.kind == "psd":
                factor = self._triangle(d, piece)
                out[d.name] = factor.T @ factor
            elif d.kind == "symmetric":
                upper = self._triangle(d, piece)
                out[d.name] = upper + np.triu(upper, 1).T
            else:
                out[d.name] = piece.reshape(d.shape(self.sizes))
        return out

    def _triangle(self, d: Declaration, piece: Array) -> Array:
        out = np.zeros(d.shape(self.sizes))
        out[np.triu_indices(len(out))] = piece
        return out

    def pull(self, x: Array, gradients: Mapping[str, Array]) -> Array:
        """The derivative by the numbers, from those by the variables as full matrices."""
        parts = []
        for d, piece in self._pieces(x):
            if d.name not in gradients:
                parts.append(np.zeros(piece.size))
                continue
            by = gradients[d.name]
            if d.kind == "psd":
                by = self._triangle(d, piece) @ (by + by.T)
            elif d.kind == "symmetric":
                by = by + by.T - np.diag(np.diag(by))
            parts.append(by[np.triu_indices(len(by))] if d.kind in ("psd", "symmetric") else by.ravel())
        return np.concatenate(parts)


def draw(rng: np.random.Generator, d: Declaration, shape: tuple[int, ...]) -> Array:
    """A random value of a declared kind: standard normal entries, without sign where a sign is declared."""
    value = rng.normal(size=shape)
    if d.kind == "psd":
        return np.asarray(value.T @ value / len(value) + 0.1 * np.eye(len(value)))
    if d.kind == "symmetric":
        value = (value + value.T) / np.sqrt(2.0)
    return np.abs(value) if d.sign else np.asarray(value)
