"""Lowered problems say what the program says: at fixed points, and in their optimal values."""

import numpy as np
import pytest
import scipy.sparse as sp
from tolerances import GAP, GAP_INTERIOR

from mmopt import Program, Workload, solve
from mmopt.compiler import Lowered, bind, lower
from mmopt.language import evaluate, program_names

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # tighter than needed

CONVEX = [name for name in program_names() if Program.load(name).problem_class == "convex"]


def optimum(lowered: Lowered) -> float:
    return float(lowered.problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9))


def test_the_problem_is_convex_named_and_has_the_objective_of_the_program(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """cvxpy's value of the lowered objective at its optimum against the evaluator's, at the same point."""
    w = Workload.from_matrix(rng.normal(size=(8, 6)), targets=rng.uniform(0.5, 2.0, size=8))
    for name in CONVEX:
        with subtests.test(name):
            instance = bind(Program.load(name), w)
            lowered = lower(instance)
            assert lowered.problem.is_dcp()
            assert set(lowered.variables) == {d.name for d in instance.program.choose}
            assert set(lowered.constraints) == {c.name for c in instance.program.constraints}
            value = optimum(lowered)
            env = {**instance.env, **{n: v.value for n, v in lowered.variables.items()}}
            assert instance.program.objective is not None
            assert evaluate(instance.program.objective, env) == pytest.approx(value, rel=1e-6)


TWO_BY_TWO = """program pairs
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


def of_vector(sense: str, objective: str, line: str) -> Program:
    return Program.parse(
        "program own\ngiven\n    W: matrix[m, n] = workload.matrix\nchoose\n    v: vector[n]\n"
        f"{sense}\n    {objective}\nsubject to\n    line: {line}\nstrategy\n    diag(v) norm 2\n"
    )


def test_a_family_as_one_constraint_has_the_same_optimum(rng: np.random.Generator) -> None:
    """``sum(W[j, :] * v.T)`` has no vector form, ``W[j, :] @ v`` has; they say the same."""
    w = Workload.from_matrix(rng.uniform(0.1, 1.0, size=(4, 3)))
    values, counts = [], []
    for side in ("W[j, :] @ v", "sum(W[j, :].T * v)"):
        lowered = lower(bind(of_vector("minimize", "sum(abs(v))", f"{side} >= 1 for j in m"), w))
        values.append(optimum(lowered))
        counts.append(len(lowered.constraints["line"]))
    assert counts == [1, 4]
    assert values[0] == pytest.approx(values[1], rel=GAP_INTERIOR)


def test_the_sense_of_a_relation() -> None:
    for op, sense in (("<=", "maximize"), (">=", "minimize"), ("==", "minimize")):
        program = of_vector(sense, "sum(v)", f"W @ v {op} 2")
        lowered = lower(bind(program, Workload.from_matrix(np.eye(3))))
        optimum(lowered)
        assert lowered.variables["v"].value == pytest.approx(np.full(3, 2.0), abs=1e-6), op


def test_the_diagonal_matrix_of_a_product_is_a_matrix() -> None:
    program = of_vector("minimize", "sum(v)", "diag(W @ v - 1) >> 0\n    b: diag(W @ v) >> 0")
    instance = bind(program, Workload.from_matrix(np.eye(3)))
    assert optimum(lower(instance)) == pytest.approx(3.0, rel=1e-6)


@pytest.mark.quick
def test_scaled_rows_give_the_point_and_multipliers_of_the_program() -> None:
    program = of_vector("maximize", "sum(v)", "W @ v <= c").text
    program = program.replace("choose", "    c: vector[m] > 0 = workload.targets\nchoose")
    limits = np.array([1e-3, 1.0, 40.0])
    lowered = lower(bind(Program.parse(program), Workload.from_matrix(np.eye(3), targets=limits)))
    assert optimum(lowered) == pytest.approx(limits.sum(), rel=1e-6)
    assert lowered.variables["v"].value == pytest.approx(limits, rel=1e-5)
    (line,) = lowered.constraints["line"]
    assert lowered.rows["line"] * line.dual_value == pytest.approx(np.ones(3), rel=1e-5)


FORMS = """program own
given
    W: matrix[m, n] = workload.matrix
    G: psd[n, n] = workload.gram
choose
    X: psd[n, n]
minimize
    OBJECTIVE
subject to
    line: LINE
strategy
    factor(X) norm 2
"""


def optimum_of(objective: str, line: str, w: Workload) -> float:
    return optimum(lower(bind(Program.parse(FORMS.replace("OBJECTIVE", objective).replace("LINE", line)), w)))


@pytest.mark.quick
def test_the_root_is_the_largest_matrix_below(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(5, 3)))
    expected = np.linalg.svd(w.matrix, compute_uv=False).sum()
    assert optimum_of("-trace(root(X))", "X << G", w) == pytest.approx(-expected, rel=1e-5)


@pytest.mark.quick
def test_forms_of_one_objective_have_one_value(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(4, 3)))
    best = solve(w, "l2_strategy").objective
    inverses = ("trace(G @ inv(X))", "trace(inv(X) @ G)", "trace(W @ inv(X) @ W.T)")
    for objective in (*inverses, "sum(diag(W @ inv(X) @ W.T))"):
        assert optimum_of(objective, "diag(X) <= 1", w) == pytest.approx(best, rel=1e-5), objective


def test_a_large_matrix_of_few_entries_reaches_cvxpy_as_a_sparse_one(rng: np.random.Generator) -> None:
    a = np.where(rng.random((120, 80)) < 0.03, rng.normal(size=(120, 80)), 0.0)
    a[:80] += 3.0 * np.eye(80)
    program = Program.parse(
        "program fit\ngiven\n    A: matrix[m, n]\n    b: vector[m]\nchoose\n    x: vector[n] >= 0\n"
        "minimize\n    sum((A @ x - b)**2) + sum(eye(n) @ x)\n"
    )
    values = {}
    for name, matrix in (("few", a), ("many", a + 1e-9)):
        lowered = lower(
            bind(program, Workload.from_matrix([[1.0]]), {"A": matrix, "b": rng.normal(size=120)})
        )
        factors = [c.value for c in lowered.problem.constants() if np.ndim(c.value) == 2]
        assert [sp.issparse(factor) for factor in factors] == [
            name == "few" or f.shape == (80, 80) for f in factors
        ]
        values[name] = len(factors)
    assert values == {"few": 2, "many": 2}


@pytest.mark.quick
def test_what_is_declared_psd_is() -> None:
    """No line says it: the largest of <G, X> among matrices of ones and minus ones, not of numbers."""
    w = Workload.from_matrix(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 0.0, -1.0]]))
    # The three vectors of length one that are farthest apart: 120 degrees.
    assert optimum_of("-trace(G @ X)", "diag(X) <= 1", w) == pytest.approx(-9.0, rel=1e-6)


@pytest.mark.quick
def test_a_curved_vector_stands_on_a_diagonal_in_the_order_of_matrices(subtests: pytest.Subtests) -> None:
    """By hand; cvxpy itself orders affine matrices alone."""
    turned = "[[1, 1], [1, -1]] @ diag({0}) @ [[1, 1], [1, -1]]"
    for sense, objective, line, value in (
        ("minimize", "sum((x - 1)**2)", "diag(exp(x)) << 2 * eye(2)", 2 * (1 - np.log(2.0)) ** 2),
        (
            "minimize",
            "sum((x - 1)**2)",
            turned.format("exp(x)") + " << 4 * eye(2)",
            2 * (1 - np.log(2.0)) ** 2,
        ),
        ("maximize", "sum(x)", "diag(sqrt(x)) >> diag(x)", 2.0),
        ("minimize", "-sum(x)", "lambda_max(diag(x**2)) <= 9", -6.0),
    ):
        with subtests.test(line):
            text = f"program p\nchoose x: vector[2] >= 0\n{sense} {objective}\nsubject to a: {line}\n"
            s = solve(program=Program.parse(text))
            assert s.objective == pytest.approx(value, rel=GAP) and s.gap is not None and s.gap <= GAP


# The corners of whose blocks are led back in a way of their own, or whose rows are scaled.
LED_BACK = ("fitness_lmi", "fitness_for_use", "l2_strategy_lmi", "l2_strategy_block")


def test_values_and_multipliers_come_back_in_the_units_of_the_program(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Targets that differ, several cells that cost the most, corners of blocks: point and bound meet."""
    several = Workload.from_matrix(np.tri(4), targets=[1.0, 1.5, 1.0, 2.0])
    for name in dict.fromkeys((*LED_BACK, *map(str, rng.choice(CONVEX, 6)))):
        for w in (several, Workload.from_matrix(rng.normal(size=(4, 3)), targets=[1.0, 30.0, 0.1, 4.0])):
            with subtests.test(name):
                s = solve(w, name, solver="clarabel", reduce=False)
                assert s.gap is not None and 0 <= s.gap <= GAP
