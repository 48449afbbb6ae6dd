"""What ``mmopt.compare`` returns: the outcomes in their order, as frame, chart and display."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Self, TypeVar, overload

from mmopt.comparison.compared_outcome import Outcome
from mmopt.comparison.predicted_errors import Stated
from mmopt.notebook import Charted, Tabular
from mmopt.workloads import Workload

__all__ = ["Comparison", "Rows"]

Row = TypeVar("Row")


class Rows(Sequence[Row], Tabular):
    """Rows in their order, with the table that they are; equal to any sequence of the same ones."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    def __getitem__(self, at: int | slice) -> Row | Self:
        if not isinstance(at, slice):
            return self._rows[at]
        part = copy.copy(self)
        part._rows = self._rows[at]
        return part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class Comparison(Charted, Rows[Outcome]):
    """Outcomes in the order of the arguments of ``compare``.

    Parameters
    ----------
    outcomes : what became of each combination.
    workload, stated : what was asked, and the privacy that errors are predicted for; None for unit noise.
    """

    def __init__(
        self, outcomes: Iterable[Outcome], workload: Workload | None = None, stated: Stated | None = None
    ) -> None:
        super().__init__(outcomes)
        self.workload = workload
        self.stated = stated

    def __repr__(self) -> str:
        solved = sum(outcome.solution is not None for outcome in self)
        return f"Comparison({len(self)} outcomes, {solved} with a solution)"
