"""Points that miss lines of one's own program by a solver's tolerance are moved to where they hold.

Guards violations_and_nearby_points.py, score_and_meaning.py.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import scs

from mmopt import Program, certify, solve, verify
from mmopt.compiler import Instance, bind
from mmopt.driver.judge import score_and_meaning
from mmopt.driver.judge.score_and_meaning import candidate
from mmopt.driver.judge.violations_and_nearby_points import as_declared, nearby_points
from mmopt.errors import OptionError
from mmopt.numerics.ball_functions import is_semidefinite
from mmopt.numerics.balls import exact
from mmopt.numerics.float_functions import EIGENVALUE_FLOOR
from mmopt.request import as_workload
from mmopt.solvers.conic_problem import ConicProblem

Rng = np.random.Generator
ANY = [[1.0]]  # no given takes anything of the workload
TEXT = """program own
given
    A: matrix[m, n]
    a: vector[m]
choose
    x: vector[n]{sign}
minimize
    {objective}
subject to
{lines}
"""


def own(objective: str, *lines: str, sign: str = "") -> Program:
    numbered = "\n".join(f"    line{i}: {line}" for i, line in enumerate(lines))
    return Program.parse(TEXT.format(sign=sign, objective=objective, lines=numbered))


def instance_of(program: Program, matrix: Any, vector: Any) -> Instance:
    return bind(program, as_workload(ANY), {"A": np.asarray(matrix), "a": np.asarray(vector)})


@pytest.mark.quick
def test_what_is_near_the_lines_is_moved_there(rng: Rng, subtests: pytest.Subtests) -> None:
    for lines, sign in [
        (("A @ x == a",), ""),
        (("A @ x == a * ones(m)",), ""),
        (("A @ x <= a", "sum(x) >= sum(x)"), ""),
        (("A @ x >= a", "sum(x) <= 50"), " >= 0"),
        (("A[i, :] @ x <= a[i] for i in m",), ""),
        (("A[i, :] @ x == a[i] for i in m if a[i] > 0",), " >= 0"),
        (("abs(A @ x) <= abs(a)",), ""),
    ]:
        with subtests.test(lines[0]):
            for _ in range(5):
                known = rng.uniform(0.1, 2.0, size=6) * (1.0 if not sign else np.arange(6) > 0)
                matrix = rng.normal(size=(3, 6))
                instance = instance_of(own("sum(abs(x))", *lines, sign=sign), matrix, matrix @ known)
                off = known + 1e-7 * rng.normal(size=6)
                off = np.abs(off) if sign else off
                found = candidate(instance, {"x": off})
                assert found.is_feasible and np.abs(found.variables["x"] - off).max() < 1e-5


@pytest.mark.quick
def test_what_is_far_from_them_is_not(rng: Rng) -> None:
    for _ in range(5):
        matrix, known = rng.normal(size=(3, 6)), rng.normal(size=6)
        instance = instance_of(own("norm(x)", "A @ x == a"), matrix, matrix @ known)
        off = {"x": known + 0.1 * rng.normal(size=6)}
        assert not candidate(instance, off).is_feasible
        moved = [np.abs(point["x"] - off["x"]).max() for point in nearby_points(instance, off)]
        assert all(by <= 1e-4 * max(1.0, np.abs(off["x"]).max()) for by in moved)


@pytest.mark.quick
def test_no_point_of_a_shipped_program_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_and_meaning, "nearby_points", None)
    instance = bind(Program.load("a_optimal_design"), as_workload(np.eye(3)))
    assert not candidate(instance, {"d": np.full(3, np.nan)}).is_feasible


def solved(program: Program, matrix: Any, vector: Any, **asked: Any) -> Any:
    s = solve(ANY, program, givens={"A": np.asarray(matrix), "a": np.asarray(vector)}, **asked)
    assert verify(s, ANY, program).holds
    return s


def test_an_optimum_may_make_both_sides_of_a_line_zero(subtests: pytest.Subtests) -> None:
    for objective, line, optimum in [
        ("norm(x - 1)", "x == 0", 2**0.5),
        ("norm(x - 1)", "sum(x) == 0", 2**0.5),
        ("norm(x + 1)", "x >= 0", 2**0.5),
        ("norm(x - 1)", "x <= 0", 2**0.5),
        ("sum(exp(x))", "x >= 0", 2.0),
        ("norm(A @ x)**2 - sum(x)", "sum(x) == 0", 0.0),
    ]:
        with subtests.test(objective=objective, line=line):
            s = solved(own(objective, line), np.eye(2), [1.0, 2.0])
            assert s.gap <= 1e-6 and s.objective == pytest.approx(optimum, abs=1e-8)


LARGE = np.round(np.random.default_rng(0).normal(size=(6, 4)), 2)
DATA = [900.0, -1200.0, 300.0, 1500.0, -700.0, 1100.0]


def loose(problem: ConicProblem) -> tuple[Any, Any]:
    """A first-order method, that stops early."""
    cones = problem.cones
    data = {"A": problem.A, "b": problem.b, "c": problem.c}
    rows = {"z": cones.zero, "l": cones.nonnegative, "q": list(cones.second_order)}
    found = scs.SCS(data, rows, eps_abs=1e-6, eps_rel=1e-6, verbose=False).solve()
    return found["x"], found["y"]


def test_data_may_be_a_thousand_times_the_variables(subtests: pytest.Subtests) -> None:
    for objective, solver in [
        ("norm({})", loose),
        ("norm({}, 1)", loose),
        ("sum(huber({}))", None),
        ("max({})", loose),
    ]:
        with subtests.test(objective):
            program = own(objective.format("A @ x - a"), "abs(x) <= 0.7")
            s = solved(program, LARGE, DATA, solver=solver)
            assert s.objective_grade == "proved" and s.gap <= 1e-6


CHEBYSHEV = TEXT.replace("{sign}", "\n    t: scalar").format(
    objective="t", lines="    up: A @ x - a <= t\n    box: abs(x) <= 0.7"
)


def test_a_point_of_anyone_is_moved_where_it_misses_little_and_refused_where_much() -> None:
    program = Program.parse(CHEBYSHEV)
    givens = {"A": LARGE, "a": np.array(DATA)}
    best = solve(ANY, program, givens=givens)

    def point(less: float) -> Mapping[str, Any]:
        return {"x": best.variables["x"], "t": float(best.variables["t"]) - less}

    found = certify(ANY, program=program, givens=givens, point=point(1e-6))
    assert found.gap <= 1e-6 and verify(found, ANY, program).holds
    assert any(text.startswith("as given the point violates constraint 'up' ") for text in found.warnings)
    with pytest.raises(OptionError) as refused:
        certify(ANY, program=program, givens=givens, point=point(1.0))
    assert str(refused.value).startswith("the point gives no feasible point of 'own'")


# The textbook's semidefinite programs: the optimum of each is singular.
MAX_CUT = """program max_cut
given
    C: matrix[n, n]
