"""Blocks made of other blocks: scaled, weighted, on other cells, Kronecker products, and stacks.

A workload holds ``RowWeighted``: its rows are the queries themselves, in all that is answered or predicted.
``ScaledRows``, its ``weighed()``, is for total error: diag(√weights) times the queries. Other blocks have the
cells of another one in another order, or with further cells after them. A stack has the rows of several
blocks over the same cells.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, reduce

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import (
    EPS,
    Array,
    Ints,
    frozen,
    not_below,
    owned,
    plus_up,
    rounding_of_root,
    stacked_root,
    times_up,
)
from mmopt.workloads.blocks.query_matrices import Implicit, describe_array, ordered, per_query, refine
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.domain import Attribute, range_labels


class Around(Implicit):
    """A block with the rows of another one, ``inner``, its cells unless it has another size, and numbers."""

    def __init__(
        self, inner: Implicit, numbers: np.typing.NDArray[np.generic], size: int | None = None
    ) -> None:
        super().__init__(inner.size if size is None else size, inner.rows)
        self.full_rank = inner.full_rank and self.size == inner.size
        self.root_rounding = inner.root_rounding
        self.inner = inner
        self._numbers = numbers

    def _wide(self, values: Array) -> Array:
        """The values of the inner block's cells, along the last axis, for the cells of this one."""
        return values

    def _square(self, values: Array) -> Array:
        """A symmetric matrix over the inner block's cells, for the cells of this one."""
        return self._wide(self._wide(values).T)

    def _take(self, index: Ints) -> Array:
        return self._wide(self.inner.take(index))

    def _gram(self) -> Array:
        return self._square(self.inner.gram())

    def gram_of_weighted(self, weights: Array) -> Array:
        return self._square(self.inner.gram_of_weighted(weights))

    def _root(self) -> Array:
        return self._wide(self.inner.root())

    def _adjoint(self, y: Array) -> Array:
        return self._wide(self.inner.adjoint(y))

    def column_powers(self, norm: int) -> Array:
        return self._wide(self.inner.column_powers(norm))

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
    _root, gram_of_weighted = Implicit._root, Implicit.gram_of_weighted

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
        return np.square(self.scale) * self.inner.gram() if self.is_uniform else Implicit._gram(self)

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
        """``weighed()``, made once."""
        return ScaledRows(self.inner, self.row_weights)

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x)

    def entrywise(self, norm: int) -> Implicit:
        return self.inner.entrywise(norm)

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


class Placed(Around):
    """A block whose column for each cell is a column of another one, that of number ``_place``."""

    _place: Ints

    def _wide(self, values: Array) -> Array:
        return np.asarray(values[..., self._place])

    def classes(self) -> Ints:
        return ordered(super().classes()[self._place])


class Reordered(Placed):
    """A block over the cells in another order: its first column is cell ``order[0]``, and so on."""

    kind = "reordered"

    def __init__(self, inner: Implicit, order: Ints) -> None:
        super().__init__(inner, frozen(np.array([order, np.argsort(order)])))
        self.order, self._place = self._numbers

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x[..., self.order])

    def entrywise(self, norm: int) -> Implicit:
        return Reordered(self.inner.entrywise(norm), self.order)

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else Reordered(super().spanning(), self.order)

    def labels(self, attribute: Attribute) -> list[str]:
        # Bins in another order are no bins; their labels still name each cell.
        moved = Attribute(attribute.name, tuple(attribute.labels[i] for i in self.order))
        return [f"{label} (reordered)" if label else "" for label in super().labels(moved)]

    def describe(self) -> list[object]:
        return [self.kind, self.size, self.inner.describe(), describe_array(self.order)]


