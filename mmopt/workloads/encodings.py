"""How a table value becomes a cell of an attribute: by values, by bins of numbers or dates, by categories."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mmopt.errors import WorkloadError
from mmopt.workloads.calendar_periods import date_of, day_of, period_name

__all__ = ["Bins", "Categories", "TableValue", "Values", "describe_number", "label_of", "refuse_repeated"]

TableValue = str | int | float | bool


@dataclass(frozen=True)
class Values:
    """Cell i holds the table value ``values[i]``."""

    values: tuple[TableValue, ...]

    def __post_init__(self) -> None:
        refuse_repeated(self.values, _in_two_cells)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.values)

    @property
    def members(self) -> tuple[tuple[TableValue, ...], ...]:
        """The table values of each cell, one each."""
        return tuple((value,) for value in self.values)

    def describe(self) -> list[object]:
        """Plain data that determines the encoding."""
        return ["values", [_describe_value(value) for value in self.values]]


@dataclass(frozen=True)
class Bins:
    """Cell i holds the half-open interval ``[edges[i], edges[i + 1])``.

    Parameters
    ----------
    edges : increasing. The first may be -infinity and the last infinity: such a bin is open, and holds
        infinite table values too.
    dates : whether the edges are days since 1970-01-01, whole numbers.

    Raises
    ------
    WorkloadError : edges that are fewer than two, all infinite, NaN, not increasing, or no days.
    """

    edges: tuple[float, ...]
    dates: bool = False

    def __post_init__(self) -> None:
        if len(self.edges) < 2:
            raise WorkloadError(f"bins need at least two edges, found {len(self.edges)}")
        finite = slice(int(self.edges[0] == -math.inf), self.size + int(self.edges[-1] != math.inf))
        inner = self.edges[finite]
        if not (inner and all(math.isfinite(edge) for edge in inner)):
            raise WorkloadError(
                "bin edges must be finite numbers, but for a first -inf and a last inf, "
                f"found {list(self.edges)}"
            )
        if self.dates:
            for edge in inner:
                _check_day(edge)
        for low, high in itertools.pairwise(self.edges):
            if not low < high:
                raise WorkloadError(
                    f"bin edges must increase, found {self.edge_text(low)} before {self.edge_text(high)}"
                )

    @staticmethod
    def of_dates(*edges: datetime.date | None) -> Bins:
        """Bins between these dates; None for a first or a last edge that is open."""
        open_ends = {0: -math.inf, len(edges) - 1: math.inf}
        return Bins(
            tuple(open_ends.get(i, math.nan) if e is None else day_of(e) for i, e in enumerate(edges)), True
        )

    @property
    def size(self) -> int:
        """Number of cells, one less than there are edges."""
        return len(self.edges) - 1

    def describe(self) -> list[object]:
        """Plain data that determines the encoding."""
        return ["bins of dates" if self.dates else "bins", [describe_number(edge) for edge in self.edges]]

    def ends(self, low: int, high: int) -> tuple[float | datetime.date | None, float | datetime.date | None]:
        """Where cells low to high, both included, begin and end: the end itself is outside; None: open."""
        first, end = (
            None if math.isinf(edge) else date_of(edge) if self.dates else edge
            for edge in (self.edges[low], self.edges[high + 1])
        )
        return first, end

    def edge_text(self, edge: float) -> str:
        """An edge for labels, a number or an ISO date."""
        return date_of(edge).isoformat() if self.dates and math.isfinite(edge) else f"{edge:.12g}"

    def labels(self) -> tuple[str, ...]:
        """The intervals as text: ``[0, 18)``, open ones ``< 0`` and ``>= 65``; ``2020-01`` for a month."""
        return tuple(self._label(low, high) for low, high in itertools.pairwise(self.edges))

    def _label(self, low: float, high: float) -> str:
        if math.isinf(low) or math.isinf(high):
            return f"< {self.edge_text(high)}" if math.isinf(low) else f">= {self.edge_text(low)}"
        name = period_name(int(low), int(high)) if self.dates else ""
        return name or f"[{self.edge_text(low)}, {self.edge_text(high)})"


@dataclass(frozen=True)
class Categories:
    """Cell i holds any of the table values ``members[i]``."""

    members: tuple[tuple[TableValue, ...], ...]

    def __post_init__(self) -> None:
        for cell in self.members:
            if not cell:
                raise WorkloadError("a category has no values, expected at least one")
        refuse_repeated([value for cell in self.members for value in cell], _in_two_cells)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.members)

    def describe(self) -> list[object]:
        """Plain data that determines the encoding."""
        return ["categories", [[_describe_value(value) for value in cell] for cell in self.members]]


def label_of(value: TableValue) -> str:
    """The text that stands for a table value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def refuse_repeated(values: Iterable[TableValue], message: Callable[[TableValue], str]) -> None:
    """WorkloadError with a message about the first value that stands twice."""
    seen: set[TableValue] = set()
    for value in values:
        if value in seen:
            raise WorkloadError(message(value))
        seen.add(value)


def _in_two_cells(value: TableValue) -> str:
    return f"the value {value!r} stands twice, expected in one cell only"


def describe_number(value: float) -> str:
    """The exact value, as hexadecimal digits, for hashes; minus zero counts as zero."""
    return (float(value) + 0.0).hex()


def _describe_value(value: TableValue) -> list[object]:
    return [type(value).__name__, describe_number(value) if isinstance(value, float) else value]


def _check_day(edge: float) -> None:
    try:
        is_day = float(edge).is_integer() and bool(date_of(edge))
    except (ValueError, OverflowError):
        is_day = False
    if not is_day:
        raise WorkloadError(
            f"edges of dates are whole days since 1970-01-01, of the years 1 to 9999, found {edge:.12g}"
        )
