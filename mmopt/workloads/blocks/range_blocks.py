"""Blocks of ranges of neighbouring cells: cells, the total, prefixes, windows, all ranges, hierarchies.

For all ranges products, Gram matrix and roots, with weights and under reversal, need no row of a query. A
range sums differences of running totals, x_a + … + x_b = c_{b+1} - c_a, so that with u(a, b) the weight of
the cells a to b, xᵀ G x = Σ u(a, b) (c_{b+1} - c_a)², the Laplacian of a complete graph on the n + 1 ends.

The Haar wavelet and hierarchies split the cells again and again.
"""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.limits import require_memory
from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.workloads.blocks.query_matrices import Implicit, Sparse, ordered
from mmopt.workloads.domain import Attribute, cell_label, range_labels


class Independent(Implicit):
    """A block of a kind whose columns are always independent: none equals another."""

    full_rank = True

    def classes(self) -> Ints:
        return np.arange(self.size)

    def spanning(self) -> Implicit:
        return Identity(self.size)


class Ranges(Implicit):
    """A block of different ranges of neighbouring cells: its entries are 0 and 1."""

    @abstractmethod
    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        """First and last cell of the ranges of these numbers."""

    def _every(self) -> tuple[Ints, Ints]:
        """First and last cell of all ranges."""
        return self.ends(np.arange(self.rows))

    def _take(self, index: Ints) -> Array:
        low, high = self.ends(index)
        cells = np.arange(self.size)
        return ((low[:, None] <= cells) & (cells <= high[:, None])).astype(np.float64)

    def entrywise(self, norm: int) -> Implicit:
        """The block itself: |m| = m² = m."""
        return self

    def column_powers(self, norm: int) -> Array:
        return self.adjoint(np.ones(self.rows))

    def _gram(self) -> Array:
        return self.gram_of_weighted(np.ones(self.rows))

    def gram_of_weighted(self, weights: Array) -> Array:
        return range_gram(self.size, *self._every(), weights)

    def labels(self, attribute: Attribute) -> list[str]:
        low, high = self._every()
        return range_labels(attribute, zip(low.tolist(), high.tolist(), strict=True))


class Identity(Independent, Ranges):
    """One query per cell."""

    kind = "identity"

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return index, index

    def _gram(self) -> Array:
        return np.eye(self.size)

    _root = _gram

    def _apply(self, x: Array) -> Array:
        return x

    def _adjoint(self, y: Array) -> Array:
        return y

    def labels(self, attribute: Attribute) -> list[str]:
        return [cell_label(attribute, i) for i in range(self.size)]


class Total(Ranges):
    """One query: all cells."""

    kind = "total"

    def __init__(self, size: int) -> None:
        super().__init__(size, 1)

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return np.zeros_like(index), np.full_like(index, self.size - 1)

    def _apply(self, x: Array) -> Array:
        return np.asarray(x.sum(axis=-1, keepdims=True))

    def _adjoint(self, y: Array) -> Array:
        return np.repeat(y, self.size, axis=-1)

    def classes(self) -> Ints:
        return np.zeros(self.size, dtype=np.int64)

    def labels(self, attribute: Attribute) -> list[str]:
        return [""]


class Prefix(Independent, Ranges):
    """Query i counts cells 0 to i."""

    kind = "prefix"

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return np.zeros_like(index), index

    def _apply(self, x: Array) -> Array:
        return np.cumsum(x, axis=-1)

    def _adjoint(self, y: Array) -> Array:
        return sums_from(y)

    def labels(self, attribute: Attribute) -> list[str]:
        return range_labels(attribute, [(None, i) for i in range(self.size)])


class WidthRange(Ranges):
    """Query i counts cells i to i + width - 1; n - width + 1 queries."""

    kind = "width_range"

    def __init__(self, size: int, width: int) -> None:
        super().__init__(size, size - width + 1)
        if not 1 <= width <= size:
            raise WorkloadError(
                f"ranges of {width:,} cells over {size:,} cells, expected a width from 1 to {size:,}"
            )
        self.width = int(width)
        self.parameters = (self.width,)
        self.full_rank = self.width == 1

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        return index, index + self.width - 1

    def _apply(self, x: Array) -> Array:
        return _windows(x, self.width)

    def _adjoint(self, y: Array) -> Array:
        zeros = np.zeros((*y.shape[:-1], self.width - 1))
        return _windows(np.concatenate([zeros, y, zeros], axis=-1), self.width)

    def classes(self) -> Ints:
        # By the first and the last range that hold a cell.
        cells = np.arange(self.size)
        return ordered(np.maximum(cells - self.width + 1, 0) * self.size + np.minimum(cells, self.rows - 1))

    def spanning(self) -> Implicit:
        return Identity(self.size) if self.full_rank else self


