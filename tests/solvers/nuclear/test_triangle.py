"""A triangle by panels is the matrix, and is solved with as the matrix is."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances

from mmopt.solvers.nuclear import triangle as module
from mmopt.solvers.nuclear.triangle import Triangle, triangle

HEIGHTS = [1, 3, 4, 50]


def filled(matrix: np.ndarray) -> Triangle:
    found = triangle(matrix, len(matrix))
    found.add(matrix)
    return found


@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize("count", [1, 4, 11, 12])
def test_it_is_the_matrix_and_solves_as_it(
    height: int, count: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEIGHT", height)
    root = rng.normal(size=(count, count + 3))
    matrix = root @ root.T
    assert np.array_equal(filled(matrix).dense(), matrix)
    assert sum(panel.size for _, panel in filled(matrix)) <= count * (count + height) / 2
    for right in (rng.normal(size=count), rng.normal(size=(count, 2))):
        found = filled(matrix).solve(right)
        assert found is not None and found.shape == right.shape
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=tolerances.FINE)


@pytest.mark.parametrize("height", HEIGHTS)
def test_what_is_not_definite_is_not_solved(
    height: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEIGHT", height)
    matrix = np.eye(7)
    matrix[5, 5] = -1.0
    assert filled(matrix).solve(rng.normal(size=7)) is None


def test_nothing() -> None:
    assert triangle(np.zeros(0), 0).dense().shape == (0, 0)
