"""Which solver runs, as the lines or the user say; where it gets no further another does (other_method).

Guards run_solver.py, solve_convex.py, task_and_plan.py.
"""

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tolerances
from judge.workloads import DENSE
from named_workloads import named

import mmopt
from mmopt import Program, Workload, solve
from mmopt.driver import solve_convex
from mmopt.driver.task_and_plan import Progress
from mmopt.errors import OptionError, SolverError, UnsuitableError
from mmopt.solvers import KERNELS, SOLVERS, conic_solvers
from mmopt.solvers.conic_problem import hand_over

PREFIX = Workload.from_matrix(np.tri(6), targets=np.arange(1.0, 7.0))
# Those that are proved optimal; a kernel that searches has its tests in tests/solvers.
NAMED = dict.fromkeys(name for kernel in KERNELS for name in kernel.programs)
TOLERANCE = {kernel.name: kernel.tolerance for kernel in KERNELS}
CLAIMED = [name for name in NAMED if Program.load(name).problem_class == "convex"]


@pytest.mark.some(4)
@pytest.mark.parametrize("name", CLAIMED)
@pytest.mark.parametrize("case", ["all ranges", "rank deficient", "zero columns", "duplicated columns"])
def test_it_agrees_with_a_conic_solver(name: str, case: str) -> None:
    ours, conic = solve(named(case), name), solve(named(case), name, solver="clarabel")
    assert ours.value == pytest.approx(conic.value, rel=tolerances.GAP)
    if name == "banded_strategy" and case != "all ranges":  # its kernel needs cells that are told apart
        assert ours.solver == conic.solver == "clarabel"
    else:
        assert conic.solver == "clarabel" and ours.status.stop == "gap reached"
        assert ours.gap <= TOLERANCE[ours.solver]
        assert ours.solver_version == mmopt.__version__


def test_what_no_kernel_knows_goes_to_a_conic_solver() -> None:
    edited = Program.load("l2_strategy").text.replace("diag(X) <= 1", "diag(X) <= 2")
    edited = edited.replace("X = X / max(diag(X))", "X = 2 * X / max(diag(X))")
    edited = edited.replace("diag(1 - diag(X))", "diag(2 - diag(X))").split("certificate")[0]
    found = solve(PREFIX, Program.parse(edited))
    assert found.solver in {row.name for row in SOLVERS}
    plain = solve(PREFIX, "l2_strategy")
    assert found.objective == pytest.approx(plain.objective / 2, rel=tolerances.GAP)


def test_conic_is_any_solver_but_a_kernel(subtests: pytest.Subtests) -> None:
    """In steps too; there, what has no cones is searched by L-BFGS. By itself it is refused."""
    for name in ("l2_strategy", "minimax_variance", "eigen_design", "min_sensitivity"):
        with subtests.test(name):
            few = {"starts": 1, "max_iterations": 3} if name == "min_sensitivity" else {}
            found, default = solve(PREFIX, name, solver="Conic", **few), solve(PREFIX, name, **few)
            assert {found.solver, *(step.solver for step in found.steps.values())} <= {
                r.name for r in SOLVERS
            }
            assert found.objective == pytest.approx(default.objective, rel=tolerances.GAP)
    both = Program.parse(
        "program both\nclass procedure\ngiven\n    W: matrix[r, n] = workload.root\nsteps\n"
        "    a = solve(l2_strategy)\n    b = solve(p_identity)\nminimize\n    a.objective\n"
        "strategy\n    a.strategy norm 2\n"
    )
    solved = solve(PREFIX, both, solver="conic", starts=1)
    assert {name: step.solver for name, step in solved.steps.items()} == {"a": "clarabel", "b": "lbfgs"}
    for name in ("p_identity", "fitness_softmax", "singular_value_bound"):
        with subtests.test(name), pytest.raises(UnsuitableError, match=f"no conic solver takes '{name}'"):
            solve(PREFIX, name, solver="conic")
    with pytest.raises(OptionError, match="'conic'"):
        solve(PREFIX, "l2_strategy", solver="conik")


def test_a_kernel_that_does_not_know_the_program() -> None:
    with pytest.raises(SolverError) as error:
        solve(PREFIX, "design_weighting", solver="nuclear", givens={"D": np.eye(6)})
    assert str(error.value) == (
        "the kernel 'nuclear' does not know 'design_weighting'\n  these do: clarabel, scs, cvxopt, sdpa"
    )


def test_limits_are_kept() -> None:
    found = solve(PREFIX, "fitness_for_use", max_iterations=3)
    assert found.iterations == 3 and found.status.stop == "iteration limit"
    assert "stopped at the iteration limit of 3" in found.warnings[0]


def test_a_gap_out_of_reach_is_said() -> None:
    found = solve(PREFIX, "fitness_for_use", tolerance=1e-16)
    assert found.status.stop == "gap not reached" and found.warnings