class AtLevel(Placed):
    """A block over the sets of cells that a level of an attribute names: each query counts whole sets.

    Parameters
    ----------
    inner : M (m, k), over the sets.
    level : the level as an attribute, with a label for each set.
    set_of_cell : (n,) the number of each cell's set; the matrix is M with these columns.
    """

    kind = "level"

    def __init__(self, inner: Implicit, level: Attribute, set_of_cell: Ints) -> None:
        super().__init__(inner, set_of_cell, len(set_of_cell))
        self.level, self._place, self._sizes = level, set_of_cell, np.bincount(set_of_cell)
        # An error in a column comes as often as the column.
        self.root_rounding *= math.sqrt(self._sizes.max() / self._sizes.min())

    def _apply(self, x: Array) -> Array:
        by_set = x[..., np.argsort(self._place, kind="stable")]
        return self.inner.apply(np.add.reduceat(by_set, np.cumsum(self._sizes) - self._sizes, axis=-1))

    def entrywise(self, norm: int) -> Implicit:
        return AtLevel(self.inner.entrywise(norm), self.level, self._place)

    def spanning(self) -> Implicit:
        return AtLevel(self.inner.spanning(), self.level, self._place)

    def viewed(self, attribute: Attribute) -> tuple[Implicit, Attribute]:
        return self.inner, self.level

    def labels(self, attribute: Attribute) -> list[str]:
        return self.inner.labels(self.level)

    def describe(self) -> list[object]:
        return [self.kind, self.level.name, *super().describe()[1:]]


class Padded(Placed):
    """A block over the first cells; none of its queries counts the others.

    Parameters
    ----------
    inner : M (m, k).
    size : n > k; the matrix is (M 0).
    """

    def __init__(self, inner: Implicit, size: int) -> None:
        super().__init__(inner, np.empty(0), size)
        self.kind = f"padded {inner.kind}"

    @property
    def title(self) -> str:
        return self.inner.title

    def _wide(self, values: Array) -> Array:
        return np.concatenate([values, np.zeros((*values.shape[:-1], self.size - self.inner.size))], axis=-1)

    def _apply(self, x: Array) -> Array:
        return self.inner.apply(x[..., : self.inner.size])

    def squared_lengths(self, directions: Array) -> Array:
        return self.inner.squared_lengths(directions[: self.inner.size])

    def entrywise(self, norm: int) -> Implicit:
        return Padded(self.inner.entrywise(norm), self.size)

    def classes(self) -> Ints:
        return np.pad(self.inner.classes(), (0, self.size - self.inner.size), constant_values=-1)

    def spanning(self) -> Implicit:
        return Padded(self.inner.spanning(), self.size)

    def labels(self, attribute: Attribute) -> list[str]:
        """One text per query; a query of all cells of the block is no total, and reads as a range."""
        size = self.inner.size
        # The encoding stays whole: a range of all declared cells is not one of all cells.
        labels = attribute.labels[:size]
        first = attribute if attribute.declared == size else Attribute(attribute.name, labels)
        (whole,) = range_labels(first, [(0, size - 1)])
        return [label or whole for label in self.inner.labels(first)]

    def describe(self) -> list[object]:
        return ["padded", self.size, self.inner.describe()]

    def __repr__(self) -> str:
        return f"padded({self.inner!r}, {self.size})"


