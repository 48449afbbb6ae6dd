"""What is said of an objective that has no finite value: which part, and of which entry where it is given."""

import numpy as np
import pytest

from mmopt import Program, Workload, solve
from mmopt.compiler import bind
from mmopt.driver.diagnosis.infinite_objectives import without_value
from mmopt.errors import SolverError
from mmopt.language import check

TEXT = """program t
given
    a: vector[n]
choose
    x: vector[n]
maximize
    OBJECTIVE
subject to
    LINE
"""


def test_the_part_without_a_value_is_named(subtests: pytest.Subtests) -> None:
    for objective, line, hint in [
        (
            "sum(log(a - 2) * x) - sum(x**2)",
            "sum(x) >= 1",
            "'log(a - 2)' is of what is given, and not a number, at entry 1: of -1",
        ),
        (
            "sum(log(x))",
            "x <= -a",
            "'log(x)' has no finite value at the point found: relax the constraints, or check their signs",
        ),
        ("sum(log(x)) - trace(inv(diag(a)))", "x <= a", "singular"),
    ]:
        with subtests.test(objective=objective, line=line):
            program = Program.parse(TEXT.replace("OBJECTIVE", objective).replace("LINE", line))
            instance = bind(check(program), Workload.from_matrix(np.eye(2)), {"a": np.array([3.0, 1.0, 4.0])})
            assert without_value(instance, "singular") == hint


def test_it_is_told_where_a_solve_fails() -> None:
    program = Program.parse(TEXT.replace("OBJECTIVE", "sum(log(x))").replace("LINE", "x <= -a"))
    with pytest.raises(SolverError) as refused:
        solve(np.eye(2), program, givens={"a": np.array([3.0, 1.0, 4.0])}, solver="clarabel")
    assert "the objective is infinite" in refused.value.message
    assert refused.value.hint is not None and refused.value.hint.startswith("'log(x)' has no finite value")
