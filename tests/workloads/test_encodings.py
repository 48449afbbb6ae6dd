"""Bins of numbers and dates: ends, labels and errors; calendar_periods by Python's dates.

Guards domain.py.
"""

import datetime
import itertools
import math

import numpy as np
import pytest

from mmopt.errors import WorkloadError
from mmopt.workloads import Attribute, Bins, Categories, Domain, Values
from mmopt.workloads.domain import (
    cell_label,
    date_of,
    day_after,
    day_of,
    period_days,
    period_name,
    range_labels,
)

DAY = datetime.date.fromisoformat


def dates(*edges: str | None) -> Bins:
    return Bins.between_dates(*(DAY(edge) if edge else None for edge in edges))


def test_ends_of_numbers_and_dates_none_where_open() -> None:
    assert Bins((0, 18, 65)).ends(0, 1) == (0.0, 65.0)
    assert Bins((-math.inf, 18, 65, math.inf)).ends(1, 1) == (18.0, 65.0)
    assert Bins((-math.inf, 18, 65, math.inf)).ends(0, 2) == (None, None)
    found = dates("2020-01-01", "2020-04-01", None)
    assert found.ends(0, 0) == (DAY("2020-01-01"), DAY("2020-04-01"))
    assert found.ends(0, 1) == (DAY("2020-01-01"), None)
    assert found.edges == (18262.0, 18353.0, math.inf)


def test_labels() -> None:
    assert Bins((-math.inf, 18, 65, math.inf)).labels() == ("< 18", "[18, 65)", ">= 65")
    assert dates(None, "2020-01-01", "2020-02-01", "2020-02-02", "2020-02-14", None).labels() == (
        "< 2020-01-01",
        "2020-01",
        "2020-02-01",
        "[2020-02-02, 2020-02-14)",
        ">= 2020-02-14",
    )
    assert dates("2019-01-01", "2020-01-01", "2020-04-01", "2020-10-01", "9999-12-31").labels() == (
        "2019",
        "2020-Q1",
        "[2020-04-01, 2020-10-01)",
        "[2020-10-01, 9999-12-31)",
    )
    assert dates("2020-02-01", "2020-05-01", "2021-05-01", "9999-12-01", "9999-12-31").labels()[:2] == (
        "[2020-02-01, 2020-05-01)",
        "[2020-05-01, 2021-05-01)",
    )


