"""Periods of the calendar against Python's own dates."""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from mmopt.workloads.calendar_periods import date_of, day_of, later, period_days, period_name

pytestmark = pytest.mark.quick

DAY = datetime.date.fromisoformat


def test_days_count_from_1970() -> None:
    assert day_of(datetime.date(1970, 1, 1)) == 0
    assert date_of(-1) == datetime.date(1969, 12, 31)


@pytest.mark.draws(20)
def test_a_period_is_named_and_found_again(rng: np.random.Generator) -> None:
    year, month = int(rng.integers(1, 9999)), int(rng.integers(1, 13))
    quarter = (month - 1) // 3
    periods = {
        f"{year:04d}": (datetime.date(year, 1, 1), datetime.date(year + 1, 1, 1)),
        f"{year:04d}-Q{quarter + 1}": (
            datetime.date(year, 3 * quarter + 1, 1),
            datetime.date(year + quarter // 3, 3 * (quarter + 1) % 12 + 1, 1),
        ),
        f"{year:04d}-{month:02d}": (
            datetime.date(year, month, 1),
            datetime.date(year + month // 12, month % 12 + 1, 1),
        ),
    }
    date = datetime.date(year, month, 1) + datetime.timedelta(int(rng.integers(28)))
    periods[date.isoformat()] = (date, date + datetime.timedelta(1))
    for name, ends in periods.items():
        first, end = map(day_of, ends)
        assert period_days(name) == (first, end)
        assert period_name(first, end) == name
        assert period_name(first + 1, end + 2) == ""


@pytest.mark.parametrize("text", ["", "20", "2020-1", "2020-01-1", "2020-Q5", "20200101", "2020-W01", "٢٠٢٠"])
def test_other_texts_name_no_period(text: str) -> None:
    assert period_days(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2021-02-30", "February 2021 has 28 days"),
        ("2021-13", "months go from 01 to 12"),
        ("2021-00-01", "months go from 01 to 12"),
        ("2021-04-00", "April 2021 has 30 days"),
        ("0000-01-01", "years go from 0001 to 9999"),
        ("9999", "the calendar ends in 9999"),
    ],
)
def test_periods_that_the_calendar_lacks(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        period_days(text)
    assert str(caught.value) == said


def test_later() -> None:
    def found(start: str, count: int, unit: str) -> str:
        return date_of(later(day_of(DAY(start)), count, unit)).isoformat()

    assert found("2020-02-28", 2, "day") == "2020-03-01"
    assert found("2020-02-28", 2, "week") == "2020-03-13"
    assert found("2019-11-15", 14, "month") == "2021-01-15"
    assert found("2019-11-15", 1, "quarter") == "2020-02-15"
    assert found("2020-02-29", 4, "year") == "2024-02-29"
    with pytest.raises(ValueError, match="February 2021 has no day 29"):
        found("2020-02-29", 1, "year")
    with pytest.raises(ValueError, match="the calendar ends in 9999"):
        found("9999-02-01", 1, "year")
