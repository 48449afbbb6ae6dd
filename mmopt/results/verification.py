"""The outcome of a recheck of a saved result: each figure as stated and as recomputed; rows as a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.display_base_classes import Tabular

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
