"""Blocks around another one: its rows scaled or weighted.

``RowWeighted`` is what a workload holds: it stands for the queries as they are asked, in all that is answered
or predicted. ``ScaledRows``, its ``weighed()``, is what total error sees: diag(√weights) times the queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import EPS, Array, Ints, owned, rounding_of_root
from mmopt.numerics.outward import not_below, times_up
from mmopt.workloads.blocks.implicit_matrix import Implicit
from mmopt.workloads.blocks.matrix_blocks import describe_array, per_query
from mmopt.workloads.domain import Attribute

__all__ = ["Around", "RowWeighted", "Scaled", "ScaledRows", "unit_rows"]


class Around(Implicit):
    """A block with the rows and cells of another one, ``inner``, and numbers of its own."""

    def __init__(self, inner: Implicit, numbers: npt.NDArray[np.generic]) -> None:
        super().__init__(inner.size, inner.rows)
        self.full_rank = inner.full_rank
        self.root_rounding = inner.root_rounding
        self.inner = inner
        self._numbers = numbers

    def classes(self) -> Ints:
        return self.inner.classes()

    def spanning(self) -> Implicit:
        return self.inner.spanning()

    def labels(self, attribute: Attribute) -> list[str]:
        return self.inner.labels(attribute)

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self._numbers), self._numbers.nbytes
        yield from self.inner.holdings()

    def describe(self) -> list[object]:
        return [type(self).__name__, self.inner.describe(), describe_array(self._numbers)]

    def __repr__(self) -> str:
        return f"{self.kind}({self.inner!r})"


class Scaled(Around):
    """diag(s) M: every row times one number, or each row times its own.

    Parameters
    ----------
    inner : M (m, n).
    scale : s, a number or (m,); finite, and not 0 where classes of columns or rows that span are asked for.

    Raises
    ------
    WorkloadError : scales of another length, or not finite.
    """

    kind = "Scaled"

    def __init__(self, inner: Implicit, scale: float | npt.ArrayLike) -> None:
        scales = owned(scale)
        if scales.shape not in ((), (inner.rows,)):
            raise WorkloadError(
                f"scales of shape {scales.shape} for a matrix of {inner.rows:,} rows, "
                "expected one number or one per row"
            )
        if not np.isfinite(scales).all():
            raise WorkloadError("a scale is NaN or infinite, expected finite numbers")
        super().__init__(inner, scales)
        self.root_rounding = rounding_of_root(*self.shape)
        self.scale = scales

    @property
    def is_uniform(self) -> bool:
        """Whether all rows have the same scale."""
        return self.scale.ndim == 0

    def _take(self, index: Ints) -> Array:
        return np.broadcast_to(self.scale, self.rows)[index][:, None] * self.inner.take(index)

    def _gram(self) -> Array:
        return np.square(self.scale) * self.inner.gram() if self.is_uniform else super()._gram()

    def _apply(self, x: Array) -> Array:
        return np.asarray(self.scale * self.inner.apply(x))

    def _adjoint(self, y: Array) -> Array:
        return self.inner.adjoint(self.scale * y)

    def entrywise(self, norm: int) -> Implicit:
        return Scaled(self.inner.entrywise(norm), self.power(norm))

    def power(self, norm: int) -> Array:
        """|s|^norm, rounded upwards."""
        size = np.abs(self.scale)
        return size if norm == 1 else times_up(size, size)

    def column_powers(self, norm: int) -> Array:
        inner = self.inner.column_powers(norm)
        if self.is_uniform:
            return times_up(self.power(norm), inner)
        # Sums of nonnegative terms, each rounded a few times and added at most once per row.
        sums = self.inner.entrywise(norm).adjoint(self.power(norm))
        return np.where(inner == 0, 0.0, not_below(sums, 2 * self.rows + 64))

    def largest_power(self, norm: int) -> float:
        if not self.is_uniform:
            return super().largest_power(norm)
        return float(times_up(self.power(norm), self.inner.largest_power(norm)))


class ScaledRows(Scaled):
    """diag(√weights) times the queries of ``inner``; weights (rows,), positive."""

    kind = "scaled rows"

    def __init__(self, inner: Implicit, weights: Array) -> None:
        super().__init__(inner, np.sqrt(weights))
        if type(inner).root_of_weighted is not Implicit.root_of_weighted:
            self.root_rounding = inner.root_rounding
        self.root_rounding += 2 * EPS
        self.weights = self._numbers = weights

    def _gram(self) -> Array:
        return self.inner.gram_of_weighted(self.weights)

    def _root(self) -> Array:
        return self.inner.root_of_weighted(self.weights)

    def squared_norms(self) -> Array:
        return self.weights * self.inner.squared_norms()


class RowWeighted(Around):
    """The queries of ``inner``, each with a weight of its own on its squared error.

    Parameters
    ----------
    inner : any block without weights; entries, Gram matrix and root are its own.
    weights : (rows,), positive.

    Raises
    ------
    WorkloadError : a weight that is not positive and finite, or another number of them.
    """

    row_weights: Array

    def __init__(self, inner: Implicit, weights: npt.ArrayLike) -> None:
        self.row_weights = per_query(weights, inner.rows, "weight", 1.0)
        super().__init__(inner, self.row_weights)
        self.kind = inner.kind

    @property
    def title(self) -> str:
        return self.inner.title

    @property
    def plain(self) -> Implicit:
        return self.inner

    def weighed(self) -> Implicit:
        return self._weighed

    @cached_property
    def _weighed(self) -> Implicit:
        return ScaledRows(self.inner, self.row_weights)

    def _take(self, index: Ints) -> Array:
        return self.inner.take(index)

    def _gram(self) -> Array:
        return self.inner.gram()

    def _root(self) -> Array:
        return self.inner.root()

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x)

    def _adjoint(self, y: Array) -> Array:
        return self.inner.adjoint(y)

    def entrywise(self, norm: int) -> Implicit:
        return self.inner.entrywise(norm)

    def column_powers(self, norm: int) -> Array:
        return self.inner.column_powers(norm)

    def __repr__(self) -> str:
        return f"weighted({self.inner!r})"


def unit_rows(block: Implicit) -> tuple[float, Implicit]:
    """The weights 1 / ‖w‖² of the queries of a block: one number for all, and the block with the rest.

    A block whose queries have one length (the cells, the total, ranges of one width) stays as it is. Weights
    that the block has already are kept.
    """
    norms = block.squared_norms()
    known = block.row_weights
    if known is None and (norms == norms[0]).all():
        return 1.0 / float(norms[0]), block
    if not (norms > 0).all():
        raise WorkloadError(f"query {int(np.argmin(norms))} of {block!r} has the length 0")
    return 1.0, RowWeighted(block.plain, (1.0 if known is None else known) / norms)
