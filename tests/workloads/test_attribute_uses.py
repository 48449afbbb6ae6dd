"""Which columns a workload needs: exactly those that can change an answer, or drop a row.

Guards factors_and_products.py, workload.py.
"""

import itertools

import numpy as np
import pytest

from mmopt.request import parse_request
from mmopt.workloads import Workload, attribute_uses

FORMS = ("total", "identity", "prefix", "[x]", "{union: [total]}", "{union: [total, identity]}")
RULES = ("", ", outside: y", ", outside: drop", ", missing: drop", ", outside: refuse, missing: y")


@pytest.mark.quick
@pytest.mark.draws(4)
def test_no_answer_tells_the_cells_of_an_unread_attribute_apart(rng: np.random.Generator) -> None:
    rules = rng.choice(RULES, 3)
    forms = [rng.choice(FORMS, 3, p=[0.7, 0.06, 0.06, 0.06, 0.06, 0.06]) for _ in range(2)]
    domain = "".join(f"  {a}: {{values: [x, y]{rule}}}\n" for a, rule in zip("abc", rules, strict=True))
    products = "".join(
        f"  - product: {{{', '.join(f'{a}: {form}' for a, form in zip('abc', own, strict=True))}}}\n"
        for own in forms
    )
    workload = parse_request(f"domain:\n{domain}workload:\n{products}").workload
    uses = attribute_uses(workload)
    by_cell = workload.queries.reshape(-1, 2, 2, 2)
    for axis, (name, rule) in enumerate(zip("abc", rules, strict=True)):
        low, high = np.moveaxis(by_cell, axis + 1, 0)
        if uses[name] == "queries":
            # A union that sums only is not recognised; nothing is lost but a column that need not be read.
            told = {form for own in forms for form in own[axis : axis + 1]} - {"total"}
            assert told and (not np.array_equal(low, high) or told == {"{union: [total]}"})
        else:
            np.testing.assert_array_equal(low, high)
            assert (uses[name] == "filter") == ("drop" in rule)


def test_attributes_of_a_matrix_are_all_for_queries() -> None:
    assert attribute_uses(Workload.from_matrix(np.ones((1, 3)))) == {"cell": "queries"}


@pytest.mark.quick
def test_one_product_that_tells_cells_apart_is_enough(subtests: pytest.Subtests) -> None:
    for form in ["[x]", "[y]", "identity", "prefix", "{union: [total, [x]]}"]:
        with subtests.test(form):
            text = "domain: {a: {values: [x, y]}, b: {values: [x, y], outside: drop}}\n"
            entries = f"[{{product: {{}}}}, {{product: {{a: {form}}}}}]"
            assert attribute_uses(parse_request(f"{text}workload: {entries}").workload) == {
                "a": "queries",
                "b": "filter",
            }


def test_weights_do_not_matter() -> None:
    for normal, weight in itertools.product(("", "normalise: rows\n"), ("", ", weight: 3")):
        text = f"domain: {{a: {{values: [x, y]}}, b: {{values: [x, y]}}}}\n{normal}"
        workload = parse_request(f"{text}workload: [{{product: {{a: identity}}{weight}}}]").workload
        assert attribute_uses(workload) == {"a": "queries", "b": "none"}
