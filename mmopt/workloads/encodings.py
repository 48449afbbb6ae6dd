"""The cell of a table value: by values, by bins of numbers or dates, by categories.

Days are numbers since 1970-01-01. The periods of the calendar have names: "2020" (a year), "2020-Q1" (a
quarter), "2020-03" (a month) or "2020-03-05" (a day).
"""

import bisect
import calendar
import datetime
import itertools
import math
import re
import zoneinfo
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mmopt.errors import WorkloadError

PERIOD = re.compile(r"([0-9]{4})(?:-Q([1-4])|-([0-9]{2})(?:-([0-9]{2}))?)?")  # year, quarter, month, day
EPOCH = datetime.date(1970, 1, 1).toordinal()
LAST_DAY = datetime.date.max.toordinal() - EPOCH
MONTHS = {"month": 1, "quarter": 3, "year": 12}  # in each unit
DAYS = {"day": 1, "week": 7}  # in each unit


def day_of(date: datetime.date) -> int:
    """The number of a day, 0 on 1970-01-01."""
    return date.toordinal() - EPOCH


def date_of(day: float) -> datetime.date:
    """The day of a number; ValueError or OverflowError before the year 1 and after 9999."""
    return datetime.date.fromordinal(int(day) + EPOCH)


def period_name(first: int, end: int) -> str:
    """The name of the period of the days first to end - 1; "" where the calendar has none."""
    start = date_of(first)
    if end == first + 1:
        return start.isoformat()
    if start.day > 1 or start.year == datetime.MAXYEAR:
        return ""
    for unit, name in (
        ("month", start.isoformat()[:7]),
        ("quarter", f"{start.year:04d}-Q{start.month // 3 + 1}"),
        ("year", f"{start.year:04d}"),
    ):
        if end == day_after(first, 1, unit) and (start.month - 1) % MONTHS[unit] == 0:
            return name
    return ""


def period_days(name: str) -> tuple[int, int] | None:
    """First day of the period of this name, and the day after its last one; None for another text.

    ValueError, in words, for a period that the calendar lacks: "February 2021 has 28 days".
    """
    parts = PERIOD.fullmatch(name)
    if parts is None:
        return None
    year, quarter, month, day = (int(part) if part else 0 for part in parts.groups())
    if year < 1:
        raise ValueError(f"years go from 0001 to {datetime.MAXYEAR}")
    if parts[3] and not 1 <= month <= 12:
        raise ValueError("months go from 01 to 12")
    length = calendar.monthrange(year, month or 1)[1]
    if parts[4] and not 1 <= day <= length:
        raise ValueError(f"{calendar.month_name[month]} {year} has {length} days")
    first = day_of(datetime.date(year, month or 3 * max(quarter, 1) - 2, day or 1))
    return first, day_after(
        first, 1, "day" if day else "month" if month else "quarter" if quarter else "year"
    )


def day_after(day: int, count: int, unit: str) -> int:
    """The day that is so many days, weeks, months, quarters or years after a day.

    ValueError, in words, where that month has no such day, and beyond the year 9999.
    """
    if unit in DAYS:
        return day + count * DAYS[unit]
    date = date_of(day)
    year, month = divmod(date.year * 12 + date.month - 1 + count * MONTHS[unit], 12)
    if year > datetime.MAXYEAR:
        raise ValueError(f"the calendar ends in {datetime.MAXYEAR}")
    if date.day > calendar.monthrange(year, month + 1)[1]:
        raise ValueError(f"{calendar.month_name[month + 1]} {year} has no day {date.day}")
    return day_of(datetime.date(year, month + 1, date.day))


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
    zone : of dates: the time zone whose days they are, where the table holds instants; else empty.

    Raises
    ------
    WorkloadError : edges that are fewer than two, all infinite, NaN, not increasing, or no days; a zone that
        is not known, or of numbers.
    """

    edges: tuple[float, ...]
    dates: bool = False
    zone: str = ""

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
        for edge in inner if self.dates else ():
            try:
                is_day = float(edge).is_integer() and bool(date_of(edge))
            except (ValueError, OverflowError):
                is_day = False
            if not is_day:
                raise WorkloadError(
                    "edges of dates are whole days since 1970-01-01, of the years 1 to 9999, "
                    f"found {edge:.12g}"
                )
        for low, high in itertools.pairwise(self.edges):
            if not low < high:
                raise WorkloadError(
                    f"bin edges must increase, found {self.edge_text(low)} before {self.edge_text(high)}"
                )
        if self.zone and not self.dates:
            raise WorkloadError(f"the zone '{self.zone}' is of dates, and the bins are of numbers")
        try:
            for edge in inner if self.zone else ():
                self.instant(edge)
        except (KeyError, OSError, ValueError, OverflowError):
            raise WorkloadError(
                f"there is no time zone '{self.zone}', or it has none of the days of the bins",
                hint="for example Europe/Berlin, or UTC, and days of the years 2 to 9998",
            ) from None

    def instant(self, edge: float) -> datetime.datetime:
        """The moment at which the clocks of the zone first show the date of an edge, or a later one.

        Clocks that are put forward over midnight show it at once; those put back may show the day before once
        more, which then counts as part of the new one.
        """
        zone, day = zoneinfo.ZoneInfo(self.zone), date_of(edge)
        # Where the clocks leave out midnight, it is this number of seconds after an earlier time of theirs.
        last = int(datetime.datetime.combine(day, datetime.time(), zone).timestamp())
        seconds = range(last - 86_400, last)
        clock = datetime.datetime.fromtimestamp
        first = bisect.bisect_left(seconds, day, key=lambda second: clock(second, zone).date())
        return clock(seconds.start + first, datetime.UTC)

    @staticmethod
    def between_dates(*edges: datetime.date | None) -> "Bins":
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
        edges = [describe_number(edge) for edge in self.edges]
        return ["bins of dates" if self.dates else "bins", edges, *([self.zone] if self.zone else [])]

    def ends(self, low: int, high: int) -> tuple[float | datetime.date | None, float | datetime.date | None]:
        """The begin and end of cells low to high, both included: the end itself is outside; None: open."""
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
        """The label of the bin between two edges."""
        if math.isinf(low) or math.isinf(high):
            return f"< {self.edge_text(high)}" if math.isinf(low) else f">= {self.edge_text(low)}"
        name = period_name(int(low), int(high)) if self.dates else ""
        return name or f"[{self.edge_text(low)}, {self.edge_text(high)})"


@dataclass(frozen=True)
class Categories:
    """Cell i holds any of the table values ``members[i]``."""

    members: tuple[tuple[TableValue, ...], ...]

    def __post_init__(self) -> None:
        if not all(self.members):
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
    """The text for a table value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def refuse_repeated(values: Iterable[TableValue], message: Callable[[TableValue], str]) -> None:
    """WorkloadError with a message about the first value that is there twice."""
    seen: set[TableValue] = set()
    for value in values:
        if value in seen:
            raise WorkloadError(message(value))
        seen.add(value)


def _in_two_cells(value: TableValue) -> str:
    """The message about a value of two cells."""
    return f"the value {value!r} stands twice, expected in one cell only"


def describe_number(value: float) -> str:
    """The exact value, as hexadecimal digits, for hashes; minus zero counts as zero."""
    return (float(value) + 0.0).hex()


def _describe_value(value: TableValue) -> list[object]:
    """Type and exact value of a table value, for hashes."""
    return [type(value).__name__, describe_number(value) if isinstance(value, float) else value]
