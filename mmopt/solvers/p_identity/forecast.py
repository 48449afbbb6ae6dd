"""What the kernel will take: memory and time from the number of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three: prefix sums over 64, 256, 1024, 2048 and
# 8192 cells take 0.5, 2, 10, 21 and 360 s.
SECONDS = 1e-2  # per cell: the starts, fewer where there are more cells
CUBIC = 8e-10  # per cube of the cells
ARRAYS = 10  # of the size of the Gram matrix that are held at a time
FIXED = 150e6


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens of a program that the kernel claims."""
    n = float(env["W"].shape[1])
    return FIXED + 8.0 * ARRAYS * n**2, SECONDS * n + CUBIC * n**3
