"""Tables with NULLs, dates, decimals, open bins and cells of their own for unknown values, counted twice.

The second count is by hand, of the meanings that the rows were written from.

Guards counted_rows.py.
"""

import csv
import datetime
import itertools
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmopt.data import data_vector
from mmopt.data.cell_codes import code_of, reading_of
from mmopt.errors import DataError
from mmopt.request import parse_request
from mmopt.workloads import Attribute, Bins, Domain
from tests.data.tables import parquet

UNREADABLE, MISSING = "unreadable", None
Row = tuple[Any, str, Any]
"""What a Parquet column holds, the field of a CSV file, and what it means: a number, date or text, or one of
``UNREADABLE`` and ``MISSING``."""

FIRST = datetime.date(2019, 12, 20)


def a_date(rng: np.random.Generator) -> datetime.date:
    return FIRST + datetime.timedelta(int(rng.integers(120)))


def a_time(rng: np.random.Generator) -> datetime.datetime:
    seconds = int(rng.choice([0, 1, 43_200, 86_399]))
    return datetime.datetime.combine(a_date(rng), datetime.time()) + datetime.timedelta(seconds=seconds)


def times(kind: pa.DataType) -> Callable[[np.random.Generator], tuple[pa.DataType, Row]]:
    def one(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
        found = a_time(rng)
        day = found.date()
        if kind == pa.date32():
            return kind, (day, day.isoformat(), day)
        return kind, (found, found.isoformat(rng.choice([" ", "T"])), day)

    return one


def texts_of_dates(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
    found = a_time(rng)
    day = found.date().isoformat()
    forms = [
        day,
        f" {day} ",
        found.isoformat(),
        f"{found} +02:00",
        f"{found}Z",
        f"{day} 23:59",
        f"{found}.25",
    ]
    wrong = ["2020-02-30", "2020-13-01", "20200101", "2020-1-5", "01.02.2020", "now", "infinity", "2020-01"]
    wrong += [
        f"{day} 25:00",
        f"{day}x",
        f"{day} 12:61",
        f"{day} 12:00-25:99",
        "-2020-01-01",
        "2020-01-05 (BC)",
    ]
    if rng.random() < 0.2:
        text = str(rng.choice(wrong))
        return pa.string(), (text, text, UNREADABLE)
    text = str(rng.choice(forms))
    return pa.string(), (text, text, found.date())


def decimals(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
    found = Decimal(int(rng.integers(-300, 300))) / 100
    return pa.decimal128(9, 2), (found, str(found), Fraction(found))


def floats(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
    found = float(rng.choice([float("inf"), float("-inf"), float(rng.integers(-30, 30)) / 10]))
    return pa.float64(), (found, repr(found), found if np.isinf(found) else Fraction(repr(found)))


def whole(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
    found = int(rng.integers(-3, 4))
    return pa.int32(), (found, str(found), Fraction(found))


def texts_of_numbers(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
    found = int(rng.integers(-30, 30))
    if rng.random() < 0.2:
        text = str(rng.choice(["x", "1_0", "1,5", "2020-01-01", "--1"]))
        return pa.string(), (text, text, UNREADABLE)
    text = str(rng.choice([f"{found}e-1", f" {found / 10}", f"{found / 10}0"]))
    return pa.string(), (text, text, Fraction(found, 10))


def words(rng: np.random.Generator) -> tuple[pa.DataType, Row]:
    found = str(rng.choice(["a", "b", "c", "?", "other"]))
    return pa.string(), (found, found, found)


COLUMNS = {
    "dates": (*map(times, (pa.date32(), *map(pa.timestamp, ("ms", "us", "ns")))), texts_of_dates),
    "numbers": (decimals, floats, whole, texts_of_numbers),
    "words": (words,),
}


def column(rng: np.random.Generator, kind: str, count: int) -> tuple[pa.DataType, list[Row]]:
    one = COLUMNS[kind][int(rng.integers(len(COLUMNS[kind])))]
    found = [one(rng) for _ in range(count)]
    holes: list[Row] = [(None, "", MISSING)]
    if one is floats:
        holes.append((float("nan"), "NaN", MISSING))
    rows = [holes[int(rng.integers(len(holes)))] if rng.random() < 0.2 else row for _, row in found]
    return found[0][0] if found else one(rng)[0], rows


def form(rng: np.random.Generator, kind: str) -> tuple[str, list[Callable[[Any], bool]]]:
    """The form of an attribute as the file writes it, and what each of its cells holds."""
    if kind == "words":
        return "values: [a, b]", [lambda value: value == "a", lambda value: value == "b"]
    low, high = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    edges: list[Any]
    if kind == "numbers":
        edges = sorted({Fraction(int(rng.integers(-30, 30)), 10) for _ in range(4)})
        ends = [str(float(edge)) for edge in edges]
    elif rng.random() < 0.7:
        edges = sorted({a_date(rng) for _ in range(4)})
        ends = [edge.isoformat() for edge in edges]
    else:
        months = [(datetime.date(2020, month, 1), datetime.date(2020, month + 1, 1)) for month in (1, 2, 3)]
        return "range: [2020-01-01, 2020-04-01], width: month", [holds(*pair) for pair in months]
    high = high or len(edges) == 1
    text = f"bins: [{', '.join(['open'] * low + ends + ['open'] * high)}]"
    pairs: list[tuple[Any, Any]] = [*itertools.pairwise(edges)]
    pairs = [(None, edges[0])] * low + pairs + [(edges[-1], None)] * high

    return text, [holds(*pair) for pair in pairs]


def holds(first: Any, end: Any) -> Callable[[Any], bool]:
    return lambda value: (first is None or first <= value) and (end is None or value < end)


def rule(rng: np.random.Generator, key: str, count: int) -> tuple[str, str | int]:
    """A rule as written, and where it sends rows: "drop", the number of a cell, or a label."""
    choice = int(rng.integers(3))
    if choice == 0:
        return f"{key}: drop", "drop"
    label = str(rng.choice([key, "both of them"]))
    return (f"{key}: {{cell: {label}}}", label) if choice == 1 else (f"{key}: LABEL{count - 1}", count - 1)


def attribute(rng: np.random.Generator, kind: str) -> tuple[str, Callable[[Any], int | str]]:
    """An attribute as written, and the cell of a meaning."""
    text, cells = form(rng, kind)
    rules = {key: rule(rng, key, len(cells)) for key in ("outside", "missing")}
    labels = parse_request(f"domain: {{a: {{{text}}}}}\nworkload: [{{marginal: [a]}}]").workload.domain
    written = [text, *(words for words, _ in rules.values())]
    for i, label in enumerate(labels.attribute("a").labels):
        written = [word.replace(f"LABEL{i}", f"'{label}'") for word in written]
    beside = [goal for _, goal in rules.values() if isinstance(goal, str) and goal != "drop"]

    def cell(meaning: Any) -> int | str:
        own = (
            [] if meaning in (MISSING, UNREADABLE) else [i for i, holds in enumerate(cells) if holds(meaning)]
        )
        if own:
            return own[0]
        goal = rules["missing" if meaning is MISSING else "outside"][1]
        return len(cells) + list(dict.fromkeys(beside)).index(str(goal)) if goal in beside else goal

    return f"{{{', '.join(written)}}}", cell


@pytest.mark.draws(60)
@pytest.mark.some(3)
def test_counts_are_those_by_hand(rng: np.random.Generator, tmp_path: Path) -> None:
    kinds = [str(kind) for kind in rng.choice(list(COLUMNS), size=int(rng.integers(1, 4)))]
    made = [attribute(rng, kind) for kind in kinds]
    names = [f"a{i}" for i in range(len(kinds))]
    domain = "".join(f"  {name}: {form}\n" for name, (form, _) in zip(names, made, strict=True))
    text = f"domain:\n{domain}workload: [{{marginal: [{', '.join(names)}]}}]"
    w = parse_request(text).workload

    count = int(rng.integers(0, 60))
    columns = [column(rng, kind, count) for kind in kinds]
    stored = {
        name: pa.array([value for value, _, _ in rows], kind)
        for name, (kind, rows) in zip(names, columns, strict=True)
    }
    pq.write_table(pa.table(stored), tmp_path / "t.parquet")
    with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL if rng.random() < 0.5 else csv.QUOTE_MINIMAL)
        writer.writerow(names)
        writer.writerows(zip(*([field for _, field, _ in rows] for _, rows in columns), strict=True))

    found: Counter[tuple[int | str, ...]] = Counter()
    dropped = dict.fromkeys(names, 0)
    for meanings in zip(*([meaning for _, _, meaning in rows] for _, rows in columns), strict=True):
        cells = tuple(cell(meaning) for (_, cell), meaning in zip(made, meanings, strict=True))
        for name, own in zip(names, cells, strict=True):
            dropped[name] += own == "drop"
        found[cells] += "drop" not in cells
    expected = [found[cell] for cell in np.ndindex(w.domain.shape)]
    for path in ("t.parquet", "t.csv"):
        vector = data_vector(tmp_path / path, w.domain)
        assert vector.counts.tolist() == expected, path
        assert (vector.rows, dict(vector.dropped)) == (count, dropped)


def counts(path: str, bins: Bins, **rules: str) -> list[int]:
    beside = [label for label in dict.fromkeys(rules.values()) if label != "drop"]
    a = Attribute("a", (*bins.labels(), *beside), encoding=bins, **rules)  # type: ignore[arg-type]
    return [int(count) for count in data_vector(path, Domain((a,))).counts]


def test_infinities_fall_into_open_bins_and_nan_into_none() -> None:
    column = [float("-inf"), -1.0, 0.0, 17.9, 18.0, float("inf"), float("nan"), None]
    both = Bins((float("-inf"), 0, 18, float("inf")))
    for kind in (pa.float64(), pa.float32()):
        file = parquet(a=pa.array(column, kind))
        assert counts(file, both, missing="?") == [2, 2, 2, 2]
        assert counts(file, Bins((0, 18)), missing="?", outside="o") == [2, 2, 4]


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
def test_infinite_dates_of_a_database_fall_into_open_bins(kind: str) -> None:
    connection = ibis.duckdb.connect()
    connection.raw_sql(
        f"CREATE TABLE t AS SELECT unnest(['-infinity', '2019-12-31', '2020-01-01', 'infinity'])::{kind} AS a"
    )
    for bins, codes in (
        (Bins.between_dates(None, datetime.date(2020, 1, 1), None), [0, 0, 1, 1]),
        (Bins.between_dates(datetime.date(2019, 1, 1), datetime.date(2020, 1, 1)), [1, 0, 1, 1]),
    ):
        attribute = Attribute("a", bins.labels(), encoding=bins)
        code = code_of(attribute, reading_of(attribute, ibis.table({"a": kind.lower()}, name="t").a, "t"))
        query = connection.compile(code.name("code").as_table())
        assert connection.raw_sql(query).fetchnumpy()["code"].tolist() == codes
    connection.disconnect()


def test_a_day_ends_at_midnight() -> None:
    column = [
        datetime.datetime(2019, 12, 31, 23, 59, 59, 999_999),
        datetime.datetime(2020, 1, 1),
        datetime.datetime(2020, 1, 31, 23, 59, 59, 999_999),
        datetime.datetime(2020, 2, 1),
    ]
    january = Bins.between_dates(datetime.date(2020, 1, 1), datetime.date(2020, 2, 1))
    assert counts(parquet(a=pa.array(column, pa.timestamp("us"))), january, outside="o") == [2, 2]
    assert counts(parquet(a=[str(time) for time in column]), january, outside="o") == [2, 2]


def test_a_text_that_is_no_date_is_outside_even_where_both_ends_are_open() -> None:
    file = parquet(a=["2020-01-01", "1999-12-31", "9999-12-31", "0001-01-01", "", "soon", None])
    halves = Bins.between_dates(None, datetime.date(2020, 1, 1), None)
    assert counts(file, halves, outside="other", missing="none") == [2, 2, 1, 2]
    with pytest.raises(DataError) as caught:
        counts(file, halves, missing="drop")
    assert str(caught.value).split("\n")[1] == (
        "    column 'a' (attribute 'a'): 1 outside the declared domain (of them 1 text that is no date)"
    )


def test_columns_that_are_no_dates() -> None:
    year = Bins.between_dates(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
    other = "declare values of the column's type in the workload file, or convert the column first"
    zone = "its day depends on the time zone: write 'a: {…, zone: Europe/Berlin}'"
    made = 'count a value made of it, in a view or a copy of the table, for instance extract(hour FROM "a")'
    for kind, shown, hint in (
        (pa.timestamp("us", "UTC"), "timestamp('UTC', 6)", zone),
        (pa.timestamp("ns", "UTC"), "TIMESTAMPTZ_NS", zone),
        (pa.int64(), "int64", other),
        (pa.time64("us"), "time", made),
    ):
        with pytest.raises(DataError) as caught:
            counts(parquet(a=pa.array([1], kind)), year)
        assert str(caught.value) == (
            f"t.parquet: column 'a' is of type {shown}; attribute 'a' declares dates\n  {hint}"
        )
