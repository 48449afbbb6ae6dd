"""From answers of what was measured to the queries, without a number for every pair of the two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mmopt.privacy.rounding.protocol import Floats
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.blocks.matrices import Dense

__all__ = ["Reconstruction", "dense"]


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """R (m, k) with queries = R @ measured: ``left @ right``, of which the left factor may be implicit.

    ``right`` (r, k); None for the identity.
    """

    left: Implicit
    right: Floats | None

    @property
    def matrix(self) -> Floats:
        """R itself."""
        return self.left.matrix() if self.right is None else self.left.apply(self.right.T).T

    def apply(self, answers: Floats) -> Floats:
        """R x (m,) for answers x (k,)."""
        return np.array(self.left.apply(answers if self.right is None else self.right @ answers))

    def squared_lengths(self) -> Floats:
        """Squared length of each row, (m,)."""
        if self.right is not None:
            return self.left.squared_lengths(self.right)
        rows = self.left.matrix()
        return np.asarray(np.einsum("ij,ij->i", rows, rows))


def dense(matrix: Floats) -> Reconstruction:
    """R as it is."""
    matrix.flags.writeable = False
    return Reconstruction(Dense(matrix), None)
