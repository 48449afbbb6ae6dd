"""Example 4 of PVLDB 2012: the root mean squared errors that it prints, from the total errors."""

import math

import numpy as np
import pytest
from named_workloads import EXAMPLE_4
from tolerances import PAPER_RMSE

from mmopt import Strategy, solve
from mmopt.strategies.baselines import baseline
from mmopt.testing.problem_registry import Figure, holds

FACTOR = math.sqrt(math.log2(2 / 1e-4)) / 0.5
"""The paper's noise at epsilon 0.5 and delta 1e-4, for a sensitivity of 1."""


def test_example_4_fixed_strategies(subtests: pytest.Subtests) -> None:
    for name, value, printed in (("identity", 36.0, 45.36), ("haar", 21.0, 34.62)):
        with subtests.test(name):
            error = baseline(name, EXAMPLE_4).total_error(EXAMPLE_4)
            assert error == pytest.approx(value, rel=1e-12)
            assert holds(
                Figure(f"Example 4, {name}", "exact", printed, PAPER_RMSE), FACTOR * math.sqrt(error)
            )


def test_example_4_gaussian_mechanism() -> None:
    """Noise on the queries themselves, without least squares: 8 queries of sensitivity √5."""
    strategy = Strategy(EXAMPLE_4.matrix)
    error = EXAMPLE_4.m * strategy.sensitivity**2
    assert error == pytest.approx(40.0, rel=1e-12)
    figure = Figure("Example 4, Gaussian mechanism", "exact", 47.78, PAPER_RMSE)
    assert holds(figure, FACTOR * math.sqrt(error))
    # Least squares afterwards, which that mechanism does not do, halves it.
    assert strategy.total_error(EXAMPLE_4) == pytest.approx(20.0, rel=1e-12)


def test_example_4_optimum_and_bounds() -> None:
    best = solve(EXAMPLE_4, "l2_strategy", solver="clarabel")
    assert np.sqrt(EXAMPLE_4.eigenvalues).sum() ** 2 / 8 == pytest.approx(14.9330, abs=5e-5)
    figure = Figure("Example 4: no strategy does better", "lower", 29.18, PAPER_RMSE)
    assert holds(figure, FACTOR * math.sqrt(best.objective))


def test_example_4_adaptive_strategy() -> None:
    found = solve(EXAMPLE_4, "eigen_design", solver="clarabel")
    assert found.steps["weighting"].objective == pytest.approx(15.808, abs=1e-3)
    # The printed 29.79 is the paper's own run, near 15.53: not reproduced exactly, and not better.
    figure = Figure("Example 4, adaptive strategy", "upper", 29.79, PAPER_RMSE)
    assert holds(figure, FACTOR * math.sqrt(found.objective))
