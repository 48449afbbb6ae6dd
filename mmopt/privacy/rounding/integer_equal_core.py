"""A matrix of whole numbers that commutes with permutations of equal attributes, by blocks.

Its Gram matrix commutes with them too. What that has for two sets of attributes depends on how many they
share, so it is found from columns of seven sets of four attributes, in rows that stand for all like them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.privacy.rounding.counted_tables import CountedTables
from mmopt.privacy.rounding.integer_cores import SECONDS, IntegerCore
from mmopt.privacy.rounding.sums_on_sectors import sums_of
from mmopt.sectors.equal.count_form import CountForm, count_form
from mmopt.sectors.equal.largest_by_counts import largest_by_counts
from mmopt.sectors.equal.sampled_values import symmetric
from mmopt.sectors.measured.equal_blocks import Blocks, Numbers, applied, between, components_of
from mmopt.sectors.measured.equal_operators import EqualOperator

__all__ = ["EqualCore"]

_FOUR = range(4)  # attributes looked at; 4 and 5 stand for any others
_COLUMNS: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1), (0, 2), (1, 2), (2, 3))
_PAIRS: dict[tuple[int, int, int], tuple[tuple[int, ...], tuple[int, ...]]] = {
    (0, 0, 0): ((), ()),
    (0, 1, 0): ((), (0,)),
    (0, 2, 0): ((), (0, 1)),
    (1, 1, 1): ((0,), (0,)),
    (1, 1, 0): ((0,), (1,)),
    (1, 2, 1): ((0,), (0, 1)),
    (1, 2, 0): ((0,), (1, 2)),
    (2, 2, 2): ((0, 1), (0, 1)),
    (2, 2, 1): ((0, 1), (0, 2)),
    (2, 2, 0): ((0, 1), (2, 3)),
}
_ROUNDINGS = 48  # of a number of the function of four attributes: products, sums, and the 24 orders


@dataclass(frozen=True, eq=False)
class EqualCore(IntegerCore):
    """blocks : of whole numbers, those of K (``EqualOperator``)."""

    blocks: Blocks

    @property
    def k(self) -> int:
        """Number of attributes."""
        return len(self.layout.shape)

    def _squares(self) -> Array:
        real = {kind: block.astype(np.float64) for kind, block in self.blocks.items()}
        return np.concatenate([np.diag(_gram(self.k, real)[a, a, a]) for a in range(3)])

    @property
    def operator(self) -> EqualOperator:
        return EqualOperator(self.k, components_of(self.k, self.blocks))

    @property
    def pieces(self) -> tuple[Ints, ...]:
        return tuple(self.blocks[kind] for kind in sorted(self.blocks))

    def answers(self, tables: CountedTables) -> Ints:
        return applied(self.blocks, self.k, sums_of(self.layout, (), tables)[:, 0])

    @cached_property
    def largest_square(self) -> int:
        """From the polynomial in the counts of values."""
        return math.floor(largest_by_counts(self.form, SECONDS).upper)

    @cached_property
    def form(self) -> CountForm:
        """The squared length of a column of K, by the counts of values of a cell."""
        gram = {kind: block.astype(np.float64) for kind, block in _gram(self.k, self.blocks).items()}
        magnitudes = {kind: np.abs(block) for kind, block in gram.items()}
        function, size = (_of_four(self.k, own) for own in (gram, magnitudes))
        return count_form(function, size, _ROUNDINGS, self.k)


def _gram(k: int, blocks: Blocks) -> Blocks:
    """The blocks of KᵀK, in the numbers that K has: whole ones modulo 2⁶⁴."""
    others = max(k - 4, 0)
    rows: dict[tuple[int, ...], int] = {(): 1, (4,): others, (4, 5): others * (others - 1) // 2}
    for i in _FOUR:
        rows[i,], rows[i, 4] = int(i < k), int(i < k) * others
    for i, j in itertools.combinations(_FOUR, 2):
        rows[i, j] = int(j < k)
    found = {kind: np.zeros_like(blocks[kind]) for kind in _PAIRS}
    for row, often in rows.items():
        if often:
            own: dict[tuple[int, ...], Numbers] = {
                column: between(blocks, row, column) for column in _COLUMNS
            }
            for kind, (one, other) in _PAIRS.items():
                found[kind] += often * (own[one].T @ own[other])
    return found


def _of_four(k: int, gram: Blocks) -> Array:
    """F over the values of four attributes (of all, where there are fewer), whose mean over attributes is f.

    With indicators that are all 0 at the value 0: Σ over sets of one, two, three and four different
    attributes of the entries of KᵀK in which they are all.
    """
    c = len(gram[1, 1, 1])
    values = np.arange(c)

    def at_values(block: Numbers, width: int) -> Array:
        return np.pad(block.reshape((c,) * width), ((1, 0),) * width)

    pair, triple = gram[1, 2, 1].reshape(c, c, c), gram[2, 2, 1].reshape((c,) * 4)
    one = 2 * gram[0, 1, 0].ravel() + np.diag(gram[1, 1, 1])
    two = gram[0, 2, 0].ravel() + gram[1, 1, 0].ravel() + 2 * pair[values, values].ravel()
    two = two + 0.5 * np.diag(gram[2, 2, 2])
    three = gram[1, 2, 0].ravel() + triple[values, :, values].ravel()
    terms = [(1, one), (2, two), (3, three), (4, gram[2, 2, 0] / 4)]
    places = min(k, 4)
    found = np.full((c + 1,) * places, float(gram[0, 0, 0][0, 0]))
    for width, block in terms[:places]:
        table = at_values(block, width)
        found += math.perm(k, width) * table.reshape(table.shape + (1,) * (places - width))
    return symmetric(found)
