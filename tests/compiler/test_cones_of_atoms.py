"""Cones of curved atoms: as many as cvxpy hands over, and routed to solvers that have them."""

import itertools

import numpy as np
import pytest

from mmopt import Program, SolverError, Workload, solve
from mmopt.compiler import bind, cones, lower, variables
from mmopt.language.atoms import atom_cones

TEXT = """program trial
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n] >= 0
    Y: matrix[m, n]
minimize
    {objective}
subject to
    small: x <= 3
    bounded: abs(Y) <= 1
    {line}
strategy
    diag(x) norm 2
"""
WORKLOAD = Workload.from_matrix(np.tri(4)[1:])
OBJECTIVES = [
    *("sum(exp(x))", "logsumexp(W @ x)", "sum(logsumexp(Y, axis=0))", "sum(logsumexp(Y, axis=1))"),
    *(
        "-sum(log(x))",
        "sum(x**2)",
        "sum((W @ x)**2) + sum(1 / x)",
        "sum(x**-1)",
        "sum(x**1.5)",
        "-sum(x**0.3)",
    ),
    *("sum(x**2.7)", "sum(x**-0.77)", "sum(x**3)", "sum(x**1)", "-sum(sqrt(x))", "1 / min(x)"),
    *(
        "max(x) - min(x)",
        "sum(max(Y, axis=0))",
        "nuclear(Y)",
        "sum(abs(Y)) + sum(abs(Y + 1))",
        "sum(exp(abs(x)))",
        "-sum(x**(2 / 3))",
    ),
]


def program(objective: str, line: str = "") -> Program:
    return Program.parse(TEXT.format(objective=objective, line=line))


@pytest.mark.filterwarnings("ignore:Power atom with exponent:UserWarning")
def test_counted_is_handed_over(subtests: pytest.Subtests) -> None:
    for objective, line in itertools.product(OBJECTIVES, ["", "each: exp(W[j, :] @ x) <= 9 for j in m"]):
        with subtests.test(objective=objective, line=line):
            instance = bind(program(objective, line), WORKLOAD)
            sizes = instance.sizes()
            data, _, _ = lower(instance).problem.get_problem_data(
                "CLARABEL", solver_opts={"use_quad_obj": False}
            )
            dims = data["dims"]
            found = cones(instance.checked, sizes)
            kinds = ("zero", "nonnegative", "second-order", "exponential", "power", "psd")
            counted = [sum(c.count for c in found if c.kind == kind) for kind in kinds]
            assert counted == [dims.zero, dims.nonneg, len(dims.soc), dims.exp, len(dims.p3d), len(dims.psd)]
            assert variables(instance.checked, sizes) == data["c"].size


def test_simple_powers_are_second_order(subtests: pytest.Subtests) -> None:
    for exponent in [0.5, -0.5, 2.0, -1.0, 1.5, 3.0, 1 / 3, 0.25, -2.0, 8.0]:
        with subtests.test(exponent=exponent):
            assert atom_cones.is_quadratic(exponent)


def test_other_powers_are_power_cones(subtests: pytest.Subtests) -> None:
    for exponent in [0.3, 2.7, np.pi, 1 + 1e-6, -0.77]:
        with subtests.test(exponent=exponent):
            assert not atom_cones.is_quadratic(exponent)
            assert atom_cones.cones((5,), 5, exponent)[0] == ("power", 3, 5, 5)


SHORT = "\n".join(line for line in TEXT.split("\n") if "Y" not in line)


def test_a_quadratic_objective_is_not_lost(subtests: pytest.Subtests) -> None:
    for solver in ["clarabel", "scs", "cvxopt", "qoco"]:
        with subtests.test(solver=solver):
            s = solve(
                WORKLOAD, Program.parse(SHORT.format(objective="sum((x - 1)**2)", line="")), solver=solver
            )
            np.testing.assert_allclose(s.variables["x"], 1.0, atol=1e-4)


BEST = [
    ("sum(exp(x) - 2 * x)", np.log(2)),
    ("sum(x - log(x))", 1.0),
    ("sum(x**2.7 - x)", 2.7 ** (-1 / 1.7)),
    ("logsumexp(x - 2) - sum(x)", 3.0),  # every entry at its limit
]


def test_exponential_and_power_cones_are_solved(subtests: pytest.Subtests) -> None:
    for (objective, best), solver in itertools.product(BEST, [None, "scs"]):
        with subtests.test(objective=objective, best=best, solver=solver):
            text = SHORT.format(objective=objective, line="").replace("diag(x)", "eye(n)")
            s = solve(WORKLOAD, Program.parse(text), solver=solver)
            np.testing.assert_allclose(s.variables["x"], best, atol=1e-4)


def test_solvers_without_the_cone(subtests: pytest.Subtests) -> None:
    for objective, solver, kind in [
        ("sum(exp(x))", "cvxopt", "exponential"),
        ("sum(x**2.7)", "qoco", "power"),
    ]:
        with subtests.test(objective=objective, solver=solver, kind=kind):
            with pytest.raises(SolverError) as refused:
                solve(WORKLOAD, Program.parse(SHORT.format(objective=objective, line="")), solver=solver)
            assert str(refused.value) == (
                f"'trial' does not work with {solver}: it must have the {kind} cone\n"
                "  these have it: clarabel, scs"
            )
