"""What is proved of a ball holds at its edge."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt.numerics.ball_inverse import smallest_singular
from mmopt.numerics.ball_spectra import smallest_eigenvalue
from mmopt.numerics.balls import Ball, exact, power

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("rad", [0.0, 1e-6, 1e-2, 0.1, 0.2])
def test_no_matrix_in_a_ball_has_a_smaller_singular_value(rad: float, rng: np.random.Generator) -> None:
    mid = np.eye(3) + np.triu(rng.uniform(-0.3, 0.3, (3, 3)), 1)
    found = smallest_singular(Ball(mid, np.full((3, 3), rad)))
    u, _, vt = np.linalg.svd(mid)
    worst = mid - rad * np.sign(np.outer(u[:, -1], vt[-1]))  # what moves the least value the most
    assert 0.0 <= found <= np.linalg.svd(worst, compute_uv=False)[-1]
    assert found > 0 or rad > 1e-2


@pytest.mark.parametrize("rad", [0.0, 1e-6, 1e-2, 0.1])
def test_no_matrix_in_a_ball_has_a_smaller_eigenvalue(rad: float, rng: np.random.Generator) -> None:
    root = rng.normal(size=(3, 3))
    mid = root @ root.T + np.eye(3)
    v = np.linalg.eigh(mid)[1][:, 0]
    worst = mid - rad * np.sign(np.outer(v, v))
    assert smallest_eigenvalue(Ball(mid, np.full((3, 3), rad))) <= np.linalg.eigvalsh(worst)[0] + 1e-12


@pytest.mark.parametrize("exponent", [2.0, 3.0, 5.0, 0.5, -1.0, -2.0])
def test_powers_of_what_is_about_one(exponent: float) -> None:
    found = power(Ball(np.ones(2), np.full(2, 0.25)), exact(exponent))
    for end in (0.75, 1.25):
        assert (found.lower <= end**exponent).all() and (end**exponent <= found.upper).all()
