"""How a solve ended, in three parts that do not imply each other, and what its figures rest on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from mmopt.stop_reasons import Stop

__all__ = ["GRADES", "Grade", "Status", "is_stop", "weakest"]

Grade = Literal["claimed", "estimated", "proved"]
"""What a figure rests on.

proved : evaluated with an error bound and rounded to the safe side; a bound besides by a certificate that is
    shipped, and its proof with it. estimated : evaluated without an error bound. claimed : by a certificate
    of the program's author, which feasible points have not refuted; or for givens that the caller passed in
    place of the workload's queries or targets.

A point is feasible at τ = 1e-10 when every line holds after each of its terms is changed by at most the part
τ (like terms joined, an atom one term): an equality |r| <= τ Σ|terms|, an inequality g <= τ Σ|terms|, a psd
line F + τ diag(m) psd, m_i = Σ|terms of F_ii|, its row 0 where m_i is. What is missed is charged to the
objective at the multipliers, and the objective is then proved only where every line is proved to hold.

A bound is one of the queries: what the rounding of their root may be worth is taken off, by the backward
error of Householder QR (Higham 2002, Theorem 19.4, with the constant 8: ``numerics.arrays``); coordinates by
orbit and singular values are taken to be right to 32 ε d^1.5. What it may be
worth is added to an objective, which is estimated where that is more than 1e-6 of it or unknown; the bound
of a program over given design queries is that of the root as rounded. A query counts as supported when at
most 1e-9 of its length is beside what the strategy measures.
"""

GRADES: tuple[Grade, ...] = ("claimed", "estimated", "proved")  # the weakest first

# All that ``Status.stop`` may say.
_WORDS = (Stop.REACHED, Stop.EVERY_STEP, Stop.LIFTED, Stop.FINISHED, Stop.CLOSED, Stop.CERTIFIED)
_LIMIT = "|".join((Stop.MISSED, Stop.TIME, Stop.ITERATIONS, Stop.INTERRUPTED))
_RANK = rf"({Stop.NO_RANK} (\(residual \S+\)|at a feasible point)|{Stop.RANK} in \d+ of \d+ starts)"
_STOPS = re.compile(
    rf"{'|'.join(_WORDS)}|({_LIMIT})|(({_LIMIT}), )?{_RANK}"
    rf"|{Stop.LOCAL}, \d+ starts?(, \d+ followed)?(, spread \S+)?"
)


def weakest(*grades: Grade) -> Grade:
    """What a figure rests on that is made of several."""
    return min(grades, key=GRADES.index)


def is_stop(text: str) -> bool:
    """Whether a solve can have ended with this word."""
    return _STOPS.fullmatch(text) is not None


@dataclass(frozen=True)
class Status:
    """Why it stopped; whether the point is feasible; whether the bound is valid.

    stop : "gap reached", "gap not reached", "time limit", "iteration limit", "interrupted"; for a program of
        class rank "rank reached in 3 of 5 starts" or "rank not reached (residual 3.1e-02)", with the least
        residual of all rounds ("at a feasible point" where that is none), perhaps after one of the limits:
        "time limit, rank not reached (…)".
        "certified" for a strategy that was given.
    feasible : whether every constraint holds after the repair (to rounding).
    violation : largest relative violation of the solver's point before the repair.
    bound_valid : whether the bound is proved, not claimed; False without one. Files of version 0.1.0 say
        here whether there is a bound.
    raw : the solver's own word, for its documentation only.
    """

    stop: str
    feasible: bool
    violation: float
    bound_valid: bool
    raw: str

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.stop.startswith(Stop.INTERRUPTED)

    def __str__(self) -> str:
        point = "feasible" if self.feasible else "not feasible"
        return f"{self.stop}; {point} (before repair off by {self.violation:.1e})"
