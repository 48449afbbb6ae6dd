"""The spectrum of large workloads is as good as by singular values, also where those spread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mmopt.numerics import spectrum as module
from mmopt.numerics.spectrum import spectrum

N = 40


def spread(rng: np.random.Generator, decades: int) -> np.ndarray:
    """Singular values down to so many decades below the largest."""
    left, right = (np.linalg.qr(rng.normal(size=(N, N)))[0] for _ in range(2))
    return (left * 10.0 ** -np.linspace(0, decades, N)) @ right


ROOTS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "prefix": lambda rng: np.tri(N),
    "tall": lambda rng: rng.normal(size=(90, N)),
    "repeated": lambda rng: np.vstack([np.eye(N), np.ones((1, N))]),
    "spread over four decades": lambda rng: spread(rng, 4),
    "spread over twelve decades": lambda rng: spread(rng, 12),
}


@pytest.mark.parametrize("kind", ROOTS)
def test_eigenvalues_and_eigenvectors(
    kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = ROOTS[kind](rng)
    known, _ = spectrum(root)
    monkeypatch.setattr(module, "LARGE", 2)
    values, rows = spectrum(root)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(rows @ rows.T, np.eye(N), atol=1e-13)
    # As singular values: to rounding next to the largest.
    np.testing.assert_allclose(np.sqrt(values), np.sqrt(known), rtol=1e-11, atol=1e-14 * np.sqrt(known[0]))
    image = root @ rows.T
    np.testing.assert_allclose(image.T @ image, np.diag(values), atol=1e-13 * known[0])
    np.testing.assert_allclose((rows.T * values) @ rows, root.T @ root, atol=1e-12 * known[0])


def test_fewer_rows_than_columns(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGE", 2)
    values, rows = spectrum(rng.normal(size=(3, 5)))
    assert values.shape == (3,) and rows.shape == (3, 5)
