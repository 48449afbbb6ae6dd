"""What the kernel will take: memory and time from the size of the design queries alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three: 2048 design queries over as many cells
# to a gap of 1e-6 in 1 to 2 s, 4096 in 6 to 9 s.
SECONDS = 1.5e-10  # per product of both sizes and the smaller one
ARRAYS = 5  # of the size of the design that are held at a time
FIXED = 150e6


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens and lets of a program that the kernel claims."""
    shapes = [value.shape for value in env.values() if getattr(value, "ndim", 0) == 2]
    rows, columns = max(shapes, key=lambda shape: shape[0] * shape[1])
    memory = FIXED + 8.0 * ARRAYS * rows * columns
    return memory, 0.01 + SECONDS * rows * columns * min(rows, columns)
