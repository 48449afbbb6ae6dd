"""A point's violations are charged to its objective, which is estimated where a rounding is not bounded.

Guards compiler/bind.py, driver/judge/score_and_meaning.py, charge_rounded_queries.py,
language/evaluate/constraint_misses.py, solve_and_tune.py.
"""

import numpy as np
import pytest

from mmopt import Program, Solution, Strategy, Workload, baseline, certify, solve
from mmopt.compiler import bind
from mmopt.driver.judge.score_and_meaning import FEASIBLE, charged, scored
from mmopt.errors import ContradictionError

PREFIX = Workload.from_matrix(np.tri(4))
# More queries than cells, and not whole: the root is a QR factor, the Gram matrix a rounded sum.
ROUNDED = Workload.from_matrix(np.random.default_rng(0).normal(size=(9, 3)))
LINES = """
subject to
    sensitivity: diag(X) <= 1
repair
    X = X / max(diag(X))
strategy
    factor(X) norm 2
from strategy A: matrix[p, n]
    X = A.T @ A
"""


def judged(
    workload: Workload, given: str, objective: str, problem_class: str = "convex", lines: str = LINES
) -> str:
    head = f"program own\nclass {problem_class}\ngiven\n    {given}\nchoose\n    X: psd[n, n]\n"
    text = f"{head}{objective}{lines}"
    identity = baseline("identity", workload)
    found: Solution = certify(workload, identity, Program.parse(text), solve=False)
    return str(found.objective_grade)


@pytest.mark.quick
def test_of_a_gram_matrix_that_is_a_rounded_sum(subtests: pytest.Subtests) -> None:
    for workload, grade in [(PREFIX, "proved"), (ROUNDED, "estimated")]:
        with subtests.test(grade):
            objective = "minimize\n    trace(inv(X) @ G)"
            assert judged(workload, "G: psd[n, n] = workload.gram", objective, "smooth") == grade
            found = solve(workload, "min_sensitivity_rotation", starts=1)
            assert (found.bound_grade, found.status.bound_valid) == (grade, grade == "proved")


def test_of_eigenvalues() -> None:
    givens = "Q: matrix[h, n] = workload.eigenqueries\n    e: vector[h] = workload.eigenvalues"
    assert judged(PREFIX, givens, "minimize\n    trace(inv(X)) + sum(1 / e)") == "estimated"


def test_of_a_root_in_an_objective_below_zero(subtests: pytest.Subtests) -> None:
    for sense in ["maximize\n    -", "minimize\n    -1000 + "]:
        with subtests.test(sense):
            given, objective = "W: matrix[r, n] = workload.root", f"{sense}trace(W @ inv(X) @ W.T)"
            assert judged(PREFIX, given, objective) == "proved"
            assert judged(ROUNDED, given, objective) == "estimated"


def test_of_a_barrier(rng: np.random.Generator) -> None:
    """A basis of low rank is rounded, and no theorem says what this does to logarithms."""
    low = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 5))
    for rows, grade in ((np.tri(5), "proved"), (low, "estimated")):
        found = solve(Workload.from_matrix(rows, targets=np.full(len(rows), 1e3)), "barrier_step")
        assert (found.objective_grade, found.bound_grade) == (grade, grade)


@pytest.mark.quick
def test_of_steps_and_of_defaults() -> None:
    """1 is lost beside 1e20."""
    root, total = "    W: matrix[r, n] = workload.root\n", "trace(W @ inv(X) @ W.T)"
    steps = (
        f"program own\nclass procedure\ngiven\n{root}steps\n    first = solve(l2_strategy)\n"
        "    a = first.objective + 1e20\n    b = a - 1e20\n"
        "minimize\n    b + 1\nstrategy\n    first.strategy norm 2\n"
    )
    assert solve(PREFIX, Program.parse(steps)).objective_grade == "estimated"
    default = (
        f"program own\nclass convex\ngiven\n{root}parameter\n    a = (trace(W @ W.T) + 1e20) - 1e20\n"
        f"choose\n    X: psd[n, n]\nminimize\n    {total} + a{LINES}"
    )
    found = certify(PREFIX, baseline("identity", PREFIX), Program.parse(default), solve=False)
    assert found.objective_grade == "estimated" or found.objective >= 10 + 10


