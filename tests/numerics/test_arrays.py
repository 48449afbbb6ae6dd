"""Roots, norms and pseudo-inverses are those of exact matrices, and cheap ways agree with decompositions.

Guards arrays.py and float_functions.py.
"""

import itertools
from fractions import Fraction

import array_api_compat
import array_api_strict
import numpy as np
import pytest
import tolerances
from exact_arithmetic import conditioned
from query_rows import haar

from mmopt.errors import TimeLimitError, TooLargeError
from mmopt.limits import deadline
from mmopt.numerics import arrays, float_functions
from mmopt.numerics.arrays import (
    EPS,
    eigen,
    graded,
    largest_singular_value,
    lengths,
    panels,
    pinv,
    pseudo_factors,
    qr,
    rank,
    spectrum,
    stacked_root,
)
from mmopt.numerics.float_functions import (
    EIGENVALUE_FLOOR,
    eigh,
    is_definite,
    length,
    psd_floor,
    symmetric_part,
)

SHAPES = [(1, 1), (3, 1), (1, 3), (4, 3), (3, 3), (1, 0), (0, 2)]


def test_a_root_of_a_sum(rng: np.random.Generator) -> None:
    for counts, columns in itertools.product([[1], [2, 1], [5], [1, 1, 1]], [1, 2]):
        blocks = [rng.normal(size=(count, columns)) for count in counts]
        root = stacked_root(iter(blocks), columns)
        assert len(root) == min(sum(counts), columns)
        np.testing.assert_allclose(root.T @ root, sum(b.T @ b for b in blocks), rtol=tolerances.FINE)
    for size in (1e200, 1e-200):  # of one column it neither overflows nor loses digits
        root = stacked_root([np.array([[3 * size], [4 * size]])], 1)
        np.testing.assert_allclose(root, [[5 * size]], rtol=tolerances.ROUNDING)


def test_largest_singular_value(rng: np.random.Generator) -> None:
    for shape in SHAPES:
        a = rng.normal(size=shape)
        expected = float(np.linalg.svd(a)[1].max(initial=0.0))
        assert 0.9 * expected <= largest_singular_value(a) <= expected * (1 + tolerances.ROUNDING), shape
    assert largest_singular_value(np.zeros((3, 2))) == 0.0


def test_a_long_factorisation_looks_at_the_time(
    subtests: pytest.Subtests, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_PANEL_COLUMNS", 9)
    matrices = [rng.standard_normal(shape) for shape in ((90, 40), (40, 90), (50, 50))]
    for matrix, overwrite in itertools.product(matrices, (False, True)):
        with subtests.test(shape=matrix.shape, overwrite=overwrite):
            triangle = qr(np.array(matrix, order="F"), overwrite)
            assert triangle.shape == (min(matrix.shape), matrix.shape[1])
            assert not np.tril(triangle, -1).any()
            np.testing.assert_allclose(triangle.T @ triangle, matrix.T @ matrix, rtol=0, atol=1e-12)
    monkeypatch.setattr("mmopt.limits.GRACE", -1.0)
    for matrix in matrices:
        with deadline(1e-9), pytest.raises(TimeLimitError):
            qr(matrix)


def test_definite_by_cholesky(rng: np.random.Generator) -> None:
    x = conditioned(rng, 6, 1e6)
    assert is_definite(x) and is_definite(x, 0.9e-6)
    assert not is_definite(x, 1.1e-6) and not is_definite(-x)
    for bad, at in itertools.product((np.nan, np.inf), ((0, 0), (5, 5), (3, 1))):
        broken = x.copy()
        broken[at] = broken[at[::-1]] = bad
        assert not is_definite(broken)
    assert not is_definite(x, np.nan) and not is_definite(x, -np.inf)


@pytest.mark.quick
def test_a_length_is_not_lost_with_its_squares(rng: np.random.Generator) -> None:
    for axis in (None, 0, 1):
        a = rng.normal(size=(4, 3))
        scale = 10.0 ** rng.uniform(-280.0, -150.0)
        assert length(scale * a, axis) / scale == pytest.approx(np.linalg.norm(a, axis=axis), rel=1e-12)
        assert not np.any(length(0.0 * a, axis)) and np.shape(length(a, axis)) == np.shape(a.sum(axis=axis))
    mixed = np.array([[3.0, 3e-200], [4.0, 4e-200]])
    assert np.allclose(length(mixed, 0), [5.0, 5e-200], rtol=1e-12, atol=0.0)


def test_the_symmetric_part_is_the_matrix_itself_where_it_can_be(rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 4))
    y = x + x.T
    assert symmetric_part(y) is y
    assert np.array_equal(symmetric_part(x), (x + x.T) / 2)


