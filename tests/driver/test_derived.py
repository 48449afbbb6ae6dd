"""Bounds read off a program's lines: below every feasible point, near the optimum, found again in a file.

Guards compiler/duality/problem_for_multipliers.py, problem_for_bound_or_inner_point.py,
driver/judge/charge_rounded_queries.py, driver/judge/assemble_solution.py, driver/judge/derived_bound.py,
solve_convex.py, compiler/duality/lagrangian.py, proof/recheck.py.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from flint import arb
from judge import balls
from tolerances import GAP, ROUNDING

from mmopt import Program, Workload, certify, solve, verify
from mmopt.compiler import bind
from mmopt.compiler.duality.ranges import Range
from mmopt.driver import problem_for_bound_or_inner_point, solve_convex
from mmopt.driver.judge.charge_rounded_queries import balls_of_names
from mmopt.driver.judge.derived_bound import LineBounds, _least_product, line_bounds, recomputed
from mmopt.driver.judge.score_and_meaning import candidate
from mmopt.driver.task_and_plan import SolvePlan, Task
from mmopt.errors import ResultError, UndecidedError
from mmopt.language import check, program_names
from mmopt.language.syntax.syntax_tree import Declaration
from mmopt.limits import Stop
from mmopt.numerics.arrays import rounded
from mmopt.numerics.balls import Ball
from tests.compiler.derived_cases import BASES, mutated
from tests.compiler.derived_points import TIGHT, Case, Rng, case, derived, random_multipliers

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
RUNS = ((1e-7, None), (1e-5, None), (1e-7, 1.0))  # perturbations, and what the objective is divided by
MOST_DRAWN = 10


def bounds(found: Case) -> list[float]:
    """The bound that each run derives, for a minimised objective; nothing where the solver breaks down."""
    read, lowers = found.lines, []
    for run in RUNS:
        try:
            bound, _, _ = derived(read, *run)
        except (cp.SolverError, ArithmeticError):
            continue
        if bound.bound is not None:
            lowers.append(found.lower(bound))
    return lowers


def multipliers_of(read: LineBounds, rng: Rng) -> tuple[Any, Any]:
    """Those of the first run in which the solver does not break down; drawn ones where it always does."""
    for run in RUNS:
        try:
            return derived(read, *run)[1:]
        except cp.SolverError:
            continue
    return random_multipliers(read, rng), {}


def bounded(rng: Rng) -> tuple[Case, list[float]]:
    """The first program drawn that has a point and a bound: nearly all have."""
    for _ in range(MOST_DRAWN):
        found = case(mutated(rng), rng)
        if found is not None and (lowers := bounds(found)):
            return found, lowers
    raise AssertionError(f"of {MOST_DRAWN} programs none has a bound")


def test_no_bound_is_above_a_point_of_the_judge(rng: Rng) -> None:
    for _ in range(2):
        found, lowers = bounded(rng)
        for name, known in found.lines.ranges.items():
            assert (known.low <= found.point[name]).all() and (found.point[name] <= known.high).all(), name
        for lower in lowers:
            assert arb(lower) <= found.objective, found.instance.program.text


@pytest.mark.some(5)
@pytest.mark.parametrize("text", BASES, ids=[str(i) for i in range(len(BASES))])
def test_bounds_are_near_the_optimum(text: str, rng: Rng) -> None:
    found = case(text, rng)
    lowers = bounds(found)
    assert lowers and all(arb(lower) <= found.objective for lower in lowers)
    objective = float(found.objective)
    assert objective - max(lowers) <= 1e-4 * max(1.0, abs(objective))


LINES = """program own
given
    W: matrix[m, n] = workload.matrix
choose
    X: matrix[n, n]
minimize
    {}
subject to
    a: {}
"""


def test_numbers_and_arrays_of_one_entry_are_bounded(subtests: pytest.Subtests) -> None:
    for objective, line, n in [
        ("sigma_max(W @ X - W)", "diag(X) <= 5", 1),
        ("huber(X[0, 0] - 1e6, 1e-6) + sum(X**2)", "X >= 1", 2),
        ("rel_entropy(X[0, 0], 2) + sum(X**2)", "X >= 1", 2),
    ]:
        with subtests.test(objective=objective, line=line):
            s = solve(np.tri(n + 1, n), Program.parse(LINES.format(objective, line)))
            assert s.bound <= s.objective <= s.bound + 1e-3 * max(1.0, s.objective)


def test_a_line_with_a_condition_whose_sides_are_found_otherwise() -> None:
    """One side row by row, the other at once: row by row both, and not each row against all numbers."""
    text = """
