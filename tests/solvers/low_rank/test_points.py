"""The kernel on the two halves: against a conic solver, and how it stops."""

from __future__ import annotations

import numpy as np
import pytest
from cases import named, random_workload
from tolerances import GAP

from mmopt import Workload, solve

HALVES = ["low_rank_reconstruction", "low_rank_strategy", "low_rank_gaussian_strategy"]


@pytest.mark.parametrize("program", HALVES)
def test_as_a_conic_solver(program: str, rng: np.random.Generator) -> None:
    for w in (named("prefix"), named("rank deficient"), random_workload(rng)):
        givens = {} if program == HALVES[0] else {"S": rng.normal(size=(6, w.n)), "near": 0.2}
        if givens:
            givens["R"] = rng.normal(size=(w.root.shape[0], 6))
        own, conic = (solve(w, program, solver=s, givens=givens) for s in (None, "clarabel"))
        assert own.solver == "low_rank" and conic.solver == "clarabel"
        for one, other in ((own, conic), (conic, own)):
            assert one.status.feasible and one.gap is not None and one.gap <= GAP
            assert one.bound is not None and one.bound <= other.objective


def test_it_stops_when_told() -> None:
    w = Workload.from_matrix(np.tri(12))
    s = solve(w, "low_rank_strategy", max_iterations=20, tolerance=1e-9)
    assert s.status.stop == "iteration limit" and s.iterations == 20
    assert solve(w, "low_rank_strategy", tolerance=1e-12, time_limit=1e-9).status.stop == "time limit"


@pytest.mark.quick
def test_a_finer_gap_is_reached() -> None:
    w = Workload.from_matrix(np.tri(12))
    rough, fine = (solve(w, "low_rank_strategy", tolerance=t) for t in (1e-2, 1e-8))
    assert rough.status.stop == fine.status.stop == "gap reached"
    assert rough.iterations < fine.iterations and fine.gap is not None and fine.gap <= 1e-8
