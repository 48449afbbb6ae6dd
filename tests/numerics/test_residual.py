"""The residual has twice the digits of a float."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mmopt.numerics.residual import Residual, plain_residual, residual, short_residual

pytestmark = pytest.mark.quick


@pytest.mark.draws(6)
def test_residual_against_fractions(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("mmopt.numerics.residual.HEIGHT", int(rng.integers(1, 4)))
    n, k, c = (int(i) for i in rng.integers(1, 7, size=3))
    x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
    y = rng.normal(size=(k, c)) * 10.0 ** rng.integers(-8, 9, size=(k, c))
    right = x @ y  # so that nearly all digits cancel
    mid, rad = residual(right, x, y)
    size = np.abs(x).max(axis=1, keepdims=True) * np.abs(y).max(axis=0, keepdims=True) * k
    for i in range(n):
        for j in range(c):
            terms = (Fraction(x[i, t]) * Fraction(y[t, j]) for t in range(k))
            truth = Fraction(right[i, j]) - sum(terms, Fraction(0))
            assert abs(truth - Fraction(mid[i, j])) <= Fraction(rad[i, j])
    assert (rad <= 1e-28 * size + 1e-15 * np.abs(mid)).all()


def test_vectors_and_zeros() -> None:
    mid, rad = residual(np.zeros(3), np.zeros((3, 2)), np.zeros(2))
    assert mid.shape == rad.shape == (3,)
    assert not mid.any() and not rad.any()


@pytest.mark.parametrize(("products", "most"), [(short_residual, 1e-21), (plain_residual, 3e-15)])
@pytest.mark.draws(6)
def test_residuals_from_fewer_products_against_fractions(
    monkeypatch: pytest.MonkeyPatch, products: Residual, most: float, rng: np.random.Generator
) -> None:
    """The short one has an error that is still far below that of the plain product."""
    monkeypatch.setattr("mmopt.numerics.residual.HEIGHT", int(rng.integers(1, 4)))
    n, k, c = (int(i) for i in rng.integers(1, 7, size=3))
    x = rng.normal(size=(n, k)) * 10.0 ** rng.integers(-8, 9, size=(n, k))
    y = rng.normal(size=(k, c)) * 10.0 ** rng.integers(-8, 9, size=(k, c))
    right = x @ y
    mid, rad = products(right, x, y)
    size = np.abs(x).max(axis=1, keepdims=True) * np.abs(y).max(axis=0, keepdims=True) * k
    for i in range(n):
        for j in range(c):
            terms = (Fraction(x[i, t]) * Fraction(y[t, j]) for t in range(k))
            truth = Fraction(right[i, j]) - sum(terms, Fraction(0))
            assert abs(truth - Fraction(mid[i, j])) <= Fraction(rad[i, j]) * (1 + Fraction(1, 10**9))
    assert (rad <= most * size).all()
