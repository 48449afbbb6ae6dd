"""Keys of an attribute (encodings, labels, groups, rules) make the cells that they describe.

Guards attribute_cells_and_block_words.py.

Guards domain_data_and_query_keys.py.
"""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mmopt.request import TableOptions, parse_request
from mmopt.workloads import Attribute, Bins, Categories, Values


def attribute(form: str, extra: str = "") -> Attribute:
    request = parse_request(f"domain:\n  a: {form}\nworkload: [{{marginal: [a]}}]\n{extra}")
    return request.workload.domain.attribute("a")


FORMS: dict[str, tuple[object, tuple[str, ...]]] = {
    "{values: [F, NO, 3, 1.5, true, '007', 2001-01-01]}": (
        Values(("F", "NO", 3, 1.5, True, "007", "2001-01-01")),
        ("F", "NO", "3", "1.5", "true", "007", "2001-01-01"),
    ),
    "{bins: [-1, 0, 0.5, 1e3]}": (Bins((-1.0, 0.0, 0.5, 1000.0)), ("[-1, 0)", "[0, 0.5)", "[0.5, 1000)")),
    "{range: [0, 20], width: 5}": (Bins((0, 5, 10, 15, 20)), ("[0, 5)", "[5, 10)", "[10, 15)", "[15, 20)")),
    "{range: [-2, 3], width: 1}": (Bins((-2, -1, 0, 1, 2, 3)), ("-2", "-1", "0", "1", "2")),
    "{range: [0.5, 2.5], width: 1}": (Bins((0.5, 1.5, 2.5)), ("[0.5, 1.5)", "[1.5, 2.5)")),
    "{bins: [-.inf, 18, .inf]}": (Bins((-math.inf, 18.0, math.inf)), ("< 18", ">= 18")),
    "{bins: [0.5, open]}": (Bins((0.5, math.inf)), (">= 0.5",)),
    "{bins: [open, 2020-01-01]}": (Bins.between_dates(None, date(2020, 1, 1)), ("< 2020-01-01",)),
    "{bins: [2020-01-01, '2020-04-01', 2021-01-01]}": (
        Bins.between_dates(date(2020, 1, 1), date(2020, 4, 1), date(2021, 1, 1)),
        ("2020-Q1", "[2020-04-01, 2021-01-01)"),
    ),
    "{categories: {North: [ME, NH], South: GA, 3: [1, 2]}}": (
        Categories((("ME", "NH"), ("GA",), (1, 2))),
        ("North", "South", "3"),
    ),
}


def test_encodings_and_labels(subtests: pytest.Subtests) -> None:
    for form, (encoding, labels) in FORMS.items():
        with subtests.test(form):
            a = attribute(form)
            assert (a.encoding, a.labels, a.column) == (encoding, labels, "a")
    assert attribute("{values: [F], column: SEX of person}").column == "SEX of person"


def test_open_ends() -> None:
    a = attribute("{bins: [open, 18, 65, open], groups: {old: '>= 65', rest: [< 18, 18-64]}}")
    assert a.encoding == Bins((-math.inf, 18.0, 65.0, math.inf))
    assert a.labels == ("< 18", "[18, 65)", ">= 65")
    assert a.groups == {"old": (2,), "rest": (0, 1)}


@pytest.mark.draws(2)
def test_ranges_of_dates(rng: np.random.Generator) -> None:
    """Every edge is a step from the first one, not from the one before."""
    first = date(int(rng.integers(1, 9000)), int(rng.integers(1, 13)), int(rng.integers(1, 29)))
    count, often = int(rng.integers(1, 40)), int(rng.integers(1, 30))
    unit = str(rng.choice(["day", "week", "month", "quarter", "year"]))
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit, 0) * often
    edges = []
    for i in range(count + 1):
        year, month = divmod(first.year * 12 + first.month - 1 + i * months, 12)
        days = {"day": 1, "week": 7}.get(unit, 0) * often * i
        edges.append(first.replace(year=year, month=month + 1) + timedelta(days))
    width = f"{often} {unit}s" if often > 1 else unit
    a = attribute(f"{{range: [{edges[0]}, {edges[-1]}], width: {width}}}")
    assert a.encoding == Bins.between_dates(*edges)


def test_a_period_names_the_cells_that_make_it_up() -> None:
    a = attribute(
        "{range: [2020-01-01, 2021-07-01], width: month, groups: {spring: [2020-03, 2020-04, 2020-05], "
        "y: 2020, q: [2020-Q4, 2021-Q1]}}"
    )
    assert a.groups == {"spring": (2, 3, 4), "y": tuple(range(12)), "q": (9, 10, 11, 12, 13, 14)}
    days = attribute("{range: [2020-02-01, 2020-04-01], width: day, groups: {f: 2020-02, d: 2020-03-01}}")
    assert days.groups == {"f": tuple(range(29)), "d": (29,)}


