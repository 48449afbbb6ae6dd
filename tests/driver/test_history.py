"""The history of a solve: what is certified, what is a solver's own count, and that both end together.

Guards run_solver.py, solvers/conic_solvers.py.
"""

import itertools
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dense_row_space import ways
from named_workloads import random_workload
from tolerances import GAP_INTERIOR

from mmopt import Program, Workload, compare, solve
from mmopt.compiler import bind
from mmopt.driver import run_solver
from mmopt.driver.task_and_plan import Progress
from mmopt.report.charts import convergence_figure, descents
from mmopt.results import Solution, gap_between
from mmopt.solvers import KERNELS, SOLVERS, Iteration, Kernel, Point, total

TARGETED = Workload.from_matrix(np.tri(5), targets=[1.0, 2.0, 3.0, 1.5, 1.0])
BLOCKS = Workload.from_matrix(np.kron(np.eye(2), np.tri(5)) * np.repeat([1.0, 2.0], 5))


def parted(solution: Solution) -> tuple[list[Any], list[Any]]:
    """The certified rows, and the others."""
    certified = [row for row in solution.history if row["certified"]]
    return certified, [row for row in solution.history if not row["certified"]]


def given_of(name: str) -> dict[str, Any]:
    return {d.name: np.eye(5) for d in Program.load(name).givens if not d.source}


def asked_of(kernel: Kernel) -> Workload:
    """Queries that the kernel takes: that of the space of the queries wants more cells than a matrix has."""
    return ways((3,) * 9, target=1.0) if kernel.name == "sectors" else TARGETED


@pytest.mark.quick
@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("kernel", "name"), [pytest.param(k, name, id=f"{k.name}-{name}") for k in KERNELS for name in k.programs]
)
def test_the_count_of_a_kernel_ends_where_its_point_is_certified(kernel: Kernel, name: str) -> None:
    s = solve(asked_of(kernel), name, solver=kernel.name, givens=given_of(name))
    certified, own = parted(s)
    assert certified and certified[-1]["objective"] == pytest.approx(s.objective, rel=1e-9)
    assert certified[-1].get("bound", s.bound) == pytest.approx(s.bound, rel=1e-9)
    if name == "low_rank_reconstruction":  # in closed form
        assert not own
        return
    assert own and certified[-1]["iteration"] == own[-1]["iteration"] == s.iterations
    assert own[-1]["objective"] == pytest.approx(s.objective, rel=2 * kernel.tolerance)
    if kernel.is_local:
        assert all("bound" not in row for row in own)
    else:
        assert own[-1]["bound"] == pytest.approx(s.bound, rel=2 * kernel.tolerance)
    assert {"run", "primal residual", "part"}.isdisjoint(name for row in s.history for name in row)


def test_the_count_of_a_solver_is_in_the_units_of_the_program(subtests: pytest.Subtests) -> None:
    w = Workload.from_matrix(100.0 * np.tri(5))  # which is scaled before it is solved
    for row, dual in zip(SOLVERS, itertools.cycle(["_dual", ""])):
        with subtests.test(row.name):
            program = f"l2_strategy{dual}" if "psd" in row.cones else "query_weighting"
            s = solve(w, program, solver=row.name, history=True)
            certified, own = parted(s)
            last = [other for other in own if other["run"] == certified[-1]["run"]][-1]
            for name in ("objective", "bound"):
                assert last[name] == pytest.approx(s.objective, rel=1e-2)
                assert certified[-1][name] == pytest.approx(s.objective, rel=1e-4)
            assert s.scaling["queries"] > 10
            assert "history" not in s.options


def test_points_only_get_better_and_time_goes_on(rng: np.random.Generator) -> None:
    for _ in range(3):
        options: Any = {"solver": "scs", "tolerance": 1e-6, "history": True, "reduce": False}
        s = solve(random_workload(rng), "l2_strategy", **options)
        certified, _ = parted(s)
        for before, after in itertools.pairwise(certified):  # but for what the latest multipliers charge
            assert (
                after["objective"] <= before["objective"] * (1 + 1e-7) and after["bound"] >= before["bound"]
            )
        assert s.gap == pytest.approx(
            gap_between(certified[-1]["objective"], certified[-1]["bound"]), abs=1e-9
        )
        for name in ("iteration", "seconds"):
            assert all(after[name] >= before[name] for before, after in itertools.pairwise(s.history))
        assert s.history[-1]["seconds"] <= s.seconds["total"]


