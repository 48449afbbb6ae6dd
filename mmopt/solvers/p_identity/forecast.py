"""What the kernel will take: memory and time from the number of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three: prefix sums over 256, 1024 and 2048 cells
# take 2, 10 and 40 s.
SECONDS = 8e-9  # per cube of the cells
ARRAYS = 10  # of the size of the Gram matrix that are held at a time
FIXED = 150e6


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens of a program that the kernel claims."""
    n = float(env["W"].shape[1])
    return FIXED + 8.0 * ARRAYS * n**2, 0.1 + SECONDS * n**3