def test_cells_for_what_is_missing_or_outside(subtests: pytest.Subtests) -> None:
    for rules, labels, outside, missing in [
        ("missing: {cell: unknown}", ("F", "M", "unknown"), "refuse", "unknown"),
        ("outside: {cell: other}, missing: drop", ("F", "M", "other"), "other", "drop"),
        (
            "missing: {cell: unknown}, outside: {cell: other}",
            ("F", "M", "other", "unknown"),
            "other",
            "unknown",
        ),
        ("missing: {cell: rest}, outside: {cell: rest}", ("F", "M", "rest"), "rest", "rest"),
        ("missing: {cell: rest}, outside: rest", ("F", "M", "rest"), "rest", "rest"),
        ("missing: {cell: rest}, outside: M", ("F", "M", "rest"), "M", "rest"),
    ]:
        with subtests.test(rules):
            a = attribute(
                f"{{values: [F, M], {rules}, groups: {{all: [F, M, {labels[-1]}]}}}}", "data: {missing: drop}"
            )
            assert (a.labels, a.outside, a.missing) == (labels, outside, missing)
            assert a.encoding == Values(("F", "M"))
            assert (a.declared, a.size) == (2, len(labels))
            assert a.groups == {"all": (0, 1, len(labels) - 1)}


@settings(max_examples=20)
@given(st.integers(-1000, 1000), st.integers(1, 200), st.integers(1, 999), st.integers(0, 4))
def test_decimal_widths_divide_exactly(low: int, count: int, width: int, places: int) -> None:
    def decimal(units: int) -> str:
        digits = f"{abs(units):0{places + 1}d}"
        whole = digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}"
        return f"{'-' if units < 0 else ''}{whole}"

    a = attribute(f"{{range: [{decimal(low)}, {decimal(low + count * width)}], width: {decimal(width)}}}")
    assert isinstance(a.encoding, Bins)
    assert a.encoding.edges == tuple(float(decimal(low + i * width)) for i in range(count + 1))


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
    # A label wins over a run.
    assert attribute("{values: ['0-4', '5-9', '10-14'], groups: {g: [5-9]}}").groups == {"g": (1,)}


@settings(max_examples=20)
@given(st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted), st.data())
def test_run_holds_exactly_its_integers(edges: list[int], data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(edges) - 2))
    j = data.draw(st.integers(i + 1, len(edges) - 1))
    a = attribute(f"{{bins: {edges}, groups: {{g: {edges[i]}-{edges[j] - 1}}}}}")
    cells = np.searchsorted(edges, np.arange(edges[i], edges[j]), side="right") - 1
    assert a.groups["g"] == tuple(np.unique(cells))


def test_rules(subtests: pytest.Subtests) -> None:
    for form, extra, outside, missing in [
        ("{values: [F, M]}", "", "refuse", "refuse"),
        ("{values: [F, M]}", "data: {outside: drop}", "drop", "refuse"),
        ("{values: [F, M], outside: refuse}", "data: {outside: drop, missing: drop}", "refuse", "drop"),
        ("{values: [F, M], outside: M, missing: F}", "data: {outside: drop}", "M", "F"),
        ("{bins: [0, 1, 2], outside: '[1, 2)', missing: drop}", "", "[1, 2)", "drop"),
        ("{values: [0, 9], missing: 9}", "", "refuse", "9"),
    ]:
        with subtests.test(f"{form} {extra}"):
            a = attribute(form, extra)
            assert (a.outside, a.missing) == (outside, missing)


def test_table_options(subtests: pytest.Subtests) -> None:
    for data, options in [
        ("", TableOptions()),
        ("data: {outside: drop}", TableOptions()),
        ("data: {table: s.people, missing: drop}", TableOptions(table="s.people")),
        ("data: {weight: n}", TableOptions(weight="n")),
        ("data: {delimiter: '~', weight: the number}", TableOptions(weight="the number", delimiter="~")),
        ("data: {delimiter: tab}", TableOptions(delimiter="\t")),
        ("data: {delimiter: ' '}", TableOptions(delimiter=" ")),
    ]:
        with subtests.test(data):
            request = parse_request(
                f"domain: {{a: {{values: [1, 2]}}}}\nworkload: [{{marginal: [a]}}]\n{data}\n"
            )
            assert request.table == options


def test_alias_shares_a_form() -> None:
    text = "domain: {a: &yes_no {values: ['yes', 'no']}, b: *yes_no}\nworkload: [{marginal: [a, b]}]"
    assert parse_request(text).workload.domain.shape == (2, 2)
