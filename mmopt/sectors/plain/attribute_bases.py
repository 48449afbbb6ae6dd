"""The functions of one attribute: the constant, contrasts of its orbits, and rests; what is asked in them.

An attribute has d values, in orbits (s of them in one, o orbits) of values that can be swapped in every
query. Its functions, orthonormal under the uniform probability on the values, are

- the constant 1;
- o - 1 *contrasts*: constant on orbits, with mean zero;
- per orbit with s > 1 a *rest*: functions on that orbit with sum zero, s - 1 of them, all alike.

A query with the row F on the attribute has the coefficient F b / d on the function b. A measure that is
uniform within orbits has the mean δ (d / s) μ(orbit) of the product of two functions of one rest, and 0 of a
rest and any other function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.symmetry.attribute_components import AttributeSymmetry
from mmopt.symmetry.attribute_queries import Piece
from mmopt.symmetry.value_swaps import interchangeable
from mmopt.workloads.blocks.implicit_matrix import refine

__all__ = ["AttributeBasis", "Coefficients", "basis_of", "coefficients", "orthonormal_functions"]


@dataclass(frozen=True, eq=False)
class AttributeBasis:
    """The orbits of an attribute's values and the functions of them."""

    symmetry: AttributeSymmetry

    @property
    def size(self) -> int:
        """d, the number of values."""
        return len(self.symmetry.classes)

    @property
    def orbits(self) -> int:
        """o, the number of orbits."""
        return len(self.sizes)

    @property
    def sizes(self) -> Ints:
        """(o,) values in each orbit."""
        return self.symmetry.sizes

    @property
    def uniform(self) -> Array:
        """(o,) the uniform probability of each orbit."""
        return self.sizes / self.size

    @cached_property
    def functions(self) -> Array:
        """(o, o) at each orbit the values of the constant, which are 1, and of the contrasts."""
        return orthonormal_functions(self.uniform)

    @cached_property
    def squares(self) -> Array:
        """(o,) d / s: the square of a function of the orbit's rest, in the mean over the orbit."""
        return np.asarray(self.size / self.sizes, dtype=np.float64)

    def turned(self, coordinates: Array) -> Array:
        """(r, o) on the constant and the contrasts, from rows (r, o) on the orbits' unit vectors."""
        return np.asarray(coordinates @ _turned(self.uniform))

    def second_moments(self, measure: Array) -> Array:
        """(o, o) the means of products of two of ``functions`` under a measure (o,) of the orbits."""
        return np.asarray(self.functions.T @ (measure[:, None] * self.functions))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What a factor asks of an attribute, up to rotation of its rows.

    flat : (r, o) rows on the constant and the contrasts; where the factor is constant (1, 1): no contrast.
    rests : by orbit the one coefficient on its rest; orbits on which the factor has none are left out.
    """

    flat: Array
    rests: Mapping[int, float]

    @cached_property
    def constant(self) -> float:
        """The length of the coefficients on the constant."""
        return float(np.linalg.norm(self.flat[:, 0]))

    @property
    def is_constant(self) -> bool:
        """Whether the factor looks at no value: the same for all."""
        return self.flat.shape[1] == 1 and not self.rests


def orthonormal_functions(measure: Array) -> Array:
    """(o, o) values of the constant 1 and of o - 1 functions, orthonormal under a positive measure."""
    found = _turned(measure) / np.sqrt(measure)[:, None]
    found[:, 0] = 1.0
    return np.asarray(found)


def _turned(measure: Array) -> Array:
    """(o, o) orthogonal and symmetric, the first column the roots of the measure."""
    # The reflection that exchanges the first unit vector and these roots.
    normal = -np.sqrt(measure)
    normal[0] += 1.0
    length = float(normal @ normal)
    found = np.eye(len(measure))
    return found if length == 0.0 else found - np.outer(2.0 / length * normal, normal)


def basis_of(size: int, pieces: Sequence[Piece]) -> AttributeBasis:
    """The functions of an attribute with these queries; values are swapped where each piece allows it."""
    classes = np.zeros(size, dtype=np.int64)
    for piece in pieces:
        classes = refine([classes, interchangeable(piece)])
    return AttributeBasis(AttributeSymmetry.of(classes, reversal=False))


def coefficients(basis: AttributeBasis, piece: Piece) -> Coefficients:
    """What a piece asks, in the functions of its attribute.

    The squared coefficients of a total are 1, of an identity 1 / d, exactly; else from the root of the rows.

    Raises
    ------
    TooLargeError : a root that does not fit in memory.
    """
    symmetry, scale = basis.symmetry, 1.0 / np.sqrt(basis.size)
    if piece.kind == "total":
        return Coefficients(np.ones((1, 1)), {})
    several = np.flatnonzero(basis.sizes > 1).tolist()
    if piece.kind == "identity":
        return Coefficients(scale * np.eye(basis.orbits), dict.fromkeys(several, float(scale)))
    root = piece.root()
    if (root == root[:, :1]).all() and _is_constant(piece):
        return Coefficients(np.array([[float(np.linalg.norm(root[:, 0]))]]), {})
    sums = symmetry.sums(root)
    even, *rests = (symmetry.root(part, root, sums, piece.blocks, mean=False) for part in symmetry.parts)
    found = {o: float(scale * own[0, 0]) for o, own in zip(several, rests, strict=True) if len(own)}
    return Coefficients(basis.turned(scale * even), found)


def _is_constant(piece: Piece) -> bool:
    """Whether every query gives all values the same, decided by the rows themselves."""
    return all(bool((rows == rows[:, :1]).all()) for rows in piece.blocks())
