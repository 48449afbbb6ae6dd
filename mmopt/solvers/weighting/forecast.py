"""What the kernel will take: memory and time from the size of the design queries, and whether they factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.solvers.weighting.kronecker import FORMED
from mmopt.solvers.weighting.recognise import is_likely_product

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three: 2048 design queries over as many cells
# to a gap of 1e-6 in 1 to 2 s, 4096 in 6 to 9 s.
SECONDS = 1.5e-10  # per product of both sizes and the smaller one
ARRAYS = 5  # of the size of the design that are held at a time, with the program's own
FIXED = 150e6
# Through factors: 4096 in 0.2 to 1.1 s, 16384 in 0.3 to 9 s.
PRODUCT_SECONDS = 3e-8  # per product of both sizes
PRODUCT_ARRAYS = 2  # the program's own, besides a Newton matrix and what it is made of


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens and lets of a program that the kernel claims."""
    arrays = {name: value for name, value in env.items() if getattr(value, "ndim", 0) == 2}
    rows, columns = max((a.shape for a in arrays.values()), key=lambda shape: shape[0] * shape[1])
    if any(is_likely_product(arrays[name], 1) for name in ("D", "Q") if name in arrays and "D" in arrays):
        newton = 2 * min(rows, FORMED) ** 2
        memory = FIXED + 8.0 * (PRODUCT_ARRAYS * rows * columns + newton)
        return memory, 0.01 + PRODUCT_SECONDS * rows * columns
    memory = FIXED + 8.0 * ARRAYS * rows * columns
    return memory, 0.01 + SECONDS * rows * columns * min(rows, columns)