def range_gram(n: int, low: Ints, high: Ints, weights: Array) -> Array:
    """Σ weights_k r_k r_kᵀ (n, n), r_k 1 on the cells low_k to high_k, both included; no range occurs twice.

    Only positive numbers are added.

    With u(a, b) the weight of the cells a to b, G_ij = Σ u(a, b) over a <= min(i, j), b >= max(i, j): a
    running sum in two directions.
    """
    sums = np.zeros((n, n))
    sums[low, high] = weights
    sums = np.cumsum(sums, axis=0)
    sums = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.triu(sums) + np.triu(sums, 1).T)


def sums_from(x: Array) -> Array:
    """The sum from each place to the end of the last axis."""
    return np.asarray(np.cumsum(x[..., ::-1], axis=-1)[..., ::-1])


def _windows(x: Array, width: int) -> Array:
    """Sums of ``width`` neighbours along the last axis (shorter by width - 1).

    By doubling, in log₂ width steps; unlike differences of running sums, small results keep their digits.
    """
    length = x.shape[-1] - width + 1
    out = np.zeros((*x.shape[:-1], length))
    start, power, sums = 0, 1, x
    while True:
        if width & power:
            out += sums[..., start : start + length]
            start += power
        if 2 * power > width:
            return out
        sums = sums[..., :-power] + sums[..., power:]
        power *= 2