choose
    X: psd[n, n]
maximize
    trace(C @ X)
subject to
    diag(X) == 1
"""
SEMIDEFINITE = {
    "max cut": MAX_CUT,
    "nearest correlation": MAX_CUT.replace("maximize", "minimize").replace("trace(C @ X)", "sum((X - C)**2)"),
    "least trace": MAX_CUT.replace("maximize", "minimize")
    .replace("C @ X", "X")
    .replace("diag(X) ==", "X[0, 1] >="),
}


def test_a_singular_point_of_anyone_is_moved_inside(rng: np.random.Generator) -> None:
    """A point as another solver gives it: a little off its equations, and off the cone."""
    program = Program.parse(SEMIDEFINITE["max cut"])
    c = rng.normal(size=(5, 5))
    best = solve(np.eye(2), program, givens={"C": c + c.T})
    off = best.variables["X"] + 1e-9 * np.ones((5, 5)) - 1e-9 * np.eye(5)
    found = certify(np.eye(2), program=program, givens={"C": c + c.T}, point={"X": off}, solve=False)
    assert found.status.feasible and found.objective == pytest.approx(best.objective, rel=1e-6)
    with pytest.raises(OptionError):
        certify(np.eye(2), program=program, givens={"C": c + c.T}, point={"X": 1.01 * off}, solve=False)


def test_singular_optima_are_solved_and_proved(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for name, text in SEMIDEFINITE.items():
        with subtests.test(name):
            n = int(rng.integers(4, 9))
            c = rng.normal(size=(n, n))
            found = solve(np.eye(2), Program.parse(text), givens={"C": c + c.T})
            assert found.derived_grade == "proved" and -1e-9 <= found.derived_gap <= 1e-6
            assert name != "least trace" or found.objective == pytest.approx(2.0, rel=1e-8)


def test_a_matrix_is_lifted_where_it_is_inverted_alone(rng: np.random.Generator) -> None:
    plain = Program.parse(MAX_CUT)
    inverse = MAX_CUT.replace("maximize", "minimize").replace("C @ X", "C.T @ inv(X) @ C")
    inverting = Program.parse(inverse)
    for _ in range(3):
        a = rng.normal(size=(3, 6))
        singular = a.T @ a
        clipped = as_declared(plain.choose[0], singular, plain)
        assert is_semidefinite(exact(clipped))
        assert np.abs(clipped - singular).max() <= 1e-12 * np.trace(singular)
        lifted = as_declared(inverting.choose[0], singular, inverting)
        largest = np.linalg.eigvalsh(singular)[-1]
        assert np.linalg.eigvalsh(lifted)[0] == pytest.approx(EIGENVALUE_FLOOR * largest, rel=1e-3)
