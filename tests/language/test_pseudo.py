"""Pseudo-inverses and ranks: the cheap ways agree with the singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from constructed import haar

from mmopt.numerics.numpy_forms import EPS
from mmopt.numerics.pseudoinverse import pinv, rank

KINDS = {
    "orthonormal": lambda rng: np.linalg.qr(rng.normal(size=(9, 9)))[0][:6],
    "orthogonal columns": lambda rng: 3.0 * np.linalg.qr(rng.normal(size=(9, 9)))[0][:, :4],
    "wavelet": lambda rng: haar(16),
    "wide": lambda rng: rng.normal(size=(5, 8)),
    "tall": lambda rng: rng.normal(size=(8, 5)),
    "scaled rows": lambda rng: rng.normal(size=(6, 6)) * 10 ** rng.uniform(-5, 5, size=(6, 1)),
    "nearly dependent": lambda rng: np.vstack([np.eye(3, 4), np.eye(1, 4) + 1e-9 * np.ones((1, 4))]),
    "dependent": lambda rng: rng.normal(size=(6, 2)) @ rng.normal(size=(2, 7)),
    "equal rows": lambda rng: np.ones((3, 4)),
    "orthogonal, one as good as zero": lambda rng: np.diag([1.0, 1.0, 1e-14]),
    "zeros": lambda rng: np.zeros((2, 3)),
    "one number": lambda rng: np.array([[2.0]]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_as_by_singular_values(kind: str, rng: np.random.Generator) -> None:
    matrix = KINDS[kind](rng)
    expected = np.linalg.pinv(matrix, rcond=8 * max(matrix.shape) * EPS)
    found = pinv(matrix)
    values = np.linalg.svd(matrix, compute_uv=False)
    kept = values[values > 8 * max(matrix.shape) * EPS * values[0]]
    condition = kept[0] / kept[-1] if len(kept) else 1.0
    assert np.linalg.norm(found - expected) <= 1e-13 * condition * np.linalg.norm(expected)
    assert rank(matrix) == np.linalg.matrix_rank(matrix)


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_what_is_not_finite_stays_so(shape: tuple[int, int]) -> None:
    assert np.isnan(pinv(np.full(shape, np.inf))).all()
