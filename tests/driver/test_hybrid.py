"""fitness_hybrid between its two ends, and beside the paper's way to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tolerances

import mmopt
from mmopt import Workload
from mmopt.strategies import ComponentStrategy
from mmopt.testing.census_workloads import marginals


def drawn(rng: np.random.Generator) -> Workload:
    """A random workload over few cells, with random targets."""
    n = int(rng.integers(2, 8))
    rows = rng.normal(size=(int(rng.integers(2, 10)), n))
    return Workload.from_matrix(rows, targets=rng.uniform(1.0, 20.0, size=len(rows)))


@pytest.mark.parametrize("weight", [0.1, 1.0, 20.0])
def test_kernel_and_conic_solver_agree(weight: float, rng: np.random.Generator) -> None:
    w = drawn(rng)
    kernel, conic = (
        mmopt.solve(w, "fitness_hybrid", givens={"total": weight}, solver=s) for s in ("nuclear", "clarabel")
    )
    assert kernel.gap <= tolerances.GAP
    assert kernel.bound <= conic.objective and conic.bound <= kernel.objective


def test_without_weight_it_is_fitness_penalty(rng: np.random.Generator) -> None:
    w = drawn(rng)
    one, other = (mmopt.solve(w, p) for p in ("fitness_hybrid", "fitness_penalty"))
    assert one.bound <= other.objective and other.bound <= one.objective


def test_a_large_weight_makes_it_total_error(rng: np.random.Generator) -> None:
    """With h the weight of a variance the objective is between 2 √(h E) and 2 √((h + 1 / least target) E)."""
    w = drawn(rng)
    least = mmopt.solve(w, "l2_strategy")
    weight = 1e6
    h = weight / float(w.targets.sum())
    s = mmopt.solve(w, "fitness_hybrid", givens={"total": weight})
    assert s.objective >= 2.0 * math.sqrt(h * least.bound)
    assert s.bound <= 2.0 * math.sqrt((h + 1.0 / float(w.targets.min())) * least.objective)


def test_soft_maxima_come_near_and_not_below(rng: np.random.Generator) -> None:
    w = drawn(rng)
    soft = mmopt.solve(w, "fitness_softmax", givens={"hybrid": 0.1})
    exact = mmopt.solve(w, "fitness_hybrid", givens={"total": 0.1 * float(w.targets.sum())})
    assert exact.bound <= soft.objective
    assert exact.objective >= soft.bound


def test_by_component_as_over_all_cells(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.driver.solve_plan.MOST_CELLS", 1)
    w = marginals((3, 4, 2), (0, 2), target=float(rng.uniform(1.0, 5.0)))
    given = {"total": 0.01}
    split, dense = (mmopt.solve(w, "fitness_hybrid", givens=given, reduce=r) for r in (True, False))
    assert isinstance(split.strategy, ComponentStrategy)
    assert split.bound <= dense.objective and dense.bound <= split.objective


@pytest.mark.parametrize("target", [9.0, 4.0])
def test_every_query_counts(target: float) -> None:
    """One that another makes superfluous for the targets still has its part in the sum."""
    rows = np.vstack([np.tri(4), 2 * np.tri(4)[1:2]])
    w = Workload.from_matrix(rows, targets=[1.0, 1.0, 1.0, 1.0, target])
    given = {"total": 0.1}
    reduced, whole = (mmopt.solve(w, "fitness_hybrid", givens=given, reduce=r) for r in (True, False))
    assert reduced.bound <= whole.objective and whole.bound <= reduced.objective
    assert mmopt.solve(w, "fitness_penalty").reductions == ("parallel queries: 5 -> 4 queries",)
    assert reduced.reductions == ()
