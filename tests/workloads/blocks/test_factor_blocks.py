from __future__ import annotations

import numpy as np
import pytest
from random_workloads import random_factor
from workloads.implicit_twins import check_block

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.workloads import Attribute, Bins, Domain
from mmopt.workloads.blocks import factor_blocks as f


@pytest.mark.draws(8)
def test_random_factors_agree_with_their_matrix(rng):
    factor = random_factor(rng, int(rng.integers(1, 7)), depth=2)
    check_block(factor, factor.matrix(), rng)


def test_blocks_made_of_blocks(rng):
    for n in (1, 2, 5, 8):
        one, two = random_factor(rng, n), random_factor(rng, n)
        check_block(f.union(one, two), np.vstack([one.matrix(), two.matrix()]), rng)
        order = rng.permutation(n)
        moved = np.zeros((one.rows, n))
        moved[:, order] = one.matrix()
        check_block(f.reordered(one, order), moved, rng)


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
    matrix = rng.integers(0, 2, size=(500, 6)).astype(float)
    matrix[:, 0] = 1
    check_block(f.predicates(matrix), matrix, rng)
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
    from mmopt.workloads import Values

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
