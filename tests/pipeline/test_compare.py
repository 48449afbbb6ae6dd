"""Programs side by side: what cannot be solved is an entry with its reason."""

from __future__ import annotations

import numpy as np

from mmopt import Program, Workload, compare
from mmopt.language import program_names

W = Workload.from_matrix(np.tri(4), targets=np.ones(4))


def test_all_programs_by_default() -> None:
    outcomes = compare(W)
    assert [o.program for o in outcomes] == list(program_names())
    assert all(o.solution is not None and o.problem == "" for o in outcomes)
    assert all(o.summary() == o.solution.summary() for o in outcomes if o.solution is not None)


def test_every_program_with_every_solver() -> None:
    outcomes = compare(W, ["l2_strategy", Program.load("query_weighting")], ["qoco", "scs"], tolerance=1e-3)
    assert [(o.program, o.solver, o.solution is None) for o in outcomes] == [
        ("l2_strategy", "qoco", True),
        ("l2_strategy", "scs", False),
        ("query_weighting", "qoco", False),
        ("query_weighting", "scs", False),
    ]
    assert outcomes[0].summary() == {
        "program": "l2_strategy",
        "solver": "qoco",
        "status": None,
        "problem": "'l2_strategy' does not work with qoco: it must have the psd cone\n"
        "  these have it: clarabel, scs, cvxopt, sdpa",
    }


def test_a_workload_that_a_program_does_not_take() -> None:
    (outcome,) = compare(Workload.from_matrix(np.tri(4)), ["fitness_for_use"])
    assert outcome.solution is None
    assert outcome.problem == (
        "the program asks for accuracy targets and no query of the workload has one\n"
        "  write max_variance beside the queries, or pass targets= to Workload.from_matrix"
    )
