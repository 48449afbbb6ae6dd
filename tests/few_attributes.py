"""Workloads whose products look at few attributes, for the tests of row spaces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from mmopt.testing.census_workloads import products_on
from mmopt.workloads import Factor, Workload
from mmopt.workloads.blocks import factor_blocks as f

__all__ = ["dense", "up_to"]


def up_to(
    sizes: Sequence[int], most: int, block: Callable[[int], Factor] = f.prefix, least: int = 1
) -> Workload:
    """A product on every ``least`` to ``most`` attributes, ``block`` on each of these."""
    counts = range(least, most + 1)
    return products_on(
        sizes, [s for w in counts for s in itertools.combinations(range(len(sizes)), w)], block
    )


def dense(workload: Workload) -> np.ndarray:
    """The queries as a matrix, times the square roots of their weights."""
    assert workload.products is not None
    return np.vstack([product.implicit(weighted=True).matrix() for product in workload.products])
