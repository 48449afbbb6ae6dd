"""Integer matrices on a component of the cells: a small one, and one whole matrix per attribute.

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

from mmopt.numerics.arrays import Array, Ints
from mmopt.privacy.rounding.exact import largest_entry
from mmopt.symmetry.attribute import Attribute, Part
from mmopt.symmetry.joint import Chosen, Joint

__all__ = ["Component", "rest_sizes"]


def rest_sizes(joint: Joint, chosen: Chosen) -> list[int]:
    """The sizes of the classes of the rests that a component chooses."""
    sizes = []
    for attribute, k in zip(joint.attributes, chosen.key, strict=True):
        part = attribute.parts[k]
        if part.kind == "rest":
            sizes.append(_class_size(attribute, part))
    return sizes


def _class_size(attribute: Attribute, part: Part) -> int:
    first = int(np.flatnonzero(attribute.orbit_of_class == part.labels[0])[0])
    return int(attribute.class_sizes[first])


@dataclass(frozen=True, eq=False)
class Component:
    """``matrix`` (k, kept), on the sums over orbits, times the whole matrices of the rests.

    The measured rows are in the order (row of ``matrix``, values of the rests).
    """

    joint: Joint
    chosen: Chosen
    matrix: Ints

    @cached_property
    def _maps(self) -> tuple[scipy.sparse.csr_array, ...]:
        pairs = zip(self.joint.attributes, self.chosen.key, strict=True)
        return tuple(_map(a, a.parts[k]) for a, k in pairs)

    @property
    def _is_rest(self) -> list[bool]:
        pairs = zip(self.joint.attributes, self.chosen.key, strict=True)
        return [a.parts[k].kind == "rest" for a, k in pairs]

    @property
    def rest_size(self) -> int:
        """Rows of the rests together."""
        return math.prod(m.shape[0] for m, rest in zip(self._maps, self._is_rest, strict=True) if rest)

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return len(self.matrix) * self.rest_size

    @property
    def orbits(self) -> Ints:
        """(kept,) the orbit of cells of each column of ``matrix``."""
        return self.joint.labels(self.chosen.key)[self.chosen.kept]

    @property
    def norms(self) -> Array:
        """(kept,) the L2 length of each vector that the columns of ``matrix`` stand for."""
        sizes = self.joint.sizes()[self.orbits]
        for a, k in zip(self.joint.attributes, self.chosen.key, strict=True):
            if a.parts[k].kind == "rest":
                sizes = sizes / float(a.sizes[a.parts[k].labels[0]])
        return np.asarray(np.sqrt(sizes))

    @property
    def largest_entry(self) -> int:
        """Bound on the entries over the cells, and on all sums on the way to an answer for one cell."""
        return max(largest_entry(self.matrix), 1) * math.prod(rest_sizes(self.joint, self.chosen))

    def squared_norms(self) -> list[tuple[int, int]]:
        """Of each column kept the orbit of cells and its share of their squared column norm, exactly."""
        factor = math.prod(s * (s - 1) for s in rest_sizes(self.joint, self.chosen))
        squares = (self.matrix.astype(object) ** 2).sum(axis=0)
        return [(int(o), int(square) * factor) for o, square in zip(self.orbits, squares, strict=True)]

    def answers(self, counts: Ints) -> Ints:
        """Exact answers for counts (n,); the caller has bounded them, and what is on the way, by 2^62."""
        tensor = counts.reshape([len(a.classes) for a in self.joint.attributes])
        for axis, one in enumerate(self._maps):
            tensor = _along(one, tensor, axis)
        flat = self._split(tensor)[self.chosen.kept]
        return np.asarray((self.matrix @ flat).ravel(), dtype=np.int64)

    def least_squares(self, noisy: Array) -> Array:
        """The shortest x̂ (n,) that fits the answers best: the pseudo-inverse times them."""
        values = noisy.reshape(len(self.matrix), -1)
        scale = math.prod(float(s) ** 2 for s in rest_sizes(self.joint, self.chosen))
        norms = self.norms
        kept = np.linalg.pinv(self.matrix * norms) @ values / (norms[:, None] * scale)
        full = np.zeros((self.joint.dim(self.chosen.key), values.shape[1]))
        full[self.chosen.kept] = kept
        tensor = self._joined(full)
        for axis, one in enumerate(self._maps):
            tensor = _along(one.T, tensor, axis)
        return tensor.ravel()

    def _order(self) -> list[int]:
        rest = self._is_rest
        return sorted(range(len(rest)), key=lambda axis: rest[axis])

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


def _map(attribute: Attribute, part: Part) -> scipy.sparse.csr_array:
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
