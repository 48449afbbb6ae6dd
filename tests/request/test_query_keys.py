"""Products, marginals and blocks, against matrices written out by hand.

Guards domain_data_and_query_keys.py, yaml_tree.py.
"""

import itertools
import json
import math
from functools import reduce

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from mmopt.errors import Location, TooLargeError
from mmopt.request import parse_request
from mmopt.request.domain_data_and_query_keys import BLOCK_FORMS, QueryAllowance
from mmopt.request.yaml_tree import Scalar
from mmopt.workloads import Workload

DOMAIN = """domain:
  sex: {values: [F, M]}
  age: {bins: [0, 18, 65, 115], groups: {minors: 0-17, adults: [18-64, 65-114]}}
  race: {values: [White, Black, Asian, Other]}
predicates:
  age: {each: identity, two: [minors, adults], both: {union: [each, two, total]}}
"""
SIZES = {"sex": 2, "age": 3, "race": 4}
Matrix = npt.NDArray[np.float64]


def workload(entries: str) -> Workload:
    return parse_request(f"{DOMAIN}workload:\n{entries}\n").workload


def rows(block: str, size: int) -> Matrix:
    if block == "identity":
        return np.eye(size)
    if block == "prefix":
        return np.tri(size)
    if block == "total":
        return np.ones((1, size))
    assert block == "all_range"
    cells = np.arange(size)
    return np.array([(i <= cells) & (cells <= j) for i in range(size) for j in range(i, size)], dtype=float)


def kron(parts: dict[str, Matrix]) -> Matrix:
    return reduce(np.kron, [parts.get(name, np.ones((1, size))) for name, size in SIZES.items()])


