"""How far a figure is from the bound on it."""

from __future__ import annotations

__all__ = ["gap_between", "relative_gap"]


def gap_between(objective: float, bound: float | None, sense: str = "minimize") -> float | None:
    """objective / bound - 1 (bound / objective - 1 when maximized); None without a bound."""
    if bound is None:
        return None
    return relative_gap(objective, bound) if sense == "minimize" else relative_gap(bound, objective)


def relative_gap(upper: float, lower: float) -> float:
    """upper / lower - 1.

    For numbers that are not both positive, their distance relative to the lower one; infinity when that
    is zero and the other is not.
    """
    if lower > 0:
        return upper / lower - 1.0
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(lower) if lower < 0 else float("inf")