def test_parts_have_numbers_and_the_whole_comes_last() -> None:
    s = solve(BLOCKS, "l2_strategy")
    *parts, whole = s.history
    assert {row["part"] for row in parts} == {1, 2} and "part" not in whole
    assert whole["certified"] and whole["objective"] == pytest.approx(s.objective, rel=1e-9)
    assert s.history == tuple(sorted(s.history, key=lambda row: row["seconds"]))
    procedure = solve(TARGETED, "eigen_separation")
    assert procedure.history == () and all(step.history for step in procedure.steps.values())


def test_a_history_is_saved_and_has_no_number_that_is_none(tmp_path: Path) -> None:
    s = solve(TARGETED, "fitness_for_use", solver="scs", history=True, max_iterations=150)
    assert all(math.isfinite(value) for row in s.history for value in row.values())
    kept = Solution.load(s.save(tmp_path / "s.npz"))
    assert kept.history == s.history and kept.history[-1]["certified"] is True
    assert s.summary()["history"] == [dict(row) for row in s.history]


def test_a_long_history_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = solve(TARGETED, "l2_strategy", solver="scs", history=True, tolerance=GAP_INTERIOR)
    monkeypatch.setattr(sys.modules["mmopt.driver.judge.assemble_solution"], "MOST_ROWS", 20)
    s = solve(TARGETED, "l2_strategy", solver="scs", history=True, tolerance=GAP_INTERIOR)
    (certified, own), (before, every) = parted(s), parted(whole)
    assert len(certified) == len(before) and len(every) > 20 == len(own)
    assert [own[0]["iteration"], own[-1]["iteration"]] == [every[0]["iteration"], every[-1]["iteration"]]


@pytest.mark.quick
def test_a_point_that_is_not_feasible_is_no_row() -> None:
    best = run_solver.Best(bind(Program.load("l2_strategy"), TARGETED))
    told = Point({}, {}, 7, "", run=2)
    assert best.iteration(told, 1.5) is None
    best.point = SimpleNamespace(is_feasible=False, objective=3.0)
    assert best.iteration(told, 1.5) is None
    best.point = SimpleNamespace(is_feasible=True, objective=3.0)
    assert best.iteration(told, 1.5) == Iteration(7, 1.5, 3.0, run=2)


UNTOLD = Workload.from_matrix(np.tri(3))


def test_what_is_not_known_is_no_number(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """In tables "-", in JSON null, in charts nothing: iterations of those that count none for us."""
    for name in ("cvxopt", "sdpa"):
        with subtests.test(name):
            seen: list[Progress] = []
            s = solve(UNTOLD, "l2_strategy", solver=name, progress=seen.append)
            told = solve(UNTOLD, "l2_strategy", solver=name, history=True)
            assert told.iterations is not None and told.iterations > 0
            assert s.iterations is None and {p.iterations for p in seen} == {None}
            assert all("iteration" not in row for row in s.history)
            assert s.summary()["iterations"] is None
            assert dict(s.rows())["solver"] == f"{name} {s.solver_version}, - iterations"
            assert Solution.load(s.save(tmp_path / f"{name}.npz")).iterations is None
            (descent,) = descents(s)
            assert descent.certified and all(place[1] is None for place in descent.certified)
            assert convergence_figure([s]).axes[1].lines  # the gap asked for alone
    (outcome,) = compare(UNTOLD, ["l2_strategy"], ["sdpa"], time_limit=20.0)
    assert outcome.summary()["iterations"] is None
    assert {point["iterations"] for point in outcome.summary()["points"]} == {None}


def test_counts_add_up_where_all_are_known() -> None:
    assert (total([]), total([2, 3]), total([2, None])) == (0, 5, None)
    parts = solve(BLOCKS, "l2_strategy", solver="cvxopt")
    steps = solve(UNTOLD, "eigen_design", solver="cvxopt")
    assert parts.reductions and parts.iterations is None
    assert steps.iterations is None
