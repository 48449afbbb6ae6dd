"""Every word for a block of queries, against its rows written out by definition."""

from collections.abc import Callable

import numpy as np
import pytest
from workloads.implicit_twins import check_block

from mmopt.request.query_words import BLOCK_NUMBERS, BLOCK_WORDS

SIZES = (1, 2, 3, 7, 8, 13)


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


def test_words(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for word, made in BLOCK_WORDS.items():
        with subtests.test(word):
            for n in (1, 2, 4, 8) if word == "haar" else SIZES:
                check_block(made(n), np.array(TWINS[word](n)), rng)
    for word, made in BLOCK_NUMBERS.items():
        with subtests.test(word):
            for n in SIZES:
                for number in range(1 if word == "width_range" else 2, n + 1):
                    np.testing.assert_array_equal(made(n, number).matrix(), TWINS[word](n, number))
                if n > 2:
                    check_block(made(n, 3), np.array(TWINS[word](n, 3)), rng)