class AllRange(Independent, Ranges):
    """Rows in the order (0..0), (0..1), …, (0..size-1), (1..1), …: first cell, then last cell."""

    kind = "all_range"

    def __init__(self, size: int) -> None:
        super().__init__(size, size * (size + 1) // 2)
        self.root_rounding = 4 * self.size * EPS  # the bound of ``range_root``; less without weights

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        first = np.arange(self.size)
        start = first * self.size - first * (first - 1) // 2  # number of the range (first..first)
        low = np.searchsorted(start, index, side="right") - 1
        return low, low + index - start[low]

    def _gram(self) -> Array:
        # Ranges that hold cells i <= j: i + 1 first cells, size - j last cells.
        cells = np.arange(self.size)
        return np.asarray(
            (np.minimum.outer(cells, cells) + 1.0) * (self.size - np.maximum.outer(cells, cells))
        )

    def _root(self) -> Array:
        # The Gram matrix is (n + 1) T⁻¹ with T tridiagonal (-1, 2, -1) = L Lᵀ; this is √(n + 1) L⁻¹:
        # entries j √((n + 1) / (i (i + 1))) for j <= i, counted from 1; exact up to rounding of each entry.
        i = np.arange(1.0, self.size + 1)
        root = np.zeros((self.size, self.size))
        for row, scale in enumerate(np.sqrt((self.size + 1) / (i * (i + 1)))):
            np.multiply(i[: row + 1], scale, out=root[row, : row + 1])
        return root

    def root_of_weighted(self, weights: Array) -> Array:
        return range_root(self.size, *self._every(), weights)

    def _apply(self, x: Array) -> Array:
        # By first cell. Sums only, here and below, no differences: small results keep their digits.
        return np.concatenate([np.cumsum(x[..., first:], axis=-1) for first in range(self.size)], axis=-1)

    def squared_lengths(self, directions: Array) -> Array:
        """Lengths from C = D Dᵀ where D has enough columns: each cell adds its entry and twice those before.

        Fewer directions may cancel on a range, which only the sums of the range show.
        """
        if directions.shape[1] < self.size:
            return super().squared_lengths(directions)
        covariance = directions @ directions.T
        before = sums_from(np.triu(covariance, 1).T).T  # (i, j): from cell i to the one before j
        added = 2.0 * before + np.diagonal(covariance)
        lengths = [np.cumsum(added[first, first:]) for first in range(self.size)]
        return np.maximum(np.concatenate(lengths), 0.0)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        ends = np.cumsum(np.arange(self.size, 1, -1))
        for first, part in enumerate(np.split(y, ends, axis=-1)):
            total[..., first:] += sums_from(part)
        return total

    def column_powers(self, norm: int) -> Array:
        return (np.arange(self.size) + 1.0) * np.arange(self.size, 0.0, -1.0)


def range_root(n: int, low: Ints, high: Ints, weights: Array) -> Array:
    """R (n, n) with RᵀR = G, upper triangular; every range has a positive weight.

    Ends are eliminated one by one. Each elimination joins the others by w_k w_l / Σ w, which needs no
    subtraction (Grassmann, Taksar, Heyman: Operations Research 33, 1985), nor does the sum that leads from
    ends to cells: every entry is right to a few n units in its last place.
    """
    require_memory((n + 1, n + 1), "weights of all ranges")
    joined = np.zeros((n + 1, n + 1))
    joined[low, high + 1] = weights
    joined += joined.T
    root = np.zeros((n, n))
    for end in range(n):
        linked = joined[end, end + 1 :].copy()
        after = np.cumsum(linked[::-1])[::-1]  # over the ends behind each cell
        root[end, end:] = after / np.sqrt(after[0])
        joined[end + 1 :, end + 1 :] += np.outer(linked, linked / after[0])
    return root


def reflected_ranges(n: int) -> tuple[Array, Array]:
    """The Gram matrix of all ranges on even and on odd vectors under the reversal of the cells, as roots.

    Upper triangles R (⌈n/2⌉, ⌈n/2⌉) on even vectors and (⌊n/2⌋, ⌊n/2⌋) on odd ones; n > 1. With
    G_ij = (i + 1) (n - j) for i <= j, cells counted from 0, and i, j before the middle:

    - on (e_i + e_(n-1-i)) / √2 it is G_ij + G_i,n-1-j = (n + 1) (i + 1), prefix sums over half of the cells;
    - on (e_i - e_(n-1-i)) / √2 it is G_ij - G_i,n-1-j = (i + 1) b_j with b_j = n - 1 - 2 j. As (i + 1) / b_i
      grows by (n + 1) / (b_i b_(i-1)), row k of a root is b_j √((n + 1) / (b_k b_(k-1))) for j >= k.

    Every entry is right to a few roundings, while a QR of the whole root is right relative to its norm.
    """
    even = np.triu(np.full((-(-n // 2), -(-n // 2)), np.sqrt(n + 1.0)))
    if n % 2:
        even[:, -1] /= np.sqrt(2.0)  # the cell in the middle has no mirror image
    b = n - 1.0 - 2.0 * np.arange(n // 2)
    return even, np.triu(np.outer(np.sqrt((n + 1.0) / (b * (b + 2.0))), b))


class Haar(Independent):
    """The Haar wavelet's rows, unnormalised: the total, then differences of halves, coarse to fine.

    Row 2ˡ + i is the first less the second half of block i of the 2ˡ blocks of equal length. The rows are
    orthogonal; n must be a power of two (Xiao, Wang, Gehrke: Privelet, ICDE 2010, §IV, without the weights).
    """

    kind = "haar"

    def __init__(self, size: int) -> None:
        super().__init__(size)
        if size & (size - 1):
            raise WorkloadError(
                f"the Haar wavelet needs a power of two, found {size} cells",
                hint=f"the nearest are {2 ** (size.bit_length() - 1)} and {2 ** size.bit_length()}",
            )
        self.levels = size.bit_length() - 1

    def _blocks(self, index: Ints) -> tuple[Ints, Ints]:
        """First cell and length of the block that each of these rows splits; row 0 has all cells."""
        count = 1 << (np.frexp(np.maximum(index, 1))[1].astype(np.int64) - 1)
        length = self.size // count
        return np.where(index > 0, (index - count) * length, 0), length

    def _take(self, index: Ints) -> Array:
        start, length = self._blocks(index)
        off = np.arange(self.size) - start[:, None]
        half = np.where(index > 0, length // 2, length)[:, None]
        return ((off >= 0) & (off < half)).astype(np.float64) - ((off >= half) & (off < length[:, None]))

    def _apply(self, x: Array) -> Array:
        details: list[Array] = []
        sums = x
        for _ in range(self.levels):
            first, second = sums[..., 0::2], sums[..., 1::2]
            details.append(first - second)
            sums = first + second
        return np.concatenate([sums, *details[::-1]], axis=-1)

    def _adjoint(self, y: Array) -> Array:
        sums = y[..., :1]
        for level in range(self.levels):
            detail = y[..., 1 << level : 2 << level]
            sums = np.stack([sums + detail, sums - detail], axis=-1).reshape(*y.shape[:-1], 2 << level)
        return sums

    def entrywise(self, norm: int) -> Implicit:
        """The indicators of the blocks, sparse: n (1 + log₂ n) ones."""
        start, length = self._blocks(np.arange(self.size))
        ends = np.concatenate([[0], np.cumsum(length)])
        cells = runs(start, length)
        return Sparse(
            scipy.sparse.csr_array((np.ones(len(cells)), cells, ends), shape=(self.size, self.size))
        )

    def column_powers(self, norm: int) -> Array:
        return np.full(self.size, 1.0 + self.levels)

    def labels(self, attribute: Attribute) -> list[str]:
        """One text per query: the total is empty, a difference reads "age < 18 minus 18 <= age < 65"."""
        start, length = (ends[1:] for ends in self._blocks(np.arange(self.size)))
        middle, last = start + length // 2 - 1, start + length - 1
        first = range_labels(attribute, zip(start.tolist(), middle.tolist(), strict=True))
        second = range_labels(attribute, zip((middle + 1).tolist(), last.tolist(), strict=True))
        return ["", *(f"{plus} minus {minus}" for plus, minus in zip(first, second, strict=True))]


class Hierarchy(Independent, Ranges):
    """The total, its parts, their parts, down to single cells; level by level, left to right.

    Each block splits into ``branching`` neighbouring parts, as equal as possible, the longer ones first;
    a single cell is measured once, at the level where it first occurs. At most 2 n - 1 rows
    (Hay, Rastogi, Miklau, Suciu: PVLDB 2010; for branching above 2 Qardaji, Yang, Li: PVLDB 2013).
    """

    kind = "hierarchy"

    def __init__(self, size: int, branching: int = 2) -> None:
        super().__init__(size)
        if branching < 2:
            raise WorkloadError(f"the hierarchy's branching is {branching}, expected 2 or more")
        self.parameters = (int(branching),)
        require_memory((2 * self.size, 2), f"list of the blocks of {self!r}")
        self._levels = tuple(levels(self.size, int(branching)))
        super().__init__(size, sum(len(start) for start, _ in self._levels))  # once the levels are counted

    def _members(self) -> Iterator[Ints]:
        """The block that holds each cell, (size,), level by level; -1 below single cells."""
        for start, stop in self._levels:
            at = np.full(self.size, -1)
            at[runs(start, stop - start)] = np.repeat(np.arange(len(start)), stop - start)
            yield at

    def ends(self, index: Ints) -> tuple[Ints, Ints]:
        starts, stops = zip(*self._levels, strict=True)
        return np.concatenate(starts)[index], np.concatenate(stops)[index] - 1

    def _root(self) -> Array:
        # With R_c a root for each part of block B, Rᵀ w = 1 for their diagonal R, and s = |w|²:
        # (I + α w wᵀ) R = R + α w 1ᵀ, α = 1 / (1 + √(1 + s)), is a root for B, as 2 α + α² s = 1, and
        # w / √(1 + s) is its w. From single cells (R = w = 1) upwards, each is a sum of positive terms.
        root = np.eye(self.size)
        w = np.ones(self.size)
        for (start, stop), member in zip(self._levels[::-1], [*self._members()][::-1], strict=True):
            inner = stop - start > 1
            s = np.bincount(member[member >= 0], weights=np.square(w[member >= 0]), minlength=len(start))
            cells = np.flatnonzero((member >= 0) & inner[member])
            at = member[cells]
            share = w[cells] / (1.0 + np.sqrt(1.0 + s[at]))
            root[np.ix_(cells, cells)] += np.where(at[:, None] == at, share[:, None], 0.0)
            w[cells] /= np.sqrt(1.0 + s[at])
        return root

    def _apply(self, x: Array) -> Array:
        padded = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
        # Sums from each start to its stop; those from a stop to the next start are left out.
        parts = (np.column_stack(level).ravel() for level in self._levels)
        return np.concatenate([np.add.reduceat(padded, cuts, axis=-1)[..., ::2] for cuts in parts], axis=-1)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        ends = np.cumsum([len(start) for start, _ in self._levels])
        for part, member in zip(np.split(y, ends[:-1], axis=-1), self._members(), strict=True):
            total += np.where(member >= 0, part[..., np.maximum(member, 0)], 0.0)
        return total

    def labels(self, attribute: Attribute) -> list[str]:
        """One text per query: the total is empty, each other block reads as a range."""
        return ["", *super().labels(attribute)[1:]]

    def holdings(self) -> Iterator[tuple[int, int]]:
        yield id(self), sum(start.nbytes + stop.nbytes for start, stop in self._levels)


def levels(size: int, branching: int) -> Iterator[tuple[Ints, Ints]]:
    """First cell, and last cell plus one, of the blocks of each level, down to single cells."""
    start, length = np.zeros(1, dtype=np.int64), np.array([size])
    while len(start):
        yield start, start + length
        inner = length > 1
        start, length = start[inner], length[inner]
        parts = np.minimum(branching, length)
        short, longer = np.divmod(length, parts)
        k = runs(np.zeros_like(parts), parts)
        start, short, longer = (np.repeat(a, parts) for a in (start, short, longer))
        start, length = start + k * short + np.minimum(k, longer), short + (k < longer)


def runs(start: Ints, length: Ints) -> Ints:
    """The numbers start to start + length - 1 of each run, one run after the other."""
    ends = np.cumsum(length)
    return np.asarray(np.arange(ends[-1:].sum()) - np.repeat(ends - length - start, length))
