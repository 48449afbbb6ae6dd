"""Pseudo-inverses and ranks: the cheap ways agree with the singular value decomposition."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import array_api_compat
import array_api_strict
import numpy as np
import pytest
import tolerances
from constructed import haar

from mmopt.numerics import pseudoinverse as module
from mmopt.numerics.matrix_functions import EPS
from mmopt.numerics.pseudoinverse import eigen, graded, lengths, panels, pinv, rank, spectrum

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


LIBRARIES = [np, array_api_strict]


def decomposed(k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    xp = array_api_compat.array_namespace(k)
    vectors = xp.linalg.eigh(k.T @ k)[1]
    y = k @ vectors
    sizes, turned = graded(y, vectors)
    return np.asarray(y), np.asarray(sizes), np.asarray(vectors), turned


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (9, 5), (40, 30)])
@pytest.mark.parametrize("decades", [0, 6, 12])
def test_it_is_a_decomposition(
    library: ModuleType, shape: tuple[int, int], decades: int, rng: np.random.Generator
) -> None:
    k = rng.normal(size=shape) * 10.0 ** -np.linspace(0, decades, shape[1])
    y, sizes, vectors, turned = decomposed(library.asarray(k))
    one = np.eye(shape[1])
    np.testing.assert_allclose(y.T @ y, one, atol=tolerances.FROM_SQUARES)
    np.testing.assert_allclose(vectors.T @ vectors, one, atol=tolerances.ROUNDING)
    np.testing.assert_allclose((y * sizes) @ vectors.T, k, atol=tolerances.FINE * sizes.max())
    assert turned or decades < 12 or shape == (1, 1)


def test_small_values_are_right_next_to_themselves(rng: np.random.Generator) -> None:
    """Their product is the determinant: whole numbers times powers of two."""
    whole = rng.integers(-9, 10, size=(5, 5))
    while not round(float(np.linalg.det(whole))):
        whole = rng.integers(-9, 10, size=(5, 5))
    scales = [2.0 ** (-8 * i) for i in range(5)]
    _, values, _, turned = decomposed(whole * np.array(scales))
    exact = abs(round(float(np.linalg.det(whole)))) * np.prod([Fraction(s) for s in scales])
    assert turned and abs(np.prod([Fraction(float(v)) for v in values]) / exact - 1) < tolerances.FINE


@pytest.mark.parametrize("rank", [1, 3])
def test_what_is_only_rounding_has_no_direction(rank: int, rng: np.random.Generator) -> None:
    k = rng.normal(size=(12, rank)) @ rng.normal(size=(rank, 8))
    y, sizes, _, turned = decomposed(k)
    assert turned == 8 - rank and not y[:, :turned].any()
    assert (sizes[:turned] <= tolerances.ROUNDING * sizes.max()).all()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("count", [1, 2, 64, 65, 200])
def test_eigenvectors_in_place(library: ModuleType, count: int, rng: np.random.Generator) -> None:
    k = rng.normal(size=(count + 3, count))
    gram = k.T @ k
    own = library.asarray(gram.copy())
    values, vectors = (np.asarray(found) for found in eigen(own))
    np.testing.assert_allclose((vectors * values) @ vectors.T, gram, atol=tolerances.FINE * values[-1])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=tolerances.FINE)
    assert (np.diff(values) >= 0).all()
    assert library is not np or (np.shares_memory(own, vectors) and vectors.flags.c_contiguous)


def test_eigenvectors_of_what_is_no_number() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        eigen(np.full((3, 3), np.nan))


def test_lengths_a_panel_at_a_time(rng: np.random.Generator) -> None:
    y = rng.normal(size=(1100, 3))
    np.testing.assert_allclose(lengths(y), np.linalg.norm(y, axis=0), rtol=tolerances.ROUNDING)
    assert [(one.start, one.stop) for one in panels(5, 2)] == [(0, 2), (2, 4), (4, 5)]


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
