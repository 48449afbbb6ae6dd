"""Blocks that split the cells again and again: the Haar wavelet and hierarchies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import Array, Ints, require_memory
from mmopt.workloads.blocks.implicit_matrix import Implicit
from mmopt.workloads.blocks.matrix_blocks import Sparse
from mmopt.workloads.blocks.range_blocks import Independent, Ranges
from mmopt.workloads.domain import Attribute
from mmopt.workloads.query_labels import range_labels

__all__ = ["Haar", "Hierarchy", "levels", "runs"]


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
        first = (off >= 0) & (off < half)
        second = (off >= half) & (off < length[:, None])
        return first.astype(np.float64) - second

    def _gram(self) -> Array:
        # Cells that first part at level l agree at all coarser ones and differ in sign there: 1 + l - 1.
        cells = np.arange(self.size)
        differ = np.frexp(np.bitwise_xor.outer(cells, cells).astype(np.float64))[1]
        return (self.levels - differ).astype(np.float64) + np.eye(self.size)

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
        """The total is empty, a difference reads "age < 18 minus 18 <= age < 65"."""
        start, length = (ends[1:] for ends in self._blocks(np.arange(self.size)))
        middle, last = start + length // 2 - 1, start + length - 1
        first = range_labels(attribute, zip(start.tolist(), middle.tolist(), strict=True))
        second = range_labels(attribute, zip((middle + 1).tolist(), last.tolist(), strict=True))
        return ["", *(f"{plus} minus {minus}" for plus, minus in zip(first, second, strict=True))]


class Hierarchy(Independent, Ranges):
    """The total, its parts, their parts, down to single cells; level by level, left to right.

    Each block splits into ``branching`` neighbouring parts, as equal as they can be, the longer ones first;
    a single cell is asked once, at the level where it comes up. At most 2 n - 1 rows
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
        super().__init__(size, sum(len(start) for start, _ in self._levels))  # now that they are counted

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
            own = np.flatnonzero((member >= 0) & inner[member])
            if not len(own):
                continue
            at = member[own]
            share = w[own] / (1.0 + np.sqrt(1.0 + s[at]))
            root[np.ix_(own, own)] += np.where(at[:, None] == at, share[:, None], 0.0)
            w[own] /= np.sqrt(1.0 + s[at])
        return root

    def _apply(self, x: Array) -> Array:
        padded = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
        # Sums from each start to its stop; those from a stop to the next start are left out.
        parts = (np.column_stack(level).ravel() for level in self._levels)
        return np.concatenate([np.add.reduceat(padded, cuts, axis=-1)[..., ::2] for cuts in parts], axis=-1)

    def _adjoint(self, y: Array) -> Array:
        total = np.zeros((*y.shape[:-1], self.size))
        first = 0
        for (start, _), member in zip(self._levels, self._members(), strict=True):
            total += np.where(member >= 0, y[..., first + np.maximum(member, 0)], 0.0)
            first += len(start)
        return total

    def labels(self, attribute: Attribute) -> list[str]:
        """The total is empty, each other block reads as a range."""
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
