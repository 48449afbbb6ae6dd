"""What the methods of a Domain ask is what the same entries of a workload file ask."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mmopt.errors import WorkloadError
from mmopt.request import parse_request
from mmopt.workloads import Domain, Workload

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


@pytest.mark.quick
@pytest.mark.parametrize("entry", CALLS)
def test_a_call_is_an_entry_of_a_file(entry: str) -> None:
    of_file = parse_request(f"{FILE}  - {entry}").workload
    of_call = CALLS[entry](D)
    assert of_call == of_file
    assert of_call.domain == of_file.domain
    assert of_call.groups() == of_file.groups() and of_call.labels() == of_file.labels()
    assert of_call.products is not None and of_file.products is not None
    for one, other in zip(of_call.products, of_file.products, strict=True):
        assert one.subworkload == other.subworkload


def test_calls_add_up_to_the_file() -> None:
    text = "".join(f"  - {entry}\n" for entry in CALLS if "name: x}" not in entry)
    calls = [CALLS[entry](D) for entry in CALLS if "name: x}" not in entry]
    assert sum(calls) == parse_request(FILE + text).workload


ENTRY = "expected marginal, marginals, product, products, name, weight, max_variance"


REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: D.product(age="prefx"),
        "product.age: attribute 'age' has no block, group or value 'prefx'\n  did you mean 'prefix'?",
    ),
    (
        lambda: D.product(aeg="prefix"),
        "product.aeg: the domain has no attribute 'aeg'\n  did you mean 'age'?",
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
        lambda: D.product(age="prefix", weight=-1),
        "product.weight: weight must be greater than 0, found -1\n  leave the entry out instead",
    ),
    (
        lambda: D.marginal("sex", "aeg"),
        "marginal[1]: the domain has no attribute 'aeg'\n  did you mean 'age'?",
    ),
    (
        lambda: D.marginal("sex", "sex"),
        "marginal[1]: marginal names the attribute 'sex' twice",
    ),
    (
        lambda: D.marginals(ways=4),
        "marginals.ways: ways must be between 0 and 3, the number of attributes, found 4",
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
    (
        lambda: Domain.of(age=5),
        "domain.age: attribute 'age' must be a mapping (key: value), found the integer 5",
    ),
    (
        lambda: Domain.of(),
        "domain: domain is empty, expected at least one attribute\n  write 'sex: {values: [Female, Male]}'",
    ),
]


@pytest.mark.parametrize("call, text", REFUSED, ids=[text.split("\n")[0] for _, text in REFUSED])
def test_refused(call: Callable[[], object], text: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        call()
    assert str(caught.value) == text


def test_a_misspelt_option_is_named() -> None:
    with pytest.raises(WorkloadError) as caught:
        D.marginal("sex", wieght=2)
    assert str(caught.value).startswith(f"marginal.wieght: a workload entry has no key 'wieght', {ENTRY}")
    assert caught.value.hint == "did you mean 'weight'?"


def test_what_is_none_is_not_given() -> None:
    assert D.marginal("sex", weight=None, name=None) == D.marginal("sex")
    with pytest.raises(WorkloadError, match=r"product\.age: the block of attribute 'age' is missing"):
        D.product(age=None)


def test_a_domain_is_shown_by_its_shape() -> None:
    assert repr(D) == "Domain(sex 2 × age 3 × name 2: 12 cells)"