program own
given
    W: matrix[m, n] = workload.matrix
parameter
    y: vector[m] = ones(m)
choose
    x: vector[n] >= 0
minimize
    sum((x - 3)**2)
subject to
    above: W[j, :] @ x + 0 * sum(W[j, :]) >= y[j] for j in m if y[j] > 0
"""
    rows = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    found = solve(rows, Program.parse(text), givens={"y": np.array([8.0, 7.0, -1.0])})
    # x = (4, 7, 4).
    assert found.objective == pytest.approx(18.0, rel=1e-6)
    assert found.bound == pytest.approx(18.0, rel=1e-5) and found.bound <= 18.0


@pytest.mark.some(4)
@pytest.mark.parametrize("text", BASES, ids=[str(i) for i in range(len(BASES))])
def test_any_multipliers_and_slopes_prove_a_bound(text: str, rng: Rng) -> None:
    """Those of the optimum, moved, scaled, or nonsense: a bound is never above the judge's point."""
    found = case(text, rng)
    read = found.lines
    multipliers, slopes = multipliers_of(read, rng)
    for size in (1e-6, 1e-2, 1e2):
        moved = {k: v + size * rng.normal(size=np.shape(v)) * np.abs(v).max() for k, v in multipliers.items()}
        turned = {k: v * (1.0 + size * rng.normal(size=np.shape(v))) for k, v in slopes.items()}
        for y, s in ((moved, slopes), (multipliers, turned), (moved, turned), (moved, {}), ({}, turned)):
            bound = read.derived(y, s)
            if bound.bound is not None:
                assert arb(found.lower(bound)) <= found.objective


# No constraint limits the variables of barrier_step, and without limits its lines prove nothing.
CONVEX = [
    name
    for name in program_names()
    if Program.load(name).problem_class == "convex" and name != "barrier_step"
]
LMI = ("l2_strategy_lmi", "fitness_lmi")


def asked(name: str, n: int) -> Workload:
    targets = np.linspace(1.0, 2.0, n) if "workload.targets" in Program.load(name).text else None
    return Workload.from_matrix(np.tri(n), targets=targets)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CONVEX)
def test_a_shipped_program_gets_a_bound_without_its_certificate(name: str) -> None:
    s = solve(asked(name, 4), name, derive=True)
    assert 0.0 <= s.derived_gap <= 1e-5 and s.derived_grade == "proved"


@pytest.mark.nightly
@pytest.mark.parametrize("name", CONVEX)
def test_so_does_a_large_one(name: str) -> None:
    s = solve(asked(name, 16 if name in LMI else 32), name, derive=True, time_limit=500.0)
    assert 0.0 <= s.derived_gap <= 1e-4 and s.derived_grade == "proved"


def test_one_cell_has_arrays_of_one_entry(subtests: pytest.Subtests) -> None:
    for name in ["l2_strategy_lmi", "banded_strategy", "minimax_variance"]:
        with subtests.test(name):
            assert 0.0 <= solve(np.eye(1), name, derive=True).derived_gap <= 1e-5


OWN = """program student
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    sensitivity: diag(X) <= 1
strategy
    factor(X) norm 2
"""
CLAIM = """certificate d: vector[n] >= 0 from dual(sensitivity)
    nuclear(W @ diag(sqrt(d)))**2 / sum(d) * 0.99
"""
PREFIX = Workload.from_matrix(np.tri(5))


def test_a_program_without_a_certificate_has_a_proved_bound(tmp_path: Path) -> None:
    s = solve(PREFIX, Program.parse(OWN), solver="clarabel", reduce=False)
    assert s.bound == s.derived_bound and s.gap is not None and 0.0 <= s.gap <= 1e-6
    assert (s.bound_grade, s.status.stop) == ("proved", "gap reached")
    assert s.status.bound_valid and "derived bound" not in dict(s.rows())
    found = verify(s.save(tmp_path / "own"), PREFIX)
    assert found.holds and "derived bound" in [row.what for row in found.rows]


