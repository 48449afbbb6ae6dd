"""Procedures: their steps are solutions of their own, and blocks of steps run as often as they say.

Guards solve_and_tune.py.
"""

import numpy as np
import pytest
from named_workloads import named, random_workload
from tolerances import GAP_INTERIOR, RECOMPUTED, ROUNDING, SHAPE

from mmopt import OptionError, Program, Solution, Workload, solve, verify
from mmopt.driver.solve_and_tune import stop_of_steps
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
    for _ in range(2):
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


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "program", [pytest.param(p, marks=pytest.mark.nightly) if p == "low_rank" else p for p in program_names()]
)
def test_a_repeated_solve_is_the_same(program: str) -> None:
    w = Workload.from_matrix(np.tri(4), targets=np.ones(4))
    few = {"starts": 2} if Program.load(program).problem_class in ("rank", "smooth") else {}
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
    assert whole.bound == whole.error_bound


TEXT = """program blocks
class procedure
given
    W: matrix[r, n] = workload.root
    Q: matrix[h, n] = workload.eigenqueries
steps
    count = 0
    total = 64
    fit = solve(query_weighting, Q=Q)
    BLOCK
    A = fit.strategy
minimize
    count
strategy
    A norm 2
"""
WORKLOAD = Workload.from_matrix(np.tri(5))


def run(block: str, **options: object) -> Solution:
    return solve(WORKLOAD, Program.parse(TEXT.replace("BLOCK", block)), **options)


def test_how_often_a_block_runs(subtests: pytest.Subtests) -> None:
    for block, count in [
        ("repeat 3:\n        count = count + 1", 3),
        ("repeat 3 until count >= 2:\n        count = count + 1", 2),
        # The end is looked at before a round, so a block may not run at all.
        ("repeat 3 until count <= 0:\n        count = count + 1", 0),
        ("repeat 2:\n        repeat 3:\n            count = count + 1", 6),
        ("repeat n until total <= 10:\n        total = total / 2\n        count = count + 1", 3),
        ("repeat 2: count = count + 1", 2),
    ]:
        with subtests.test(block=block, count=count):
            assert run(block).objective == pytest.approx(count, abs=ROUNDING)


def test_a_condition_that_never_holds_is_a_warning() -> None:
    words = "rounds of 'repeat' its condition 'until' does not hold"
    assert run("repeat 3 until count >= 4:\n        count = count + 1").warnings == (f"after 3 {words}",)
    assert run("repeat 3 until count >= 3:\n        count = count + 1").warnings == ()


def test_alternate_ends_when_nothing_falls_any_more() -> None:
    found = run("alternate 10:\n        again = solve(query_weighting, Q=Q)\n        count = count + 1")
    assert found.objective == pytest.approx(2, abs=ROUNDING)
    assert list(found.steps) == ["fit", "again 1", "again 2"]


def test_steps_are_kept_in_order_with_numbers() -> None:
    found = run("repeat 2:\n        fit = solve(query_weighting, Q=Q)")
    assert list(found.steps) == ["fit 1", "fit 2", "fit 3"]
    assert Solution.from_fields(found.fields()) == found
    assert found.iterations == sum(step.iterations for step in found.steps.values())


def test_a_count_that_is_no_whole_number() -> None:
    with pytest.raises(OptionError, match=r"repeated a whole number of times, at most 2\*\*53, not 2\.5"):
        run("repeat 2.5:\n        count = count + 1")


def test_the_bound_of_a_step() -> None:
    text = TEXT.replace("BLOCK", "count = fit.objective") + "bound\n    query_weighting\n"
    found = solve(WORKLOAD, Program.parse(text))
    assert found.bound == found.steps["fit"].bound
    assert (found.steps["fit"].bound_grade, found.bound_grade) == ("proved", "claimed")
    assert found.gap <= GAP_INTERIOR


def test_all_steps_have_one_bound_on_total_error() -> None:
    """It is of the workload alone: no step is above it, and the result's own is not below."""
    w = Workload.from_matrix(np.tri(5))
    s = solve(w, "low_rank_gaussian", givens={"S": np.eye(5)})
    bounds = {step.error_bound for step in s.steps.values()}
    assert len(s.steps) > 2 and len(bounds) == 1
    best = solve(w, "l2_strategy").error
    (bound,) = bounds
    assert 0.99 * best <= bound <= best
    assert verify(s, w).holds


def test_a_procedure_has_the_stop_of_its_worst_step() -> None:
    """A gap in every step is claimed where every step has one, or needs none."""
    reached, local = "gap reached", "local optimum, 1 start"
    assert stop_of_steps([reached, local, "time limit", "gap not reached"]) == "time limit"
    assert stop_of_steps([reached, local, "closed form"]) == local
    assert stop_of_steps([reached, "closed form"]) == "gap reached in every step"
