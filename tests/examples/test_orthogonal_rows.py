"""The first independent rows, of integers and of other numbers."""

from fractions import Fraction

import numpy as np
import pytest
from examples.scripts import scripts

first_independent = scripts("orthogonal").cell_blocks.first_independent


pytestmark = pytest.mark.quick


def by_fractions(matrix: np.ndarray) -> list[int]:
    """The same by elimination in fractions, one row at a time."""
    chosen: list[int] = []
    known: list[list[Fraction]] = []
    for position, row in enumerate(matrix):
        rest = [Fraction(float(v)) for v in row]
        for other in known:
            at = next(i for i, v in enumerate(other) if v)
            factor = rest[at] / other[at]
            rest = [a - factor * b for a, b in zip(rest, other, strict=True)]
        if any(rest):
            known.append(rest)
            chosen.append(position)
    return chosen


def test_of_integers_as_by_fractions(rng: np.random.Generator) -> None:
    for _ in range(50):
        m, n, k = rng.integers(1, 9, size=3)
        matrix = (rng.integers(-3, 4, size=(m, k)) @ rng.integers(-3, 4, size=(k, n))).astype(float)
        assert first_independent(matrix).tolist() == by_fractions(matrix)


@pytest.mark.parametrize("scale", [0.1, 1e-150, 1e150])
def test_of_other_numbers_as_of_integers(scale: float, rng: np.random.Generator) -> None:
    for _ in range(50):
        m, n, k = rng.integers(1, 9, size=3)
        whole = (rng.integers(-3, 4, size=(m, k)) @ rng.integers(-3, 4, size=(k, n))).astype(float)
        rows = whole * rng.uniform(0.5, 2, size=(m, 1)) * scale
        assert first_independent(rows).tolist() == by_fractions(whole)


def test_integers_of_any_size_do_not_round() -> None:
    large = 2.0**52
    rows = np.array([[large, 1.0], [large + 1, 1.0], [2 * large, 2.0]])
    assert first_independent(rows).tolist() == [0, 1]
    assert first_independent(rows[[0, 2, 1]]).tolist() == [0, 2]