def test_eigenvalues_are_lifted_to_the_floor(rng: np.random.Generator) -> None:
    for least in (1e-3, 2e-10, 0.5e-10, 0.0, -1e-9, -1.0):
        q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
        values = np.array([1.0, 0.7, 0.5, 0.1, least])
        x = (q * values) @ q.T
        lifted = psd_floor(x)
        found = np.linalg.eigvalsh(lifted)
        assert found[0] == pytest.approx(max(least, EIGENVALUE_FLOOR), rel=1e-4)
        assert found[1:] == pytest.approx(np.sort(values)[1:], rel=1e-9)
        assert least < EIGENVALUE_FLOOR or np.array_equal(lifted, symmetric_part(x))


def test_eigenvalues_of_one_entry() -> None:
    matrix = np.array([[-2.5]])
    values, vectors = eigh(matrix)
    assert values.tolist() == [-2.5] and vectors.tolist() == [[1.0]]
    values[0] = 0.0
    assert matrix[0, 0] == -2.5, "the matrix is nobody else's"
    assert np.isnan(eigh(np.array([[np.nan]]))[0]).all()


def test_pseudo_inverses_and_ranks_are_those_of_singular_values(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    matrices = {
        "orthonormal": np.linalg.qr(rng.normal(size=(9, 9)))[0][:6],
        "orthogonal columns": 3.0 * np.linalg.qr(rng.normal(size=(9, 9)))[0][:, :4],
        "wavelet": haar(16),
        "wide": rng.normal(size=(5, 8)),
        "tall": rng.normal(size=(8, 5)),
        "scaled rows": rng.normal(size=(6, 6)) * 10 ** rng.uniform(-5, 5, size=(6, 1)),
        "nearly dependent": np.vstack([np.eye(3, 4), np.eye(1, 4) + 1e-9 * np.ones((1, 4))]),
        "dependent": rng.normal(size=(6, 2)) @ rng.normal(size=(2, 7)),
        "equal rows": np.ones((3, 4)),
        "orthogonal, one as good as zero": np.diag([1.0, 1.0, 1e-14]),
        "zeros": np.zeros((2, 3)),
        "one number": np.array([[2.0]]),
    }
    for kind, matrix in matrices.items():
        with subtests.test(kind):
            expected = np.linalg.pinv(matrix, rcond=8 * max(matrix.shape) * EPS)
            values = np.linalg.svd(matrix, compute_uv=False)
            kept = values[values > 8 * max(matrix.shape) * EPS * values[0]]
            condition = kept[0] / kept[-1] if len(kept) else 1.0
            off = np.linalg.norm(pinv(matrix) - expected)
            assert off <= 1e-13 * condition * np.linalg.norm(expected)
            assert rank(matrix) == np.linalg.matrix_rank(matrix)
    for shape in ((2, 3), (3, 2)):
        assert np.isnan(pinv(np.full(shape, np.inf))).all()


def test_factors_of_a_pseudo_inverse(subtests: pytest.Subtests) -> None:
    """By QR where the rank is full beyond doubt, else by singular values."""
    sizes = [(1, 1, 1), (3, 1, 1), (5, 5, 5), (8, 5, 5), (3, 7, 3), (9, 6, 4), (4, 6, 2), (1, 4, 1)]
    for (rows, cells, full), condition in itertools.product(sizes, [1e0, 1e5, 1e9]):
        with subtests.test(rows=rows, cells=cells, rank=full, condition=condition):
            rng = np.random.default_rng(rows)
            left, right = (np.linalg.qr(rng.normal(size=(k, k)))[0][:, :full] for k in (rows, cells))
            s = np.geomspace(1.0, 1.0 / condition, full)
            inverse, null = pseudo_factors((left * s) @ right.T)
            expected = (right / s**2) @ right.T
            assert inverse.shape == (cells, full) and null.shape == (cells, cells - full)
            np.testing.assert_allclose(inverse @ inverse.T, expected, rtol=0, atol=1e-5 * expected.max())
            np.testing.assert_allclose(null.T @ null, np.eye(cells - full), atol=1e-13)
            np.testing.assert_allclose(right.T @ null, 0, atol=1e-15 * condition + 1e-13)
    inverse, null = pseudo_factors(np.zeros((1, 1)))
    assert inverse.shape == (1, 0) and np.abs(null).tolist() == [[1.0]]
    with pytest.raises(TooLargeError, match=r"the null space of a matrix has 30,000 × 30,000 entries"):
        pseudo_factors(np.ones((1, 30_000)))


LIBRARIES = [np, array_api_strict]


def decomposed(k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    xp = array_api_compat.array_namespace(k)
    vectors = xp.linalg.eigh(k.T @ k)[1]
    y = k @ vectors
    sizes, turned = graded(y, vectors)
    return np.asarray(y), np.asarray(sizes), np.asarray(vectors), turned


def test_graded_columns_are_a_decomposition(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    shapes = [(1, 1), (5, 5), (9, 5), (40, 30)]
    for library, shape, decades in itertools.product(LIBRARIES, shapes, [0, 6, 12]):
        with subtests.test(library=library.__name__, shape=shape, decades=decades):
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


def test_what_is_only_rounding_has_no_direction(rng: np.random.Generator) -> None:
    for r in (1, 3):
        y, sizes, _, turned = decomposed(rng.normal(size=(12, r)) @ rng.normal(size=(r, 8)))
        assert turned == 8 - r and not y[:, :turned].any()
        assert (sizes[:turned] <= tolerances.ROUNDING * sizes.max()).all()


def test_eigenvectors_in_place(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for library, count in itertools.product(LIBRARIES, [1, 2, 64, 65, 130]):
        with subtests.test(library=library.__name__, count=count):
            k = rng.normal(size=(count + 3, count))
            gram = k.T @ k
            own = library.asarray(gram.copy())
            values, vectors = (np.asarray(found) for found in eigen(own))
            np.testing.assert_allclose((vectors * values) @ vectors.T, gram, atol=1e-9 * values[-1])
            np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=tolerances.FINE)
            assert (np.diff(values) >= 0).all()
            assert library is not np or (np.shares_memory(own, vectors) and vectors.flags.c_contiguous)
    with pytest.raises(np.linalg.LinAlgError):
        eigen(np.full((3, 3), np.nan))


def test_lengths_a_panel_at_a_time(rng: np.random.Generator) -> None:
    y = rng.normal(size=(1100, 3))
    np.testing.assert_allclose(lengths(y), np.linalg.norm(y, axis=0), rtol=tolerances.ROUNDING)
    assert [(one.start, one.stop) for one in panels(5, 2)] == [(0, 2), (2, 4), (4, 5)]


def test_squared_singular_values_and_their_vectors(
    subtests: pytest.Subtests, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 40
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    roots = {
        "prefix": np.tri(n),
        "tall": rng.normal(size=(90, n)),
        "repeated": np.vstack([np.eye(n), np.ones((1, n))]),
        "spread over four decades": (left * 10.0 ** -np.linspace(0, 4, n)) @ right,
        "spread over twelve decades": (left * 10.0 ** -np.linspace(0, 12, n)) @ right,
    }
    known = {kind: spectrum(root)[0] for kind, root in roots.items()}
    monkeypatch.setattr(arrays, "COLUMNS_FOR_GRAM", 2)
    for kind, root in roots.items():
        with subtests.test(kind):
            values, rows = spectrum(root)
            most = known[kind][0]
            assert (np.diff(values) <= 0).all()
            np.testing.assert_allclose(rows @ rows.T, np.eye(n), atol=1e-13)
            # To rounding next to the largest singular value.
            np.testing.assert_allclose(
                np.sqrt(values), np.sqrt(known[kind]), rtol=1e-11, atol=1e-14 * most**0.5
            )
            image = root @ rows.T
            np.testing.assert_allclose(image.T @ image, np.diag(values), atol=1e-13 * most)
            np.testing.assert_allclose((rows.T * values) @ rows, root.T @ root, atol=1e-12 * most)
    values, rows = spectrum(rng.normal(size=(3, 5)))
    assert values.shape == (3,) and rows.shape == (3, 5)


def test_a_root_keeps_rows_of_zeros(rng: np.random.Generator) -> None:
    """A psd line asks of a cell that no query counts that its whole row is zero."""
    for _ in range(30):
        n = int(rng.integers(3, 8))
        queries = rng.integers(0, 2, (n + 1, n)).astype(float)
        queries[:, int(rng.integers(n))] = 0.0
        gram = queries.T @ queries
        found = float_functions.root(gram)
        assert not found[~gram.any(axis=0)].any()
        assert np.allclose(found @ found, gram)
