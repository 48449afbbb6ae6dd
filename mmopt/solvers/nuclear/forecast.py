"""What the kernel will take: memory and time from the sizes of the queries alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.numerics.components import Split

__all__ = ["needs"]

# Fitted on one thread of a shared core, to a factor of about three: 4 iterations over 1024 cells 2 s, 15 over
# 1024 cells and 2048 queries with targets 19 s.
STEP_SECONDS = 3e-10  # of one iteration, per product of both sizes of the queries and the smaller one
HESSIAN_SECONDS = 1.3e-10  # per square of the weights times the rank
ITERATIONS = {False: 5, True: 14}  # without and with weights of queries
# Measured: 8 n² doubles for as many queries as cells and no weights of theirs, 11 n² for 2n with weights.
ARRAYS = 4  # of the size of the queries that are held at a time, and as many of the smaller square
HESSIAN = 0.5  # of the square of the weights
FIXED = 150e6


def needs(env: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds for the givens of a program that the kernel claims."""
    memory, seconds = FIXED, 0.01
    has_targets = "B" in env
    for r, s in _shapes(env):
        weights = s + (r if has_targets else 0)
        memory += 8.0 * (ARRAYS * (r * s + min(r, s) ** 2) + HESSIAN * weights**2)
        one = STEP_SECONDS * r * s * min(r, s) + HESSIAN_SECONDS * weights**2 * min(r, s)
        seconds += ITERATIONS[has_targets] * one
    return memory, seconds


def _shapes(env: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Rows and columns of the parts whose nuclear norms are taken."""
    left = env.get("L", env.get("W", env.get("V")))
    right = env.get("B", left)
    if isinstance(left, Split):
        return [(a.shape[0], b.shape[1]) for a, b in zip(left.parts, right.parts, strict=True)]
    r, s = left.shape[0], right.shape[1]
    return [(r if "B" in env else min(r, s), s)]