class Kron(Implicit):
    """The Kronecker product of matrices; the last one varies fastest. WorkloadError if there is none."""

    kind = "Kron"

    def __init__(self, parts: Sequence[Implicit]) -> None:
        if not parts:
            raise WorkloadError("a Kronecker product needs at least one matrix, found none")
        super().__init__(math.prod([part.size for part in parts]), math.prod([part.rows for part in parts]))
        self.full_rank = all(part.full_rank for part in parts)
        self.parts = tuple(parts)

    def _take(self, index: Ints) -> Array:
        numbers = np.unravel_index(index, [part.rows for part in self.parts])
        each = (part.take(at.astype(np.int64)) for part, at in zip(self.parts, numbers, strict=True))
        return row_products(each, len(index))

    def _gram(self) -> Array:
        return kron([part.gram() for part in self.parts])

    def squared_norms(self) -> Array:
        return kron([part.squared_norms() for part in self.parts])

    def spanning(self) -> Implicit:
        return Kron([part.spanning() for part in self.parts])

    def classes(self) -> Ints:
        """Classes part by part, so two cells may be in different classes although their columns are equal.

        (Only where a part has entries other than 0 and 1.)
        """
        result = np.zeros(1, dtype=np.int64)
        for part in self.parts:
            classes = part.classes()
            pair = result[:, None] * (int(classes.max()) + 1) + classes[None, :]
            result = np.where((result[:, None] < 0) | (classes[None, :] < 0), -1, pair).ravel()
        return ordered(result)

    def squared_lengths(self, directions: Array) -> Array:
        if len(self.parts) == 1:
            return self.parts[0].squared_lengths(directions)
        return super().squared_lengths(directions)

    def _apply(self, x: Array) -> Array:
        return self._contracted(x, transposed=False)

    def _adjoint(self, y: Array) -> Array:
        return self._contracted(y, transposed=True)

    def _contracted(self, x: Array, transposed: bool) -> Array:
        """One axis at a time, the one that shrinks most first: no result between is larger than both ends."""
        ends = [part.shape[::-1] if transposed else part.shape for part in self.parts]
        tensor = x.reshape(math.prod(x.shape[:-1]), *(source for _, source in ends))
        for at in sorted(range(len(ends)), key=lambda i: ends[i][0] / ends[i][1]):
            part = self.parts[at]
            moved = np.moveaxis(tensor, at + 1, -1)
            tensor = np.moveaxis(part.adjoint(moved) if transposed else part.apply(moved), -1, at + 1)
        return tensor.reshape(*x.shape[:-1], math.prod(result for result, _ in ends))

    def entrywise(self, norm: int) -> Implicit:
        return Kron([part.entrywise(norm) for part in self.parts])

    def column_powers(self, norm: int) -> Array:
        return reduce(_outer_up, [part.column_powers(norm) for part in self.parts])

    def largest_power(self, norm: int) -> float:
        """The product of the largest of the parts, since none is negative."""
        return float(reduce(times_up, [np.asarray(part.largest_power(norm)) for part in self.parts]))

    def holdings(self) -> Iterator[tuple[int, int]]:
        for part in {id(part): part for part in self.parts}.values():  # equal parts are counted once
            yield from part.holdings()

    def describe(self) -> list[object]:
        return [self.kind, [part.describe() for part in self.parts]]

    def __repr__(self) -> str:
        return f"Kron({' ⊗ '.join(map(repr, self.parts))})"


class Stack(Implicit):
    """The rows of the blocks, one block after the other, over the same cells.

    Weighted unions are stacks of ``Scaled`` blocks. WorkloadError if there is no block, or if numbers of
    columns differ.
    """

    kind = "union"

    def __init__(self, blocks: Sequence[Implicit]) -> None:
        if not blocks:
            raise WorkloadError("a stack needs at least one matrix, found none")
        for block in blocks:
            if block.size != blocks[0].size:
                raise WorkloadError(
                    f"a stack joins matrices of {blocks[0].size:,} and {block.size:,} columns, "
                    "expected equal numbers"
                )
        super().__init__(blocks[0].size, sum(block.rows for block in blocks))
        self.full_rank = any(block.full_rank for block in blocks)
        rows_of_roots = sum(min(block.shape) for block in blocks)
        self.root_rounding = max(b.root_rounding for b in blocks) + rounding_of_root(rows_of_roots, self.size)
        self.blocks = tuple(blocks)

    def _take(self, index: Ints) -> Array:
        rows: Array = np.empty((len(index), self.size))
        start = 0
        for block in self.blocks:
            chosen = (start <= index) & (index < start + block.rows)
            rows[chosen] = block.take(index[chosen] - start)
            start += block.rows
        return rows

    def _dense(self) -> Array:
        return np.vstack([block.matrix() for block in self.blocks])

    def _gram(self) -> Array:
        total = np.zeros((self.size, self.size))
        for block in self.blocks:
            total += block.gram()
        return total

    def _root(self) -> Array:
        return stacked_root((block.root() for block in self.blocks), self.size)

    def _apply(self, x: Array) -> Array:
        return np.concatenate([block.apply(x) for block in self.blocks], axis=-1)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        ends = np.cumsum([block.rows for block in self.blocks])
        for block, part in zip(self.blocks, np.split(y, ends[:-1], axis=-1), strict=True):
            total += block.adjoint(part)
        return total

    def squared_lengths(self, directions: Array) -> Array:
        return np.concatenate([block.squared_lengths(directions) for block in self.blocks])

    def entrywise(self, norm: int) -> Implicit:
        return type(self)([block.entrywise(norm) for block in self.blocks])

    def column_powers(self, norm: int) -> Array:
        return reduce(plus_up, [block.column_powers(norm) for block in self.blocks])

    def largest_power(self, norm: int) -> float:
        """Exact where all blocks are products over the same attributes, or where the cells fit in memory.

        Otherwise the sum of the largest of the blocks, an upper bound. A cell of an attribute does not count
        where the powers of another cell are at least as large in every block.
        """
        if len(self.blocks) == 1:
            return self.blocks[0].largest_power(norm)
        if (largest := _largest_of_products(self.blocks, norm)) is not None:
            return largest
        if fits_memory(self.shape[1:]):
            return float(self.column_powers(norm).max())
        return float(reduce(plus_up, [np.asarray(block.largest_power(norm)) for block in self.blocks]))

    def classes(self) -> Ints:
        return refine([block.classes() for block in self.blocks])

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else Stack([b.spanning() for b in self.blocks])

    def labels(self, attribute: Attribute) -> list[str]:
        return [label for block in self.blocks for label in block.labels(attribute)]

    def holdings(self) -> Iterator[tuple[int, int]]:
        for block in self.blocks:
            yield from block.holdings()

    def describe(self) -> list[object]:
        return [self.kind, self.size, [block.describe() for block in self.blocks]]

    def __repr__(self) -> str:
        return f"Stack({len(self.blocks)} blocks, {self.rows:,} × {self.size:,})"


