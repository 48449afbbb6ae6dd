"""Procedures: the steps are solutions of their own, the result gets the procedure's bound."""

from __future__ import annotations

import numpy as np
import pytest
from cases import named, random_workload
from tolerances import GAP_INTERIOR, RECOMPUTED, SHAPE

from mmopt import Program, Solution, Workload, solve
from mmopt.language import program_names


def test_the_step_is_the_weighting_of_the_eigenqueries(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    s = solve(w, "eigen_design")
    assert set(s.steps) == {"weighting"}
    step = s.steps["weighting"]
    alone = solve(w, "query_weighting")
    assert step.program == "query_weighting"
    assert step.objective == pytest.approx(alone.objective, rel=GAP_INTERIOR)
    assert step.givens["Q"] == pytest.approx(w.eigenqueries)
    assert s.status.stop == "gap reached in every step"
    assert s.seconds["total"] >= step.seconds["total"] > 0


def test_completed_columns_are_never_worse(rng: np.random.Generator) -> None:
    for _ in range(5):
        w = random_workload(rng)
        s = solve(w, "eigen_design")
        step = s.steps["weighting"]
        assert s.error <= step.error * (1 + RECOMPUTED)
        assert (s.strategy.variances(w) <= step.strategy.variances(w) * (1 + SHAPE)).all()
        assert (s.strategy.matrix**2).sum(axis=0) == pytest.approx(np.ones(w.n), abs=SHAPE)


def test_the_bound_of_a_step_is_not_printed_as_the_bound_of_the_result() -> None:
    """Prefix sums, n = 8: 20.888 is below the bound 22.931 of the weighting, and that is no mistake."""
    s = solve(Workload.from_matrix(np.tri(8)), "eigen_design")
    step = s.steps["weighting"]
    assert step.bound is not None and s.bound is not None
    assert s.objective < step.bound
    assert s.bound == s.error_bound <= s.objective


def test_a_step_that_stops_early_is_told() -> None:
    s = solve(Workload.from_matrix(np.tri(8)), "eigen_design", solver="scs", max_iterations=20)
    assert s.status.stop == s.steps["weighting"].status.stop == "iteration limit"
    assert s.error_bound <= s.error


def test_a_procedure_of_a_user() -> None:
    """Weight the eigenqueries, then weight the rows of the completed strategy's factor anew."""
    text = """\
program again
title "Weights of the identity, completed"
source "none"
class procedure
given
    W: matrix[r, n] = workload.root
steps
    first = solve(query_weighting, Q=eye(n))
    A = first.strategy
    A = stack(A, diag(sqrt(abs(1 - sum(A * A, axis=0)))))
minimize
    first.objective
strategy
    A norm 2
"""
    w = Workload.from_matrix(np.tri(5))
    s = solve(w, Program.parse(text))
    assert s.objective == pytest.approx(15.0, rel=GAP_INTERIOR)
    assert s.error == pytest.approx(15.0, rel=GAP_INTERIOR)
    assert (s.bound, s.gap, s.status.bound_valid) == (None, None, False)


@pytest.mark.some(5)
@pytest.mark.parametrize(
    "program", [pytest.param(p, marks=pytest.mark.slow) if p == "low_rank" else p for p in program_names()]
)
def test_a_repeated_solve_is_the_same(program: str) -> None:
    w = Workload.from_matrix(np.tri(4), targets=np.ones(4))
    few = {"starts": 2} if Program.load(program).klass in ("rank", "smooth") else {}
    one, other = solve(w, program, **few), solve(w, program, **few)
    assert isinstance(one, Solution)
    assert np.array_equal(one.strategy.matrix, other.strategy.matrix)
    assert (one.objective, one.bound, one.error_bound) == (other.objective, other.bound, other.error_bound)


NESTED = """
program nested
class procedure
given
    W: matrix[r, n] = workload.root
steps
    inner = solve(eigen_design)
    A = inner.strategy
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
bound
    l2_strategy
"""


def test_a_step_may_be_a_procedure_itself() -> None:
    w = named("prefix")
    whole, alone = solve(w, Program.parse(NESTED)), solve(w, "eigen_design")
    assert whole.objective == pytest.approx(alone.objective, rel=1e-9)
    assert whole.steps["inner"].steps["weighting"].program == "query_weighting"
    assert whole.status.stop == "gap reached in every step"
    assert whole.bound is not None and whole.bound == whole.error_bound
