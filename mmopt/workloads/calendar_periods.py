"""Days as numbers since 1970-01-01, and the calendar's periods: their names, ends and neighbours.

A period is named "2020" (a year), "2020-Q1" (a quarter), "2020-03" (a month) or "2020-03-05" (a day).
"""

from __future__ import annotations

import calendar
import datetime
import re

__all__ = ["LAST_DAY", "date_of", "day_of", "later", "period_days", "period_name"]

PERIOD = re.compile(r"([0-9]{4})(?:-Q([1-4])|-([0-9]{2})(?:-([0-9]{2}))?)?")
EPOCH = datetime.date(1970, 1, 1).toordinal()
LAST_DAY = datetime.date.max.toordinal() - EPOCH
MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}


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
        if end == later(first, 1, unit) and (start.month - 1) % MONTHS[unit] == 0:
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
    return first, later(first, 1, "day" if day else "month" if month else "quarter" if quarter else "year")


def later(day: int, count: int, unit: str) -> int:
    """The day so many days, weeks, months, quarters or years later.

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
