"""Lowered problems say what the program says: at fixed points, and in their optimal values."""

import numpy as np
import pytest
from cases import random_workload
from tolerances import GAP, GAP_INTERIOR

from mmopt import Program, Workload, solve
from mmopt.compiler import Lowered, bind, lower
from mmopt.language import evaluate, program_names

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # tighter than needed

CONVEX = [name for name in program_names() if Program.load(name).klass == "convex"]


def optimum(lowered: Lowered) -> float:
    return float(lowered.problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9))


def test_problems_are_convex_and_named(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for name in CONVEX:
        with subtests.test(name=name):
            instance = bind(Program.load(name), random_workload(rng))
            lowered = lower(instance)
            assert lowered.problem.is_dcp()
            assert set(lowered.variables) == {d.name for d in instance.program.choose}
            assert set(lowered.constraints) == {c.name for c in instance.program.constraints}


def test_the_objective_at_the_optimum(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """cvxpy's value of the lowered objective against the evaluator's, at the same point."""
    for name in CONVEX:
        with subtests.test(name=name):
            w = Workload.from_matrix(rng.normal(size=(8, 6)), targets=rng.uniform(0.5, 2.0, size=8))
            instance = bind(Program.load(name), w)
            lowered = lower(instance)
            value = optimum(lowered)
            env = {**instance.env, **{n: v.value for n, v in lowered.variables.items()}}
            assert instance.program.objective is not None
            assert evaluate(instance.program.objective, env) == pytest.approx(value, rel=1e-6)


TWO_BY_TWO = """\
program pairs
title "2 x 2 matrices"
source "none"
class convex
given
    c: vector[k] > 0
    q: vector[k] > 0
choose
    u: vector[k] >= 0
    v: vector[k] >= 0
minimize
    c @ v
subject to
    inverse: LINE
    budget:  q @ u <= 1
strategy
    diag(u) norm 2
"""
SECOND_ORDER = "[[u[i], 1], [1, v[i]]] >> 0 for i in k"
# With a column and a row of zeros more it is no 2 x 2 matrix, and goes to the psd cone.
PSD = "[[u[i], 1, 0], [1, v[i], 0], [0, 0, 1]] >> 0 for i in k"


@pytest.mark.quick
def test_two_by_two_as_a_second_order_cone_equals_the_psd_form(rng: np.random.Generator) -> None:
    for _ in range(3):
        c, q = rng.uniform(0.1, 3.0, size=(2, 5))
        values, kinds = [], []
        for line in (SECOND_ORDER, PSD):
            program = Program.parse(TWO_BY_TWO.replace("LINE", line))
            lowered = lower(bind(program, Workload.from_matrix(np.eye(5)), {"c": c, "q": q}))
            values.append(optimum(lowered))
            dims = lowered.problem.get_problem_data("CLARABEL", solver_opts={})[0]["dims"]
            kinds.append((bool(dims.soc), bool(dims.psd)))
        assert kinds == [(True, False), (False, True)]
        assert values[0] == pytest.approx(np.sqrt(c * q).sum() ** 2, rel=GAP_INTERIOR)
        assert values[1] == pytest.approx(values[0], rel=GAP_INTERIOR)


@pytest.mark.quick
def test_a_family_as_one_constraint_has_the_same_optimum(rng: np.random.Generator) -> None:
    """``sum(W[j, :] * v.T)`` has no vector form, ``W[j, :] @ v`` has; they say the same."""
    text = """\
program own
title "own"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    v: vector[n]
minimize
    sum(abs(v))
subject to
    rows: LINE >= 1 for j in m
strategy
    diag(v) norm 2
"""
    w = Workload.from_matrix(rng.uniform(0.1, 1.0, size=(4, 3)))
    values, counts = [], []
    for line in ("W[j, :] @ v", "sum(W[j, :].T * v)"):
        lowered = lower(bind(Program.parse(text.replace("LINE", line)), w))
        values.append(optimum(lowered))
        counts.append(len(lowered.constraints["rows"]))
    assert counts == [1, 4]
    assert values[0] == pytest.approx(values[1], rel=GAP_INTERIOR)


@pytest.mark.quick
def test_the_root_is_the_largest_matrix_below(rng: np.random.Generator) -> None:
    text = """\
program own
title "own"
source "none"
class convex
given
    G: psd[n, n] = workload.gram
choose
    X: psd[n, n]
maximize
    trace(root(X))
subject to
    below: X << G
strategy
    factor(X) norm 2
"""
    w = Workload.from_matrix(rng.normal(size=(5, 3)))
    expected = np.linalg.svd(w.matrix, compute_uv=False).sum()
    assert optimum(lower(bind(Program.parse(text), w))) == pytest.approx(expected, rel=1e-5)


@pytest.mark.quick
def test_the_sense_of_a_relation(subtests: pytest.Subtests) -> None:
    for op, sign in [("<=", "-"), (">=", ""), ("==", "")]:
        with subtests.test(op=op, sign=sign):
            text = f"""\
program own
title "own"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    v: vector[n]
minimize
    {sign}sum(v)
subject to
    line: W @ v {op} 2
strategy
    diag(v) norm 2
"""
            lowered = lower(bind(Program.parse(text), Workload.from_matrix(np.eye(3))))
            optimum(lowered)
            assert lowered.variables["v"].value == pytest.approx(np.full(3, 2.0), abs=1e-6)


FORMS = """\
program own
title "own"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
    G: psd[n, n] = workload.gram
choose
    X: psd[n, n]
minimize
    OBJECTIVE
subject to
    sensitivity: diag(X) <= 1
strategy
    factor(X) norm 2
"""


@pytest.mark.quick
def test_forms_of_one_objective_have_one_value(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for objective in [
        "trace(G @ inv(X))",
        "trace(inv(X) @ G)",
        "trace(W @ inv(X) @ W.T)",
        "sum(diag(W @ inv(X) @ W.T))",
    ]:
        with subtests.test(objective=objective):
            w = Workload.from_matrix(rng.normal(size=(4, 3)))
            best = solve(w, "l2_strategy").objective
            program = Program.parse(FORMS.replace("OBJECTIVE", objective))
            assert optimum(lower(bind(program, w))) == pytest.approx(best, rel=1e-5)


def test_the_diagonal_matrix_of_a_product_is_a_matrix() -> None:
    text = "program own\ngiven\n    W: matrix[m, n] = workload.matrix\nchoose\n    x: vector[n]\n"
    text += "minimize\n    sum(x)\nsubject to\n    a: diag(W @ x - 1) >> 0\n    b: diag(W @ x) >> 0\n"
    instance = bind(Program.parse(text), Workload.from_matrix(np.eye(3)))
    assert optimum(lower(instance)) == pytest.approx(3.0, rel=1e-6)


@pytest.mark.quick
def test_what_is_declared_psd_is(rng: np.random.Generator) -> None:
    """No line says it: the largest of <G, X> among matrices of ones and minus ones, not of numbers."""
    w = Workload.from_matrix(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 0.0, -1.0]]))
    program = Program.parse(FORMS.replace("OBJECTIVE", "-trace(G @ X)"))
    # The three vectors of length one that are farthest apart: 120 degrees.
    assert optimum(lower(bind(program, w))) == pytest.approx(-9.0, rel=1e-6)


