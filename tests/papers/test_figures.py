"""Numbers of the papers, and optima known to many digits, each marked exact, upper or lower.

exact: the value itself; upper: our value is at most it; lower: our value is at least it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from cases import all_ranges
from tolerances import FITNESS, GAP_INTERIOR, PAPER_RMSE, PRINTED, PUBLISHED

from mmopt import Strategy, Workload, solve
from mmopt.mechanism.continuous import pvldb2012_rmse_factor
from mmopt.queries.constructions import CONSTRUCTIONS

slow = pytest.mark.slow


@dataclass(frozen=True)
class Figure:
    """A known optimum of a program: where it stands, what kind of bound it is."""

    source: str
    kind: str
    value: float
    tolerance: float


def holds(figure: Figure, found: float) -> bool:
    low = found >= figure.value * (1 - figure.tolerance)
    high = found <= figure.value * (1 + figure.tolerance)
    return {"exact": low and high, "upper": high, "lower": low}[figure.kind]


PREFIX = {4: 6.874144, 8: 17.866177, 16: 45.665357, 32: 114.559703}
FITNESS_PREFIX = {2: 4 / 3, 4: 1.75860, 8: 2.28156, 16: 2.90525, 32: 3.63072}


@pytest.mark.parametrize("n", [4, 8, 16, pytest.param(32, marks=slow)])
def test_prefix_total_error(n: int) -> None:
    found = solve(Workload.from_matrix(np.tri(n)), "l2_strategy", solver="clarabel")
    figure = Figure("PODS 2010, Program 5.2, prefix sums", "exact", PREFIX[n], PUBLISHED)
    assert found.gap is not None and found.gap <= GAP_INTERIOR
    assert holds(figure, found.objective), (figure, found)


@pytest.mark.parametrize(("n", "value"), [(64, 282.20142), pytest.param(128, None, marks=slow)])
def test_prefix_first_order(n: int, value: float | None) -> None:
    found = solve(Workload.from_matrix(np.tri(n)), "l2_strategy", solver="scs")
    assert found.gap is not None and found.gap <= 1e-4
    if value is not None:
        assert found.bound is not None and found.bound <= value * (1 + 1e-7)
        assert found.objective >= value * (1 - 1e-7)


def test_all_ranges_total_error() -> None:
    found = solve(Workload.from_matrix(all_ranges(16)), "l2_strategy", solver="clarabel")
    figure = Figure("PODS 2010, Program 5.2, all ranges over 16 cells", "exact", 413.14022, PUBLISHED)
    assert holds(figure, found.objective), (figure, found)


@pytest.mark.parametrize("d", [2, 4, 8, 16, pytest.param(32, marks=slow)])
def test_fitness_table_2_prints_the_square(d: int) -> None:
    """Table 2 prints alpha, the square of the privacy cost (programs/ERRATA.md)."""
    workload = Workload.from_matrix(np.tri(d), targets=np.ones(d))
    found = solve(workload, "fitness_for_use", solver="clarabel")
    figure = Figure("PVLDB 2021, Table 2", "exact", FITNESS_PREFIX[d], FITNESS)
    assert holds(figure, found.objective), (figure, found)
    assert found.privacy_cost == pytest.approx(math.sqrt(found.objective), rel=1e-9)


@pytest.mark.parametrize("gamma", [1.0, 3.5])
@pytest.mark.parametrize("d", [5, 9])
def test_fitness_theorem_7(d: int, gamma: float) -> None:
    """Identity plus total, equal targets: alpha = 2 d / ((1 + d) gamma) for d >= 5."""
    workload = Workload.from_matrix(np.vstack([np.eye(d), np.ones((1, d))]), targets=gamma)
    found = solve(workload, "fitness_for_use", solver="clarabel")
    figure = Figure("PVLDB 2021, Theorem 7", "exact", 2 * d / ((1 + d) * gamma), FITNESS)
    assert holds(figure, found.objective), (figure, found)


@pytest.mark.parametrize(("t", "cost"), [(2, 1.47731), pytest.param(4, 1.86330, marks=slow)])
def test_marginals_privacy_cost(t: int, cost: float) -> None:
    """All one- and two-way marginals over t³ cells, equal targets: Table 10 of PVLDB 2021."""
    eye, one = np.eye(t), np.ones((1, t))
    parts = [[eye if bit else one for bit in bits] for bits in np.ndindex(2, 2, 2) if 0 < sum(bits) < 3]
    rows = np.vstack([np.kron(np.kron(a, b), c) for a, b, c in parts])
    found = solve(Workload.from_matrix(rows, targets=1.0), "fitness_for_use", tolerance=GAP_INTERIOR)
    figure = Figure("PVLDB 2021, Table 10", "exact", cost, PRINTED)
    assert holds(figure, found.privacy_cost), (figure, found)


def test_prefix_eigen_design() -> None:
    found = solve(Workload.from_matrix(np.tri(8)), "eigen_design", solver="clarabel")
    assert found.objective == pytest.approx(20.888, abs=1e-3)
    assert found.steps["weighting"].objective == pytest.approx(22.931, abs=1e-3)
    # Completing the columns goes below the bound of its own step, so that is no bound on the result.
    step = found.steps["weighting"].bound
    assert step is not None and found.bound is not None
    assert found.bound <= found.objective < step


# Figure 1 (b) of PVLDB 2012: students by gender and grade.
EXAMPLE_4 = Workload.from_matrix(
    [
        [1, 1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 1, 1],
        [1, 1, 0, 0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 1, 1],
        [1, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, -1, -1, -1, -1],
    ]
)


@pytest.mark.parametrize(("name", "value", "printed"), [("identity", 36.0, 45.36), ("haar", 21.0, 34.62)])
def test_example_4_fixed_strategies(name: str, value: float, printed: float) -> None:
    error = Strategy(CONSTRUCTIONS[name](8)).total_error(EXAMPLE_4)
    assert error == pytest.approx(value, rel=1e-12)
    factor = pvldb2012_rmse_factor(epsilon=0.5, delta=1e-4)
    assert factor * math.sqrt(error) == pytest.approx(printed, rel=PAPER_RMSE)


def test_example_4_gaussian_mechanism() -> None:
    """Noise on the queries themselves, without least squares: 8 queries of sensitivity √5."""
    strategy = Strategy(EXAMPLE_4.matrix)
    error = EXAMPLE_4.m * strategy.sensitivity**2
    assert error == pytest.approx(40.0, rel=1e-12)
    factor = pvldb2012_rmse_factor(epsilon=0.5, delta=1e-4)
    assert factor * math.sqrt(error) == pytest.approx(47.78, rel=PAPER_RMSE)
    # Least squares afterwards, which that mechanism does not do, halves it.
    assert strategy.total_error(EXAMPLE_4) == pytest.approx(20.0, rel=1e-12)


def test_example_4_optimum_and_bounds() -> None:
    best = solve(EXAMPLE_4, "l2_strategy", solver="clarabel")
    assert holds(Figure("Example 4, best strategy", "exact", 15.01802, PUBLISHED), best.objective)
    svdb = EXAMPLE_4.eigenvalues
    assert np.sqrt(svdb).sum() ** 2 / 8 == pytest.approx(14.9330, abs=5e-5)
    factor = pvldb2012_rmse_factor(epsilon=0.5, delta=1e-4)
    figure = Figure("Example 4: no strategy does better", "lower", 29.18, PAPER_RMSE)
    assert holds(figure, factor * math.sqrt(best.objective))


def test_example_4_adaptive_strategy() -> None:
    found = solve(EXAMPLE_4, "eigen_design", solver="clarabel")
    assert found.steps["weighting"].objective == pytest.approx(15.808, abs=1e-3)
    assert found.objective == pytest.approx(15.474, abs=1e-3)
    # The printed 29.79 is the paper's own run, near 15.53: not reproduced exactly, and not better.
    factor = pvldb2012_rmse_factor(epsilon=0.5, delta=1e-4)
    figure = Figure("Example 4, adaptive strategy", "upper", 29.79, PAPER_RMSE)
    assert holds(figure, factor * math.sqrt(found.objective))


def test_theorem_3_of_the_adaptive_mechanism() -> None:
    """The rmse of the eigen-design is within (n σ₁ / SVDB)^(1/4) of the best."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        workload = Workload.from_matrix(rng.normal(size=(9, 6)))
        found = solve(workload, "eigen_design", solver="clarabel")
        svdb = np.sqrt(workload.eigenvalues).sum() ** 2 / workload.n
        ratio = math.sqrt(found.error / found.error_bound)
        assert ratio <= (workload.n * workload.eigenvalues[0] / svdb) ** 0.25