@pytest.mark.quick
def test_of_a_block_that_is_to_be_nonnegative_entry_by_entry() -> None:
    """Taken as a psd block it would say nothing of the sign of x."""
    text = (
        "program own\nclass convex\ngiven\n    W: matrix[r, n] = workload.root\nchoose\n    X: psd[n, n]\n"
        "    x: scalar\n    z: scalar\n    w: scalar\nminimize\n    trace(W @ inv(X) @ W.T) + 1e11 * x"
        + LINES
    )
    lines = "    block: [[z, x + z - w], [x + z - w, z]] >= 0\n    top: z <= 1\n    least: w >= 1\n"
    text = text.replace("repair\n", f"{lines}repair\n")
    text = text.replace("max(diag(X))\n", "max(diag(X))\n    x = 0 - 5e-11\n    z = 1\n    w = 1\n")
    text += "    x = 0 - 5e-11\n    z = 1\n    w = 1\n"
    identity = baseline("identity", PREFIX)
    assert certify(PREFIX, identity, Program.parse(text), solve=False).objective_grade == "estimated"
    assert certify(PREFIX, identity, "l2_strategy", solve=False).objective_grade == "proved"


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
    assert found.is_feasible and found.after == pytest.approx(MISSED / 2, rel=1e-3)
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


def test_a_line_of_ones_own_that_rounding_misses_makes_an_estimate() -> None:
    instance = bind(Program.parse(LINEAR.format(sense="maximize", op="<=")), WORKLOAD)
    assert scored(instance, {"v": np.ones(3)}).proved
    assert not scored(instance, {"v": np.full(3, 1.0 + 1e-15)}).proved


def test_an_estimate_that_is_far_off_is_refused() -> None:
    """In the coordinates of AᵀA the condition is squared: half of the error is lost."""
    tall = Workload.from_matrix([[0.99998, 0.99998], [2, 2], [2.99998, 3.00003]])
    with pytest.raises(ContradictionError, match="total error"):
        certify(tall, Strategy([[1, 1], [1e-8, -1e-8]], 1), program="min_error", solve=False)


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
    program = Program.parse(ENDLESS)
    solution = solve([[1.0]], program, derive=False, tolerance=1e-9)
    value = solution.variables["x"][1]
    assert solution.objective > value + 0.5  # as the solver's multiplier is huge
    (told,) = solution.warnings
    assert told.startswith(f"the objective is {value:.6g} at the point, and ")
    assert "for the violation of constraint 'c' (by " in told and told.endswith(
        "relatively, times its multiplier)"
    )


def test_a_point_without_multipliers_is_not_called_feasible_without_a_word() -> None:
    program = Program.parse(ENDLESS)
    solution = certify([[1.0]], program=program, point=POINT, solve=False)
    assert solution.objective == pytest.approx(-0.990213918)
    assert solution.warnings[0] == (
        "the point violates constraint 'c' by 4.2e-12, relatively, which counts as rounding: without "
        "multipliers nothing is charged for it, and the objective may be better than the optimum"
    )


def test_an_equation_is_the_reason_of_an_estimate() -> None:
    solution = solve([[1.0]], Program.parse(WEIGHTS))
    assert solution.objective_grade == "estimated"
    assert solution.warnings == (
        "the objective is estimated, as 'whole' holds up to rounding only; where '<=' or '>=' means the "
        "same, it could be proved",
    )
    solution = solve([[1.0]], Program.parse(WEIGHTS.replace("== 1", ">= 1")))
    assert (solution.objective_grade, solution.warnings) == ("proved", ())