def test_zero_stands_on_either_side_of_a_matrix_inequality(subtests: pytest.Subtests) -> None:
    text = OWN.replace("diag(X) <= 1", "trace(X) <= 5\n    LINE")
    plain = solve(PREFIX, Program.parse(text.replace("LINE", "X << 2 * eye(n)")))
    for line in ["[[X - 2 * eye(n)]] << 0", "0 >> X - 2 * eye(n)", "0 << 2 * eye(n) - X"]:
        with subtests.test(line):
            s = solve(PREFIX, Program.parse(text.replace("LINE", line)))
            assert s.bound_grade == "proved" and 0.0 <= s.gap <= 1e-6
            assert s.objective == pytest.approx(plain.objective)


def test_a_claim_stands_beside_the_derived_bound() -> None:
    s = solve(PREFIX, Program.parse(OWN + CLAIM))
    assert s.derived_bound is not None and s.bound < s.derived_bound
    assert (s.bound_grade, s.derived_grade) == ("claimed", "proved")
    shown = dict(s.rows())
    assert re.search(r"gap \d\.\de-0\d; the certificate is loose here\)$", shown["derived bound"])
    assert s.summary()["derived_bound"] == s.derived_bound
    assert verify(s, PREFIX).holds


def test_what_is_nonnegative_by_its_sign_is_at_least_zero_and_a_line_is_named_that_may_help() -> None:
    text = OWN.replace("    X: psd[n, n]\n", "    X: psd[n, n]\n    y: scalar\n    z: scalar\n")
    text = text.replace("W.T)\n", "W.T) + abs(y - z - 1) + abs(y - z + 1)\n")
    s = solve(PREFIX, Program.parse(text))
    assert (s.bound, s.bound_grade, s.status.stop) == (0.0, "proved", "gap not reached")
    assert s.warnings[-1].endswith(
        "nothing says how large 'y' and 'z' can be: a line such as 'limit_y: abs(y) <= …' would"
    )
    assert verify(s, PREFIX).holds
    largest = text.replace("minimize\n    ", "maximize\n    -", 1).replace(" + abs", " - abs")
    assert solve(PREFIX, Program.parse(largest)).bound == 0.0


def test_what_has_no_range_is_named_with_the_line_that_would_give_it() -> None:
    text = OWN.replace("    X: psd[n, n]\n", "    X: psd[n, n]\n    y: scalar\n    z: scalar\n")
    text = text.replace("W.T)\n", "W.T) + 2 * abs(y - z) + y - z\n")
    s = solve(PREFIX, Program.parse(text))
    assert s.bound is None and s.status.stop == "solver finished"
    assert s.warnings[-1] == (
        "no bound was derived from the constraints: nothing says how large 'y' and 'z' can be: a line "
        "such as 'limit_y: abs(y) <= …' would"
    )
    limited = solve(PREFIX, Program.parse(text.replace("<= 1\n", "<= 1\n    limit_y: abs(y) <= 9\n", 1)))
    assert limited.gap <= 1e-6


def test_a_let_without_an_error_bound_is_named(rng: Rng, subtests: pytest.Subtests) -> None:
    lets = [("F = factor(W.T @ W)", "F @ y >= 1"), ("k = rank(W)", "sum(y) >= k")]
    for let, line in rng.permutation(lets)[:1].tolist():
        with subtests.test(let=let, line=line):
            text = OWN.replace("choose\n", f"let\n    {let}\nchoose\n    y: vector[n] >= 0\n")
            text = text.replace("W.T)\n", "W.T) + sum(y)\n").replace("to\n", f"to\n    line: {line}\n")
            s = solve(PREFIX, Program.parse(text))
            assert s.bound <= s.objective and s.status.stop == Stop.MISSED
            why = f"of '{let[0]}', computed under 'let', no error bound is known"
            assert s.warnings[-1].endswith(f"1e-06 was requested: {why}")


