"""How a solve ended, what a figure rests on, and the outcome of a recheck.

``Status``: how a solve ended, in parts that do not imply each other; ``Grade``: what a figure rests on;
``Verification``: a recheck of a saved result, each figure as stated and as recomputed, rows as a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mmopt.display_base_classes import Tabular
from mmopt.limits import Stop

#: The grade of a figure.
#:
#: proved : evaluated with an error bound and rounded to the safe side; for a bound, also by a certificate
#: that is shipped with its proof. estimated : evaluated without an error bound. claimed : by a certificate
#: of the program's author, which feasible points have not refuted; or for givens that the caller passed in
#: place of the workload's queries or targets.
#:
#: A point is feasible at τ = 1e-10 when every line holds after each of its terms is changed by at most the
#: part τ (like terms joined, an atom one term): an equality |r| <= τ Σ|terms|, an inequality g <= τ
#: Σ|terms|, a psd line F + τ diag(m) psd, m_i = Σ|terms of F_ii|, its row 0 where m_i is. Misses are charged
#: to the objective at the multipliers, and the objective is then proved only where every line is proved to
#: hold.
#:
#: A bound is for the exact queries: it is charged for the rounding of their root, by the backward error of
#: Householder QR (Higham 2002, Theorem 19.4, with the constant 8: ``numerics.arrays``); coordinates by orbit
#: and singular values are taken to be right to 32 ε d^1.5. An objective is charged, too, and is estimated
#: where the charge is more than 1e-6 of it or unknown; the bound of a program over given design queries is
#: that of the root as rounded. A query counts as supported when at most 1e-9 of its length is outside the
#: span of the strategy.
Grade = Literal["claimed", "estimated", "proved"]

GRADES: tuple[Grade, ...] = ("claimed", "estimated", "proved")  # the weakest first

# All texts of ``Status.stop``.
_WORDS = (Stop.REACHED, Stop.EVERY_STEP, Stop.LIFTED, Stop.FINISHED, Stop.CLOSED, Stop.CERTIFIED)
_LIMIT = "|".join((Stop.MISSED, Stop.TIME, Stop.ITERATIONS, Stop.INTERRUPTED))
_RANK = rf"({Stop.NO_RANK} (\(residual \S+\)|at a feasible point)|{Stop.RANK} in \d+ of \d+ starts)"
_STOPS = re.compile(
    rf"{'|'.join(_WORDS)}|({_LIMIT})|(({_LIMIT}), )?{_RANK}"
    rf"|{Stop.LOCAL}, \d+ starts?(, \d+ followed)?(, spread \S+)?"
)


def weakest(*grades: Grade) -> Grade:
    """The grade of a figure that is made of several: the weakest of theirs."""
    return min(grades, key=GRADES.index)


def is_stop(text: str) -> bool:
    """Whether a solve can end with this text as its ``Status.stop``."""
    return _STOPS.fullmatch(text) is not None


@dataclass(frozen=True)
class Status:
    """The reason why a solve stopped; whether its point is feasible; whether its bound is valid.

    stop : "gap reached", "gap not reached", "time limit", "iteration limit", "interrupted"; for a program of
        class rank "rank reached in 3 of 5 starts" or "rank not reached (residual 3.1e-02)", with the least
        residual of all rounds ("at a feasible point" where that is none), perhaps after one of the limits:
        "time limit, rank not reached (…)".
        "certified" for a strategy that was given.
    feasible : whether every constraint holds after the repair (to rounding).
    violation : largest relative violation of the solver's point before the repair; of a line whose terms are
        next to nothing, how far the repair moved the point, by a variable's size.
    bound_valid : whether the bound is proved, not claimed; False without one. In files of version 0.1.0:
        whether there is a bound.
    raw : the solver's word, to be looked up in its documentation.
    """

    stop: str
    feasible: bool
    violation: float
    bound_valid: bool
    raw: str

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the solve."""
        return self.stop.startswith(Stop.INTERRUPTED)

    def __str__(self) -> str:
        point = "feasible" if self.feasible else "not feasible"
        if self.feasible and self.violation > 1.0:  # relative to terms next to zero: such a figure alarms
            return (
                f"{self.stop}; {point} (before it was moved inside, a constraint was violated by more "
                "than the size of its terms)"
            )
        return f"{self.stop}; {point} (violation before repair {self.violation:.1e})"


Figure = float | str | None
# Rows about a strategy: not shown where the program has none, as the cells one by one stand in for it.
ROWS_OF_STRATEGY = (
    "strategy",
    "sensitivity",
    "own_sensitivity",
    "error",
    "error_bound",
    "rmse",
    "has_strategy",
)


@dataclass(frozen=True)
class Check:
    """One line: what, as stated, as recomputed (a number, or words), and whether the claim holds.

    field : of the solution, where the line recomputes one (in a step: behind its name); published figures are
        looked up by it, ``what`` is for the reader.
    """

    what: str
    stated: Figure
    recomputed: Figure
    holds: bool
    field: str = ""

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "what": self.what,
            "stated": _plain(self.stated),
            "recomputed": _plain(self.recomputed),
            "holds": self.holds,
        }


@dataclass(frozen=True, repr=False)
class Verification(Tabular):
    """All checks of a solution, in order.

    program : of the solution.
    rows : the checks; those of a procedure's step begin with its name.
    unchecked : fields that record how the result came about, and multipliers that no certificate reads; no
        figure depends on them.
    """

    program: str
    rows: tuple[Check, ...]
    unchecked: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(row.holds for row in self.rows)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that do not hold."""
        return tuple(row for row in self.rows if not row.holds)

    @property
    def shown(self) -> tuple[Check, ...]:
        """The checks to show: those of a strategy only where there is one, or where one fails."""
        is_none = any(row.what == "has_strategy" and row.stated == "False" for row in self.rows)
        hidden = ROWS_OF_STRATEGY if is_none else ()
        return tuple(row for row in self.rows if not (row.holds and {row.what, row.field} & {*hidden}))

    def verdict(self) -> str:
        """One sentence."""
        failed, count = len(self.failures), len(self.shown)
        some = f"{failed} of {count} checks {'does' if failed == 1 else 'do'} not hold"
        return some if failed else f"all {count} checks hold"

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "program": self.program,
            "holds": self.holds,
            "rows": [row.summary() for row in self.rows],
            "unchecked": list(self.unchecked),
        }

    def table(self) -> list[tuple[str, str]]:
        """The checks as (name, text)."""
        return [
            (
                row.what,
                f"{'holds' if row.holds else 'DOES NOT HOLD'}: {shown(row.stated)} / {shown(row.recomputed)}",
            )
            for row in self.shown
        ]

    def __repr__(self) -> str:
        return f"Verification({self.program}: {self.verdict()})"

    def __str__(self) -> str:
        return f"{as_text(self.table())}\n{self.verdict()}"


def shown(figure: Figure) -> str:
    """A figure in a table: ten digits, words as they are, ``-`` for none."""
    if figure is None:
        return "-"
    return figure if isinstance(figure, str) else f"{figure:.10g}"


def _plain(figure: Figure) -> Figure:
    """A figure for JSON, which has no infinity: a text in its place."""
    return repr(figure) if isinstance(figure, float) and not math.isfinite(figure) else figure


def as_text(rows: Sequence[tuple[str, str]]) -> str:
    """Two aligned columns."""
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)