BLOCKS = [
    ("age: minors", "age", [[1, 0, 0]]),
    ("age: 18-114", "age", [[0, 1, 1]]),
    ("age: '[18, 65)'", "age", [[0, 1, 0]]),
    ("sex: M", "sex", [[0, 1]]),
    ("age: [minors, adults]", "age", [[1, 0, 0], [0, 1, 1]]),
    ("age: [adults, 65-114, [minors, 65-114]]", "age", [[0, 1, 1], [0, 0, 1], [1, 0, 1]]),
    ("race: [[White], [Black, Asian]]", "race", [[1, 0, 0, 0], [0, 1, 1, 0]]),
    ("race: {predicates: [[White], [Black, Asian]]}", "race", [[1, 0, 0, 0], [0, 1, 1, 0]]),
    ("age: {each: [65-114, minors]}", "age", [[0, 0, 1], [1, 0, 0]]),
    ("age: {each: adults}", "age", [[0, 1, 0], [0, 0, 1]]),
    ("age: {union: [identity, total]}", "age", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]),
    ("sex: {union: [{union: [[F]]}, prefix, M]}", "sex", [[1, 0], [1, 0], [1, 1], [0, 1]]),
    ("age: {width_range: 2}", "age", [[1, 1, 0], [0, 1, 1]]),
    ("race: haar", "race", [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]),
    ("age: hierarchy", "age", [[1, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    ("age: {hierarchy: 3}", "age", [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    (
        "age: {reordered: prefix, order: [65-114, 18-64, minors]}",
        "age",
        [[0, 0, 1], [0, 1, 1], [1, 1, 1]],
    ),
    (
        "race: {reordered: {width_range: 3}, order: [Asian, White, Other, Black]}",
        "race",
        [[1, 0, 1, 1], [1, 1, 0, 1]],
    ),
    ("age: {union: [{width_range: 3}, {hierarchy: 3}]}", "age", [[1, 1, 1], [1, 1, 1], *np.eye(3)]),
    ("age: each", "age", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    ("age: two", "age", [[1, 0, 0], [0, 1, 1]]),
    ("age: both", "age", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1], [1, 1, 1]]),
]


def test_every_form_of_a_block(subtests: pytest.Subtests) -> None:
    for product, name, expected in BLOCKS:
        with subtests.test(product):
            w = workload(f"  - product: {{{product}}}")
            assert np.array_equal(w.queries, kron({name: np.array(expected, dtype=float)}))
    for form in BLOCK_FORMS:
        assert any(f": {{{form}: " in product for product, _, _ in BLOCKS), form


def test_predicate_labels() -> None:
    w = workload("  - product: {race: [White, [Black, Asian], [White, Black, Asian, Other]], sex: M}")
    assert [label.split("race in ")[1] for label in w.labels()] == [
        "White",
        "Black or Asian",
        "White or Black or Asian or Other",
    ]


def test_labels_of_ranges_and_trees() -> None:
    text = """domain: {age: {bins: [0, 18, 65, 115, 120]}}
workload:
  - product: {age: {width_range: 3}}
  - product: {age: {hierarchy: 3}}
  - product: {age: haar}
  - product: {age: {reordered: prefix, order: ["[115, 120)", 65-114, 18-64, 0-17]}}
"""
    assert parse_request(text).workload.labels() == [
        "0 <= age < 115",
        "18 <= age < 120",
        "everyone",
        "0 <= age < 65",
        "65 <= age < 115",
        "115 <= age < 120",
        "0 <= age < 18",
        "18 <= age < 65",
        "everyone",
        "0 <= age < 65 minus 65 <= age < 120",
        "0 <= age < 18 minus 18 <= age < 65",
        "65 <= age < 115 minus 115 <= age < 120",
        "age up to [115, 120) (reordered)",
        "age up to [65, 115) (reordered)",
        "age up to [18, 65) (reordered)",
        "age up to [0, 18) (reordered)",
    ]


BESIDE = """domain:
  age: {bins: [0, 18, 65, 115, 120], missing: {cell: "?"}, outside: {cell: x}, groups: {adults: 18-119}}
workload:
"""
OVER_ALL = {
    "identity": np.eye(6),
    "total": np.ones((1, 6)),
    "adults": [[0, 1, 1, 1, 0, 0]],
    "[['?', x]]": [[0, 0, 0, 0, 1, 1]],
    "{each: [18-64, x]}": [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]],
    '{reordered: identity, order: ["[115, 120)", 65-114, 18-64, 0-17]}': np.eye(6)[[3, 2, 1, 0, 4, 5]],
}
OVER_DECLARED = (
    "prefix",
    "all_range",
    "{width_range: 2}",
    "hierarchy",
    "{hierarchy: 3}",
    "haar",
    '{reordered: prefix, order: ["[115, 120)", 65-114, 18-64, 0-17]}',
    "{union: [prefix, {union: [haar, all_range]}]}",
)


def test_blocks_of_cells_beside_the_declared_ones(subtests: pytest.Subtests) -> None:
    for block, expected in OVER_ALL.items():
        with subtests.test(block):
            w = parse_request(f"{BESIDE}  - product: {{age: {block}}}").workload
            assert np.array_equal(w.queries, expected)


def test_blocks_over_the_declared_cells_alone(subtests: pytest.Subtests) -> None:
    """It gives the queries of the domain without the others; but a query of all declared cells is no
    total, and its label says so."""
    for block in OVER_DECLARED:
        with subtests.test(block):
            alone = BESIDE.replace(', missing: {cell: "?"}, outside: {cell: x}', "")
            one, other = (
                parse_request(f"{text}  - product: {{age: {block}}}").workload for text in (BESIDE, alone)
            )
            assert np.array_equal(one.queries, np.pad(other.queries, ((0, 0), (0, 2))))
            assert one.groups() == other.groups()
            assert one.labels() == [label.replace("everyone", "0 <= age < 120") for label in other.labels()]
            assert one.normalised().groups() == other.groups()


def test_a_long_block_beside_a_cell_stays_implicit() -> None:
    text = "domain: {a: {range: [0, 5000], width: 1, missing: {cell: unknown}}}\nworkload:\n"
    w = parse_request(f"{text}  - product: {{a: all_range}}\n  - product: {{a: prefix}}").workload
    assert w.implicit().sizes().implicit < 100
    assert parse_request(f"{text}  - product: {{a: prefix}}").workload.answers(np.ones(5001))[-1] == 5000


def test_what_blocks_hold_is_limited() -> None:
    """A short file with many large hierarchies is refused before they are made."""
    word = Scalar(Location("w.yaml", 2, 3, "  hierarchy", 9), 1, "hierarchy", "hierarchy")
    budget = QueryAllowance(left=1000)
    budget.take(word, 4, 200, "hierarchies")
    with pytest.raises(TooLargeError) as caught:
        budget.take(word, 4, 100, "hierarchies")
    assert caught.value.message == (
        "hierarchies take more than 67,108,864 entries in this file, with 4 × 100 here"
    )
    assert caught.value.where == word.where


WORDS = st.sampled_from(["identity", "total", "prefix", "all_range"])


@settings(max_examples=15)
@given(st.lists(st.dictionaries(st.sampled_from(sorted(SIZES)), WORDS), min_size=1, max_size=3))
def test_products_are_kronecker_products(products: list[dict[str, str]]) -> None:
    text = "\n".join(f"  - product: {{{', '.join(f'{k}: {v}' for k, v in p.items())}}}" for p in products)
    expected = [kron({name: rows(word, SIZES[name]) for name, word in p.items()}) for p in products]
    assert np.array_equal(workload(text).queries, np.vstack(expected))


def test_marginal() -> None:
    for names in (own for k in (1, 2, 3) for own in itertools.permutations(SIZES, k)):
        w = workload(f"  - marginal: [{', '.join(names)}]")
        assert np.array_equal(w.queries, kron({name: np.eye(SIZES[name]) for name in names})), names


def test_marginals_are_all_marginals() -> None:
    short = workload("  - marginals: {ways: [0, 2]}\n    weight: 3")
    long = workload(
        "\n".join(
            f"  - {form}\n    weight: 3"
            for form in (
                "product: {}",
                "marginal: [sex, age]",
                "marginal: [sex, race]",
                "marginal: [age, race]",
            )
        )
    )
    assert short == long
    assert workload("  - marginals: {ways: 1, of: [race, sex]}") == workload(
        "  - marginal: [race]\n  - marginal: [sex]"
    )


def test_names_weights_targets() -> None:
    w = workload(
        "  - {marginal: [sex], name: by sex, weight: 2, max_variance: 50}\n"
        "  - {marginals: {ways: [0, 1], of: [sex, age]}, name: all}\n"
        "  - marginal: [sex]\n"
        "  - marginal: [sex]\n"
    )
    names = [name for name, _ in w.groups()]
    assert names == ["by sex", "all: total", "all: sex", "all: age", "sex", "sex"]
    assert w.weights.tolist() == [2.0] * 2 + [1.0] * 10
    assert w.targets.tolist() == [50.0] * 2 + [math.inf] * 10


def test_subworkloads() -> None:
    w = workload(
        "  - {marginals: {ways: [0, 1]}, subworkload: basics}\n  - {product: {age: prefix}}\n"
        "  - {marginal: [sex], subworkload: basics}"
    )
    assert w.products is not None
    assert [p.subworkload for p in w.products] == ["basics"] * 4 + [None, "basics"]


def test_products_of_every_set_of_attributes() -> None:
    """The queries are those written one by one; a name may stand for another block of each attribute."""
    every = workload("  - products: {ways: [0, 2], each: prefix, of: [sex, race, age]}")
    apart = ["{}", "{sex: prefix, race: prefix}", "{sex: prefix, age: prefix}", "{race: prefix, age: prefix}"]
    assert every == workload("\n".join(f"  - product: {blocks}" for blocks in apart))
    named = """domain: {sex: {values: [F, M]}, age: {bins: [0, 18, 65]}}
predicates: {sex: {asked: identity}, age: {asked: prefix}}
workload:
"""
    one = parse_request(f"{named}  - {{products: {{ways: [1, 2], each: asked}}, name: by, weight: 2.0}}\n")
    entries = ("{sex: identity}", "{age: prefix}", "{sex: identity, age: prefix}")
    other = "\n".join(f"  - {{product: {blocks}, weight: 2.0}}" for blocks in entries)
    assert one.workload == parse_request(f"{named}{other}\n").workload
    assert [name for name, _ in one.workload.groups()] == ["by: sex", "by: age", "by: sex, age"]


def test_products_over_more_cells_than_doubles_square() -> None:
    names = "".join(f"  a{i}: {{range: [0, 10], width: 1}}\n" for i in range(200))
    text = f"domain:\n{names}workload:\n  - products: {{ways: 1, each: prefix}}\n"
    found = parse_request(text).workload
    assert found.n == 10**200
    assert repr(found) == "Workload(2,000 queries over 10^200 cells, 200 products)"
    assert repr(found.products[7]) == "Product(7: prefix(10), 10 × 10^200)"
    shared = {id(factor) for product in found.products for factor in product.factors}
    assert len(shared) == 2
    with pytest.raises(TooLargeError) as raised:
        _ = found.gram
    assert str(raised.value).startswith(
        "the Gram matrix has 10^200 × 10^200 entries, 7.45e+391 GiB; the limit is 4 GiB"
    )
    # The hash is that of the text of all parts, as it was before parts were spelled out once.
    described = [["product", [f.describe() for f in p.factors], (1.0).hex(), "inf"] for p in found.products]
    told = [json.loads(product.spelled_out({})) for product in found.products[:2]]
    assert told == json.loads(json.dumps(described[:2]))
