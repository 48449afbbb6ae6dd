"""The compiled problem as plain data: what it says is what the program says, at any point."""

import cvxpy
import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.compiler import bind, lower
from mmopt.language import evaluate
from mmopt.solvers.conic_problem import ConeBlock, Cones, conic_problem, led_back
from mmopt.solvers.conic_solvers import hand_over

TARGETS = Workload.from_matrix(np.tri(3), targets=[1.0, 2.0, 1.0])
PROGRAMS = ("l2_strategy", "l2_strategy_lmi", "query_weighting", "laplace_weighting_power", "fitness_dual")


@pytest.mark.quick
def test_blocks_follow_one_another_in_the_order_of_the_fields() -> None:
    cones = Cones(2, 3, (3, 4), (2,), 1, (0.3,))
    assert cones.blocks == (
        ConeBlock("zero", 0, 2, 2),
        ConeBlock("nonnegative", 2, 5, 3),
        ConeBlock("second-order", 5, 8, 3),
        ConeBlock("second-order", 8, 12, 4),
        ConeBlock("psd", 12, 15, 2),
        ConeBlock("exponential", 15, 18, 3),
        ConeBlock("power", 18, 21, 3, 0.3),
    )
    assert Cones().blocks == () and Cones(psd=(1,)).kinds == {"psd"}


def inside(kind: str, s: np.ndarray, block: ConeBlock, off: float = 1e-6) -> bool:
    """Whether s is in the cone, by its definition in ``Cones``."""
    if kind == "zero":
        return bool(np.abs(s).max() <= off)
    if kind == "nonnegative":
        return bool(s.min() >= -off)
    if kind == "second-order":
        return bool(s[0] >= np.linalg.norm(s[1:]) - off)
    if kind == "psd":
        matrix, at = np.zeros((block.size, block.size)), 0
        for j in range(block.size):
            for i in range(j, block.size):
                matrix[i, j] = matrix[j, i] = s[at] / (1.0 if i == j else np.sqrt(2.0))
                at += 1
        return bool(np.linalg.eigvalsh(matrix).min() >= -off)
    u, v, w = s
    if kind == "exponential":
        return bool(v > -off and w >= v * np.exp(u / max(v, 1e-12)) - off)
    return bool(
        min(u, v) >= -off and max(u, 0) ** block.alpha * max(v, 0) ** (1 - block.alpha) >= abs(w) - off
    )


@pytest.mark.filterwarnings("ignore:Power atom with exponent:UserWarning")
def test_at_the_optimum_objective_and_cones_are_those_of_the_program(subtests: pytest.Subtests) -> None:
    for name in PROGRAMS:
        with subtests.test(name):
            instance = bind(Program.load(name), TARGETS)
            handed = hand_over(lower(instance), "SCS")
            problem = conic_problem(handed)
            x = cvxpy.Variable(len(problem.c))
            s = problem.b - problem.A @ x
            lowered = handed.lowered
            lowered.problem.solve(solver="CLARABEL")
            known = {n: np.asarray(v.value) for n, v in lowered.variables.items()}
            value = float(evaluate(instance.program.objective, {**instance.env, **known}))
            assert problem.sense == instance.program.sense
            parts = [_constraint(s, block) for block in problem.cones.blocks]
            rest = cvxpy.Problem(cvxpy.Minimize(problem.c @ x + problem.offset), parts)
            rest.solve(solver="CLARABEL")
            sign = -1.0 if problem.sense == "maximize" else 1.0
            assert sign * rest.value == pytest.approx(value, rel=1e-6)
            slack = problem.b - problem.A @ x.value
            assert all(
                inside(block.kind, slack[block.first : block.end], block) for block in problem.cones.blocks
            )
            # Led back, the columns are the variables by these names.
            variables, _ = handed.named(led_back(x.value, np.zeros(len(problem.b))))
            for j, named in enumerate(problem.names):
                if named:
                    assert _entry(variables, named) == x.value[j]


def _entry(variables: dict[str, np.ndarray], name: str) -> float:
    variable, _, place = name.partition("[")
    at = tuple(int(i) for i in place.rstrip("]").split(",")) if place else ()
    return float(variables[variable][at])


def _constraint(s: cvxpy.Expression, block: ConeBlock) -> cvxpy.Constraint:
    part = s[block.first : block.end]
    if block.kind == "zero":
        return part == 0
    if block.kind == "nonnegative":
        return part >= 0
    if block.kind == "second-order":
        return cvxpy.SOC(part[0], part[1:])
    if block.kind == "psd":
        full = np.zeros((block.size**2, block.end - block.first))
        places = [(i, j) for j in range(block.size) for i in range(j, block.size)]
        for k, (i, j) in enumerate(places):
            for a, b in {(i, j), (j, i)}:
                full[a * block.size + b, k] = 1.0 if i == j else np.sqrt(0.5)
        return cvxpy.reshape(full @ part, (block.size, block.size), order="C") >> 0
    if block.kind == "exponential":
        return cvxpy.ExpCone(part[0], part[1], part[2])
    return cvxpy.PowCone3D(part[0], part[1], part[2], block.alpha)


def test_a_solver_cannot_change_the_problem() -> None:
    problem = conic_problem(hand_over(lower(bind(Program.load("l2_strategy"), TARGETS)), "SCS"))
    for array in (problem.b, problem.c, problem.A.data, problem.A.indices, problem.A.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
