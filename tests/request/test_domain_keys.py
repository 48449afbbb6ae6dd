"""Attributes: encodings, labels, groups, rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mmopt.request import TableOptions, parse_request
from mmopt.workloads import Attribute, Bins, Categories, Values


def attribute(form: str, extra: str = "") -> Attribute:
    request = parse_request(f"domain:\n  a: {form}\nworkload: [{{marginal: [a]}}]\n{extra}")
    return request.workload.domain.attribute("a")


def test_values() -> None:
    a = attribute("{values: [F, NO, 3, 1.5, true, '007', 2001-01-01]}")
    assert a.encoding == Values(("F", "NO", 3, 1.5, True, "007", "2001-01-01"))
    assert a.labels == ("F", "NO", "3", "1.5", "true", "007", "2001-01-01")
    assert a.column == "a"


def test_bins() -> None:
    a = attribute("{bins: [-1, 0, 0.5, 1e3]}")
    assert a.encoding == Bins((-1.0, 0.0, 0.5, 1000.0))
    assert a.labels == ("[-1, 0)", "[0, 0.5)", "[0.5, 1000)")


def test_range() -> None:
    a = attribute("{range: [0, 60], width: 5}")
    assert a.encoding == Bins(tuple(range(0, 61, 5)))
    assert a.labels[0] == "[0, 5)"
    assert a.labels[-1] == "[55, 60)"


def test_range_of_integers_is_labelled_by_them() -> None:
    a = attribute("{range: [-2, 3], width: 1}")
    assert a.encoding == Bins((-2, -1, 0, 1, 2, 3))
    assert a.labels == ("-2", "-1", "0", "1", "2")
    assert attribute("{range: [0.5, 2.5], width: 1}").labels == ("[0.5, 1.5)", "[1.5, 2.5)")


@given(st.integers(-1000, 1000), st.integers(1, 200), st.integers(1, 999), st.integers(0, 4))
def test_decimal_widths_divide_exactly(low: int, count: int, width: int, places: int) -> None:
    def decimal(units: int) -> str:
        digits = f"{abs(units):0{places + 1}d}"
        whole = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"
        return f"{'-' if units < 0 else ''}{whole}"

    a = attribute(f"{{range: [{decimal(low)}, {decimal(low + count * width)}], width: {decimal(width)}}}")
    assert isinstance(a.encoding, Bins)
    assert a.encoding.edges == tuple(float(decimal(low + i * width)) for i in range(count + 1))


def test_categories() -> None:
    a = attribute("{categories: {North: [ME, NH], South: GA, 3: [1, 2]}}")
    assert a.encoding == Categories((("ME", "NH"), ("GA",), (1, 2)))
    assert a.labels == ("North", "South", "3")


def test_column() -> None:
    assert attribute("{values: [F], column: SEX of person}").column == "SEX of person"


def test_groups_by_label_value_and_run() -> None:
    a = attribute(
        "{bins: [0, 18, 65, 115], groups: {minors: ['[0, 18)'], adults: 18-114, all: [0-17, 18-114]}}"
    )
    assert a.groups == {"minors": (0,), "adults": (1, 2), "all": (0, 1, 2)}
    assert attribute("{values: [10, 2, 5], groups: {g: [2-10], h: [5, '10'], i: 2.0}}").groups == {
        "g": (0, 1, 2),
        "h": (2, 0),
        "i": (1,),
    }
    assert attribute("{values: [true, 'x'], groups: {g: True}}").groups == {"g": (0,)}
    assert attribute("{range: [-5, 5], width: 1, groups: {g: [-5--2, 0]}}").groups == {"g": (0, 1, 2, 3, 5)}
    assert attribute("{bins: [0, 1, 5], groups: {g: 0}}").groups == {"g": (0,)}


def test_label_wins_over_run() -> None:
    assert attribute("{values: ['0-4', '5-9', '10-14'], groups: {g: [5-9]}}").groups == {"g": (1,)}


@given(st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted), st.data())
def test_run_holds_exactly_its_integers(edges: list[int], data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(edges) - 2))
    j = data.draw(st.integers(i + 1, len(edges) - 1))
    a = attribute(f"{{bins: {edges}, groups: {{g: {edges[i]}-{edges[j] - 1}}}}}")
    cells = np.searchsorted(edges, np.arange(edges[i], edges[j]), side="right") - 1
    assert a.groups["g"] == tuple(np.unique(cells))


@pytest.mark.parametrize(
    ("form", "extra", "outside", "missing"),
    [
        ("{values: [F, M]}", "", "refuse", "refuse"),
        ("{values: [F, M]}", "data: {outside: drop}", "drop", "refuse"),
        ("{values: [F, M], outside: refuse}", "data: {outside: drop, missing: drop}", "refuse", "drop"),
        ("{values: [F, M], outside: M, missing: F}", "data: {outside: drop}", "M", "F"),
        ("{bins: [0, 1, 2], outside: '[1, 2)', missing: drop}", "", "[1, 2)", "drop"),
        ("{values: [0, 9], missing: 9}", "", "refuse", "9"),
    ],
)
def test_rules(form: str, extra: str, outside: str, missing: str) -> None:
    a = attribute(form, extra)
    assert (a.outside, a.missing) == (outside, missing)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("", TableOptions()),
        ("data: {outside: drop}", TableOptions()),
        ("data: {table: s.people, missing: drop}", TableOptions(table="s.people")),
        ("data: {weight: n}", TableOptions(weight="n")),
        ("data: {delimiter: '~', weight: the number}", TableOptions(weight="the number", delimiter="~")),
        ("data: {delimiter: tab}", TableOptions(delimiter="\t")),
        ("data: {delimiter: ' '}", TableOptions(delimiter=" ")),
    ],
)
def test_table_options(data: str, options: TableOptions) -> None:
    request = parse_request(f"domain: {{a: {{values: [1, 2]}}}}\nworkload: [{{marginal: [a]}}]\n{data}\n")
    assert request.table == options


def test_alias_shares_a_form() -> None:
    text = "domain: {a: &yes_no {values: ['yes', 'no']}, b: *yes_no}\nworkload: [{marginal: [a, b]}]"
    assert parse_request(text).workload.domain.shape == (2, 2)
