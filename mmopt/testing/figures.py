"""A known number: where it stands, and what it is to our value of the same thing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Figure", "holds", "meets", "starred"]

CLOSE = 0.02
"""A printed figure this far outside the spread of our draws is marked."""


@dataclass(frozen=True)
class Figure:
    """A known number: where it stands, what kind it is, relative tolerance.

    exact: the value itself; upper: our value is at most it; lower: our value is at least it.
    """

    source: str
    kind: str
    value: float
    tolerance: float


def holds(figure: Figure, found: float) -> bool:
    """Whether our value is what the figure says of it."""
    return meets(figure, found, found)


def meets(figure: Figure, low: float, high: float) -> bool:
    """Whether a value that lies between ``low`` and ``high`` may be what the figure says of it."""
    above = high >= figure.value * (1 - figure.tolerance)
    below = low <= figure.value * (1 + figure.tolerance)
    return {"exact": above and below, "upper": below, "lower": above}[figure.kind]


def starred(draws: Sequence[float], printed: float) -> str:
    """The median of our draws over print, with a star where print is outside of them and not ``CLOSE``."""
    is_within = min(draws) * (1 - CLOSE) <= printed <= max(draws) * (1 + CLOSE)
    return f"{statistics.median(draws) / printed:.3f}{' ' if is_within else '*'}"
