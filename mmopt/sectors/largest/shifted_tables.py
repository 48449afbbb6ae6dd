"""Tables of the same sum with a smaller sum of their largest entries: what is shared is moved between them.

Of all tables that hold a set S of attributes let m_U(x_S) be the largest entry of table U given x_S; each
gets the mean of them all in place of its own, which leaves the sum as it is and lowers the sum of the maxima
or keeps it (max-sum diffusion: Werner, A linear programming approach to max-sum problem, IEEE PAMI 29(7),
2007, there over single attributes; here over all sets that tables share).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import GROW, U
from mmopt.sectors.largest.table_sums import Axes, TableSum, along, size_of

__all__ = ["separators", "shifted"]


def separators(sets: Iterable[Axes]) -> dict[Axes, list[Axes]]:
    """Sets of attributes that tables share, with these tables; without those that larger ones make needless.

    What a set S could move goes through larger ones where these connect all the tables that hold S.
    """
    holders: dict[Axes, list[Axes]] = {}
    for axes in sets:
        for count in range(1, len(axes)):
            for own in combinations(axes, count):
                holders.setdefault(own, []).append(axes)
    shared = {own: found for own, found in holders.items() if len(found) > 1}
    return {own: found for own, found in shared.items() if not _connected(own, found, shared)}


def _connected(own: Axes, tables: list[Axes], shared: dict[Axes, list[Axes]]) -> bool:
    """Whether one gets from each of the tables to all others by way of larger shared sets."""
    left = set(tables)
    reached = [left.pop()]
    while reached and left:
        axes = reached.pop()
        beside = [axis for axis in axes if axis not in own]
        for axis in beside:  # sets of one more suffice: larger ones contain such
            larger = tuple(sorted((*own, axis)))
            new = [other for other in shared.get(larger, ()) if other in left]
            left.difference_update(new)
            reached += new
    return not left


def shifted(tables: TableSum, shares: dict[Axes, list[Axes]], rounds: int, enough: float) -> TableSum:
    """After so many rounds over all shared sets, or fewer where the bound moves by less than ``enough``."""
    arrays = {axes: array.copy() for axes, array in tables.arrays.items()}
    lost, before = tables.lost, tables.upper
    for _ in range(rounds):
        sizes = {axes: size_of(array) for axes, array in arrays.items()}
        for own, holders in shares.items():
            lost += _levelled(arrays, sizes, own, holders)
        found = TableSum(tables.sizes, arrays, tables.constant, lost * GROW)
        now = found.upper
        if before - now < enough:
            return found
        before = now
    return TableSum(tables.sizes, arrays, tables.constant, lost * GROW)


def _levelled(arrays: dict[Axes, Array], sizes: dict[Axes, float], own: Axes, holders: list[Axes]) -> float:
    """The tables with the mean of their maxima each; at least what rounding moved their sum by."""
    most = []
    for axes in holders:
        others = tuple(at for at, axis in enumerate(axes) if axis not in own)
        most.append(arrays[axes].max(axis=others))
    mean = sum(most) / len(most)
    lost = 0.0
    total = 0.0
    for axes, found in zip(holders, most, strict=True):
        change = mean - found
        arrays[axes] += along(change, own, axes)
        size = size_of(change)
        sizes[axes] = (sizes[axes] + size) * GROW
        total += sizes[axes] + size_of(found)
        lost += U * sizes[axes]
    # The changes sum to zero but for rounding of the mean, a sum of len(most) terms, and of each difference.
    return (lost + (len(most) + 3) * U * total * 2) * GROW
