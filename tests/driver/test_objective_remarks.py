"""What a solution says of its objective: charged misses, and why it is estimated."""

import numpy as np
import pytest

import mmopt

ENDLESS = """
program own
choose
    x: vector[2]
minimize
    x[1]
subject to
    c: norm(x) <= x[0]
"""
WEIGHTS = """
program own
choose
    x: vector[3] >= 0
minimize
    x[0] + 2 * x[1] + 3 * x[2]
subject to
    whole: sum(x) == 1
"""
# On the cone but for 8e-12 of its size.
POINT = {"x": np.array([2.43579453e05, -9.90213918e-01])}


def test_a_charge_is_told() -> None:
    program = mmopt.Program.parse(ENDLESS)
    solution = mmopt.solve([[1.0]], program, derive=False)
    value = solution.variables["x"][1]
    assert solution.objective > value + 1.0  # as the solver's multiplier is huge
    (told,) = solution.warnings
    assert told.startswith(f"the objective is {value:.6g} at the point, and charged ")
    assert "for misses of constraint 'c' (by " in told and told.endswith("relatively, times its multiplier)")


def test_a_point_without_multipliers_is_not_called_feasible_without_a_word() -> None:
    program = mmopt.Program.parse(ENDLESS)
    solution = mmopt.certify([[1.0]], program=program, point=POINT, solve=False)
    assert solution.objective == pytest.approx(-0.990213918)
    assert solution.warnings[0] == (
        "the point misses constraint 'c' by 8.3e-12, relatively, which is taken for rounding: without "
        "multipliers nothing is charged for it, and the objective may be better than the optimum"
    )


def test_an_equation_is_the_reason_of_an_estimate() -> None:
    solution = mmopt.solve([[1.0]], mmopt.Program.parse(WEIGHTS))
    assert solution.objective_grade == "estimated"
    assert solution.warnings == (
        "the objective is estimated, as 'whole' holds up to rounding only; where '<=' or '>=' means the "
        "same, it could be proved",
    )


def test_what_is_proved_has_no_remark() -> None:
    solution = mmopt.solve([[1.0]], mmopt.Program.parse(WEIGHTS.replace("== 1", ">= 1")))
    assert (solution.objective_grade, solution.warnings) == ("proved", ())
