"""One component in integers: what is measured of it, from counts by few attributes.

On the part of an attribute that a component chooses, the cells' counts x are taken to integers: on an even
or odd part by sums over orbits (1_O, 1_C - 1_σ(C)); on a rest by s e_v - 1_C for each value v of its classes
C of size s. The latter are s rows for a space of s - 1 dimensions: their Gram matrix is s² times its
projection, so noise on them tells as much as noise on an orthonormal basis times s, which has no integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.numerics.arrays import AnyInts, Array, Ints
from mmopt.numerics.pseudoinverse import pinv
from mmopt.privacy.rounding.counted_tables import CountedTables
from mmopt.privacy.rounding.integer_arithmetic import exactly, largest_entry
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS
from mmopt.symmetry.attribute_components import AttributePart, AttributeSymmetry
from mmopt.symmetry.joint_components import Chosen, Joint

__all__ = ["Component"]


@dataclass(frozen=True, eq=False)
class Component:
    """``matrix`` (k, kept), on the sums over orbits, times the whole matrices of the rests.

    The measured rows are in the order (row of ``matrix``, values of the rests).
    """

    joint: Joint
    chosen: Chosen
    matrix: Ints

    @cached_property
    def _parts(self) -> list[tuple[AttributeSymmetry, AttributePart]]:
        """The chosen part of each attribute."""
        return [(a, a.parts[k]) for a, k in zip(self.joint.attributes, self.chosen.key, strict=True)]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The attributes of which more is taken than the sum over all values."""
        sums = [part.kind == "even" and part.dim == 1 for _, part in self._parts]
        return tuple(i for i, is_sum in enumerate(sums) if not is_sum)

    @cached_property
    def _maps(self) -> tuple[scipy.sparse.csr_array, ...]:
        """Of the ``axes``."""
        return tuple(_map(*self._parts[i]) for i in self.axes)

    @property
    def _is_rest(self) -> list[bool]:
        return [self._parts[i][1].kind == "rest" for i in self.axes]

    @cached_property
    def centred(self) -> frozenset[int]:
        """The attributes over which its part of the data vector sums to zero."""
        return frozenset(i for i in self.axes if self._parts[i][1].kind != "even")

    @cached_property
    def rest_sizes(self) -> list[int]:
        """The sizes of the classes of the rests."""
        rests = [(a, int(part.labels[0])) for a, part in self._parts if part.kind == "rest"]
        return [int(a.class_sizes[np.flatnonzero(a.orbit_of_class == orbit)[0]]) for a, orbit in rests]

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        rests = [(a, a.orbit_of_class == part.labels[0]) for a, part in self._parts if part.kind == "rest"]
        return len(self.matrix) * math.prod(int(a.class_sizes[own].sum()) for a, own in rests)

    @property
    def orbits(self) -> Ints:
        """(kept,) the orbit of cells of each column of ``matrix``."""
        return self.joint.labels(self.chosen.key)[self.chosen.kept]

    @property
    def norms(self) -> Array:
        """(kept,) the L2 length of each vector that the columns of ``matrix`` stand for."""
        alike = math.prod(float(a.sizes[part.labels[0]]) for a, part in self._parts if part.kind == "rest")
        return np.asarray(np.sqrt(self.joint.sizes[self.orbits] / alike))

    @property
    def largest_entry(self) -> int:
        """Bound on the entries over the cells, and on all sums on the way to an answer for one cell."""
        return max(largest_entry(self.matrix), 1) * math.prod(self.rest_sizes)

    def squared_norms(self) -> list[tuple[int, int]]:
        """Each kept column's orbit of cells, and its share of their squared column norm, exactly."""
        factor = math.prod(s * (s - 1) for s in self.rest_sizes)
        squares = (self.matrix.astype(object) ** 2).sum(axis=0)
        return [(int(o), int(square) * factor) for o, square in zip(self.orbits, squares, strict=True)]

    def answers(self, counts: CountedTables) -> AnyInts:
        """Exact answers."""

        def linear(tensor: Any) -> Any:
            for axis, one in enumerate(self._maps):
                tensor = _along(one, tensor, axis)
            return (self.matrix @ self._split(tensor)[self.chosen.kept]).ravel()

        return exactly(linear, counts.of(self.axes), self.largest_entry * MAX_ROWS)

    def least_squares(self, noisy: Array, attributes: tuple[int, ...]) -> Array:
        """The sums, over all but these attributes, of the shortest x̂ (n,) that fits the answers best.

        An array of the sizes of ``attributes``, or of 1 for those of which it is the same at all values. They
        have all that are ``centred``; of no others the sums are zero.
        """
        values = noisy.reshape(len(self.matrix), -1)
        sizes = [len(a.classes) for a in self.joint.attributes]
        beside = set(range(len(sizes))).difference(attributes, self.axes)
        often = float(math.prod(sizes[i] for i in beside))  # cells that are summed up, all alike
        norms = self.norms
        kept = pinv(self.matrix * norms) @ values
        kept *= (often / norms / math.prod(float(s) ** 2 for s in self.rest_sizes))[:, None]
        full = np.zeros((self.joint.dim(self.chosen.key), values.shape[1]))
        full[self.chosen.kept] = kept
        tensor = self._joined(full)
        for axis, (attribute, one) in enumerate(zip(self.axes, self._maps, strict=True)):
            sums = one if attribute in attributes else one.sum(axis=1)[:, None]
            tensor = _along(sums.T, tensor, axis)
        wide = [sizes[i] if i in self.axes else 1 for i in attributes]
        return np.asarray(tensor.reshape(wide))

    def _order(self) -> list[int]:
        return sorted(range(len(self._maps)), key=self._is_rest.__getitem__)

    def _split(self, tensor: Ints) -> Ints:
        """Axes of sums first: (their product, that of the rests)."""
        return tensor.transpose(self._order()).reshape(self.joint.dim(self.chosen.key), -1)

    def _joined(self, matrix: Array) -> Array:
        order = self._order()
        shape = [self._maps[axis].shape[0] for axis in order]
        return matrix.reshape(shape).transpose(np.argsort(order))


def _along(matrix: scipy.sparse.csr_array, tensor: Any, axis: int) -> Any:
    """The matrix times the tensor along an axis, in the numbers that the tensor has."""
    moved = np.moveaxis(tensor, axis, 0)
    product = matrix @ moved.reshape(moved.shape[0], -1)
    return np.moveaxis(np.asarray(product).reshape(matrix.shape[0], *moved.shape[1:]), 0, axis)


def _map(attribute: AttributeSymmetry, part: AttributePart) -> scipy.sparse.csr_array:
    """The integer matrix (rows, size) of a part."""
    n = len(attribute.classes)
    values = np.arange(n)
    if part.kind == "even":
        entries = np.ones(n, dtype=np.int64)
        return scipy.sparse.csr_array((entries, (attribute.orbit_of, values)), shape=(part.dim, n))
    if part.kind == "odd":
        member = np.equal.outer(np.arange(len(attribute.mirror)), attribute.classes).astype(np.int64)
        first, second = attribute.pairs.T
        return scipy.sparse.csr_array(member[first] - member[second])
    blocks = []
    for c in np.flatnonzero(attribute.orbit_of_class == part.labels[0]):
        own = np.flatnonzero(attribute.classes == c)
        block = np.zeros((len(own), n), dtype=np.int64)
        block[:, own] = len(own) * np.eye(len(own), dtype=np.int64) - 1
        blocks.append(block)
    return scipy.sparse.csr_array(np.vstack(blocks))
