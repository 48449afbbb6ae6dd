"""How a solve ended, in three parts that do not imply each other, and the solver's own word."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Status"]


@dataclass(frozen=True)
class Status:
    """Why it stopped; whether the point is feasible; whether the bound is valid.

    stop : "gap reached", "gap not reached", "time limit", "iteration limit", "interrupted"; for a program of
        class rank "rank reached in 3 of 5 starts" or "rank not reached (residual 3.1e-02)", with the least
        residual of all rounds, perhaps after one of the limits: "time limit, rank not reached (…)".
        "certified" for a strategy that was given.
    feasible : whether every constraint holds after the repair (to rounding).
    violation : largest relative violation of the solver's point before the repair.
    bound_valid : whether a lower bound was proved.
    raw : the solver's own word, for its documentation only.
    """

    stop: str
    feasible: bool
    violation: float
    bound_valid: bool
    raw: str

    def __str__(self) -> str:
        point = "feasible" if self.feasible else "not feasible"
        bound = "bound proved" if self.bound_valid else "no bound"
        return f"{self.stop}; {point} (before repair off by {self.violation:.1e}); {bound}"
