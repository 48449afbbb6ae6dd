"""A workload file in Python: values for texts and lists (python_values), methods of a Domain that
ask what an entry asks (python_calls).

Guards workload_file_and_arguments.py, workloads/arrays_and_frames.py.
"""

import datetime
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.request import parse_request
from mmopt.workloads import Domain, Values, Workload

AB, ENTRIES = Domain.of(a=["x", "y"]), [{"marginal": ["a"]}]
DAYS = ("2026-01-31", "2026-02-01")
LISTS: dict[str, tuple[Any, tuple[object, ...]]] = {
    "list": (["x", "y"], ("x", "y")),
    "tuple": ((1, "y"), (1, "y")),
    "range": (range(3), (0, 1, 2)),
    "truth values": ([True, False], (True, False)),
    "numbers": ([1, 2.5], (1, 2.5)),
    "scalars of numpy": ([np.int8(2), np.float32(2.5), np.str_("x"), np.bool_(True)], (2, 2.5, "x", True)),
    "array": (np.arange(3), (0, 1, 2)),
    "array of texts": (np.array(["x", "y"]), ("x", "y")),
    "dates": ([datetime.date(2026, 1, 31), datetime.datetime(2026, 2, 1)], DAYS),
    "dates of numpy": (np.array(DAYS, dtype="datetime64[ns]"), DAYS),
    "dates of pandas": (pd.to_datetime(list(DAYS)), DAYS),
    "index of pandas": (pd.Index(["y", "x"]), ("y", "x")),
    "series of pandas": (pd.Series(["y", "x"]), ("y", "x")),
    "series of polars": (pl.Series(["y", "x"]), ("y", "x")),
    "dates of polars": (pl.Series([datetime.date(2026, 1, 31), datetime.date(2026, 2, 1)]), DAYS),
    "categorical": (pd.Categorical(["x"], categories=["y", "x"]), ("y", "x")),
    "categorical series": (pd.Series(["x", "x"], dtype=pd.CategoricalDtype(["y", "x"])), ("y", "x")),
    "categorical index": (pd.CategoricalIndex(["x"], categories=["y", "x"]), ("y", "x")),
    "categorical type": (pd.CategoricalDtype(["y", "x"]), ("y", "x")),
    "enum series": (pl.Series(["x", "x"], dtype=pl.Enum(["y", "x"])), ("y", "x")),
    "enum": (pl.Enum(["y", "x"]), ("y", "x")),
}


def test_labels_from_anything_that_lists_them(subtests: pytest.Subtests) -> None:
    for name, (given, values) in LISTS.items():
        with subtests.test(name):
            (attribute,) = Domain.of(a=given).attributes
            assert isinstance(attribute.encoding, Values)
            encoded = attribute.encoding.values
            assert encoded == values and [type(value) for value in encoded] == [
                type(value) for value in values
            ]
            assert attribute.labels == tuple(
                str(v).lower() if isinstance(v, bool) else str(v) for v in values
            )


IS_DATA = (
    "domain.a: a Series that holds a value twice is data, not a list of labels\n"
    "  which labels occur in data is confidential: write them as a list, or as a categorical with declared "
    "categories (pandas.CategoricalDtype, polars.Enum)"
)
TAKEN = "  taken are texts, numbers, True, False, None, dates, and lists and dictionaries of them"
NESTED: list[Any] = []
NESTED.append(NESTED)


