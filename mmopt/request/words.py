"""Words of the workload file that more than one reader knows."""

from __future__ import annotations

from collections.abc import Callable

from mmopt.workloads import Factor
from mmopt.workloads.blocks.factor import (
    all_range,
    haar,
    hierarchy,
    identity,
    prefix,
    total,
    width_range,
)

__all__ = ["BLOCK_NUMBERS", "BLOCK_WORDS", "is_block_word"]

BLOCK_WORDS: dict[str, Callable[[int], Factor]] = {
    "identity": identity,
    "total": total,
    "prefix": prefix,
    "all_range": all_range,
    "haar": haar,
    "hierarchy": hierarchy,
}
"""Blocks of queries on one attribute that need its size only."""

BLOCK_NUMBERS: dict[str, Callable[[int, int], Factor]] = {
    "width_range": width_range,
    "hierarchy": hierarchy,
}
"""Blocks that take an integer too: ``{width_range: 5}``."""


def is_block_word(text: str) -> bool:
    """Whether the word means a block of queries, so that no value, group or list may have it as its name."""
    return text in BLOCK_WORDS or text in BLOCK_NUMBERS