@pytest.mark.some(16)
@pytest.mark.parametrize("name", CONVEX)
def test_values_and_multipliers_come_back_in_the_units_of_the_program(
    name: str, rng: np.random.Generator
) -> None:
    """Targets that differ, several cells that cost the most, corners of blocks: point and bound meet."""
    several = Workload.from_matrix(np.tri(4), targets=[1.0, 1.5, 1.0, 2.0])
    for w in (several, Workload.from_matrix(rng.normal(size=(4, 3)), targets=[1.0, 30.0, 0.1, 4.0])):
        s = solve(w, name, solver="clarabel", reduce=False)
        assert s.gap is not None and 0 <= s.gap <= GAP


@pytest.mark.quick
def test_scaled_rows_give_the_point_and_multipliers_of_the_program() -> None:
    text = """\
program own
title "own"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
    c: vector[m] > 0 = workload.targets
choose
    v: vector[n]
maximize
    sum(v)
subject to
    line: W @ v <= c
strategy
    diag(v) norm 2
"""
    limits = np.array([1e-3, 1.0, 40.0])
    lowered = lower(bind(Program.parse(text), Workload.from_matrix(np.eye(3), targets=limits)))
    assert optimum(lowered) == pytest.approx(limits.sum(), rel=1e-6)
    assert lowered.variables["v"].value == pytest.approx(limits, rel=1e-5)
    (line,) = lowered.constraints["line"]
    assert lowered.rows["line"] * line.dual_value == pytest.approx(np.ones(3), rel=1e-5)
