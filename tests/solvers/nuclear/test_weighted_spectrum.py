"""Small singular values keep their digits where small weights made them small."""

import itertools
from fractions import Fraction

import array_api_compat
import array_api_strict
import numpy as np
import pytest
import tolerances

from mmopt.solvers.nuclear import weighted_spectrum as module
from mmopt.solvers.nuclear.weighted_spectrum import decomposed as from_vectors

SHAPES = [(1, 1), (4, 4), (9, 5), (5, 9)]


def decomposed(k: np.ndarray) -> tuple[np.ndarray, ...]:
    xp = array_api_compat.array_namespace(k)
    vectors = xp.linalg.eigh(k @ k.T if k.shape[0] < k.shape[1] else k.T @ k)[1]
    return from_vectors(xp.asarray(k, copy=True), vectors)


def test_it_is_a_decomposition(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for shape, most in itertools.product(SHAPES, [0, 256]):
        with subtests.test(shape=shape, most=most), pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "MOST_JACOBI_COLUMNS", most)
            k = rng.normal(size=shape)
            left, values, right = decomposed(k)
            count = min(shape)
            assert left.shape == (shape[0], count) and right.shape == (shape[1], count)
            np.testing.assert_allclose((left * values) @ right.T, k, atol=tolerances.FINE)
            np.testing.assert_allclose(left.T @ left, np.eye(count), atol=tolerances.FINE)
            np.testing.assert_allclose(right.T @ right, np.eye(count), atol=tolerances.FINE)
            assert (np.diff(values) >= 0).all()


def test_another_library(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for shape in SHAPES:
        with subtests.test(shape=shape):
            k = rng.normal(size=shape)
            found = [np.asarray(part) for part in decomposed(array_api_strict.asarray(k))]
            np.testing.assert_allclose((found[0] * found[1]) @ found[2].T, k, atol=tolerances.FINE)


def test_small_values_are_right_next_to_themselves(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Their product is the determinant, whole numbers times powers of two."""
    for turned in [False, True]:
        with subtests.test(turned=turned):
            whole = rng.integers(-9, 10, size=(5, 5))
            scales = [2.0 ** (-16 * i) for i in range(5)]
            k = whole * np.array(scales)
            if turned:
                k = k.T.copy()
            _, values, _ = decomposed(k)
            determinant = Fraction(round(float(np.linalg.det(whole)))) * np.prod(
                [Fraction(s) for s in scales]
            )
            product = np.prod([Fraction(float(v)) for v in values])
            assert determinant and abs(product / abs(determinant) - 1) < tolerances.FINE
