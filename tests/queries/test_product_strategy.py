"""Products of strategies: their figures against the dense matrix, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from highdim.unions import SMALL, union
from tolerances import RECOMPUTED

from mmopt.errors import OptionError
from mmopt.queries import ProductStrategy, Strategy
from mmopt.queries import factor as f


@pytest.mark.parametrize("norm", [1, 2])
def test_its_figures_are_those_of_the_dense_matrix(norm: int, rng: np.random.Generator) -> None:
    s = ProductStrategy((rng.normal(size=(7, 6)), rng.normal(size=(3, 3))), norm)
    dense = Strategy(s.matrix, norm)
    assert (s.p, s.n) == (dense.p, dense.n) == s.matrix.shape
    assert s.sensitivity == pytest.approx(dense.sensitivity, rel=RECOMPUTED)
    assert s.total_error(SMALL) == pytest.approx(dense.total_error(SMALL), rel=RECOMPUTED)
    assert s.rmse(SMALL) == pytest.approx(
        dense.sensitivity * np.sqrt(dense.mean_variance(SMALL)), rel=RECOMPUTED
    )


def test_what_it_does_not_support_has_infinite_error() -> None:
    s = ProductStrategy((np.ones((1, 6)), np.eye(3)))
    assert s.total_error(SMALL) == np.inf
    only = union((1.0, [f.total(6), f.identity(3)]))
    assert s.total_error(only) == pytest.approx(3.0)


def test_messages() -> None:
    with pytest.raises(OptionError) as other:
        ProductStrategy((np.eye(2), np.eye(3))).total_error(SMALL)
    words = "the strategy is a product over (2, 3) values, the workload is over (6, 3) values"
    assert str(other.value) == words
    with pytest.raises(OptionError) as none:
        ProductStrategy(())
    assert str(none.value) == "a product strategy needs at least one factor, found none"
    with pytest.raises(OptionError) as norm:
        ProductStrategy((np.eye(2),), 3)
    assert str(norm.value) == "the strategy's norm is 3, expected 1 (Laplace) or 2 (Gaussian)"