def test_what_is_too_large_is_said_and_not_tried(subtests: pytest.Subtests) -> None:
    for cells, limit, why in [
        (150, None, "GiB of memory; the limit here is "),
        (60, 1.0, " s: allow more with a time limit"),
    ]:
        with subtests.test(cells=cells, limit=limit):
            s = solve(Workload.from_matrix(np.tri(cells)), Program.parse(OWN), time_limit=limit)
            (said,) = (w for w in s.warnings if "derived" in w)
            assert s.bound is None and said.startswith("no bound was derived from the constraints: ")
            assert why in said


NEAR = """program near
given
    A: matrix[m, n]
    a: vector[m]
choose
    x: vector[n]
minimize
    {}
subject to
    c: {}
"""


def test_lines_whose_parts_cancel_at_the_optimum_have_bounds(subtests: pytest.Subtests) -> None:
    for solver, objective, line, a in [
        ("clarabel", "norm(A @ x - a, 1)", "sum(x) <= 0", [1.0, 0.0, 0.0, 0.0]),
        ("cvxopt", "norm(A @ x - a)**2", "sum(x) <= 0", [1.0, 2.0, 3.0, 4.0]),
        ("scs", "norm(A @ x - a, 1) - min(A @ x)", "norm(x, 1) <= 2", [0.0, 0.0, 0.0, 0.0]),
    ]:
        with subtests.test(objective):
            givens = {"A": np.eye(4), "a": np.array(a)}
            s = solve([[1.0]], Program.parse(NEAR.format(objective, line)), givens=givens, solver=solver)
            assert -1e-9 <= s.gap <= 1e-6 and s.bound_grade == "proved"


@pytest.mark.some(1)
@pytest.mark.parametrize("line", ["abs(x) <= 0.7", "norm(x, 1) <= 2", "norm(x) <= 1"])
def test_squares_of_large_numbers_have_bounds(line: str, rng: Rng) -> None:
    """The optimum itself a solver may miss by more; the judge is cvxpy's, of a quadratic objective."""
    a, b = rng.normal(size=(6, 4)), 1e3 * rng.normal(size=6)
    s = solve([[1.0]], Program.parse(NEAR.format("norm(A @ x - a)**2", line)), givens={"A": a, "a": b})
    x = cp.Variable(4)
    lines = {"abs(x) <= 0.7": cp.abs(x) <= 0.7, "norm(x, 1) <= 2": cp.norm1(x) <= 2}
    problem = cp.Problem(cp.Minimize(cp.sum_squares(a @ x - b)), [lines.get(line, cp.norm(x) <= 1)])
    problem.solve("CLARABEL", **TIGHT)
    assert abs(s.bound / problem.value - 1.0) <= 1e-6


