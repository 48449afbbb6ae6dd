"""Counts of rows by tables over few attributes: all that some integer strategies need of the data.

Over 10^20 cells there is no data vector, but the table of any two of its attributes is small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from mmopt.numerics.arrays import Ints

__all__ = ["CountedTables", "WholeTable", "maximal"]


@runtime_checkable
class CountedTables(Protocol):
    """Rows counted by sets of attributes; ``mmopt.data.marginal_counts`` makes one from a table."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each attribute of the domain."""

    def of(self, attributes: tuple[int, ...]) -> Ints:
        """The rows in each cell of these attributes, of their sizes; () is the number of rows counted.

        attributes : their places in the domain, ascending. An Error where they were not counted together.
        """


@dataclass(frozen=True, eq=False)
class WholeTable:
    """A data vector (n,) as a source of tables."""

    counts: Ints
    sizes: tuple[int, ...]

    def of(self, attributes: tuple[int, ...]) -> Ints:
        """The sums over all other attributes."""
        kept = set(attributes)
        others = tuple(i for i in range(len(self.sizes)) if i not in kept)
        return np.asarray(self.counts.reshape(self.sizes).sum(axis=others), dtype=np.int64)


def maximal(sets: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The sets of attributes that are inside no other, each ascending, larger ones first."""
    found: list[int] = []
    held: dict[int, list[int]] = {}  # by attribute: those of ``found`` that have it
    ordered = sorted({tuple(sorted(own)) for own in sets}, key=lambda own: (-len(own), own))
    for own in ordered:
        mask = sum(1 << i for i in own)
        around = found if not own else min((held.get(i, []) for i in own), key=len)
        if not any(mask & other == mask for other in around):
            found.append(mask)
            for i in own:
                held.setdefault(i, []).append(mask)
    return tuple(tuple(i for i in range(mask.bit_length()) if mask >> i & 1) for mask in found)
