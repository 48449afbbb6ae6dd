"""Eigenvalues and roots lie where they are proved to be."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from rational import assert_inside, fractions, orthogonal

from mmopt.numerics.ball_spectra import below_eigenvalues, root, smallest_eigenvalue
from mmopt.numerics.balls import Ball, exact

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e12])
def test_smallest_eigenvalue_is_a_lower_bound(condition: float) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        s = np.ldexp(1.0, -rng.integers(0, int(np.log2(condition)) + 1, size=n))
        q = orthogonal(rng, 16)
        values = np.concatenate([s, np.ones(16)])[:16]
        found = smallest_eigenvalue(exact((q * values) @ q.T))
        assert values.min() - 1e-13 <= found <= values.min()
    assert smallest_eigenvalue(exact(np.zeros((2, 2)))) <= 0
    assert smallest_eigenvalue(exact(-np.eye(2))) <= -1
    assert smallest_eigenvalue(exact(np.full((2, 2), np.nan))) == -np.inf
    assert smallest_eigenvalue(Ball(np.eye(2), np.full((2, 2), 0.6))) < 0


@pytest.mark.parametrize("least", [0.0, 2.0**-20, 1.0])
def test_matrix_root(least: float, rng: np.random.Generator) -> None:
    for _ in range(8):
        q = orthogonal(rng, 4)
        s = np.array([least, 1.0, 2.0, 4.0])
        ball = root(exact((q * s**2) @ q.T))
        assert_inside(fractions((q * s) @ q.T), ball)
        assert ball.rad.max() <= (1e-12 if least == 1.0 else 1e-6)


@pytest.mark.parametrize("bits", [0, 4, 20, 40])
def test_a_number_below_every_eigenvalue(bits: int, rng: np.random.Generator) -> None:
    """Positive where Cholesky's algorithm can show it, and not much too small."""
    q = orthogonal(rng, 16)
    x = (q * np.ldexp(1.0, -(np.arange(16) % (bits + 1)))) @ q.T
    least = 2.0 ** -min(bits, 15)
    lower = scipy.linalg.cholesky(x, lower=True)
    found = below_eigenvalues(exact(x), lower)
    assert least / 1000 <= found <= least
    shaken = Ball(x, np.full(x.shape, least / 100))
    assert below_eigenvalues(shaken, lower) <= least * (1 - 16 / 100)
    assert below_eigenvalues(Ball(x, np.full(x.shape, least)), lower) == 0.0
