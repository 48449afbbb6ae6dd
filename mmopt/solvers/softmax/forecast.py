"""What the kernel will take: memory and time from the sizes of the queries alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three.
SECONDS = 4e-10  # of one iteration, per product of both numbers of weights squared and the rank
ITERATIONS = 25
ARRAYS = 9  # the size of the queries that are held at a time
FIXED = 150e6


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens of a program that the kernel claims."""
    m, (rank, n) = env["L"].shape[0], env["B"].shape
    memory = FIXED + 8.0 * (ARRAYS * m * n + 2.5 * (m + n) ** 2)
    return memory, 0.01 + ITERATIONS * SECONDS * (m + n) ** 2 * rank
