"""Haar wavelet, hierarchies and ranges of one width, where their closed forms matter."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import ROUNDING

from mmopt import limits
from mmopt.errors import TooLargeError, WorkloadError
from mmopt.strategies import Strategy
from mmopt.workloads import Attribute, Bins
from mmopt.workloads.blocks import factor_blocks as f


def test_haar_of_four():
    np.testing.assert_array_equal(
        f.haar(4).matrix(), [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]
    )


@pytest.mark.parametrize("levels", range(8))
def test_haar_rows_are_orthogonal_and_have_the_known_sensitivity(levels):
    n = 2**levels
    Q = f.haar(n).matrix()
    assert Q.shape == (n, n)
    gram = Q @ Q.T
    np.testing.assert_array_equal(gram, np.diag(np.diag(gram)))
    assert Strategy(Q, norm=1).sensitivity == 1 + levels
    assert Strategy(Q, norm=2).sensitivity == pytest.approx(np.sqrt(1 + levels), rel=1e-15)


def test_hierarchy_of_four_and_of_seven_in_threes():
    np.testing.assert_array_equal(
        f.hierarchy(4).matrix(),
        [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    )
    seven = f.hierarchy(7, branching=3).matrix()
    np.testing.assert_array_equal(seven[:4].sum(axis=1), [7, 3, 2, 2])
    np.testing.assert_array_equal(seven[4:], np.eye(7))


@pytest.mark.parametrize("branching", [2, 3, 4, 7])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 13, 16, 27, 64])
def test_hierarchy_asks_every_block_once_and_has_the_known_sensitivity(n, branching):
    H = f.hierarchy(n, branching).matrix()
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


@pytest.mark.parametrize("branching", [2, 3, 10])
def test_a_hierarchys_root_keeps_small_singular_values(branching):
    """The largest and the smallest ones: of an evenly split hierarchy each level adds its block size."""
    n = branching**3
    values = np.linalg.svd(f.hierarchy(n, branching).root(), compute_uv=False)
    squares = [1.0]  # the eigenvalues, coarse to fine: sums of the sizes of the blocks below
    for level in range(1, 4):
        squares.append(squares[-1] + branching**level)
    counts = [n - n // branching, n // branching - n // branching**2, n // branching**2 - 1, 1]
    expected = np.sqrt(np.repeat(squares, counts))[::-1]
    np.testing.assert_allclose(values, expected, rtol=100 * ROUNDING)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("branching", [2, 3, 20])
def test_many_or_few_parts(n, branching):
    rows = f.hierarchy(n, branching).matrix()
    np.testing.assert_array_equal(rows[0], np.ones(n))
    assert (f.hierarchy(n, branching).gram() == rows.T @ rows).all()
    if branching >= n > 1:
        np.testing.assert_array_equal(rows[1:], np.eye(n))


def test_the_haar_gram_at_size():
    """Orthogonal rows, so the squares of its entries add up to the sum of the squared row norms' squares."""
    n = 512
    factor = f.haar(n)
    norms = factor.squared_norms()
    assert np.square(factor.gram()).sum() == np.square(norms).sum()
    np.testing.assert_allclose(factor.apply(factor.adjoint(np.ones(n))), norms)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 64, 99, 100])
def test_windows_of_small_numbers_beside_large_ones(width):
    """Sums of small numbers keep their digits beside a number that would wipe them out."""
    x = np.full(100, 1e-3)
    x[0] = 1e17
    sums = f.width_range(100, width).apply(x)
    np.testing.assert_allclose(sums[1:], width * 1e-3, rtol=ROUNDING)


@pytest.mark.parametrize("width", range(1, 9))
def test_merged_cells_of_wide_ranges(width):
    """With width k over n cells the cells that all ranges hold are one class: n - 2 (n - k) if positive."""
    n = 8
    classes = f.width_range(n, width).classes()
    held = max(1, n - 2 * (n - width))
    assert len(set(classes.tolist())) == n - held + 1


def test_labels():
    age = Attribute("age", ("a", "b", "c", "d"), encoding=Bins((0, 18, 25, 65, 99.5)))
    assert f.width_range(4, 3).labels(age) == ["0 <= age < 65", "18 <= age < 99.5"]
    assert f.width_range(4, 1).labels(age)[0] == "0 <= age < 18"
    assert f.hierarchy(4).labels(age)[:3] == ["", "0 <= age < 25", "25 <= age < 99.5"]
    assert f.haar(4).labels(age)[:3] == [
        "",
        "0 <= age < 25 minus 25 <= age < 99.5",
        "0 <= age < 18 minus 18 <= age < 25",
    ]
    state = Attribute("state", ("AK", "AL", "AR"))
    assert f.hierarchy(3).labels(state) == ["", "state from AK to AL", "state=AR", "state=AK", "state=AL"]
    assert f.reordered(f.prefix(3), [2, 0, 1]).labels(state) == [
        "state up to AR (reordered)",
        "state up to AK (reordered)",
        "state up to AL (reordered)",
    ]
    assert f.reordered(f.total(3), [2, 0, 1]).labels(state) == [""]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: f.width_range(3, 0), "ranges of 0 cells over 3 cells, expected a width from 1 to 3"),
        (lambda: f.width_range(3, 4), "ranges of 4 cells over 3 cells, expected a width from 1 to 3"),
        (lambda: f.hierarchy(3, 1), "the hierarchy's branching is 1, expected 2 or more"),
        (
            lambda: f.haar(6),
            "the Haar wavelet needs a power of two, found 6 cells\n  the nearest are 4 and 8",
        ),
    ],
)
def test_errors(make, text):
    with pytest.raises(WorkloadError) as caught:
        make()
    assert str(caught.value) == text


def test_a_hierarchy_holds_the_ends_of_its_blocks(monkeypatch):
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 400 - 1)
    with pytest.raises(TooLargeError) as caught:
        f.hierarchy(100)
    assert caught.value.message.startswith("the list of the blocks of hierarchy(100, 2) has 200 × 2 entries")
