from __future__ import annotations

import numpy as np
import pytest

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.queries import Attribute, Bins, Domain
from mmopt.queries import factor as f

SIZES = (1, 2, 3, 7, 16)


def ranges(n: int) -> np.ndarray:
    rows = [[float(i <= c <= j) for c in range(n)] for i in range(n) for j in range(i, n)]
    return np.array(rows)


@pytest.mark.parametrize("n", SIZES)
def test_structured_matrices(n):
    np.testing.assert_array_equal(f.identity(n).matrix(), np.eye(n))
    np.testing.assert_array_equal(f.total(n).matrix(), np.ones((1, n)))
    np.testing.assert_array_equal(f.prefix(n).matrix(), np.tri(n))
    np.testing.assert_array_equal(f.all_range(n).matrix(), ranges(n))


def check_against_dense(factor, rng):
    dense = factor.matrix()
    n = factor.size
    assert dense.shape == (factor.rows, n)
    np.testing.assert_allclose(factor.gram(), dense.T @ dense, rtol=1e-12, atol=1e-12)
    root = factor.root()
    assert root.shape[0] <= min(factor.rows, n)
    np.testing.assert_allclose(root.T @ root, dense.T @ dense, rtol=1e-12, atol=1e-11)
    x = rng.integers(-9, 9, size=(2, 3, n)).astype(float)
    np.testing.assert_allclose(factor.apply(x), x @ dense.T, atol=1e-9)
    np.testing.assert_allclose(factor.squared_norms(), np.square(dense).sum(axis=1))
    index = rng.integers(0, factor.rows, size=5)
    np.testing.assert_array_equal(factor.take(index), dense[index])
    if factor.full_rank:
        assert np.linalg.matrix_rank(dense) == n
    spanning = factor.spanning().matrix()
    assert np.linalg.matrix_rank(spanning) == np.linalg.matrix_rank(dense)
    assert np.linalg.matrix_rank(np.vstack([spanning, dense])) == np.linalg.matrix_rank(dense)
    classes = factor.classes()
    for i in range(n):
        assert (classes[i] == -1) == (not dense[:, i].any())
        for j in range(n):
            same = np.array_equal(dense[:, i], dense[:, j])
            assert (classes[i] == classes[j]) == same


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("make", [f.identity, f.total, f.prefix, f.all_range])
def test_structured_factors_agree_with_their_matrix(make, n):
    check_against_dense(make(n), np.random.default_rng(n))


@pytest.mark.parametrize("seed", range(40))
def test_random_factors_agree_with_their_matrix(random_factor, seed):
    rng = np.random.default_rng(seed)
    check_against_dense(random_factor(rng, int(rng.integers(1, 7)), depth=2), rng)


def test_closed_form_grams_at_size():
    # Sums over all entries, exact: Σ (n - max) and the all-range Gram's Σ = Σ over ranges of length².
    n = 300
    assert f.prefix(n).gram().sum() == sum(i * i for i in range(1, n + 1))
    assert f.all_range(n).gram().sum() == sum((n - k + 1) * k * k for k in range(1, n + 1))


def test_root_of_all_ranges_keeps_small_singular_values():
    n = 512
    values = np.linalg.svd(f.all_range(n).root(), compute_uv=False)
    exact = np.sqrt(n + 1) / (2 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1))))
    np.testing.assert_allclose(values, exact, rtol=1e-12)


def test_many_predicates_on_few_cells():
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 2, size=(5000, 6)).astype(float)
    matrix[:, 0] = 1
    check_against_dense(f.predicates(matrix), rng)
    assert f.predicates(matrix).root().shape == (6, 6)


@pytest.mark.parametrize("n", [1, 2, 5, 100_000])
def test_ends_of_ranges_at_both_ends(n):
    factor = f.all_range(n)
    low, high = factor.ends(np.array([0, factor.rows - 1]))
    assert (low.tolist(), high.tolist()) == ([0, n - 1], [0, n - 1])


def test_labels():
    age = Attribute("age", ("[0, 18)", "[18, 25)", "[25, 99.5)"), encoding=Bins((0, 18, 25, 99.5)))
    assert f.identity(3).labels(age) == ["age in [0, 18)", "age in [18, 25)", "age in [25, 99.5)"]
    assert f.prefix(3).labels(age) == ["age < 18", "age < 25", "age < 99.5"]
    assert f.all_range(3).labels(age)[:3] == ["0 <= age < 18", "0 <= age < 25", "0 <= age < 99.5"]
    assert f.total(3).labels(age) == [""]
    adults = f.predicates([[0, 1, 1]], ["adult"])
    assert adults.labels(age) == ["age in adult"]
    assert f.union(f.total(3), adults).labels(age) == ["", "age in adult"]
    assert f.predicates([[0, 1, 1]]).labels(age) == ["age in predicate 0"]

    educ = Domain.anonymous(3).attribute("cell")
    assert f.prefix(3).labels(educ) == ["cell <= 0", "cell <= 1", "cell <= 2"]
    assert f.all_range(3).labels(educ)[:4] == ["cell=0", "0 <= cell <= 1", "0 <= cell <= 2", "cell=1"]

    state = Attribute("state", ("AK", "AL", "AR"))
    assert f.identity(3).labels(state) == ["state=AK", "state=AL", "state=AR"]
    assert f.prefix(3).labels(state) == ["state up to AK", "state up to AL", "state up to AR"]
    assert f.all_range(3).labels(state)[:2] == ["state=AK", "state from AK to AL"]


def test_numbers_out_of_order_are_not_compared():
    from mmopt.queries import Values

    code = Attribute("code", ("3", "1"), encoding=Values((3, 1)))
    assert f.prefix(2).labels(code) == ["code up to 3", "code up to 1"]


def test_factors_compare_by_what_they_ask():
    assert f.prefix(4) == f.prefix(4)
    assert f.prefix(4) != f.identity(4)
    assert f.predicates([[1, 0]], ["a"]) == f.predicates([[1, -0.0]], ["b"])
    assert f.predicates([[1, 0]]) != f.predicates([[1, 1]])
    assert len({f.union(f.total(2), f.prefix(2)), f.union(f.total(2), f.prefix(2)), f.total(2)}) == 2
    assert repr(f.union(f.total(2), f.predicates([[1, 0]]))) == "union(total(2), predicates(1 × 2))"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: f.identity(0), "a query block needs at least one cell, found 0"),
        (f.union, "a union needs at least one query block, found none"),
        (
            lambda: f.union(f.total(2), f.total(3)),
            "a union joins query blocks of 2 and 3 cells, expected equal sizes",
        ),
        (lambda: f.predicates([[1, 0]], ["a", "b"]), "1 predicates have 2 labels"),
        (
            lambda: f.predicates([[1, 0], [0, 0]], ["a", "none"]),
            "query 1 ('none') is all zero\n  leave it out: its answer is 0",
        ),
    ],
)
def test_errors(make, text):
    with pytest.raises(WorkloadError) as caught:
        make()
    assert str(caught.value) == text


def test_too_large_a_matrix_is_refused():
    with pytest.raises(TooLargeError) as caught:
        f.all_range(4096).matrix()
    assert str(caught.value) == (
        "the matrix of all_range(4096) has 8,390,656 × 4,096 entries, 256.1 GiB; the limit is 4 GiB"
    )
