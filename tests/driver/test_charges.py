"""What a point misses is charged to the worse side of its objective."""

import numpy as np
import pytest

from mmopt import Program, Strategy, Workload, certify, solve
from mmopt.compiler import bind
from mmopt.driver.judge.score_point import FEASIBLE, charged, scored
from mmopt.errors import ContradictionError

MISSED = FEASIBLE / 2
WORKLOAD = Workload.from_matrix(np.tri(3))
LINEAR = """program linear
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    v: vector[n]
{sense}
    sum(v)
subject to
    line: v {op} 1
strategy
    eye(n) norm 2
"""


@pytest.mark.quick
def test_a_point_just_outside_is_worse_than_its_value() -> None:
    """tr(W inv(X) Wᵀ) of X = (1 + v) I is 6 / (1 + v): the charge makes up for it."""
    found = scored(bind(Program.load("l2_strategy"), WORKLOAD), {"X": (1.0 + MISSED) * np.eye(3)})
    assert found.is_feasible and found.after == pytest.approx(MISSED, rel=1e-3)
    assert 6.0 <= found.objective <= 6.0 * (1 + 1.1 * MISSED)  # of what it misses twice is charged


@pytest.mark.quick
def test_what_a_violation_may_be_worth_goes_to_the_worse_side(subtests: pytest.Subtests) -> None:
    """By weak duality at most the multipliers times it: one of 1000 for each of three cells."""
    for sense, op, worse in [("minimize", ">=", 1.0), ("maximize", "<=", -1.0)]:
        with subtests.test(sense=sense, op=op):
            instance = bind(Program.parse(LINEAR.format(sense=sense, op=op)), WORKLOAD)
            found = scored(instance, {"v": np.full(3, 1.0 - worse * MISSED)})
            assert found.is_feasible and found.after > 0
            more = charged(instance, found, {"line": np.full(3, 1000.0)})
            assert worse * (more.objective - found.objective) == pytest.approx(3000 * MISSED, rel=1e-3)


def test_an_objective_is_proved_only_where_every_line_is() -> None:
    """u is proved to be at least wᵀ X⁻¹ w by the Schur complement; what a rank says is not."""
    tall = Workload.from_matrix(np.array([[0.99998, 1.00003], [1.99998, 2.00001], [2.99998, 3.00002]]))
    near = Strategy([[1, 1], [1e-5, -1e-5]], 2)
    found = certify(tall, near, program="l2_strategy_lmi", solve=False)
    assert found.objective_grade == "proved" and found.objective >= 26.4999889705
    assert solve(WORKLOAD, "min_error", starts=1).objective_grade == "estimated"


@pytest.mark.quick
def test_a_line_of_ones_own_that_rounding_misses_makes_an_estimate() -> None:
    instance = bind(Program.parse(LINEAR.format(sense="maximize", op="<=")), WORKLOAD)
    assert scored(instance, {"v": np.ones(3)}).proved
    assert not scored(instance, {"v": np.full(3, 1.0 + 1e-15)}).proved


@pytest.mark.quick
def test_an_estimate_that_is_far_off_is_refused() -> None:
    """In the coordinates of AᵀA the condition is squared: half of the error is lost."""
    tall = Workload.from_matrix([[0.99998, 0.99998], [2, 2], [2.99998, 3.00003]])
    with pytest.raises(ContradictionError, match="total error"):
        certify(tall, Strategy([[1, 1], [1e-8, -1e-8]], 1), program="min_error", solve=False)