def test_multipliers_of_the_solve_alone_may_prove_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes of smooth lines are those at the point: no second problem is solved."""
    monkeypatch.setattr(problem_for_bound_or_inner_point, "lower_node_by_node", None)
    program = Program.parse(NEAR.format("sum(exp(A @ x - a))", "sum(x) >= 1"))
    s = solve([[1.0]], program, givens={"A": np.eye(3), "a": np.arange(3.0)}, tolerance=1e-4)
    assert s.gap <= 1e-4 and "line c" in s.derived_from


@pytest.mark.quick
def test_a_gap_above_what_was_asked_is_said() -> None:
    program = Program.parse(NEAR.format("norm(A @ x - a, 1)", "sum(x) <= 0"))
    givens = {"A": np.eye(4), "a": np.eye(4)[0]}
    s = solve([[1.0]], program, givens=givens, tolerance=1e-16)
    assert s.gap > 1e-16 and s.status.stop == "gap not reached"
    gap, wider = (rounded(s.gap, digits, up=True, layout="e") for digits in (2, 1))
    assert s.warnings[-1] == (
        f"the bound derived from the constraints leaves a gap of {gap}, 1e-16 was requested: try another "
        f"solver, or ask for a tolerance of {wider}"
    )


@pytest.mark.quick
def test_a_level_is_never_exceeded(rng: Rng) -> None:
    """Ranges hold up to the level alone, so no bound is above that."""
    found = case(BASES[0], rng)
    read = line_bounds(found.instance, found.point, 0.5 * float(found.objective))
    bound, _, _ = derived(read, 1e-7)
    assert bound.bound == 0.5 * float(found.objective)


@pytest.mark.quick
def test_rounded_queries_are_charged(rng: Rng) -> None:
    """The ball of the root has a root of the exact Gram matrix, and lets that are made of it are wider."""
    for _ in range(3):
        w = Workload.from_matrix(rng.normal(size=(9, 4)))
        text = OWN.replace("choose", "let\n    G = W.T @ W\nchoose")
        text = text.replace("trace(W @ inv(X) @ W.T)", "trace(G @ inv(X))")
        instance = bind(Program.parse(text), w)
        names, is_known = balls_of_names(instance)
        root, gram = names("W"), names("G")
        assert is_known and w.root_rounding > 0.0
        assert float(root.rad.min()) >= w.root_rounding * float(np.linalg.norm(w.root))
        exact = balls.gram(balls.matrix(w.matrix))
        for i, j in np.ndindex(4, 4):
            assert abs(exact[i, j] - arb(float(gram.mid[i, j]))) <= arb(float(gram.rad[i, j]))
        assert solve(w, Program.parse(text)).bound_grade == "proved"


def test_a_forged_bound_is_noticed() -> None:
    s = solve(PREFIX, Program.parse(OWN))
    assert s.derived_bound is not None

    def failures(**changes: Any) -> list[str]:
        return [row.what for row in verify(replace(s, **changes), PREFIX).failures]

    assert failures(derived_bound=1.001 * s.derived_bound) == ["derived bound"]
    assert "derived bound" in failures(derived_from={})
    turned = {name: np.zeros((2, 2)) if "line" in name else y for name, y in s.derived_from.items()}
    assert "derived bound" in failures(derived_from=turned)
    for key in ("line nothing", "slope 99 9", "junk"):
        assert "derived bound" in failures(derived_from={**s.derived_from, key: np.array(1.0)})
        assert "derived bound" in failures(derived_from={**s.derived_from, key: np.array("text")})
    assert failures(derived_bound=None) == ["derived bound"]


def test_a_derived_bound_without_a_level_is_none(subtests: pytest.Subtests) -> None:
    for kept in [{}, {"level": np.ones(2)}, {"level": np.array(np.nan)}]:
        with subtests.test(kept=kept):
            instance = bind(Program.parse(OWN), PREFIX)
            with pytest.raises(ResultError) as refused:
                recomputed(instance, {"X": np.eye(5)}, kept)
            assert str(refused.value) == "the derived bound has no level"


@pytest.mark.quick
def test_what_is_rounded_otherwise_is_an_estimate() -> None:
    w = Workload.from_matrix(np.array([[1.0, 0.5, 0.3], [0.2, 0.1, 0.7]]) / 3.0)
    text = OWN.replace("matrix[r, n] = workload.root", "matrix[k, n] = workload.basis")
    text = text.replace("W @ inv(X) @ W.T", "W @ inv(X + 0.1 * eye(n)) @ W.T")
    s = solve(w, Program.parse(text))
    assert s.derived_grade == "estimated" and verify(s, w).holds
    assert "derived bound" in [row.what for row in verify(replace(s, derived_grade="proved"), w).failures]


GIVEN = """program student
given
    P: psd[n, n]
choose
    X: psd[n, n]
minimize
    trace(P @ inv(X))
subject to
    whole: trace(X) <= 1
repair
    X = X / trace(X)
"""


@pytest.mark.quick
def test_what_is_given_as_psd_has_to_be_proved_so_for_a_proved_bound() -> None:
    """One eigenvalue of -9e-10: the optimum is -inf, and the slopes of ``inv`` are no minorants."""
    w, program = Workload.from_matrix(np.eye(3)), Program.parse(GIVEN)
    s = solve(w, program, givens={"P": np.diag([1.0, 2.0, 0.0])})
    assert s.bound_grade == "proved" and not any("bound" in said for said in s.warnings)
    assert verify(s, w).holds
    s = solve(w, program, givens={"P": np.diag([1.0, 1.0, -9e-10])})
    assert s.bound_grade == s.derived_grade == "estimated" and not s.status.bound_valid
    assert s.warnings[-1] == (
        "the bound derived from the constraints is an estimate: 'P' is declared psd, which is not proved "
        "of its numbers"
    )
    assert verify(s, w).holds
    forged = replace(s, derived_grade="proved", bound_grade="proved")
    assert {"derived bound", "grades"} <= {row.what for row in verify(forged, w).failures}


SIGN = """program sign
given
    R: matrix[p, n]{declared} = workload.root
{lines}
choose
    x: scalar >= 0
