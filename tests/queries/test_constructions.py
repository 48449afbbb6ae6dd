from __future__ import annotations

import numpy as np
import pytest

from mmopt.errors import OptionError, TooLargeError
from mmopt.queries import Strategy, Workload
from mmopt.queries.constructions import CONSTRUCTIONS, haar, identity


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


@pytest.mark.parametrize("n", [1, 2, 8])
def test_both_support_every_workload(n):
    w = Workload.from_matrix(np.tri(n))
    assert Strategy(haar(n)).supports(w)
    assert Strategy(identity(n)).total_error(w) == pytest.approx(n * (n + 1) / 2, rel=1e-12)


def test_the_table_names_its_functions():
    assert sorted(CONSTRUCTIONS) == ["haar", "identity"]
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
    with pytest.raises(TooLargeError):
        identity(100_000)