def test_progress_before_the_first_certified_point(subtests: pytest.Subtests) -> None:
    """A kernel's own count brackets what comes out, in the scale of the program."""
    for name in KERNELS[0].programs:
        with subtests.test(name):
            seen: list[Progress] = []
            found = solve(PREFIX, name, progress=seen.append)
            certified = [p.certified for p in seen]
            assert certified == sorted(certified) and certified[-1]
            for point in seen:
                ends = sorted([point.objective, point.bound or 0.0])
                low, high = sorted([found.objective, found.bound])
                assert ends[0] <= low * (1 + 1e-6) and high <= ends[1] * (1 + 1e-6)


def test_arrays_of_another_library(subtests: pytest.Subtests) -> None:
    for name in ["l2_strategy", "fitness_budget"]:
        with subtests.test(name):
            ours, strict = solve(PREFIX, name), solve(PREFIX, name, arrays="array_api_strict")
            assert strict.options["arrays"] == "array_api_strict"
            assert strict.objective == pytest.approx(ours.objective, rel=tolerances.RECOMPUTED)


def test_arrays_that_nobody_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError) as error:
        solve(PREFIX, "l2_strategy", arrays="nonesuch:cuda")
    assert str(error.value) == (
        "the array library 'nonesuch' is not installed here\n"
        "  known: numpy, cupy, torch, torch:cuda; install it, or leave out arrays"
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(OptionError, match="the array library 'torch' is not installed here"):
        solve(PREFIX, "l2_strategy", arrays="torch:cuda")
    with pytest.raises(OptionError) as error:
        solve(PREFIX, "l2_strategy", solver="scs", arrays="cupy")
    assert str(error.value) == "scs has no option 'arrays'\n  these have it: nuclear"


SHORT = DENSE["half targets"]().workload


@pytest.fixture
def in_cones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadratic objectives go into cones: of refine_counts Clarabel's point then leaves a gap of 1.5e-5."""
    monkeypatch.setattr(
        conic_solvers, "hand_over", lambda lowered, solver, quadratic: hand_over(lowered, solver)
    )


def test_a_quadratic_objective_is_handed_over_as_it_is() -> None:
    found = mmopt.solve(SHORT, "refine_counts", solver="clarabel")
    assert str(found.status).startswith("gap reached") and found.gap <= tolerances.GAP_INTERIOR


@pytest.mark.usefixtures("in_cones")
def test_a_gap_that_the_chosen_solver_leaves_is_closed() -> None:
    alone, found, conic = (
        mmopt.solve(SHORT, "refine_counts", solver=name) for name in ("clarabel", None, "conic")
    )
    assert (conic.solver, conic.objective, conic.bound) == (found.solver, found.objective, found.bound)
    assert str(alone.status).startswith("gap not reached") and alone.gap > 1e-6
    assert str(found.status).startswith("gap reached") and found.gap <= 1e-6 and found.warnings == ()
    assert alone.bound <= found.bound <= found.objective <= alone.objective
    assert (found.solver, found.options["tolerance"]) == ("scs", alone.options["tolerance"])
    assert found.options.get("time_limit") == alone.options.get("time_limit")
    assert found.iterations > alone.iterations
    numbers = [(row["run"], row["iteration"]) for row in found.history]
    runs = max(row["run"] for row in alone.history)
    assert numbers == sorted(numbers) and numbers[-1][0] > runs
    assert numbers[: len(alone.history)] == [(row["run"], row["iteration"]) for row in alone.history]


@pytest.mark.usefixtures("in_cones")
def test_else_the_first_one_s_word_stays(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    runs = solve_convex.run_solver
    for why in ["fails", "stops", "far", "iterations"]:
        tried: list[str] = []

        def run(task: Any, row: Any, best: Any, started: float, why: str = why, tried: Any = tried) -> Any:
            if row.name == "clarabel":
                return runs(task, row, best, started)
            tried.append(row.name)
            if why == "fails":
                raise SolverError("no feasible point")
            if why == "stops":
                task = replace(task, overrides={**task.overrides, "max_iterations": 1})
            return runs(task, row, best, started)

        more = {"max_iterations": 100} if why == "iterations" else {}
        with subtests.test(why), monkeypatch.context() as patch:
            patch.setattr(solve_convex, "run_solver", run)
            if why == "far":
                patch.setattr(solve_convex, "NEAR_THE_GAP", 10.0)
            alone = mmopt.solve(SHORT, "refine_counts", solver="clarabel", **more)
            found = mmopt.solve(SHORT, "refine_counts", **more)
            assert tried == (["scs"] if why in ("fails", "stops") else [])
            assert found.solver == "clarabel" and str(found.status).startswith("gap not reached")
            assert (found.objective, found.bound) == (alone.objective, alone.bound)
            assert found.warnings == alone.warnings and len(found.history) == len(alone.history)
            assert found.warnings[0].startswith("clarabel got no further: ")