minimize
    {objective}
subject to
    low: x >= 1
    high: x <= 1e10
"""
NEARLY_SINGULAR = np.array([[1.0, 1024.0], [2.0, 2048.0], [3.0, 3072.0009765625], [5.0, 5120.0]])
WHY_SIGN = (
    "the bound derived from the constraints is an estimate: {}, which the rounding of the queries leaves open"
)


def test_a_sign_of_rounded_numbers_has_to_hold_of_the_exact_ones_for_a_proved_bound(
    subtests: pytest.Subtests,
) -> None:
    """The exact last entry of the root is 2e-14 below the float, which the lines compare it with."""
    w, apart = Workload.from_matrix(NEARLY_SINGULAR), "abs(R[1, 1]) - 0.000856501972"
    least = 1e10 * (2.0**-10 * (arb(30) / 39).sqrt() - arb(0.000856501972))  # of a linear objective
    for lines, objective, why in (
        (
            "let\n    a = abs(R[1, 1])\nrequire\n    base: a >= 0.000856501972",
            "(a - 0.000856501972) * x**2",
            "'base' is required",
        ),
        (f"parameter\n    a = {apart}", "a * x", ""),
        (f"let\n    a = {apart}", "a * x", ""),
    ):
        with subtests.test(lines):
            s = solve(w, Program.parse(SIGN.format(declared="", lines=lines, objective=objective)))
            assert s.objective_grade == "estimated"
            assert s.bound_grade == ("estimated" if why else "proved")
            assert not why or WHY_SIGN.format(why) in s.warnings
            assert s.bound is not None and (why or arb(s.bound) < least)
    for queries, grade in (
        ([[-1.0, 3.0], [0.0, -3.0], [2.0, 2.0]], "estimated"),
        (np.ones((3, 1)), "proved"),
    ):
        text = SIGN.format(declared=" >= 0", lines="", objective="sum(R) * x**2")
        s = solve(Workload.from_matrix(np.asarray(queries)), Program.parse(text))
        assert s.bound_grade == grade
        assert (WHY_SIGN.format("'R' is declared >= 0") in s.warnings) == (grade == "estimated")


OVERFLOW = """program overflow
given
    W: matrix[m, n] = workload.matrix
choose
    X: {kind}
minimize
    {size}
subject to
    a: 2 * {size} >= 1
    b: 20 * {size} <= 11
    c: {size} <= 1
