"""Where the solver that was chosen gets no further one of another method does, or the first's word stays."""

from dataclasses import replace
from typing import Any

import pytest
from judge.workloads import DENSE

import mmopt
from mmopt.driver import other_method
from mmopt.errors import SolverError

SHORT = DENSE["half targets"]().workload  # of refine_counts Clarabel's point leaves a gap of 1.5e-5


@pytest.mark.quick
def test_a_gap_that_the_chosen_solver_leaves_is_closed() -> None:
    alone, found = (mmopt.solve(SHORT, "refine_counts", solver=name) for name in ("clarabel", None))
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


def test_else_the_first_one_s_word_stays(monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    runs = other_method.run_solver
    for why in ["fails", "stops", "far", "iterations"]:
        tried: list[str] = []

        def run(task: Any, row: Any, best: Any, started: float, why: str = why, tried: Any = tried) -> Any:
            tried.append(row.name)
            if why == "fails":
                raise SolverError("no feasible point")
            if why == "stops":
                task = replace(task, asked={**task.asked, "max_iterations": 1})
            return runs(task, row, best, started)

        more = {"max_iterations": 100} if why == "iterations" else {}
        with subtests.test(why), monkeypatch.context() as patch:
            patch.setattr(other_method, "run_solver", run)
            if why == "far":
                patch.setattr(other_method, "NEAR", 10.0)
            alone = mmopt.solve(SHORT, "refine_counts", solver="clarabel", **more)
            found = mmopt.solve(SHORT, "refine_counts", **more)
            assert tried == (["scs"] if why in ("fails", "stops") else [])
            assert found.solver == "clarabel" and str(found.status).startswith("gap not reached")
            assert (found.objective, found.bound) == (alone.objective, alone.bound)
            assert found.warnings == alone.warnings and len(found.history) == len(alone.history)
            assert found.warnings[0].startswith("clarabel got no further: ")
