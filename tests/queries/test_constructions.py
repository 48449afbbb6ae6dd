from __future__ import annotations

import numpy as np
import pytest

from mmopt.errors import OptionError, TooLargeError
from mmopt.queries import Strategy, Workload
from mmopt.queries.constructions import CONSTRUCTIONS, haar, hierarchy, identity


def test_haar_of_four():
    np.testing.assert_array_equal(haar(4), [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]])


@pytest.mark.parametrize("levels", range(8))
def test_haar_rows_are_orthogonal_and_have_the_known_sensitivity(levels):
    n = 2**levels
    Q = haar(n)
    assert Q.shape == (n, n)
    gram = Q @ Q.T
    np.testing.assert_array_equal(gram, np.diag(np.diag(gram)))
    assert Strategy(Q, norm=1).sensitivity == 1 + levels
    assert Strategy(Q, norm=2).sensitivity == pytest.approx(np.sqrt(1 + levels), rel=1e-15)


def test_hierarchy_of_four_and_of_seven_in_threes():
    np.testing.assert_array_equal(
        hierarchy(4),
        [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    )
    seven = hierarchy(7, branching=3)
    np.testing.assert_array_equal(seven[:4].sum(axis=1), [7, 3, 2, 2])
    np.testing.assert_array_equal(seven[4:], np.eye(7))


@pytest.mark.parametrize("branching", [2, 3, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 13, 16, 27, 64])
def test_hierarchy_asks_every_block_once_and_has_the_known_sensitivity(n, branching):
    H = hierarchy(n, branching)
    depth = next(d for d in range(n) if branching**d >= n)
    assert Strategy(H, norm=1).sensitivity == 1 + depth
    assert len({tuple(row) for row in H}) == len(H)
    assert branching > 2 or len(H) == 2 * n - 1
    # A tree: two blocks are disjoint, or the smaller lies within the larger. Every cell is a leaf.
    common, sizes = H @ H.T, H.sum(axis=1)
    assert np.all((common == 0) | (common == np.minimum.outer(sizes, sizes)))
    np.testing.assert_array_equal(H[sizes == 1].sum(axis=0), np.ones(n))
    # Each block is the sum of its parts, at most `branching` of them, whose sizes differ by one at most.
    for block, size in zip(H, sizes, strict=True):
        inside = H[(H @ block == sizes) & (sizes < size)]
        parts = inside[
            [not np.any((inside @ row == row.sum()) & (inside.sum(axis=1) > row.sum())) for row in inside]
        ]
        if size > 1:
            np.testing.assert_array_equal(parts.sum(axis=0), block)
            assert 2 <= len(parts) <= branching and np.ptp(parts.sum(axis=1)) <= 1


@pytest.mark.parametrize("n", [1, 2, 8])
def test_all_support_every_workload(n):
    w = Workload.from_matrix(np.tri(n))
    assert Strategy(haar(n)).supports(w)
    assert Strategy(hierarchy(n)).supports(w)
    assert Strategy(identity(n)).total_error(w) == pytest.approx(n * (n + 1) / 2, rel=1e-12)


def test_the_table_names_its_functions():
    assert sorted(CONSTRUCTIONS) == ["haar", "hierarchy", "identity"]
    for make in CONSTRUCTIONS.values():
        assert np.linalg.matrix_rank(make(8)) == 8


def test_errors():
    with pytest.raises(OptionError) as caught:
        haar(6)
    assert str(caught.value) == (
        "the Haar wavelet needs a power of two, found 6 cells\n  the nearest are 4 and 8"
    )
    with pytest.raises(OptionError) as caught:
        identity(0)
    assert str(caught.value) == "a strategy needs at least one cell, found 0"
    with pytest.raises(OptionError) as caught:
        hierarchy(8, branching=1)
    assert str(caught.value) == "the hierarchy's branching is 1, expected 2 or more"
    for make in (identity, hierarchy):
        with pytest.raises(TooLargeError):
            make(100_000)
