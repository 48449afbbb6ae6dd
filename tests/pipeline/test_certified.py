"""Every shipped program with every solver that has its cones: what is claimed holds, on hard cases too."""

from __future__ import annotations

import numpy as np
import pytest
from cases import NAMED, named, random_workload
from tolerances import GAP, RECOMPUTED, SHAPE

from mmopt import Program, Solution, Workload, solve
from mmopt.compiler import bind, cones
from mmopt.language import program_names
from mmopt.solvers import SOLVERS, missing_cones

RANDOM = 4


def suitable() -> list[tuple[str, str]]:
    """Every program with the solvers that take it (those of its step, for eigen_design)."""
    workload, found = named("prefix"), []
    for name in program_names():
        program = Program.load("query_weighting" if name == "eigen_design" else name)
        instance = bind(program, workload)
        needed = cones(instance.checked, instance.sizes())
        found += [(name, row.name) for row in SOLVERS if row.is_installed and not missing_cones(row, needed)]
    return found


def verify(s: Solution, w: Workload) -> None:
    """The claims of a solution, recomputed with numpy alone."""
    a = s.strategy.matrix
    inverse = np.linalg.pinv(a, rcond=1e-13)
    rows = w.matrix
    assert np.abs(rows @ inverse @ a - rows).max() <= SHAPE * np.abs(rows).max()
    norms = (a**2).sum(axis=0)
    error = norms.max() * ((rows @ inverse) ** 2).sum()
    assert s.error == pytest.approx(error, rel=RECOMPUTED)
    assert s.sensitivity >= np.sqrt(norms.max()) * (1 - 1e-15)
    svdb = np.linalg.svd(rows, compute_uv=False).sum() ** 2 / w.n
    assert svdb * (1 - RECOMPUTED) <= s.error_bound <= s.error
    assert s.error_gap >= 0
    convex = s.steps["weighting"] if s.program == "eigen_design" else s
    assert convex.bound is not None and convex.gap is not None and s.bound is not None
    assert 0 < convex.bound <= convex.objective
    assert 0 <= convex.gap <= GAP
    assert s.bound <= s.objective
    assert s.status.feasible and s.status.bound_valid
    assert convex.status.stop == "gap reached"
    if s.program == "fitness_for_use":
        assert s.covariance is not None and s.basis is not None
        assert (s.strategy.variances(w) <= w.targets * (1 + SHAPE)).all()
        assert s.objective == pytest.approx(s.sensitivity**2, rel=RECOMPUTED)
        assert s.covariance == pytest.approx(
            s.strategy.covariance(s.basis), rel=1e-6, abs=1e-9 * s.covariance.max()
        )
    else:
        assert s.sensitivity <= 1.0
        assert s.objective == pytest.approx(error, rel=RECOMPUTED)
        assert s.covariance is None


@pytest.mark.parametrize(("program", "solver"), suitable())
def test_claims_hold(program: str, solver: str, rng: np.random.Generator) -> None:
    """One test per pair, so that a failure names it; the case is in the message."""
    workloads = {name: named(name) for name in NAMED if name != "large and small"}
    workloads |= {f"random {i}": random_workload(rng) for i in range(RANDOM)}
    for name, workload in workloads.items():
        solution = solve(workload, program, solver=solver, tolerance=GAP)
        assert (solution.program, solution.solver) == (program, solver)
        try:
            verify(solution, workload)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}\n{workload.queries.tolist()}\n{solution}") from error


@pytest.mark.parametrize("program", program_names())
def test_queries_of_very_different_size(program: str) -> None:
    verify(solve(named("large and small"), program), named("large and small"))


@pytest.mark.parametrize("program", program_names())
def test_no_program_beats_the_bound_over_all_strategies(program: str, rng: np.random.Generator) -> None:
    workload = random_workload(rng)
    best = solve(workload, "l2_strategy")
    assert best.error_bound <= solve(workload, program).error
    assert best.error <= solve(workload, program).error * (1 + GAP)


@pytest.mark.parametrize("name", NAMED)
def test_two_formulations_of_one_problem_agree(name: str) -> None:
    one, other = solve(named(name), "l2_strategy"), solve(named(name), "l2_strategy_lmi")
    assert one.bound is not None and other.bound is not None
    assert one.bound <= other.objective and other.bound <= one.objective
    assert one.objective == pytest.approx(other.objective, rel=GAP)


def test_two_formulations_agree_on_random_workloads(rng: np.random.Generator) -> None:
    for _ in range(RANDOM):
        w = random_workload(rng)
        one, other = solve(w, "l2_strategy"), solve(w, "l2_strategy_lmi")
        assert one.bound is not None and other.bound is not None
        assert one.bound <= other.objective and other.bound <= one.objective


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["clarabel", "scs", "cvxopt", "sdpa"])
def test_one_inequality_per_query_on_more_queries(solver: str) -> None:
    w = Workload.from_matrix(np.vstack([np.tri(12), np.tri(12)[:, ::-1]]))
    s = solve(w, "l2_strategy_lmi", solver=solver)
    verify(s, w)


@pytest.mark.slow
def test_many_random_workloads(rng: np.random.Generator) -> None:
    for _ in range(60):
        workload = random_workload(rng)
        for program in program_names():
            verify(solve(workload, program), workload)
