"""From calls to figures: time to an accuracy, shifted geometric means, what was not reached and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "ACCURACIES",
    "FAR",
    "best_gaps",
    "counted_calls",
    "mean_time",
    "shifted_geometric_mean",
    "times_to",
]

ACCURACIES = (1e-3, 1e-6, 1e-9)
FAR = 3.0  # a failure is charged the limit, and so many limits

Row = Mapping[str, Any]
Key = tuple[str, str]  # solver and instance


def times_to(
    rows: Iterable[Row], accuracy: float, clock: str = "seconds", limit: float = math.inf
) -> dict[Key, float]:
    """By solver and instance the least time of a call that reached the gap; infinity where none did.

    clock : "seconds" (wall) or "cpu". limit : of a call in wall time, whatever the clock; beyond it is late.
    """
    rows = list(rows)
    quickest = counted_calls(rows, accuracy, clock, limit)
    keys = dict.fromkeys((row["solver"], row["instance"]) for row in rows)
    return {key: quickest[key][clock] if key in quickest else math.inf for key in keys}


def counted_calls(
    rows: Iterable[Row], accuracy: float, clock: str = "seconds", limit: float = math.inf
) -> dict[Key, Row]:
    """By solver and instance the call that counts: the quickest in the limit that reached the gap."""
    found: dict[Key, Row] = {}
    for row in rows:
        key = row["solver"], row["instance"]
        gap, wall, spent = row["gap"], row["seconds"], row[clock]
        reached = gap is not None and gap <= accuracy and spent is not None and wall <= limit
        if reached and (key not in found or spent < found[key][clock]):
            found[key] = row
    return found


def best_gaps(rows: Iterable[Row]) -> dict[Key, float]:
    """By solver and instance the least judged gap; infinity where no point was judged."""
    found: dict[Key, float] = {}
    for row in rows:
        key = row["solver"], row["instance"]
        found[key] = min(found.get(key, math.inf), math.inf if row["gap"] is None else row["gap"])
    return found


def shifted_geometric_mean(times: Sequence[float], shift: float) -> float:
    """exp(mean(log(t + shift))) - shift; nan of none."""
    if not times:
        return math.nan
    return math.exp(sum(math.log(t + shift) for t in times) / len(times)) - shift


def mean_time(times: Sequence[float], shift: float, limit: float, factor: float = 1.0) -> float:
    """Their shifted geometric mean, where a failure (infinity) is so many limits."""
    return shifted_geometric_mean([t if math.isfinite(t) else factor * limit for t in times], shift)