"""


@pytest.mark.quick
def test_a_slope_that_overflows_proves_nothing(subtests: pytest.Subtests) -> None:
    """The multipliers are those of an overflow less another one, which is no number."""
    for kind, size, one in (
        ("scalar", "X", np.asarray(0.54)),
        ("scalar >= 0", "X", np.asarray(0.54)),
        ("psd[n, n]", "trace(X)", 0.27 * np.eye(2)),
        ("symmetric[n, n]", "trace(X)", 0.27 * np.eye(2)),
    ):
        with subtests.test(kind):
            program = Program.parse(OVERFLOW.format(kind=kind, size=size))
            instance = bind(program, Workload.from_matrix(np.eye(2)))
            saved = {"level": np.asarray(0.54), "line a": np.asarray(1.5e308), "line b": np.asarray(0.95e307)}
            found = recomputed(instance, {"X": one}, saved)
            assert found.bound is None or found.bound <= 0.5
            saved |= {"line a": np.asarray(0.5), "line b": np.asarray(0.0)}
            right = recomputed(instance, {"X": one}, saved).bound
            assert right == pytest.approx(0.5) or (right is None and kind.startswith("symmetric"))


@pytest.mark.quick
@np.errstate(all="ignore")
def test_a_term_of_unknown_slope_has_no_bound() -> None:
    number, matrix = Declaration("x", "scalar", (), (0, 0)), Declaration("x", "psd", (), (0, 0))
    cell = Range(np.asarray(-5.0), np.asarray(5.0))
    none = Range(np.asarray(0.0), np.asarray(0.0))
    for mid in (np.nan, np.inf, -np.inf, 1.0):
        assert _least_product(number, Ball(np.asarray(mid), np.asarray(np.inf)), cell)[0] == -np.inf
        assert _least_product(number, Ball(np.asarray(mid), np.asarray(np.inf)), none)[0] >= -1e-290
        above = Range(np.asarray(0.0), np.asarray(5.0))
        assert (
            mid == 1.0 or _least_product(number, Ball(np.asarray(mid), np.asarray(0.0)), above)[0] == -np.inf
        )
        wide = Ball(np.full((2, 2), mid), np.full((2, 2), np.inf))
        assert _least_product(matrix, wide, Range(np.zeros((2, 2)), np.ones((2, 2))))[0] == -np.inf


def test_a_bound_that_rests_on_what_is_not_psd_is_left_out_beyond_the_objective() -> None:
    text = GIVEN[: GIVEN.index("repair")].replace("whole: trace(X)", "box: diag(X)")
    p = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]])
    s = solve(Workload.from_matrix(np.eye(2)), Program.parse(text), givens={"P": p})
    assert s.objective == pytest.approx(1.0, rel=1e-5)
    why = "no bound was derived from the constraints: 'P' is declared psd, which is not proved of its "
    assert s.bound is None or (s.bound <= s.objective * (1 + 1e-9) and s.bound_grade == "estimated")
    assert s.bound is not None or f"{why}numbers" in s.warnings


def test_a_point_that_is_beyond_the_bound_by_what_it_misses_is_moved_inside(
    subtests: pytest.Subtests,
) -> None:
    """An entry next to nothing says that x is at most 0: by rounding the solver's point is above."""
    for small in [1e-6, 1e-8]:
        with subtests.test(small=small):
            text = """program own
given
    a: vector[m]
    b: vector[m]
choose
    x: scalar
minimize
    -x
subject to
    line: a * x <= b
    low: x >= -9
"""
            givens = {"a": np.array([small, 1e3]), "b": np.array([0.0, 2e3])}
            s = solve(Workload.from_matrix(np.eye(1)), Program.parse(text), givens=givens)
            assert s.bound_grade == s.objective_grade == "proved" and s.bound is not None
            assert s.variables["x"] <= 0.0 and -1e-9 <= s.bound <= s.objective <= 1e-6


def test_so_has_a_parameter() -> None:
    text = GIVEN.replace(
        "given\n    P: psd[n, n]",
        "given\n    W: matrix[m, n] = workload.matrix\nparameter\n    P: psd[n, n] = eye(n)",
    )
    w, program = Workload.from_matrix(np.eye(3)), Program.parse(text)
    assert solve(w, program).bound_grade == "proved"
    assert solve(w, program, givens={"P": np.diag([1.0, 1.0, -9e-10])}).bound_grade == "estimated"


def test_lines_that_contradict_each_other_by_less_than_the_tolerance_are_not_decided() -> None:
    text = """program student
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n]
    y: scalar
minimize
    y
subject to
    a: 1e9 * (x[0] - 1) <= y
    b: 1e9 * (1 - x[0]) <= y
    c: x[0] == 1.00000000005
    d: x[0] == 1
"""
    with pytest.raises(UndecidedError, match="has a feasible point was not decided"):
        solve(Workload.from_matrix(np.eye(2)), Program.parse(text))


