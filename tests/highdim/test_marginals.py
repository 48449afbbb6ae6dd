"""Weights of marginals: their error against dense matrices, local optimality, and published figures."""

from __future__ import annotations

import numpy as np
import pytest
from highdim.unions import SMALL, marginal_workload, union

from mmopt import Workload
from mmopt.errors import OptionError, UnsuitableError
from mmopt.highdim import marginals
from mmopt.queries import MarginalsStrategy
from mmopt.queries import factor as f


def test_merged_values_and_values_that_nobody_asks_for() -> None:
    w = union((1.0, [f.predicates([[1, 1, 1, 0], [1, 1, 0, 0]]), f.identity(3)]))
    s = marginals(w)
    assert s.sizes == (2, 3) and s.n == 12
    assert np.isfinite(s.total_error(w)) and s.sensitivity <= 1.0


def test_no_weight_can_be_moved_to_gain(rng: np.random.Generator) -> None:
    w = marginal_workload((2, 3, 4), (1, 2))
    s = marginals(w)
    assert s.sensitivity <= 1.0
    for _ in range(20):
        moved = np.maximum(s.weights + 1e-3 * rng.normal(size=s.weights.shape), 0.0)
        other = MarginalsStrategy(s.classes, moved)
        assert other.total_error(w) >= s.total_error(w) * (1 - 1e-6)


@pytest.mark.parametrize(
    ("ways", "theirs"), [((2,), 6.3456), ((0, 1, 2, 3), 6.8454), ((0, 1, 2, 3, 4, 5), 3.9246)]
)
def test_below_the_best_that_hdmm_finds(ways: tuple[int, ...], theirs: float) -> None:
    w = marginal_workload((2, 5, 16, 20, 75), ways)
    assert marginals(w).rmse(w) < theirs


@pytest.mark.parametrize(("ways", "least"), [((0, 1, 2, 3), 311984.60), ((0, 1, 2, 3, 4, 5), 1800173.09)])
def test_gaussian_noise_is_near_the_optimum_over_all_strategies(ways: tuple[int, ...], least: float) -> None:
    """It is not always reached: marginals with negative squares would be needed."""
    w = marginal_workload((2, 5, 16, 20, 75), ways)
    s = marginals(w, norm=2)
    assert s.norm == 2 and least * (1 - 1e-6) <= s.total_error(w) <= least * 1.001


def test_messages() -> None:
    with pytest.raises(UnsuitableError):
        marginals(Workload.from_matrix(np.eye(3)))
    with pytest.raises(OptionError) as few:
        marginals(SMALL, starts=0)
    assert str(few.value) == "'starts' is at least 1, not 0"