def test_labels_of_bins_differ(rng: np.random.Generator) -> None:
    """Among them calendar months, quarters and years, which have names."""
    firsts = [datetime.date(2019 + i // 12, i % 12 + 1, 1).toordinal() - 719163 for i in range(60)]
    edges = np.unique([*rng.choice(firsts, 30), *rng.integers(firsts[0], firsts[-1], 9)])
    labels = Bins(tuple(edges), dates=True).labels()
    assert len(set(labels)) == len(labels)


def test_queries_on_bins() -> None:
    """By their ends where they have any, not by the labels of the bins."""
    joined = dates("2020-01-01", "2020-02-01", "2020-02-14", None)
    a = Attribute("joined", joined.labels(), encoding=joined)
    assert [cell_label(a, cell) for cell in range(3)] == [
        "joined in 2020-01",
        "joined in [2020-02-01, 2020-02-14)",
        "joined >= 2020-02-14",
    ]
    assert range_labels(a, [(0, 0), (0, 1), (1, 2), (None, 0), (None, 2), (0, 2)]) == [
        "2020-01-01 <= joined < 2020-02-01",
        "2020-01-01 <= joined < 2020-02-14",
        "joined >= 2020-02-01",
        "joined < 2020-02-01",
        "any joined",
        "joined >= 2020-01-01",
    ]
    both = Bins((-math.inf, 18, 65, math.inf))
    age = Attribute("age", both.labels(), encoding=both)
    assert range_labels(age, [(0, 0), (0, 1), (1, 1), (1, 2), (0, 2)]) == [
        "age < 18",
        "age < 65",
        "18 <= age < 65",
        "age >= 18",
        "any age",
    ]


def test_cells_beside_the_declared_ones() -> None:
    """They follow the encoding's; the rules name them; no range of bins or numbers holds one."""
    age = Attribute("age", ("[0, 18)", "other", "?"), encoding=Bins((0, 18)), outside="other", missing="?")
    assert (age.declared, age.size) == (1, 3)
    assert [cell_label(age, cell) for cell in range(3)] == ["age in [0, 18)", "age=other", "age=?"]
    assert range_labels(age, [(0, 0), (0, 2), (None, 1), (1, 1)]) == [
        "0 <= age < 18",
        "age from [0, 18) to ?",
        "age up to other",
        "age=other",
    ]
    child = Attribute("n", ("0", "1", "?"), encoding=Values((0, 1)), missing="?")
    assert range_labels(child, [(None, 1), (None, 2)]) == ["n <= 1", "n up to ?"]
    assert Attribute("a", ("x", "y"), encoding=Categories((("b",),)), outside="y", missing="y").declared == 1


def test_prefixes_of_bins_beside_other_cells_end_at_what_is_known() -> None:
    form = {"bins": [0, 18, "open"], "missing": {"cell": "?"}}
    assert Domain.of(age=form).product(age="prefix").labels() == ["age < 18", "any known age"]
    assert Domain.of(age={"bins": [0, 18, "open"]}).product(age="prefix").labels()[1] == "any age"


def test_a_cell_beside_the_declared_ones_is_named_by_a_rule(subtests: pytest.Subtests) -> None:
    for rules in [{}, {"missing": "drop"}, {"missing": "x"}]:
        with subtests.test(str(rules)):
            for last in ("y", "drop"):
                with pytest.raises(WorkloadError) as caught:
                    Attribute("a", ("x", last), encoding=Values(("x",)), **rules)
                assert str(caught.value) == "attribute 'a' has 2 labels, but its encoding has 1 cells"


def test_errors(subtests: pytest.Subtests) -> None:
    for make, text in [
        (lambda: dates("2020-01-01"), "bins need at least two edges, found 1"),
        (
            lambda: dates("2020-02-01", "2020-01-01"),
            "bin edges must increase, found 2020-02-01 before 2020-01-01",
        ),
        (
            lambda: dates("2020-02-01", None, "2020-03-01"),
            "bin edges must be finite numbers, but for a first -inf and a last inf, "
            "found [18293, nan, 18322]",
        ),
        (
            lambda: Bins((-math.inf, math.inf)),
            "bin edges must be finite numbers, but for a first -inf and a last inf, found [-inf, inf]",
        ),
        (
            lambda: Bins((math.inf, 3)),
            "bin edges must be finite numbers, but for a first -inf and a last inf, found [inf, 3]",
        ),
        (
            lambda: Bins((0, 0.5), dates=True),
            "edges of dates are whole days since 1970-01-01, of the years 1 to 9999, found 0.5",
        ),
        (
            lambda: Bins((0, 1e9), dates=True),
            "edges of dates are whole days since 1970-01-01, of the years 1 to 9999, found 1000000000",
        ),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                make()  # type: ignore[operator]
            assert str(caught.value) == text


def test_bins_are_told_apart_by_what_their_edges_mean() -> None:
    made = [Bins((0, 1)), Bins((0, 1), dates=True), Bins((0, math.inf)), Bins((-math.inf, 1))]
    assert all(a.describe() != b.describe() for a, b in itertools.combinations(made, 2))
    assert Bins((0, 1)).describe() == ["bins", ["0x0.0p+0", "0x1.0000000000000p+0"]]


def test_days_count_from_1970() -> None:
    assert day_of(datetime.date(1970, 1, 1)) == 0
    assert date_of(-1) == datetime.date(1969, 12, 31)


def test_a_period_is_named_and_found_again(rng: np.random.Generator) -> None:
    for _ in range(20):
        _check_periods(rng)


def _check_periods(rng: np.random.Generator) -> None:
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


def test_texts_that_name_no_period(subtests: pytest.Subtests) -> None:
    for text in ("", "20", "2020-1", "2020-01-1", "2020-Q5", "20200101", "2020-W01", "٢٠٢٠"):
        assert period_days(text) is None
    for text, said in [
        ("2021-02-30", "February 2021 has 28 days"),
        ("2021-13", "months go from 01 to 12"),
        ("2021-00-01", "months go from 01 to 12"),
        ("2021-04-00", "April 2021 has 30 days"),
        ("0000-01-01", "years go from 0001 to 9999"),
        ("9999", "the calendar ends in 9999"),
    ]:
        with subtests.test(text):
            with pytest.raises(ValueError) as caught:
                period_days(text)
            assert str(caught.value) == said


def test_later() -> None:
    def found(start: str, count: int, unit: str) -> str:
        return date_of(day_after(day_of(DAY(start)), count, unit)).isoformat()

    assert found("2020-02-28", 2, "day") == "2020-03-01"
    assert found("2020-02-28", 2, "week") == "2020-03-13"
    assert found("2019-11-15", 14, "month") == "2021-01-15"
    assert found("2019-11-15", 1, "quarter") == "2020-02-15"
    assert found("2020-02-29", 4, "year") == "2024-02-29"
    with pytest.raises(ValueError, match="February 2021 has no day 29"):
        found("2020-02-29", 1, "year")
    with pytest.raises(ValueError, match="the calendar ends in 9999"):
        found("9999-02-01", 1, "year")
