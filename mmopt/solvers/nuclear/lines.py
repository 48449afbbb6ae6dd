"""Components of one column, all at a time: their singular values are lengths, in closed form.

With the rows t of such a part K = diag(√q) t √p has the one singular value √(p Σⱼ qⱼ tⱼ²), the left vector
diag(√q) t √p / s and the right one 1. Marginals split into nothing else, thousands of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.numerics.components import Array, Ints

__all__ = ["Lengths", "Lines", "lines_of"]


@dataclass(frozen=True, eq=False)
class Lengths:
    """What lines come to: ``values`` (k,), the norms of K; ``lefts``, their left vectors end to end."""

    values: Array
    lefts: Array | None


@dataclass(frozen=True, eq=False)
class Lines:
    """The parts ``places`` (k,) of a problem, of one column each.

    multiplicities (k,), cells (k,) as of the parts. entries, rows : all entries t, and the line of each.
    queries : the orbit of queries of each entry, or None.
    """

    places: Ints
    multiplicities: Array
    cells: Ints
    entries: Array
    rows: Ints
    queries: Ints | None

    @property
    def count(self) -> int:
        return len(self.places)

    def ends(self) -> Ints:
        """Where the entries of each line but the last end."""
        return np.cumsum(np.bincount(self.rows, minlength=self.count))[:-1]

    def lengths(self, p: Array, q: Array | None) -> Lengths:
        """At weights p, q of the orbits of cells and queries."""
        squares = self.entries**2 if q is None or self.queries is None else self.entries**2 * q[self.queries]
        own = p[self.cells]
        values = np.sqrt(own * _sums(self.rows, squares, self.count))
        if q is None:
            return Lengths(values, None)
        scales = np.divide(np.sqrt(own), values, out=np.zeros_like(values), where=values > 0)
        return Lengths(values, np.sqrt(q[self.queries]) * self.entries * scales[self.rows])

    def cost(self, found: Lengths, count: int) -> Array:
        """What the lines add to the cost of each orbit of cells, (count,)."""
        return _sums(self.cells, self.multiplicities * found.values, count)

    def variance(self, found: Lengths, count: int) -> Array:
        """What they add to the variance of each orbit of queries, (count,)."""
        assert found.lefts is not None and self.queries is not None
        shares = found.lefts**2 * (self.multiplicities * found.values)[self.rows]
        return _sums(self.queries, shares, count)

    def equalised(self, found: Lengths, weights: Array) -> float:
        """The sum of squares of t √weight, each over the length."""
        squares = _sums(self.rows, self.entries**2, self.count) * weights[self.cells]
        return float(self.multiplicities @ (squares / found.values))

    def curvature(self, found: Lengths, active: Ints, queries: int, cells: int) -> Array:
        """Σ μ s z² z²ᵀ / 2 over the lines, z the rows of U and V; negative between cells and queries.

        ``active``: numbers of the shares that are wanted, ``queries`` of queries before ``cells`` of cells.
        """
        places = [np.arange(self.count)], [queries + self.cells], [-np.ones(self.count)]
        if queries:
            assert found.lefts is not None and self.queries is not None
            places[0].append(self.rows)
            places[1].append(self.queries)
            places[2].append(found.lefts**2)
        rows, columns, entries = (np.concatenate(own) for own in places)
        shape = (self.count, queries + cells)
        whole = scipy.sparse.coo_array((entries, (rows, columns)), shape=shape).tocsc()[:, active]
        scaled = scipy.sparse.csr_array(whole * np.sqrt(self.multiplicities * found.values / 2.0)[:, None])
        return np.asarray((scaled.T @ scaled).toarray())


def _sums(labels: Ints, entries: Array, count: int) -> Array:
    """The sums of entries with the same label."""
    return np.bincount(labels, entries, minlength=count).astype(np.float64, copy=False)


def lines_of(parts: Sequence[Any]) -> Lines | None:
    """The parts of one column, where their arrays are numpy's; None where there are none."""
    places = [at for at, part in enumerate(parts) if part.rows.shape[1] == 1 and _is_numpy(part)]
    if not places:
        return None
    own = [parts[at] for at in places]
    queries = None if own[0].queries is None else np.concatenate([part.queries for part in own])
    return Lines(
        places=np.array(places),
        multiplicities=np.array([part.multiplicity for part in own]),
        cells=np.concatenate([part.cells for part in own]),
        entries=np.concatenate([part.rows for part in own])[:, 0],
        rows=np.repeat(np.arange(len(own)), [len(part.rows) for part in own]),
        queries=queries,
    )


def _is_numpy(part: Any) -> bool:
    return isinstance(part.rows, np.ndarray)
