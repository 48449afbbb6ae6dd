"""The privacy cost at which a strategy meets all targets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from strategies.asked import random_asked, with_targets
from tolerances import FINE, GAP_INTERIOR

from mmopt import Strategy, Workload, solve
from mmopt.strategies import largest_ratio, privacy_cost


def test_of_a_small_strategy() -> None:
    """Noise on two cells answers them with variance 1 and the total with 2: targets 4, none and 1."""
    w = Workload.from_matrix([[1, 0], [0, 1], [1, 1]], targets=[4.0, math.inf, 1.0])
    assert privacy_cost(Strategy(np.eye(2)), w) == pytest.approx(math.sqrt(2.0), rel=FINE)
    assert privacy_cost(Strategy(3 * np.eye(2), norm=1), w) == pytest.approx(math.sqrt(2.0), rel=FINE)
    assert largest_ratio(np.array([8.0, 1e9, 1.0]), w) == 2.0
    assert privacy_cost(Strategy([[1.0, 0.0]]), w) == math.inf


def test_without_targets_there_is_none() -> None:
    w = Workload.from_matrix(np.eye(2))
    assert not w.has_targets
    assert privacy_cost(Strategy(np.eye(2)), w) is None and largest_ratio(np.ones(2), w) is None


@pytest.mark.draws(4)
def test_it_is_the_objective_of_fitness_for_use(rng: np.random.Generator) -> None:
    w = with_targets(random_asked(rng), rng)
    assert w.has_targets
    s = solve(w, "fitness_for_use")
    cost = privacy_cost(s.strategy, w)
    assert cost is not None and cost**2 == pytest.approx(s.objective, rel=GAP_INTERIOR)
    other = privacy_cost(solve(w, "l2_strategy").strategy, w)
    assert s.bound is not None and other is not None and other**2 >= s.bound * (1 - FINE)