def test_what_a_point_misses_is_charged_before_its_bound_is_doubted(subtests: pytest.Subtests) -> None:
    """Large multipliers: what is rounded off, or within the tolerance, is worth more than the gap."""
    for objective, lines, least in [
        ("norm(x - ones(2))", "a: 1e8 * x[0] + x[1] == 1e8\n    b: 1e8 * x[0] - x[1] == 1e8", 1.0),
        ("(x[0] - x[1]) * 1e6", "a: x[0] >= x[1] + 1e-3\n    b: x[1] >= 1e9\n    c: x[0] <= 1e10", 1000.0),
    ]:
        text = f"program own\nchoose\n    x: vector[2]\nminimize\n    {objective}\nsubject to\n    {lines}\n"
        with subtests.test(lines):
            s = solve(None, Program.parse(text))
            assert s.bound <= s.objective and s.bound <= least * (1 + GAP)
            assert verify(s, Workload.from_matrix([[1.0]])).holds
    text = "program own\nchoose\n    x: scalar\nminimize\n    1e6 * (x - 1)\nsubject to\n    l: x >= 1\n"
    own = f"{text}certificate y: scalar >= 0 from dual(l)\n    0 * y\n"
    for program, given in [(text, {}), (own, {"solve": False, "multipliers": {"l": 1e6}})]:
        found = certify([[1]], program=Program.parse(program), point={"x": 1 - 9e-11}, **given)
        assert found.bound <= found.objective <= 1e-4


def test_a_point_is_not_better_than_itself_where_the_objective_is_negative() -> None:
    program = Program.parse(
        "program below\nclass convex\nchoose\n    x: vector[2]\nminimize\n    sum(x)\n"
        "subject to\n    floor: x >= -1\n"
    )
    instance = bind(check(program), Workload.from_matrix([[1.0]]))
    point = candidate(instance, {"x": np.array([-1.0, -1.0])})
    assert point.objective == pytest.approx(-2.0, rel=ROUNDING)
    assert solve_convex._better_point(Task(SolvePlan(instance)), point, [], 0.0) is None


BOUNDED_REAL = """program bounded_real
given
    A: matrix[n, n]
    B: matrix[n, m]
    D: matrix[n, m]
choose
    P: psd[n, n]
    g: scalar
minimize
    g
subject to
    lemma: [[A.T @ P + P @ A, P @ B, eye(n)], [B.T @ P, -g * eye(m), D.T], [eye(n), D, -g * eye(n)]] << 0
"""
ANTENNA = """program antenna
given
    C: matrix[m, n]
    S: matrix[m, n]
choose
    u: vector[n]
    v: vector[n]
minimize
    max(norm([[C @ u - S @ v, C @ v + S @ u]], axis=1))
subject to
    one: sum(u) == 1
    zero: sum(v) == 0
"""
LASSO = """program lasso
given
    A: matrix[m, n]
    b: vector[m]
choose
    x: vector[n]
minimize
    sum((A @ x - b)**2) / 2 + sum(abs(x)) / 2
"""


def test_what_only_the_level_bounds_is_proved(rng: Rng) -> None:
    """Constants stay; a dual far inside, ranges by norms of rows, and another solver for multipliers help."""
    a = rng.normal(size=(4, 4))
    a -= (max(np.linalg.eigvals(a).real) + 0.5) * np.eye(4)
    design = rng.normal(size=(12, 5))
    fitted = design @ np.array([2.0, -1.0, 0.0, 0.0, 0.0]) + 0.1 * rng.normal(size=12)
    angles = np.outer(np.cos(np.linspace(0.0, 2.2, 20)), np.arange(5.0))
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        (BOUNDED_REAL, {"A": a, "B": rng.normal(size=(4, 2)), "D": np.zeros((4, 2))}, {}),
        (ANTENNA, {"C": np.cos(3.0 * angles), "S": np.sin(3.0 * angles)}, {}),
        (LASSO, {"A": design, "b": fitted}, {"solver": "osqp"}),
        ("program constant\nchoose\n    x: scalar > 0\nminimize\n    1000 + 1 / x\n", {}, {}),
    ]
    for text, givens, options in cases:
        s = solve(program=Program.parse(text), givens=givens, **options)
        assert s.bound_grade == "proved" and s.gap is not None and s.gap <= GAP, s


def test_a_gap_beside_a_bound_of_zero_is_not_small() -> None:
    text = OWN.replace("W.T)\n", "W.T) / 1000 + abs(y - z)\n")
    text = text.replace("    X: psd[n, n]\n", "    X: psd[n, n]\n    y: scalar\n    z: scalar\n")
    s = solve(PREFIX, Program.parse(text), tolerance=0.02)
    assert s.bound is not None and s.gap is not None and s.objective < 1e-2
    assert s.gap > 0.5 and s.status.stop == Stop.MISSED
