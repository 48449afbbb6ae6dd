"""The contract with other tools: names, shapes and meaning of a solution's numbers.

Guards accepted_options_and_inputs.py, solve_and_tune.py.
"""

import numpy as np
import pytest
from tolerances import GAP_INTERIOR, PUBLISHED, RECOMPUTED, SHAPE

import mmopt
from mmopt.driver import Progress, run_solver


def test_l2_strategy_on_prefix_sums() -> None:
    s = mmopt.solve(np.tri(16), "l2_strategy")
    optimum = 45.665357
    assert s.bound <= optimum * (1 + PUBLISHED) and optimum * (1 - PUBLISHED) <= s.objective
    assert 0 <= s.gap == s.objective / s.bound - 1 <= GAP_INTERIOR
    assert 0 <= s.error_gap == s.error / s.error_bound - 1 <= GAP_INTERIOR
    a = s.strategy.matrix
    again = (a**2).sum(axis=0).max() * ((np.tri(16) @ np.linalg.pinv(a)) ** 2).sum()
    assert s.objective == pytest.approx(again, rel=RECOMPUTED)
    assert s.rmse == pytest.approx(np.sqrt(again / 16), rel=RECOMPUTED)
    assert {name: y.shape for name, y in s.multipliers.items()} == {"sensitivity": (16,)}
    assert (s.status.stop, s.status.feasible, s.status.bound_valid) == ("gap reached", True, True)


def test_fitness_for_use_on_prefix_sums() -> None:
    w = mmopt.Workload.from_matrix(np.tri(16), targets=np.ones(16))
    f = mmopt.solve(w, "fitness_for_use")
    k = len(f.covariance)
    assert f.covariance.shape == (k, k) and f.basis.shape == (k, 16)
    alpha = np.einsum("ij,ik,kj->j", f.basis, np.linalg.inv(f.covariance), f.basis).max()
    assert f.objective == pytest.approx(alpha, rel=RECOMPUTED)
    assert f.privacy_cost == pytest.approx(np.sqrt(alpha), rel=RECOMPUTED)
    variances = np.einsum("ij,jk,ik->i", w.representation, f.covariance, w.representation)
    assert variances.max() <= 1 + SHAPE
    assert f.strategy.variances(w) == pytest.approx(variances, rel=RECOMPUTED)
    assert {name: y.shape for name, y in f.multipliers.items()} == {"privacy": (16,), "accuracy": (16,)}


def test_the_program_that_is_used_when_none_is_named() -> None:
    for targets, expected in [
        (None, "l2_strategy"),
        ([1.0, 1.0, np.inf], "l2_strategy"),
        ([1.0, 2.0, 3.0], "fitness_for_use"),
    ]:
        assert mmopt.solve(mmopt.Workload.from_matrix(np.tri(3), targets=targets)).program == expected


def test_a_program_may_be_a_name_a_path_or_parsed(tmp_path) -> None:
    w = mmopt.Workload.from_matrix(np.tri(4))
    program = mmopt.Program.load("l2_strategy")
    path = tmp_path / "mine.program"
    path.write_text(program.text, encoding="utf-8")
    objectives = {mmopt.solve(w, p).objective for p in ("l2_strategy", path, str(path), program)}
    assert len(objectives) == 1


def test_queries_without_a_target_are_answered_too() -> None:
    """The last prefix sum has no target but follows from the first cells and the total, which have one."""
    rows = np.vstack([np.tri(4), [[0, 1, 1, 0]]])
    targets = [1.0, 2.0, 3.0, 4.0, np.inf]
    f = mmopt.solve(mmopt.Workload.from_matrix(rows, targets=targets), "fitness_for_use")
    less = mmopt.solve(mmopt.Workload.from_matrix(rows[:4], targets=targets[:4]), "fitness_for_use")
    assert f.objective == pytest.approx(less.objective, rel=PUBLISHED)
    assert np.isfinite(f.error)


def test_options_are_recorded() -> None:
    w = mmopt.Workload.from_matrix(np.tri(4))
    s = mmopt.solve(w, "l2_strategy", tolerance=1e-3, time_limit=50.0, max_iterations=70, threads=1)
    left_out = dict.fromkeys(["starts", "seed", "arrays"])
    asked = {"tolerance": 1e-3, "time_limit": 50.0, "max_iterations": 70, "threads": 1, "verbose": False}
    assert s.options == asked | left_out
    assert s.solver == "nuclear" and s.solver_version == mmopt.__version__
    assert s.workload_hash == w.hash
    assert s.program_text == mmopt.Program.load("l2_strategy").text
    assert set(s.seconds) == {"compile", "solve", "total"}
    assert s.seconds["total"] >= s.seconds["solve"] >= 0


def test_a_solve_that_is_predicted_to_be_long_says_so_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_solver, "SECONDS_TO_ANNOUNCE", 0.0)
    w = mmopt.Workload.from_matrix(np.tri(6))
    for solver in (None, "clarabel"):
        seen: list[Progress] = []
        s = mmopt.solve(w, "l2_strategy", solver=solver, progress=seen.append)
        first, *rest = seen
        assert first.predicted > 0
        assert first.solver == s.solver and first.gap is None and not first.certified
        assert rest and all(point.predicted is None for point in rest)
    seen = []
    mmopt.solve(w, "l2_strategy", progress=seen.append, time_limit=1e-3)
    assert seen[0].predicted == 1e-3, "no more than the time limit"


def test_progress_is_reported_after_every_point() -> None:
    seen = []
    w = mmopt.Workload.from_matrix(np.tri(6))
    s = mmopt.solve(w, "l2_strategy", solver="scs", tolerance=1e-7, progress=seen.append)
    assert seen and all(p.program == "l2_strategy" and p.solver == "scs" for p in seen)
    objectives = [p.objective for p in seen]
    assert objectives == sorted(objectives, reverse=True)
    assert (seen[-1].objective, seen[-1].bound, seen[-1].iterations) == (s.objective, s.bound, s.iterations)
    assert seen[-1].gap == s.gap


def test_what_is_no_workload() -> None:
    for value in (3, print):
        for call in (
            lambda value: mmopt.solve(value, "l2_strategy"),
            lambda value: mmopt.certify(value, "identity"),
            lambda value: mmopt.verify("w.npz", value),
            lambda value: mmopt.compare(value),
        ):
            with pytest.raises(mmopt.WorkloadError, match=f"a {type(value).__name__} is not a Workload"):
                call(value)
    for options in ({"programs": "l2_strategy"}, {"solvers": "scs"}):
        with pytest.raises(mmopt.OptionError, match=r"are lists, not one name\n  write programs="):
            mmopt.compare(mmopt.Workload.from_matrix(np.eye(2)), **options)


def test_a_mask_is_not_forgotten() -> None:
    masked = np.ma.masked_array(np.eye(2), mask=[[0, 0], [0, 1]])
    for given in ({"matrix": masked}, {"matrix": np.eye(2), "targets": masked[0]}):
        with pytest.raises(mmopt.WorkloadError, match="masked array"):
            mmopt.Workload.from_matrix(**given)
    with pytest.raises(mmopt.OptionError, match="the given 'Q' is a masked array"):
        mmopt.solve(mmopt.Workload.from_matrix(np.eye(2)), "query_weighting", givens={"Q": masked})
