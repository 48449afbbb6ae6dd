"""Words of the workload file that more than one reader knows."""

from __future__ import annotations

from collections.abc import Callable

from mmopt.queries import Factor
from mmopt.queries.factor import all_range, identity, prefix, total

__all__ = ["BLOCK_WORDS"]

BLOCK_WORDS: dict[str, Callable[[int], Factor]] = {
    "identity": identity,
    "total": total,
    "prefix": prefix,
    "all_range": all_range,
}
"""Blocks of queries on one attribute that need its size only."""
