"""Blocks of queries with a weight each, kept implicit: the queries themselves, and their rows scaled.

``RowWeighted`` is what a workload holds: it stands for the queries as they are asked, in all that is answered
or predicted. ``ScaledRows``, its ``weighed()``, is what total error sees: diag(√weights) times the queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import EPS, Array, Ints, rounding_of_root
from mmopt.workloads.blocks.factor_base import Factor
from mmopt.workloads.blocks.implicit import Scaled
from mmopt.workloads.blocks.linear import Implicit
from mmopt.workloads.check import per_query
from mmopt.workloads.describe import describe_array
from mmopt.workloads.domain import Attribute

__all__ = ["RowWeighted", "ScaledRows", "unit_rows"]


class _Around(Factor):
    """A block with the rows and cells of another one, and a number per row; ``body`` has its entries."""

    def __init__(self, inner: Factor, numbers: Array, body: Implicit) -> None:
        super().__init__(inner.size)
        self.inner = inner
        self._numbers = numbers
        self._body = body

    @property
    def weights(self) -> Array:
        """The number of each row, (rows,)."""
        return self._numbers

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def full_rank(self) -> bool:
        return self.inner.full_rank

    def _apply(self, x: Array) -> Array:
        return self._body.apply(x)

    def _adjoint(self, y: Array) -> Array:
        return self._body.adjoint(y)

    def column_powers(self, norm: int) -> Array:
        return self._body.column_powers(norm)

    def classes(self) -> Ints:
        return self.inner.classes()

    def spanning(self) -> Factor:
        return self.inner.spanning()

    def labels(self, attribute: Attribute) -> list[str]:
        return self.inner.labels(attribute)

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self._numbers), self._numbers.nbytes
        yield from self.inner.holdings()

    def describe(self) -> list[object]:
        return [type(self).__name__, self.inner.describe(), describe_array(self._numbers)]


class RowWeighted(_Around):
    """The queries of ``inner``, each with a weight of its own on its squared error.

    Parameters
    ----------
    inner : any block without weights; entries, Gram matrix and root are its own.
    weights : (rows,), positive.

    Raises
    ------
    WorkloadError : a weight that is not positive and finite, or another number of them.
    """

    def __init__(self, inner: Factor, weights: npt.ArrayLike) -> None:
        super().__init__(inner, per_query(weights, inner.rows, "weight", 1.0), inner)
        self.kind = inner.kind

    @property
    def row_weights(self) -> Array:
        return self._numbers

    @property
    def plain(self) -> Factor:
        return self.inner

    def weighed(self) -> Factor:
        return self._weighed

    @cached_property
    def _weighed(self) -> Factor:
        return ScaledRows(self.inner, self._numbers)

    def _take(self, index: Ints) -> Array:
        return self.inner.take(index)

    def _gram(self) -> Array:
        return self.inner.gram()

    def _root(self) -> Array:
        return self.inner.root()

    @property
    def root_rounding(self) -> float:
        return self.inner.root_rounding

    def squared_norms(self) -> Array:
        return self.inner.squared_norms()

    def entrywise(self, norm: int) -> Factor:
        return self.inner.entrywise(norm)

    def __repr__(self) -> str:
        return f"weighted({self.inner!r})"


class ScaledRows(_Around):
    """diag(√weights) times the queries of ``inner``."""

    kind = "scaled rows"

    def __init__(self, inner: Factor, weights: Array) -> None:
        super().__init__(inner, weights, Scaled(inner, np.sqrt(weights)))

    def _take(self, index: Ints) -> Array:
        return np.sqrt(self._numbers[index])[:, None] * self.inner.take(index)

    def _gram(self) -> Array:
        return self.inner.gram_of_weighted(self._numbers)

    def _root(self) -> Array:
        return self.inner.root_of_weighted(self._numbers)

    @property
    def root_rounding(self) -> float:
        has_own = type(self.inner).root_of_weighted is not Factor.root_of_weighted
        return 2 * EPS + (self.inner.root_rounding if has_own else rounding_of_root(*self.shape))

    def squared_norms(self) -> Array:
        return self._numbers * self.inner.squared_norms()

    def entrywise(self, norm: int) -> Factor:
        weights = self._numbers if norm == 1 else np.square(self._numbers)
        return ScaledRows(self.inner.entrywise(norm), weights)

    def __repr__(self) -> str:
        return f"scaled rows({self.inner!r})"


def unit_rows(block: Factor) -> tuple[float, Factor]:
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
