"""What the kernel will take: memory and time from the sizes of strategy and reconstruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three.
SECONDS = 1e-9  # of a step, per entry of A and row of A
STEPS = 500
ARRAYS = 12  # of the size of A that are held at a time
FIXED = 150e6


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens of a program that the kernel claims."""
    n = env["V"].shape[1]
    p = env["A"].shape[0] if "A" in env else env["R"].shape[1]
    steps = 1 if "A" in env else STEPS
    return FIXED + 8.0 * ARRAYS * p * n, 0.001 + SECONDS * steps * p * n * max(p, 20)
