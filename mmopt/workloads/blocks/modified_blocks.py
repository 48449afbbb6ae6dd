"""Blocks around another one: scaled, weighted, or on other cells.

A workload holds ``RowWeighted``: its rows are the queries themselves, in all that is answered or predicted.
``ScaledRows``, its ``weighed()``, is for total error: diag(√weights) times the queries. Other blocks have the
cells of another one in another order, or with further cells after them.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import EPS, Array, Ints, frozen, owned, rounding_of_root
from mmopt.numerics.outward import not_below, times_up
from mmopt.workloads.blocks.implicit_matrix import Implicit, ordered
from mmopt.workloads.blocks.matrix_blocks import describe_array, per_query
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.domain import Attribute, range_labels
from mmopt.workloads.encodings import Values


class Around(Implicit):
    """A block with the rows and cells of another one, ``inner``, and further numbers."""

    def __init__(self, inner: Implicit, numbers: np.typing.NDArray[np.generic]) -> None:
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
    """diag(s) M: all rows times one number, or each row times a different one.

    Parameters
    ----------
    inner : M (m, n).
    scale : s, a number or (m,); finite, and not 0 where classes of columns or spanning rows are needed.

    Raises
    ------
    WorkloadError : scales of another length, or not finite.
    """

    kind = "Scaled"

    def __init__(self, inner: Implicit, scale: float | np.typing.ArrayLike) -> None:
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
    """The queries of ``inner``, each with a weight on its squared error.

    Parameters
    ----------
    inner : any block without weights; it gives the entries, the Gram matrix and the root.
    weights : (rows,), positive.

    Raises
    ------
    WorkloadError : a weight that is not positive and finite, or another number of them.
    """

    row_weights: Array

    def __init__(self, inner: Implicit, weights: np.typing.ArrayLike) -> None:
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

    A block whose queries have one length (the cells, the total, ranges of one width) is not changed. Weights
    that the block has already are kept.
    """
    norms = block.squared_norms()
    weights = block.row_weights
    if weights is None and (norms == norms[0]).all():
        return 1.0 / float(norms[0]), block
    if not (norms > 0).all():
        raise WorkloadError(f"query {int(np.argmin(norms))} of {block!r} has the length 0")
    return 1.0, RowWeighted(block.plain, (1.0 if weights is None else weights) / norms)


class Reordered(Around):
    """A block over the cells in another order: its first column is cell ``order[0]``, and so on."""

    kind = "reordered"

    def __init__(self, inner: Implicit, order: Ints) -> None:
        super().__init__(inner, frozen(np.array([order, np.argsort(order)])))
        self.order, self._place = self._numbers

    def _take(self, index: Ints) -> Array:
        return np.asarray(self.inner.take(index)[:, self._place])

    def _gram(self) -> Array:
        return np.asarray(self.inner.gram()[np.ix_(self._place, self._place)])

    def _root(self) -> Array:
        return np.asarray(self.inner.root()[:, self._place])

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x[..., self.order])

    def _adjoint(self, y: Array) -> Array:
        return np.asarray(self.inner.adjoint(y)[..., self._place])

    def entrywise(self, norm: int) -> Implicit:
        return Reordered(self.inner.entrywise(norm), self.order)

    def column_powers(self, norm: int) -> Array:
        return np.asarray(self.inner.column_powers(norm)[self._place])

    def classes(self) -> Ints:
        return ordered(super().classes()[self._place])

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else Reordered(super().spanning(), self.order)

    def labels(self, attribute: Attribute) -> list[str]:
        # Bins in another order are no bins; their labels still name each cell.
        moved = Attribute(attribute.name, tuple(attribute.labels[i] for i in self.order))
        return [f"{label} (reordered)" if label else "" for label in super().labels(moved)]

    def describe(self) -> list[object]:
        return [self.kind, self.size, self.inner.describe(), describe_array(self.order)]


class Padded(Implicit):
    """A block over the first cells; none of its queries counts the others.

    Parameters
    ----------
    inner : M (m, k).
    size : n > k; the matrix is (M 0).
    """

    def __init__(self, inner: Implicit, size: int) -> None:
        super().__init__(size, inner.rows)
        self.root_rounding = inner.root_rounding
        self.inner = inner
        self.kind = f"padded {inner.kind}"

    @property
    def title(self) -> str:
        return self.inner.title

    def _wide(self, values: Array) -> Array:
        """Values with zeros for the other cells, along the last axis."""
        return np.concatenate([values, np.zeros((*values.shape[:-1], self.size - self.inner.size))], axis=-1)

    def _square(self, values: Array) -> Array:
        return self._wide(self._wide(values).T)

    def _take(self, index: Ints) -> Array:
        return self._wide(self.inner.take(index))

    def _gram(self) -> Array:
        return self._square(self.inner.gram())

    def gram_of_weighted(self, weights: Array) -> Array:
        return self._square(self.inner.gram_of_weighted(weights))

    def _root(self) -> Array:
        return self._wide(self.inner.root())

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x[..., : self.inner.size])

    def _adjoint(self, y: Array) -> Array:
        return self._wide(self.inner.adjoint(y))

    def squared_lengths(self, directions: Array) -> Array:
        return self.inner.squared_lengths(directions[: self.inner.size])

    def entrywise(self, norm: int) -> Implicit:
        return Padded(self.inner.entrywise(norm), self.size)

    def column_powers(self, norm: int) -> Array:
        return self._wide(self.inner.column_powers(norm))

    def classes(self) -> Ints:
        return np.pad(self.inner.classes(), (0, self.size - self.inner.size), constant_values=-1)

    def spanning(self) -> Implicit:
        return Padded(self.inner.spanning(), self.size)

    def labels(self, attribute: Attribute) -> list[str]:
        """One text per query; a query of all cells of the block is no total, and reads as a range."""
        size = self.inner.size
        # The encoding stays whole: a range of all declared cells is not one of all cells.
        first = attribute
        if attribute.declared != size:
            first = Attribute(attribute.name, attribute.labels[:size], encoding=Values(()))
        (whole,) = range_labels(first, [(0, size - 1)])
        return [label or whole for label in self.inner.labels(first)]

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield from self.inner.holdings()

    def describe(self) -> list[object]:
        return ["padded", self.size, self.inner.describe()]

    def __repr__(self) -> str:
        return f"padded({self.inner!r}, {self.size})"