class Union(Stack):
    """A stack of a few blocks on one attribute, which are shown."""

    def __repr__(self) -> str:
        return f"union({', '.join(map(repr, self.blocks))})"


def kron(arrays: Sequence[Array]) -> Array:
    """The Kronecker product of vectors or matrices, dense."""
    return reduce(lambda a, b: np.asarray(np.kron(a, b), dtype=np.float64), arrays)


def row_products(arrays: Iterable[Array], count: int) -> Array:
    """(count, ·) row by row the Kronecker product of arrays (count, …)."""
    product = np.ones((count, 1))
    for array in arrays:
        flat = array.reshape(count, math.prod(array.shape[1:]))
        product = (product[:, :, None] * flat[:, None, :]).reshape(count, product.shape[1] * flat.shape[1])
    return product


def _outer_up(a: Array, b: Array) -> Array:
    """The Kronecker product of two vectors, rounded upwards."""
    return times_up(a[:, None], b[None, :]).ravel()


def _as_product(block: Implicit, norm: int) -> tuple[float, tuple[Implicit, ...]] | None:
    """The factor on the powers, and the parts, of a Kronecker product that may be scaled."""
    if isinstance(block, Scaled) and block.is_uniform and isinstance(block.inner, Kron):
        return float(block.power(norm)), block.inner.parts
    return (1.0, block.parts) if isinstance(block, Kron) else None


def _largest_of_products(blocks: Sequence[Implicit], norm: int) -> float | None:
    """The largest column power of a stack of products over the same attributes; None for any other stack."""
    factored = [product for block in blocks if (product := _as_product(block, norm)) is not None]
    if len(factored) < len(blocks) or len({tuple(part.size for part in parts) for _, parts in factored}) > 1:
        return None
    powers = []  # per attribute (cells that count, blocks)
    for at in range(len(factored[0][1])):
        column = [parts[at] for _, parts in factored]
        if not fits_memory((column[0].size, len(column))):
            return None
        by_part = {part: part.column_powers(norm) for part in column}
        powers.append(_undominated(np.column_stack([by_part[part] for part in column])))
    if not fits_memory((math.prod(len(rows) for rows in powers),)):
        return None
    total: Array = np.zeros(1)
    for b, (scale, _) in enumerate(factored):
        total = plus_up(total, times_up(scale, reduce(_outer_up, [rows[:, b] for rows in powers])))
    return float(total.max())


def _undominated(rows: Array) -> Array:
    """The rows that no other row exceeds or equals in every entry, one of each."""
    rows = np.unique(rows, axis=0)
    largest = np.empty_like(rows)
    count = 0
    for row in rows[np.argsort(-rows.sum(axis=1))]:
        if not (largest[:count] >= row).all(axis=1).any():
            largest[count] = row
            count += 1
    return largest[:count]
