"""Which sets of attributes a table is counted by, so that many tables come of few queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from mmopt.privacy.rounding.counted_tables import maximal

__all__ = ["counted_sets", "joined"]

LARGEST_SUMMED = 10**6
"""Entries of a table up to which others are summed from it in place of being counted."""

LARGEST_JOINED = 2**15
"""Entries of the table of several sets together, up to which counting it takes as long as one of them."""


def counted_sets(asked: Iterable[tuple[int, ...]], sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The sets whose tables are held: those inside no other, and those inside large ones only."""
    every = sorted(set(asked))
    outer = maximal(every)
    small = [set(own) for own in outer if _entries(own, sizes) <= LARGEST_SUMMED]
    if len(small) == len(outer):
        return outer
    known = set(outer)
    inner = [own for own in every if own not in known and not any(around.issuperset(own) for around in small)]
    return (*outer, *inner)


def joined(
    sets: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Mapping[tuple[int, ...], list[tuple[int, ...]]]:
    """Sets by what is counted for them: their union with the blocks of small attributes that they touch.

    Attributes are put into blocks, in order, such that a set of the largest order touches a union of blocks
    that is no larger than ``LARGEST_JOINED``; where it is larger the set is counted by itself.
    """
    order = max((len(own) for own in sets), default=1) or 1
    most = LARGEST_JOINED ** (1 / order)
    blocks: list[list[int]] = []
    held = most + 1.0
    for i in sorted({i for own in sets for i in own}):
        if held * sizes[i] > most:
            blocks.append([])
            held = 1.0
        blocks[-1].append(i)
        held *= sizes[i]
    block_of = {i: block for block in blocks for i in block}
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for own in sets:
        union = tuple(sorted({j for i in own for j in block_of[i]}))
        found.setdefault(union if _entries(union, sizes) <= LARGEST_JOINED else own, []).append(own)
    # What stands for a single set is counted with another that holds it, or as that.
    several = {union: own for union, own in found.items() if len(own) > 1}
    around: dict[int, list[tuple[int, ...]]] = {}
    for union in several:
        for i in union:
            around.setdefault(i, []).append(union)
    for (own,) in (group for group in found.values() if len(group) == 1):
        others = around.get(own[0], []) if own else list(several)
        union = next((other for other in others if set(other).issuperset(own)), own)
        several.setdefault(union, []).append(own)
    return several


def _entries(attributes: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[i] for i in attributes)
