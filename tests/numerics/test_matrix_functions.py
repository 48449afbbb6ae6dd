"""Which matrices count as positive definite, and what is lifted."""

from __future__ import annotations

import numpy as np
import pytest
from rational import conditioned

from mmopt.numerics.matrix_functions import (
    EIGENVALUE_FLOOR,
    eigh,
    is_definite,
    length,
    psd_floor,
    symmetric_part,
)


def test_definite_by_cholesky(rng: np.random.Generator) -> None:
    x = conditioned(rng, 6, 1e6)
    assert is_definite(x) and is_definite(x, 0.9e-6)
    assert not is_definite(x, 1.1e-6) and not is_definite(-x)
    for bad in (np.nan, np.inf):
        for at in ((0, 0), (5, 5), (3, 1)):
            broken = x.copy()
            broken[at] = broken[at[::-1]] = bad
            assert not is_definite(broken)
    assert not is_definite(x, np.nan) and not is_definite(x, -np.inf)


@pytest.mark.draws(3)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_length_is_not_lost_with_its_squares(axis: int | None, rng: np.random.Generator) -> None:
    a = rng.normal(size=(4, 3))
    scale = 10.0 ** rng.uniform(-280.0, -150.0)
    assert length(scale * a, axis) / scale == pytest.approx(np.linalg.norm(a, axis=axis), rel=1e-12)
    assert not np.any(length(0.0 * a, axis)) and np.shape(length(a, axis)) == np.shape(a.sum(axis=axis))
    mixed = np.array([[3.0, 3e-200], [4.0, 4e-200]])
    assert np.allclose(length(mixed, 0), [5.0, 5e-200], rtol=1e-12, atol=0.0)


def test_the_symmetric_part_is_the_matrix_itself_where_it_can_be(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 4))
    assert symmetric_part(x + x.T) == pytest.approx(x + x.T)
    y = x + x.T
    assert symmetric_part(y) is y
    assert np.array_equal(symmetric_part(x), (x + x.T) / 2)


@pytest.mark.parametrize("least", [1e-3, 2e-10, 0.5e-10, 0.0, -1e-9, -1.0])
def test_eigenvalues_are_lifted_to_the_floor(least: float, rng: np.random.Generator) -> None:
    q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.array([1.0, 0.7, 0.5, 0.1, least])
    x = (q * values) @ q.T
    lifted = psd_floor(x)
    found = np.linalg.eigvalsh(lifted)
    assert found[0] == pytest.approx(max(least, EIGENVALUE_FLOOR), rel=1e-4)
    assert found[1:] == pytest.approx(np.sort(values)[1:], rel=1e-9)
    if least >= EIGENVALUE_FLOOR:
        assert np.array_equal(lifted, symmetric_part(x))


def test_eigenvalues_of_one_entry() -> None:
    matrix = np.array([[-2.5]])
    values, vectors = eigh(matrix)
    assert values.tolist() == [-2.5] and vectors.tolist() == [[1.0]]
    values[0] = 0.0
    assert matrix[0, 0] == -2.5, "the matrix is nobody else's"
    assert np.isnan(eigh(np.array([[np.nan]]))[0]).all()
