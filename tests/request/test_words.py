"""Every word for a block of queries, against its rows written out by definition.

Guards attribute_cells_and_block_words.py.
"""

import numpy as np
import pytest

from mmopt.request.attribute_cells_and_block_words import BLOCK_NUMBERS, BLOCK_WORDS
from tests.workloads.implicit_twins import TWINS, check_block

SIZES = (1, 2, 3, 7, 8, 13)


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