NO_LABELS: list[tuple[Any, str]] = [
    (pd.Series(["x", "y", "x"]), IS_DATA),
    (pl.Series(["x", "y", "x"]), IS_DATA),
    (pl.Series(["x", "y", "x"], dtype=pl.Categorical), IS_DATA),
    (np.array([1, 1]), IS_DATA.replace("Series", "ndarray")),
    ({"x", "y"}, "domain.a: a set has no order\n  write a list: cells and queries have one"),
    (
        ["x", "x"],
        "domain.a[1]: values of attribute 'a': the text 'x' appears twice, first in domain.a[0]",
    ),
    ([object()], f"domain.a[0]: a value of type object means nothing here\n{TAKEN}"),
    (
        pd.cut([1, 2], [0, 1, 2]),
        "domain.a[0]: a value of type Interval means nothing here\n"
        "  write the edges of half-open intervals: {'bins': [0, 18, 65]} means [0, 18), [18, 65)",
    ),
    (
        [datetime.datetime(2026, 1, 31, 12)],
        "domain.a[0]: a date with a time of day or a time zone means nothing here\n"
        "  cells of dates are whole days: pass datetime.date values or texts as '2026-01-31'",
    ),
    (
        [pd.NaT],
        "domain.a[0]: each of the values of attribute 'a' must be a value, found nothing\n"
        "  rows without a value are the business of 'missing: refuse', 'drop' or a label",
    ),
    (
        ["x\ny"],
        "domain.a[0]: a text with the control character U+000A (a line break is one)\n"
        "  texts of a workload file are single lines without control characters",
    ),
    (
        [2**63],
        "domain.a[0]: the integer 9223372036854775808 does not fit into 64 bits\n"
        "  write it in quotes if it is a text, and with an exponent if it is a number: 1.8e19",
    ),
    ({"values": [1], 1: 2, "1": 3}, "domain.a: the key '1' appears twice\n  rename or remove one of them"),
    ({"": [1]}, "domain.a: a key must be a non-empty text, found ''"),
    (NESTED, f"domain.a{'[0]' * 19}: values are nested deeper than 20 levels"),
]


def test_what_is_too_long_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for values, kind in ((range(10**12), "range"), (np.arange(200_001), "ndarray")):
        with pytest.raises(TooLargeError) as caught:
            Domain.of(a=values)
        assert str(caught.value) == (
            f"domain.a: a {kind} of more than 200,000 values\n"
            "  use range, bins, prefix or all_range instead of long lists"
        )
    monkeypatch.setattr("mmopt.request.workload_file_and_arguments.MAX_NODES", 100)
    with pytest.raises(TooLargeError, match=r"^domain\.b\[4[0-9]\]: more than 100 values\n"):
        Domain.of(a=range(50), b=range(50))


def test_where_the_two_ways_of_giving_it_meet() -> None:
    assert Workload.of({"domain": AB}, workload=ENTRIES) == AB.marginal("a")
    assert Workload.of(domain={"a": ["x", "y"]}, workload=ENTRIES, predicates=None) == AB.marginal("a")


FILE = """domain:
  sex: {values: [Female, Male]}
  age: {bins: [0, 18, 65, 115], groups: {minors: 0-17}}
  name: {values: [a, b]}
workload:
"""
D = Domain.of(
    {"sex": ["Female", "Male"]},
    age={"bins": [0, 18, 65, 115], "groups": {"minors": "0-17"}},
    name=("a", "b"),
)

CALLS: dict[str, Callable[[Domain], Workload]] = {
    "{marginal: [sex, age]}": lambda d: d.marginal("sex", "age"),
    "{marginal: [age]}": lambda d: d.marginal(["age"]),
    "{marginal: [age], weight: 2.0, max_variance: 5, name: x, subworkload: y}": lambda d: d.marginal(
        "age", weight=2.0, max_variance=5, name="x", subworkload="y"
    ),
    "{marginals: {ways: 2}}": lambda d: d.marginals(2),
    "{marginals: {ways: [0, 1], of: [sex, age]}, name: low}": lambda d: d.marginals(
        ways=range(2), of=["sex", "age"], name="low"
    ),
    "{product: {}}": lambda d: d.product(),
    "{product: {age: prefix, sex: identity}}": lambda d: d.product(age="prefix", sex="identity"),
    "{product: {name: identity, age: [minors]}, name: x}": lambda d: d.product(
        {"name": "identity"}, age=["minors"], name="x"
    ),
    "{product: {age: {width_range: 2}}}": lambda d: d.product(age={"width_range": 2}),
    "{product: {age: [['[0, 18)', '[18, 65)']]}}": lambda d: d.product(age=[["[0, 18)", "[18, 65)"]]),
    "{product: {age: {union: [identity, total]}}}": lambda d: d.product(age={"union": ("identity", "total")}),
}


