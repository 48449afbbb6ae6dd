"""fitness_level by the kernel: costs beside, settled cells, and agreement with the conic route.

Guards programs_and_points.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from named_workloads import random_workload
from tolerances import GAP_INTERIOR

from mmopt import Program, Workload, solve
from mmopt.compiler import Instance, bind
from mmopt.solvers.nuclear import programs_and_points
from mmopt.solvers.nuclear.interior_point import search
from mmopt.solvers.nuclear.problem_and_iterates import Iterate, NuclearProblem, whole


def level(w: Workload, tolerance: float = 1e-9) -> Instance:
    """The first level below fitness_for_use."""
    first = solve(w, "fitness_for_use", tolerance=tolerance)
    multipliers = first.multipliers["accuracy"] * w.targets
    held = (multipliers > 1e-4 * multipliers.max()).astype(float)
    return bind(Program.load("fitness_level"), w, {"held": held, "S0": first.variables["Sigma"]})


def with_slack(rng: np.random.Generator) -> Workload:
    """Queries of two groups of cells, of which one asks for far less, and a few across."""
    rows = np.zeros((8, 6))
    rows[:3, :3], rows[3:6, 3:] = np.tri(3), np.tri(3)
    rows[6:] = rng.random((2, 6)) < 0.6
    rows[6:, [0, 3]] = 1.0
    return Workload.from_matrix(
        rows, targets=np.concatenate([[1.0, 1, 1, 30, 40, 50], rng.uniform(20, 60, 2)])
    )


def test_it_agrees_with_the_conic_route(rng: np.random.Generator) -> None:
    for _ in range(3):
        instance = level(with_slack(rng))
        givens = {name: instance.env[name] for name in ("held", "S0")}
        own, conic = (
            solve(instance.workload, "fitness_level", solver=s, givens=givens, tolerance=1e-7)
            for s in (None, "clarabel")
        )
        assert (own.solver, conic.solver) == ("nuclear", "clarabel")
        assert own.bound is not None and own.gap is not None and own.gap <= GAP_INTERIOR
        assert own.objective == pytest.approx(conic.objective, rel=2 * GAP_INTERIOR)
        assert own.bound <= conic.objective and (conic.bound or 0.0) <= own.objective


def test_with_nothing_held_it_is_fitness_for_use(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    one, other = (solve(w, name) for name in ("fitness_level", "fitness_for_use"))
    assert (one.solver, other.solver) == ("nuclear", "nuclear")
    assert one.objective == pytest.approx(other.objective, rel=2 * GAP_INTERIOR)


def test_costs_beside_raise_both_bounds(rng: np.random.Generator) -> None:
    """b @ p + N² is at least max b and at least the optimum without b, at most their sum; its gap closes."""
    for size in [0.1, 3.0, 100.0]:
        plain = whole(rng.normal(size=(9, 6)), rng.uniform(0.5, 5.0, size=9))
        without = closed(plain)
        base = rng.uniform(0.0, size * without.lower, size=6)
        found = closed(replace(plain, base=base))
        least, most = max(float(base.max()), without.lower), float(base.max()) + without.upper
        assert least * (1 - GAP_INTERIOR) <= found.lower <= found.upper <= most * (1 + GAP_INTERIOR)


def closed(problem: NuclearProblem) -> Iterate:
    """The iterate that closes the gap; bounds never cross on the way."""
    iterates = search(problem)
    found = next(iterates)
    for _ in range(60):
        assert found.lower <= found.upper * (1 + 1e-12)
        if found.gap <= GAP_INTERIOR:
            return found
        found = iterates.send(GAP_INTERIOR / 2)
    raise AssertionError(f"gap {found.gap:.1e} after 60 iterations")


def test_settled_cells_and_queries_get_no_multipliers(rng: np.random.Generator) -> None:
    instance = level(with_slack(rng))
    givens = {name: instance.env[name] for name in ("held", "S0")}
    s = solve(instance.workload, "fitness_level", givens=givens)
    settled, closed = instance.env["free"] == 0, instance.env["open"] == 0
    assert settled.any() and closed.any()
    assert not s.multipliers["privacy"][settled].any()
    assert not s.multipliers["accuracy"][closed].any()
    assert s.multipliers["privacy"].sum() == pytest.approx(1.0)


def test_held_noise_that_leaves_nothing_of_a_target_is_named(rng: np.random.Generator) -> None:
    """By rounding, where targets are decades apart: a square root of a negative weight would be none."""
    env = dict(level(with_slack(rng)).env)
    left = np.asarray(env["open"]) > 0
    env["c"] = np.where(left, 1e-12, env["c"])
    with pytest.raises(ArithmeticError, match="leaves a query nothing of its target"):
        programs_and_points.level_problem(env)
