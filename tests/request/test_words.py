"""Every word for a block of queries, against its rows written out by definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from workloads.implicit_twins import check_block

from mmopt.request import parse_request
from mmopt.request.block_keys import BLOCK_FORMS
from mmopt.request.query_words import BLOCK_NUMBERS, BLOCK_WORDS
from mmopt.workloads import Factor

SIZES = (1, 2, 3, 4, 7, 8, 13)


def of(n: int, *ranges: range) -> list[float]:
    """1 at the cells of the first range, -1 at those of the second."""
    signs = (1.0, -1.0)
    return [sum(sign for sign, own in zip(signs, ranges, strict=False) if cell in own) for cell in range(n)]


def parts(cells: range, count: int) -> list[range]:
    """As equal as they can be, the longer ones first; none of a single cell."""
    if len(cells) == 1:
        return []
    split = np.array_split(cells, min(count, len(cells)))
    return [range(int(own[0]), int(own[-1]) + 1) for own in split]


def levels(n: int, count: int) -> list[range]:
    found, level = [], [range(n)]
    while level:
        found += level
        level = [part for cells in level for part in parts(cells, count)]
    return found


TWINS: dict[str, Callable[..., list[list[float]]]] = {
    "identity": lambda n: [of(n, range(i, i + 1)) for i in range(n)],
    "total": lambda n: [of(n, range(n))],
    "prefix": lambda n: [of(n, range(i + 1)) for i in range(n)],
    "all_range": lambda n: [of(n, range(i, j + 1)) for i in range(n) for j in range(i, n)],
    "width_range": lambda n, width: [of(n, range(i, i + width)) for i in range(n - width + 1)],
    "hierarchy": lambda n, branching=2: [of(n, cells) for cells in levels(n, branching)],
    "haar": lambda n: [of(n, range(n)), *(of(n, *parts(c, 2)) for c in levels(n, 2) if len(c) > 1)],
}


def test_every_word_has_a_twin() -> None:
    assert set(TWINS) == set(BLOCK_WORDS) | set(BLOCK_NUMBERS)


def check(block: Factor, rows: list[list[float]], rng: np.random.Generator) -> None:
    check_block(block, np.array(rows), rng)


@pytest.mark.parametrize("word", BLOCK_WORDS)
def test_words(word: str, rng: np.random.Generator) -> None:
    for n in SIZES if word != "haar" else (1, 2, 4, 8, 16):
        check(BLOCK_WORDS[word](n), TWINS[word](n), rng)


@pytest.mark.parametrize("word", BLOCK_NUMBERS)
def test_words_with_a_number(word: str, rng: np.random.Generator) -> None:
    for n in SIZES:
        least = 1 if word == "width_range" else 2
        for number in range(least, n + 1):
            check(BLOCK_NUMBERS[word](n, number), TWINS[word](n, number), rng)


FORMS = {
    "predicates": ("{predicates: [[a, c], d]}", [[1, 0, 1, 0], [0, 0, 0, 1]]),
    "union": ("{union: [total, [b]]}", [[1, 1, 1, 1], [0, 1, 0, 0]]),
    "each": ("{each: [b, d]}", [[0, 1, 0, 0], [0, 0, 0, 1]]),
    "width_range": ("{width_range: 3}", [[1, 1, 1, 0], [0, 1, 1, 1]]),
    "hierarchy": ("{hierarchy: 4}", [[1, 1, 1, 1], *np.eye(4)]),
    "reordered": (
        "{reordered: prefix, order: [c, a, d, b]}",
        [[0, 0, 1, 0], [1, 0, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]],
    ),
}
"""Blocks that are mappings, and their rows over the values a, b, c, d."""


def test_every_form_has_rows() -> None:
    assert set(FORMS) == set(BLOCK_FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, rng: np.random.Generator) -> None:
    text, rows = FORMS[form]
    request = parse_request(
        f"domain: {{x: {{values: [a, b, c, d]}}}}\nworkload: [{{product: {{x: {text}}}}}]\n"
    )
    (product,) = request.workload.products
    check(product.factors[0], [list(map(float, row)) for row in rows], rng)