def test_a_call_is_an_entry_of_a_file(subtests: pytest.Subtests) -> None:
    for entry, call in CALLS.items():
        with subtests.test(entry):
            of_file, of_call = parse_request(f"{FILE}  - {entry}").workload, call(D)
            assert of_call == of_file
            assert of_call.domain == of_file.domain
            assert of_call.groups() == of_file.groups() and of_call.labels() == of_file.labels()
            assert of_call.products is not None and of_file.products is not None
            for one, other in zip(of_call.products, of_file.products, strict=True):
                assert one.subworkload == other.subworkload
    # Calls add up to the file.
    text = "".join(f"  - {entry}\n" for entry in CALLS if "name: x}" not in entry)
    calls = [CALLS[entry](D) for entry in CALLS if "name: x}" not in entry]
    assert sum(calls) == parse_request(FILE + text).workload


REFUSED: list[tuple[Callable[[], object], str]] = [
    *((partial(Domain.of, a=values), text) for values, text in NO_LABELS),
    (
        lambda: Workload.of({"domain": AB}, domain=AB),
        "'domain' is given twice, in the dictionary and by keyword",
    ),
    (
        lambda: Workload.of("w.yaml"),  # type: ignore[arg-type]
        "a str is given, expected a dictionary or keywords: the keys of a workload file\n"
        "  Workload.load(path) reads a file",
    ),
    (
        lambda: Workload.of(domain=AB, workload=AB.marginal("a")),
        f"workload: a value of type Workload means nothing here\n{TAKEN}",
    ),
    (
        lambda: Workload.of(domain=AB, worklaod=ENTRIES),
        "worklaod: a workload file has no key 'worklaod', expected domain, predicates, workload, "
        "normalise, privacy, unit, neighbours, data or known\n  did you mean 'workload'?",
    ),
    (
        lambda: Workload.of(workload=ENTRIES),
        "the dictionary: a workload file needs the key 'domain'\n  it has 'workload'",
    ),
    (
        lambda: D.product(age="prefix", wieght=2),
        "product.wieght: the domain has no attribute 'wieght'\n  did you mean 'weight'?",
    ),
    (
        lambda: D.product({"age": "prefix"}, age="prefix"),
        "'age' is given twice, in the dictionary and by keyword",
    ),
    (
        lambda: D.product("age"),
        "a str is given, expected a dictionary or keywords: a block by attribute",
    ),
    (
        lambda: D.product(age=[["[0, 18)", "x"]]),
        "product.age[0][1]: attribute 'age' has no group or value 'x'\n"
        "  known: [0, 18), [18, 65), [65, 115), minors",
    ),
    (
        lambda: D.marginal("sex", "aeg"),
        "marginal[1]: the domain has no attribute 'aeg'\n  did you mean 'age'?",
    ),
    (
        lambda: D.marginals(ways=1, of=["sex", "aeg"]),
        "marginals.of[1]: the domain has no attribute 'aeg'\n  did you mean 'age'?",
    ),
    (
        lambda: Domain.of({"age of head": {"bins": [0, 5, 5]}}),
        "domain['age of head'].bins[2]: bins of attribute 'age of head' must increase, found 5 after 5\n"
        "  half-open bins [a, b) share their edges; each edge is written once",
    ),
]


@pytest.mark.quick
def test_refused(subtests: pytest.Subtests) -> None:
    for call, text in REFUSED:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                call()
            assert str(caught.value) == text


def test_what_is_none_is_not_given() -> None:
    assert D.marginal("sex", weight=None, name=None) == D.marginal("sex")
    with pytest.raises(WorkloadError, match=r"product\.age: the block of attribute 'age' is missing"):
        D.product(age=None)
    with pytest.raises(
        WorkloadError, match=r"^marginal\.wieght: a workload entry has no key 'wieght', "
    ) as caught:
        D.marginal("sex", wieght=2)
    assert caught.value.hint == "did you mean 'weight'?"
    assert repr(D) == "Domain(sex 2 × age 3 × name 2: 12 cells)"
