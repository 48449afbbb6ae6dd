"""A symmetric matrix by panels of rows of its lower triangle: half of the memory, also when factored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import array_namespace as namespace

__all__ = ["Triangle", "triangle"]

Array = Any  # of any library that follows the array API standard

HEIGHT = 256  # rows of a panel


@dataclass(frozen=True, eq=False)
class Triangle:
    """Panels of ``HEIGHT`` rows, from the first column to the end of the diagonal.

    What stands above the diagonal in a panel's last columns is of no account.
    """

    panels: tuple[Array, ...]

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """The rows of each panel, and the panel."""
        for panel in self.panels:
            yield slice(panel.shape[1] - panel.shape[0], panel.shape[1]), panel

    def add(self, matrix: Array) -> None:
        """Add a whole symmetric matrix, of this precision or a higher one."""
        xp = namespace(matrix)
        for here, panel in self:
            panel += xp.astype(matrix[here, : here.stop], panel.dtype, copy=False)

    def dense(self) -> Array:
        """The whole matrix."""
        xp = namespace(self.panels[-1])
        count = self.panels[-1].shape[1]
        whole = xp.zeros((count, count), dtype=self.panels[-1].dtype)
        for here, panel in self:
            whole[here, : here.stop] = panel
        return xp.tril(whole) + xp.tril(whole, k=-1).T

    def solve(self, right: Array) -> Array | None:
        """The inverse times right sides (n,) or (n, k), of numpy; None where it is not positive definite.

        Cholesky's algorithm, from panel to panel. The triangle is written over.
        """
        for here, panel in self:
            for before, known in self:
                if before.start >= here.start:
                    break
                block = panel[:, before] - panel[:, : before.start] @ known[:, : before.start].T
                panel[:, before] = _under(known[:, before], block.T).T
            own = panel[:, here] - panel[:, : here.start] @ panel[:, : here.start].T
            try:
                panel[:, here] = scipy.linalg.cholesky(own, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                return None
        found = np.array(right)
        for here, panel in self:
            found[here] = _under(panel[:, here], found[here] - panel[:, : here.start] @ found[: here.start])
        for here, panel in reversed(tuple(self)):
            found[here] = _under(panel[:, here], found[here], turned=True)
            found[: here.start] -= panel[:, : here.start].T @ found[here]
        return found


def _under(lower: Array, right: Array, turned: bool = False) -> Array:
    """``right`` divided by a lower triangle, or by its transpose."""
    return scipy.linalg.solve_triangular(lower, right, lower=True, trans=int(turned), check_finite=False)


def triangle(like: Array, count: int) -> Triangle:
    """A triangle of zeros with ``count`` rows, of the library and kind of an array."""
    xp = namespace(like)
    ends = [min(start + HEIGHT, count) for start in range(0, max(count, 1), HEIGHT)]
    starts = range(0, max(count, 1), HEIGHT)
    return Triangle(tuple(xp.zeros((b - a, b), dtype=like.dtype) for a, b in zip(starts, ends, strict=True)))
