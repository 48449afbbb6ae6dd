"""What a workload file says, said in Python: the same workload, the same errors, with a path for a place."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mmopt.errors import Error, TooLargeError, WorkloadError
from mmopt.request import Request, load_request, parse_request
from mmopt.request.yaml_nodes import ListNode, Map, Scalar, YamlNode
from mmopt.request.yaml_text import YamlText
from mmopt.request.yaml_tree import parse_tree
from mmopt.workloads import Domain, Values, Workload

HERE = Path(__file__).parent
FILES = sorted((HERE.parents[1] / "examples").rglob("*.yaml"))
# Other tables are YAML too: a workload file has this key.
EXAMPLES = [path for path in FILES if re.search(r"^workload:", path.read_text(encoding="utf-8"), re.M)]


def python_of(node: YamlNode) -> Any:
    """The Python values that a YAML text stands for."""
    if isinstance(node, Map):
        return {key.value: python_of(value) for key, value in node.entries}
    if isinstance(node, ListNode):
        return [python_of(item) for item in node.items]
    assert isinstance(node, Scalar)
    return node.value


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_and_its_dictionary_say_the_same(path: Path) -> None:
    request = load_request(path)
    values = python_of(parse_tree(YamlText.of(path.read_text(encoding="utf-8"), path.name)))
    found = Request.of(values)
    assert found.workload == request.workload
    assert found.workload.groups() == request.workload.groups()
    assert (found.privacy, found.neighbours) == (request.privacy, request.neighbours)
    assert (found.path, found.text_hash) == ("<Python>", request.workload.hash)


def refused_files() -> dict[str, str]:
    """The files of refused/*.txt that are YAML: what is wrong is what they say."""
    found = {}
    for path in sorted((HERE / "refused").glob("*.txt")):
        for case in path.read_text(encoding="utf-8").removeprefix("### ").split("\n### "):
            name, rest = case.split("\n", 1)
            text = rest.split("\n--->\n")[0]
            try:
                parse_tree(YamlText.of(text, "w.yaml"))
            except Error:
                continue
            found[f"{path.stem}: {name}"] = text
    return found


REFUSED = refused_files()
ALLOWED = "domain: attribute list"  # in Python a list of values will do
PLACE = re.compile(r"first in .*")


def plain_words(message: str) -> str:
    """A message without places, with Python's words for what is no number and for nothing."""
    return PLACE.sub("", message).replace(".inf", "inf").replace(".nan", "nan").replace("null", "nothing")


@pytest.mark.parametrize("name", [name for name in REFUSED if name != ALLOWED])
def test_every_error_of_a_file_is_had_in_python(name: str) -> None:
    with pytest.raises(Error) as of_file:
        parse_request(REFUSED[name])
    values = python_of(parse_tree(YamlText.of(REFUSED[name], "w.yaml")))
    if not isinstance(values, dict):
        return
    with pytest.raises(Error) as of_python:
        Request.of(values)
    assert type(of_python.value) is type(of_file.value)
    assert plain_words(of_python.value.message) == plain_words(of_file.value.message)
    assert of_python.value.hint == of_file.value.hint
    assert of_python.value.where is not None
    assert re.split(r"[.\[]", of_python.value.where.file)[0] in {*map(str, values), "the dictionary"}


def test_a_list_stands_for_values() -> None:
    assert Request.of(python_of(parse_tree(YamlText.of(REFUSED[ALLOWED], "w.yaml")))).workload.n > 0


def labels(values: Any) -> tuple[tuple[str, ...], tuple[object, ...]]:
    (attribute,) = Domain.of(a=values).attributes
    assert isinstance(attribute.encoding, Values)
    return attribute.labels, attribute.encoding.values


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


@pytest.mark.parametrize("name", LISTS)
def test_labels_from_anything_that_lists_them(name: str) -> None:
    given, values = LISTS[name]
    found, encoded = labels(given)
    assert encoded == values and [type(value) for value in encoded] == [type(value) for value in values]
    assert found == tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)


IS_DATA = (
    "domain.a: a Series that holds a value twice is data, no list of labels\n"
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
        "domain.a[1]: values of attribute 'a': the text 'x' stands twice, first in domain.a[0]",
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
        "  write it in quotes if it is a text",
    ),
    ({"values": [1], 1: 2, "1": 3}, "domain.a: the key '1' stands twice\n  rename or remove one of them"),
    ({"": [1]}, "domain.a: a key must be a non-empty text, found ''"),
    (NESTED, f"domain.a{'[0]' * 19}: values are nested deeper than 20 levels"),
]


@pytest.mark.parametrize("number", range(len(NO_LABELS)))
def test_refused(number: int) -> None:
    values, text = NO_LABELS[number]
    with pytest.raises(WorkloadError) as caught:
        Domain.of(a=values)
    assert str(caught.value) == text


def test_what_is_too_long_is_refused_before_it_is_read() -> None:
    for values, kind in ((range(10**12), "range"), (np.arange(200_001), "ndarray")):
        with pytest.raises(TooLargeError) as caught:
            Domain.of(a=values)
        assert str(caught.value) == (
            f"domain.a: a {kind} of more than 200,000 values\n"
            "  use range, bins, prefix or all_range instead of long lists"
        )
    with pytest.raises(TooLargeError, match=r"^domain\.b\[9999[0-9]\]: more than 200,000 values\n"):
        Domain.of(a=range(100_000), b=range(100_000))


def test_where_the_two_ways_of_giving_it_meet() -> None:
    domain = Domain.of(a=["x", "y"])
    entries = [{"marginal": ["a"]}]
    assert Workload.of({"domain": domain}, workload=entries) == domain.marginal("a")
    assert Workload.of(domain={"a": ["x", "y"]}, workload=entries, predicates=None) == domain.marginal("a")
    for call, text in (
        (
            lambda: Workload.of({"domain": domain}, domain=domain),
            "'domain' is given twice, in the dictionary and by keyword",
        ),
        (
            lambda: Workload.of("w.yaml"),  # type: ignore[arg-type]
            "a str is given, expected a dictionary or keywords: the keys of a workload file\n"
            "  Workload.load(path) reads a file",
        ),
        (
            lambda: Workload.of(domain=domain, workload=domain.marginal("a")),
            f"workload: a value of type Workload means nothing here\n{TAKEN}",
        ),
        (
            lambda: Workload.of(domain=domain, worklaod=entries),
            "worklaod: a workload file has no key 'worklaod', expected domain, predicates, workload, "
            "normalise, privacy, unit, neighbours or data\n  did you mean 'workload'?",
        ),
        (
            lambda: Workload.of(workload=entries),
            "the dictionary: a workload file needs the key 'domain'\n  it has 'workload'",
        ),
    ):
        with pytest.raises(WorkloadError) as caught:
            call()
        assert str(caught.value) == text
