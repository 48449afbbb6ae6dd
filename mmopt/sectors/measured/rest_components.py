"""What is asked of single values of a class that are alike: components beside the functions of classes.

On a class of s values the functions of sum 0 are its *rest*. They have in general no basis of whole numbers
that is orthogonal with equal lengths, but a tight frame of s of them, [x = v] - [x in the class] / s: with
Gram matrix I - 1/s. A component has the rest of one class on each of a few attributes, and the sectors of
others; a matrix on the latter is measured for every choice of values of the former.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.measured.sector_layout import SectorLayout
from mmopt.sectors.plain.functions_of_few import Rests

__all__ = ["RestComponent", "along"]


@dataclass(frozen=True, eq=False)
class RestComponent:
    """``core`` (r, r) on the functions of ``layout``, for each choice of values of ``rests``: (r, Π s).

    layout : its sets have none of the attributes of ``rests``.
    """

    rests: Rests
    layout: SectorLayout
    core: Array

    @cached_property
    def members(self) -> tuple[Ints, ...]:
        """The values of each rest's class."""
        return tuple(np.flatnonzero(self.layout.labels[i] == o) for i, o in self.rests)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of values of each rest's class."""
        return tuple(map(len, self.members))

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return self.layout.size * math.prod(self.sizes)

    @cached_property
    def inverse(self) -> Array:
        """Of the core; ``numpy.linalg.LinAlgError`` where there is none."""
        return np.asarray(np.linalg.inv(self.core), dtype=np.float64)

    @cached_property
    def covariance(self) -> Array:
        """(CᵀC)⁻¹ of the core C."""
        return np.asarray(self.inverse @ self.inverse.T)

    def matrix(self, codes: Ints) -> Array:
        """(rows, c) what is measured at cells (c, k) of values."""
        found = self.core @ self.layout.values(codes)
        for (i, _), own in zip(self.rests, self.members, strict=True):
            inside = np.equal.outer(own, codes[:, i]).astype(np.float64)
            inside -= inside.sum(axis=0) / len(own)
            found = (found[:, None] * inside[None]).reshape(-1, len(codes))
        return found


def along(tensor: Array, matrices: Sequence[Array]) -> Array:
    """A matrix times each axis of a tensor."""
    for matrix in matrices:  # the first axis goes, and its result comes last
        tensor = np.tensordot(tensor, matrix, axes=(0, 1))
    return tensor
