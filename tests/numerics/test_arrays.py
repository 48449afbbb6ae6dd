"""Roots, pseudo-inverses and norms, of matrices of one entry too."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances

from mmopt.errors import TimeLimitError
from mmopt.limits import deadline
from mmopt.numerics import arrays
from mmopt.numerics.arrays import largest_singular_value, qr, stacked_root
from mmopt.numerics.pseudoinverse import pseudo_factors

SHAPES = [(1, 1), (3, 1), (1, 3), (4, 3), (3, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_pseudo_factors(shape: tuple[int, int], rng: np.random.Generator) -> None:
    a = rng.normal(size=shape)
    inverse, null = pseudo_factors(a)
    np.testing.assert_allclose(inverse @ inverse.T, np.linalg.pinv(a.T @ a), atol=tolerances.FINE)
    assert null.shape == (shape[1], shape[1] - min(shape))
    np.testing.assert_allclose(a @ null, 0.0, atol=tolerances.ROUNDING)
    np.testing.assert_allclose(null.T @ null, np.eye(null.shape[1]), atol=tolerances.ROUNDING)


def test_the_pseudo_inverse_of_zero() -> None:
    inverse, null = pseudo_factors(np.zeros((1, 1)))
    assert inverse.shape == (1, 0)
    np.testing.assert_array_equal(np.abs(null), [[1.0]])


@pytest.mark.parametrize("counts", [[1], [2, 1], [5], [1, 1, 1]])
@pytest.mark.parametrize("columns", [1, 2])
def test_a_root_of_a_sum(counts: list[int], columns: int, rng: np.random.Generator) -> None:
    blocks = [rng.normal(size=(count, columns)) for count in counts]
    root = stacked_root(iter(blocks), columns)
    assert len(root) == min(sum(counts), columns)
    expected = sum(block.T @ block for block in blocks)
    np.testing.assert_allclose(root.T @ root, expected, rtol=tolerances.FINE)


def test_a_root_of_one_column_neither_overflows_nor_loses_digits() -> None:
    root = stacked_root([np.array([[3e200], [4e200]])], 1)
    np.testing.assert_allclose(root, [[5e200]], rtol=tolerances.ROUNDING)
    small = stacked_root([np.array([[3e-200], [4e-200]])], 1)
    np.testing.assert_allclose(small, [[5e-200]], rtol=tolerances.ROUNDING)


@pytest.mark.parametrize("shape", [*SHAPES, (1, 0), (0, 2)])
def test_largest_singular_value(shape: tuple[int, int], rng: np.random.Generator) -> None:
    a = rng.normal(size=shape)
    expected = float(np.linalg.svd(a)[1].max(initial=0.0))
    found = largest_singular_value(a)
    assert 0.9 * expected <= found <= expected * (1 + tolerances.ROUNDING)
    assert largest_singular_value(np.zeros((3, 2))) == 0.0


@pytest.mark.parametrize("shape", [(90, 40), (40, 90), (50, 50)])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_long_factorisation_looks_at_the_time(
    shape: tuple[int, int], overwrite: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_PANEL_COLUMNS", 9)
    matrix = rng.standard_normal(shape)
    triangle = qr(np.asfortranarray(matrix), overwrite)
    assert triangle.shape == (min(shape), shape[1]) and not np.tril(triangle, -1).any()
    np.testing.assert_allclose(triangle.T @ triangle, matrix.T @ matrix, rtol=0, atol=1e-12)
    monkeypatch.setattr("mmopt.limits.GRACE", -1.0)
    with deadline(1e-9), pytest.raises(TimeLimitError):
        qr(matrix)
