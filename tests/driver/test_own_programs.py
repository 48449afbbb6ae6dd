"""Programs that a user writes, of every class: with or without repair, certificate, units and solver.

Guards run_solver.py, compiler/lower_to_cvxpy.py and solvers/conic_solvers.py (quadratic objectives).
"""

import re

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from edited_programs import without_reach
from named_workloads import random_workload
from query_rows import haar
from tolerances import GAP, GAP_INTERIOR, PUBLISHED, RECOMPUTED, ROUNDING

from mmopt import (
    OptionError,
    Program,
    ProgramError,
    SolverError,
    UnsuitableError,
    Workload,
    baseline,
    certify,
    explain,
    solve,
)
from mmopt.compiler import bind, lower
from mmopt.compiler.duality.lagrangian import nodes_of
from mmopt.driver import problem_for_bound_or_inner_point

OWN = """\
program own
title  "Mine"
source "A notebook"
class  convex
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    sensitivity: diag(X) <= 1
repair
    X = X / max(diag(X))
strategy
    factor(X) norm 2
"""
PREFIX = Workload.from_matrix(np.tri(5))
BEST = solve(PREFIX, "l2_strategy")


def own(*changes: tuple[str, str]) -> Program:
    text = OWN
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return Program.parse(text)


NO_REPAIR = ("repair\n    X = X / max(diag(X))\n", "")
CERTIFICATE = (
    "norm 2\n",
    "norm 2\ncertificate d: vector[n] >= 0 from dual(sensitivity)\n"
    "    nuclear(W @ diag(sqrt(d)))**2 / sum(d)\n",
)
BOUND = ("norm 2\n", "norm 2\nbound\n    l2_strategy\n")


def test_without_a_certificate_and_without_deriving_there_is_no_bound() -> None:
    s = solve(PREFIX, own(), derive=False)
    assert s.objective == pytest.approx(BEST.objective, rel=GAP_INTERIOR)
    assert (s.bound, s.gap, s.status.bound_valid) == (None, None, False)
    assert s.status.stop == "solver finished"
    assert s.error_bound <= s.error  # total error has a bound of its own
    assert "no bound" in repr(s) and "no bound" in str(s)
    assert s.summary()["bound"] is None and s.summary()["gap"] is None


def test_with_a_certificate_and_with_the_bound_of_another_program() -> None:
    s = solve(PREFIX, own(CERTIFICATE))
    assert s.gap <= GAP_INTERIOR and s.status.stop == "gap reached"
    s = solve(PREFIX, own(BOUND))
    assert s.bound == s.error_bound and (s.bound_grade, s.error_bound_grade) == ("claimed", "proved")


def test_a_derived_bound_does_not_say_that_the_gap_of_a_certificate_is_reached() -> None:
    """The gap is that of the program's own bound, however tight a derived one is."""
    half = CERTIFICATE[1].replace("/ sum(d)", "/ (2 * sum(d))")
    s = solve(PREFIX, own((CERTIFICATE[0], half)), solver="clarabel")
    assert s.status.stop == "gap not reached" and s.gap > 0.9
    assert s.derived_bound == pytest.approx(BEST.objective, rel=GAP_INTERIOR)


def test_without_a_repair() -> None:
    """The point of an interior-point method keeps the constraint."""
    s = solve(PREFIX, own(NO_REPAIR), solver="clarabel")
    assert s.objective == pytest.approx(BEST.objective, rel=GAP)


def test_maximize_keeps_the_largest() -> None:
    s = solve(PREFIX, own(("minimize\n    trace", "maximize\n    -trace")))
    assert s.objective == pytest.approx(-BEST.objective, rel=GAP_INTERIOR)
    assert s.objective <= -BEST.error_bound
    less = solve(
        PREFIX, own(("minimize\n    trace", "maximize\n    -trace")), solver="scs", max_iterations=20
    )
    assert less.objective < s.objective


def test_maximize_has_no_lower_bound() -> None:
    with pytest.raises(ProgramError) as refused:
        solve(PREFIX, own(("minimize\n    trace", "maximize\n    -trace"), BOUND))
    lines = str(refused.value).splitlines()
    message = "section 'bound' states a lower bound, and this program maximizes"
    assert lines[0] == f"<program>:17:1: {message}"
    assert lines[-1] == "  minimize the negative, or state an upper bound with 'certificate'"


def test_lines_that_agree_on_no_units_are_solved_as_given() -> None:
    """Where the gap is not reached that is said."""
    assert solve(PREFIX, own()).warnings == ()
    plus = own(("trace(W @ inv(X) @ W.T)", "trace((W + 1) @ inv(X) @ (W + 1).T)"))
    s = solve(PREFIX, plus)
    assert s.warnings == () and s.scaling == {}
    equal = solve(Workload.from_matrix(PREFIX.root + 1), "l2_strategy")
    assert s.objective == pytest.approx(equal.objective, rel=GAP)
    s = solve(PREFIX, plus, solver="clarabel", max_iterations=8, derive=False)
    assert s.warnings[0] == (
        "objective and constraints have no common scaling, so the program was not scaled: the objective is "
        "the first that does not scale with those before it (numbers added to data, or powers that do not "
        "match)"
    )
    assert s.scaling == {} and ("warning", s.warnings[0]) in s.rows()
    text = "program p\nchoose\n    x: vector[3] >= 0\nminimize\n    sum(exp(x))\n"
    text += "subject to\n    c: sum(x) >= 2\n"
    s = solve(program=Program.parse(text), solver="clarabel", max_iterations=4, derive=False)
    assert s.scaling == {} and s.warnings  # it stopped early; nothing there is to scale by
    assert not any("units" in words for words in s.warnings)


def test_problems_without_a_solution(subtests: pytest.Subtests) -> None:
    """One message whatever the solver's word for it; test_why_no_solution.py has other solvers."""
    large = [("diag(X) <= 1", "diag(X) <= 1\n    large: diag(X) >= 2")]
    endless = [("trace(W @ inv(X) @ W.T)", "-trace(X)"), ("diag(X) <= 1", "diag(X) >= 1")]
    conflict = "'sensitivity' and 'large' cannot hold together with 'X' psd"
    for solver, change, start in [
        ("cvxopt", large, f"'own' has no feasible point: {conflict}"),
        ("sdpa", endless, "'own' seems to have no optimum, or one with entries beyond "),
    ]:
        with subtests.test(solver), pytest.raises(SolverError) as refused:
            solve(PREFIX, own(*change), solver=solver)
        assert without_reach(str(refused.value)).startswith(start)


def test_a_value_on_another_scale() -> None:
    twice = ("minimize\n    trace(W", "minimize\n    2 * trace(W")
    s = solve(PREFIX, own(twice, ("strategy\n", "value objective / 2\nstrategy\n")))
    assert s.objective == pytest.approx(2 * BEST.objective, rel=GAP_INTERIOR)
    assert s.value == pytest.approx(BEST.objective, rel=GAP_INTERIOR)


def test_givens_of_the_caller() -> None:
    """A given without a source, in the shape of its declaration; it stands as it is, unscaled."""
    program = own(("= workload.root", '"what is asked"'))
    rows = np.tri(5) * 1e3
    s = solve(PREFIX, program, givens={"W": rows})
    assert s.objective == pytest.approx(1e6 * BEST.objective, rel=GAP)
    assert s.givens["W"] == pytest.approx(rows)
    with pytest.raises(OptionError) as refused:
        solve(PREFIX, program)
    assert str(refused.value).splitlines()[0] == "<program>:6:5: 'own' needs the given 'W' (what is asked)"
    assert str(refused.value).splitlines()[-1].startswith("  pass it: givens={'W': …} or --given W=FILE; ")


def test_design_queries_of_the_caller() -> None:
    w = Workload.from_matrix(np.tri(8))
    rows = haar(8)
    s = solve(w, "query_weighting", givens={"Q": rows})
    assert s.gap <= GAP_INTERIOR
    own_length = solve(w, "query_weighting", givens={"Q": 3.0 * rows})
    assert own_length.objective == pytest.approx(s.objective, rel=PUBLISHED)
    assert s.objective < 8 * 9 / 2  # the identity's
    by_name = solve(w, "query_weighting", givens={"Q": "wavelet"})
    np.testing.assert_array_equal(by_name.givens["Q"], rows)
    assert by_name.objective == s.objective
    with pytest.raises(OptionError) as refused:
        solve(w, "query_weighting", givens={"Q": "wavlet"})
    assert str(refused.value) == "there is no baseline 'wavlet'\n  did you mean 'wavelet'?"
    tree = solve(w, "design_weighting", givens={"D": "hierarchy"})
    assert tree.error < baseline("hierarchy", w).total_error(w)
    identity = solve(w, "query_weighting", givens={"Q": np.eye(8)})
    assert identity.objective == pytest.approx(8 * 9 / 2, rel=PUBLISHED)


def test_design_queries_that_do_not_do(subtests: pytest.Subtests) -> None:
    for given, constraint in [(np.ones((2, 5)), "independent"), (np.eye(5)[:4], "supports")]:
        with subtests.test(constraint):
            with pytest.raises(OptionError) as refused:
                solve(PREFIX, "query_weighting", givens={"Q": given})
            text = str(refused.value)
            assert f"'query_weighting' requires '{constraint}' of its data, and it is off by " in text
            assert text.endswith(
                "give other design queries: independent rows from which every query can be derived"
            )


def test_a_scalar_program() -> None:
    """Lines on one number and a vector: no matrix at all, solved by a solver without a psd cone."""
    text = """\
program counts
title "weights"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    t: scalar
    u: vector[n] >= 0
minimize
    t
subject to
    rows: W @ u >= 1
    each: u <= t
repair
    u = u / min(W @ u)
    t = max(u)
strategy
    diag(sqrt(u)) norm 2
"""
    w = Workload.from_matrix(np.tri(4) + np.eye(4))
    for solver in ("clarabel", "qoco", "scs"):
        s = solve(w, Program.parse(text), solver=solver)
        assert s.objective == pytest.approx(0.5, rel=GAP)


def test_a_let_beyond_the_range_of_numbers_is_a_named_error() -> None:
    """It is evaluated before any solver runs: a row basis of infinities."""
    program = own(
        ("choose\n", "let\n    S = row_basis(1e299 * W * 1e299)\nchoose\n"),
        ("factor(X) norm 2\n", "factor(X) norm 2\nfrom strategy A: matrix[p, n]\n    X = A.T @ A\n"),
    )
    with pytest.raises(SolverError, match="leave the range of floating point"):
        solve(PREFIX, program)
    with pytest.raises(SolverError, match="leave the range of floating point"):
        certify(PREFIX, "identity", program)


CLOSED = """program halves
class closed form
given
    W: matrix[m, n] = workload.matrix
let
    A = eye(n) / 2
minimize
    max(sum(A * A, axis=0)) * trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
certificate
    nuclear(W)**2 / n
"""
QUADRATIC = """program quadratic
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n]
minimize
    sum((x - 3)**2) + sum(x)
subject to
    floor: x >= OFFSET
strategy
    eye(n) norm 2
certificate y: vector[n] >= 0 from dual(floor)
    n * 9 + OFFSET * sum(y) - sum((5 + y)**2) / 4
"""


def test_a_closed_form_of_ones_own(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    found = solve(w, Program.parse(CLOSED))
    assert found.objective == pytest.approx((w.matrix**2).sum(), rel=RECOMPUTED)
    assert found.bound == pytest.approx(
        np.linalg.svd(w.matrix, compute_uv=False).sum() ** 2 / w.n, rel=RECOMPUTED
    )
    assert found.status.stop == "closed form" and found.bound <= found.objective
    assert found.error == pytest.approx(found.objective, rel=RECOMPUTED)


def test_a_closed_form_has_no_solver() -> None:
    with pytest.raises(UnsuitableError, match="scs does not solve 'halves'\n  it is a closed form"):
        solve(Workload.from_matrix(np.eye(2)), Program.parse(CLOSED), solver="scs")


def test_a_quadratic_objective(subtests: pytest.Subtests) -> None:
    """Solvers that take quadratic objectives must not lose them; at 2.5 the objective has its minimum."""
    for solver in ["clarabel", "scs"]:
        for offset in ["0", "4"]:
            with subtests.test(solver=solver, offset=offset):
                program = Program.parse(QUADRATIC.replace("OFFSET", offset))
                found = solve(np.eye(3), program, solver=solver)
                x = max(2.5, float(offset))
                assert found.objective == pytest.approx(3 * ((x - 3) ** 2 + x), rel=1e-4)
                assert found.bound <= found.objective


def test_a_negative_optimum_has_a_negative_bound() -> None:
    text = QUADRATIC.replace("sum((x - 3)**2) + sum(x)", "sum((x - 3)**2) + sum(x) - 100")
    text = text.replace("n * 9 +", "n * 9 - 100 +").replace("OFFSET", "0")
    found = solve(Workload.from_matrix(np.eye(2)), Program.parse(text), solver="clarabel")
    assert found.bound <= found.objective < 0
    assert 0 <= found.gap <= GAP_INTERIOR


def test_dual_programs_bound_from_above(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for name in ["l2_strategy", "query_weighting", "laplace_weighting"]:
        with subtests.test(name):
            full = Workload.from_matrix(rng.normal(size=(6, 4)))
            w = random_workload(rng) if name == "l2_strategy" else full
            primal, dual = solve(w, name), solve(w, f"{name}_dual")
            assert dual.sense == "maximize" and primal.sense == "minimize"
            # Each objective is a bound on the other: the intervals meet.
            assert dual.objective <= dual.bound and primal.bound <= primal.objective
            assert dual.objective <= primal.objective * (1 + ROUNDING)
            assert primal.bound <= dual.bound * (1 + ROUNDING)
            assert dual.gap <= 1e-4


def test_a_multiplier_of_a_block_is_that_of_the_inequality(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(5, 4)), targets=rng.uniform(0.5, 2.0, size=5))
    plain, blocks = solve(w, "fitness_for_use"), solve(w, "fitness_lmi")
    assert blocks.multipliers["privacy[1, 1]"].shape == plain.multipliers["privacy"].shape == (w.n,)
    assert blocks.gap <= GAP_INTERIOR


def test_a_solver_that_calls_a_feasible_program_infeasible_does_not_end_it() -> None:
    """The point of the diagnosis is taken, unless the solver was named: it is not that solver's."""
    text = "program own\nchoose\n    x: scalar\nminimize\n    (1e5 * x)**2\n"
    text += "subject to\n    a: x >= 1\n    b: x <= 2\n"
    s = solve(None, Program.parse(text))
    assert s.bound <= 1e10 <= s.objective and s.gap <= GAP
    with pytest.raises(SolverError, match=r"says that 'own' is infeasible .* and it is not"):
        solve(None, Program.parse(text), solver="clarabel")


def program(given: str, choose: str, goal: str, *lines: str) -> Program:
    """A program without strategy, of one given and one variable a line."""
    numbered = "\n".join(f"    line{k}: {line}" for k, line in enumerate(lines))
    return Program.parse(
        f"program own\ngiven\n    {given}\nchoose\n    {choose}\n{goal}\n"
        + f"subject to\n{numbered}\n" * bool(lines)
    )


V = np.random.default_rng(5).normal(size=(3, 6))
MATRIX, WEIGHTS = "V: matrix[d, n]", "w: vector[n] >= 0"


def test_a_diagonal_factor_scales_columns_or_rows() -> None:
    for goal in ("maximize\n    logdet({})", "minimize\n    trace(inv({}))", "maximize\n    lambda_min({})"):
        one, other = (
            solve([[1.0]], program(MATRIX, WEIGHTS, goal.format(e), "sum(w) == 1"), givens={"V": V})
            for e in ("V @ diag(w) @ V.T", "V @ (diag(w) @ V.T)")
        )
        assert one.objective == pytest.approx(other.objective, rel=PUBLISHED)
        assert max(one.gap, other.gap) <= GAP_INTERIOR
    sums = "V @ diag(2 * ones(n)) @ diag(w) @ V.T", "2 * (V @ diag(w) @ V.T)", "(V @ diag(w)) @ (2 * V.T)"
    each = [
        solve([[1.0]], program(MATRIX, WEIGHTS, f"minimize\n    sum(abs({e} - 1))"), givens={"V": V})
        for e in sums
    ]
    assert [s.objective for s in each] == pytest.approx([each[0].objective] * 3, rel=PUBLISHED)
    assert max(s.gap for s in each) <= GAP_INTERIOR


def test_a_diagonal_factor_beside_an_inverse_or_a_vector() -> None:
    around = "minimize\n    trace(diag(c) @ diag(c) @ inv(X) @ diag(c) @ diag(c))"
    s = solve(
        [[1.0]], program("c: vector[n]", "X: psd[n, n]", around, "diag(X) <= 1"), givens={"c": [2.0, 1.0]}
    )
    assert s.objective == pytest.approx(17.0, rel=PUBLISHED) and s.gap <= GAP_INTERIOR
    line = "diag(c) @ x >= c"
    s = solve(
        [[1.0]],
        program("c: vector[n]", "x: vector[n]", "minimize\n    sum(x)", line),
        givens={"c": [2.0, 3.0]},
    )
    assert s.objective == pytest.approx(2.0, rel=PUBLISHED) and s.gap <= GAP_INTERIOR


def test_no_matrix_is_made_of_a_diagonal() -> None:
    wide = np.random.default_rng(6).normal(size=(2, 300))
    design = program(MATRIX, WEIGHTS, "maximize\n    logdet(V @ diag(w) @ V.T)", "sum(w) == 1")
    instance = bind(design, Workload.from_matrix([[1.0]]), {"V": wide})
    nodes = nodes_of(instance, {"w": np.full(300, 1 / 300)}, lambda name: None)
    assert max(np.size(node.value) for node in nodes.all) <= wide.size
    assert max(leaf.size for leaf in lower(instance).problem.constants()) <= wide.size


def test_one_run_is_enough_where_its_multipliers_prove_the_gap() -> None:
    cover = program("V: matrix[d, n]", "x: vector[n] >= 0", "minimize\n    sum(x)", "abs(V) @ x >= 1")
    s = solve([[1.0]], cover, givens={"V": V})
    assert {row["run"] for row in s.history} == {1} and s.gap <= GAP_INTERIOR
    assert (s.bound_grade, s.status.stop) == ("proved", "gap reached")


@pytest.mark.parametrize("goal", ["1e8 * sum(x**2) + norm(V.T @ x - 1)", "1e10 * sum((V.T @ x - 1)**2)"])
def test_quadratic_objectives_of_any_scale(goal: str) -> None:
    s = solve(
        [[1.0]], program(MATRIX, "x: vector[d]", f"minimize\n    {goal}", "sum(x) <= -1"), givens={"V": V}
    )
    assert s.gap <= GAP_INTERIOR and s.bound_grade == "proved"


def test_what_the_first_solver_said_is_kept() -> None:
    m = [[0.4, 0.8, -1.5], [-0.4, 0.9, 1.9], [0.5, -1.7, -1.2]]
    falls = program(
        "c: vector[n]\n    M: matrix[n, n]",
        "x: vector[n]",
        "minimize\n    lambda_max(M @ diag(x) @ M.T)",
        "c @ x == 800",
    )
    try:
        s = solve([[1.0]], falls, givens={"M": m, "c": [-1.8, 2.0, -0.8]})
        assert s.bound is None
        words = s.warnings
    except SolverError as error:  # a processor on which the other solver has no point either
        words = (error.message,)
    assert any("unbounded" in text for text in words)


RISK = """program risk
given
    A: matrix[m, n]
    b: vector[m]
parameter
    beta = 0.95
    p = 1.5
require
    beta < 1
    p >= 1
choose
    x: vector[n]
minimize
    OBJECTIVE
"""


def test_signs_and_exponents_that_parameters_have(rng: np.random.Generator) -> None:
    """Optimum and bound are those of the program with numbers in place of the parameters."""
    given = {"A": rng.normal(size=(6, 2)), "b": rng.normal(size=6)}
    goal = "sum(abs(A @ x - b)**p) / (1 - beta) + sum(abs(x)**(2 * p - 1))"
    for numbers in ({}, {"p": 3.0, "beta": 0.5}, {"p": 1.0}):
        named = solve(PREFIX, Program.parse(RISK.replace("OBJECTIVE", goal)), givens={**given, **numbers})
        p, beta = numbers.get("p", 1.5), numbers.get("beta", 0.95)
        text = goal.replace("(2 * p - 1)", f"{2 * p - 1}").replace("**p", f"**{p}").replace("beta", f"{beta}")
        written = solve(PREFIX, Program.parse(RISK.replace("OBJECTIVE", text)), givens=given)
        assert named.objective == pytest.approx(written.objective, rel=GAP)
        assert named.gap is not None and named.gap <= GAP
        x = named.variables["x"]
        value = (np.abs(given["A"] @ x - given["b"]) ** p).sum() / (1 - beta) + (
            np.abs(x) ** (2 * p - 1)
        ).sum()
        assert named.bound <= value <= named.objective * (1 + ROUNDING)


# What is chosen, the objective and the lines; and both in cvxpy, of the variables in that order.
BESIDE_CVXPY = (
    (
        {"X": "matrix[n, m]", "P": "psd[n, n]"},
        "trace(X.T @ inv(P) @ X) + trace(P)",
        ("A[0, :] @ X >= 1",),
        lambda a, c, d, x, p: (cp.matrix_frac(x, p) + cp.trace(p), [a[0] @ x >= 1]),
    ),
    (
        {"X": "matrix[n, m]", "P": "psd[n, n]", "t": "scalar"},
        "t + trace(P)",
        ("X[:, j] @ inv(P) @ X[:, j] <= t for j in m", "A[0, :] @ X >= 1"),
        lambda a, c, d, x, p, t: (
            t + cp.trace(p),
            [*(cp.matrix_frac(x[:, j], p) <= t for j in range(4)), a[0] @ x >= 1],
        ),
    ),
    (
        {"P": "symmetric[n, n]", "Q": "matrix[n, n]"},
        "trace(C @ P) + sum(D * Q)",
        ("Q == -Q.T", "[[P, -Q], [Q, P]] >> 0", "trace(P) == 1"),
        lambda a, c, d, p, q: (
            cp.trace(c @ p) + cp.sum(cp.multiply(d, q)),
            [q == -q.T, cp.bmat([[p, -q], [q, p]]) >> 0, cp.trace(p) == 1],
        ),
    ),
    (
        {"x": "vector[n]", "t": "scalar"},
        "norm([[A @ x - 1], [t - 2]]) + max([[x], [t]]) + t**2",
        ("sum([[x], [t]]) >= 1",),
        lambda a, c, d, x, t: (
            cp.norm(cp.hstack([a @ x - 1, t - 2])) + cp.maximum(cp.max(x), t) + t**2,
            [cp.sum(x) + t >= 1],
        ),
    ),
    (
        {"x": "vector[n]", "y": "scalar"},
        "quad_over_lin(A @ x - 1, 3 - y) - sum_smallest(x, 2) + y**2",
        ("norm(x) <= 1", "kron(C, diag(x)) << 9 * eye(n * n)"),
        lambda a, c, d, x, y: (
            cp.quad_over_lin(a @ x - 1, 3 - y) - cp.sum_smallest(x, 2) + y**2,
            [cp.norm(x) <= 1, cp.kron(c, cp.diag(x)) << 9 * np.eye(9)],
        ),
    ),
    (
        {"x": "vector[n]", "X": "matrix[n, m]"},
        "0.5 * (x - 1).T @ S @ (x - 1) + x @ A.T @ A @ x + trace(S @ (X - A.T) @ (X - A.T).T)",
        ("x @ S @ x <= 4", "sum(x) + sum(X) >= 9"),
        lambda a, c, d, x, y: (
            cp.quad_form(x - 1, c @ c + np.eye(3)) / 2
            + cp.sum_squares(a @ x)
            + sum(cp.quad_form(y[:, j] - a[j], c @ c + np.eye(3)) for j in range(4)),
            [cp.quad_form(x, c @ c + np.eye(3)) <= 4, cp.sum(x) + cp.sum(y) >= 9],
        ),
    ),
)


def test_forms_of_two_that_are_chosen_beside_cvxpy(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    a, c, d = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    given = {"A": a, "C": c + c.T, "D": d - d.T}
    for chosen, objective, lines, in_cvxpy in BESIDE_CVXPY:
        with subtests.test(objective):
            text = "program form\ngiven\n    A: matrix[m, n]\n    C: symmetric[n, n]\n    D: matrix[n, n]\n"
            text += "let\n    S = C.T @ C + eye(n)\n"
            text += "choose\n" + "".join(f"    {name}: {kind}\n" for name, kind in chosen.items())
            text += f"minimize\n    {objective}\nsubject to\n"
            text += "".join(f"    line{i}: {line}\n" for i, line in enumerate(lines))
            found = solve(np.eye(1), Program.parse(text), givens=given)
            kinds = {"psd[n, n]": {"PSD": True}, "symmetric[n, n]": {"symmetric": True}}
            shapes = {
                name: tuple({"n": 3, "m": 4}[s] for s in re.findall(r"[nm](?=[,\]])", kind))
                for name, kind in chosen.items()
            }
            variables = [cp.Variable(shapes[name], **kinds.get(kind, {})) for name, kind in chosen.items()]
            least, constraints = in_cvxpy(*given.values(), *variables)
            problem = cp.Problem(cp.Minimize(least), constraints)
            problem.solve("CLARABEL")
            assert found.objective == pytest.approx(problem.value, rel=1e-5, abs=1e-6)
            assert found.gap is not None and found.gap < 1e-5


def test_the_largest_may_be_all_of_them() -> None:
    """Where the bound is read off a second problem, whose variables have values already."""
    text = """\
program own
given
    E: matrix[m, n]
    e: vector[m]
choose
    x: vector[n]
minimize
    sum_largest(abs(E @ x - e), m) + sum(x**2)
"""
    rows, far = np.array([[-1.0, 3.0], [1.0, -1.0], [2.0, -3.0]]), 1e-7 * np.array([2.0, 0.0, -1.0])
    s, same = (
        solve(
            [[1]],
            Program.parse(text.replace("sum_largest(abs(E @ x - e), m)", sizes)),
            givens={"E": rows, "e": far},
        )
        for sizes in ("sum_largest(abs(E @ x - e), m)", "norm(E @ x - e, 1)")
    )
    assert s.bound_grade == "proved" and s.gap <= GAP_INTERIOR
    assert s.objective == pytest.approx(same.objective, abs=GAP_INTERIOR)


CUT = """\
program cut
given
    L: matrix[n, n]
choose
    X: psd[n, n]
maximize
    trace(L @ X)
subject to
    unit: diag(X) == 1
"""


def test_a_point_of_a_large_program_is_moved_inside_and_its_last_multipliers_prove_the_bound(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """SCS misses the equations, and its first multipliers are rough; a second problem may take too long."""

    def too_long(*_: object, **__: object) -> None:
        raise AssertionError("a second problem")

    monkeypatch.setattr(problem_for_bound_or_inner_point, "SECONDS_INSIDE", 0.0)
    monkeypatch.setattr(problem_for_bound_or_inner_point, "lower_node_by_node", too_long)
    edges = np.triu(rng.random((16, 16)) < 0.5, 1).astype(float)
    laplacian = np.diag((edges + edges.T).sum(axis=0)) - edges - edges.T
    s = solve([[1]], Program.parse(CUT), givens={"L": laplacian}, solver="scs")
    x = cp.Variable((16, 16), PSD=True)
    best = cp.Problem(cp.Maximize(cp.trace(laplacian @ x)), [cp.diag(x) == 1]).solve("CLARABEL")
    assert s.bound_grade == "proved" and s.gap <= GAP
    assert s.objective == pytest.approx(best, rel=GAP)


RICCATI = """\
program riccati
given
    A: matrix[n, n]
    B: matrix[n, m]
choose
    P: symmetric[n, n]
maximize
    trace(P)
subject to
    all: [[A.T @ P @ A - P + eye(n), A.T @ P @ B], [B.T @ P @ A, eye(m) + B.T @ P @ B]] >> 0
"""


def test_a_point_is_moved_towards_the_origin_where_no_solver_gives_one_inside(
    subtests: pytest.Subtests,
) -> None:
    """The warning says what that costs; a point that is another one altogether is not taken."""
    for seed in (110, 58):
        with subtests.test(seed=seed):
            rng = np.random.default_rng(seed)
            n, m = int(rng.integers(2, 7)), int(rng.integers(1, 3))
            a, b = rng.normal(size=(n, n)) * rng.uniform(0.3, 2.5), rng.normal(size=(n, m))
            best = np.trace(scipy.linalg.solve_discrete_are(a, b, np.eye(n), np.eye(m)))
            s = solve([[1]], Program.parse(RICCATI), givens={"A": a, "B": b}, solver="clarabel")
            assert best * (1.0 - 10 * GAP) <= s.objective <= best * (1.0 + ROUNDING)
            is_said = any("the nearest feasible point found costs " in w for w in s.warnings)
            assert is_said or s.objective >= best * (1.0 - 2 * GAP)


def test_signs_that_cvxpy_does_not_see(rng: np.random.Generator) -> None:
    """The square of an eigenvalue that is nonnegative, and an entry of squares, which are read and solved."""
    text = """\
program signs
given
    A: symmetric[n, n]
choose
    X: psd[n, n]
minimize
    lambda_max(X)**2 + (diag(X)**2)[0]
subject to
    above: X >> A
"""
    half = rng.normal(size=(3, 3))
    given = half @ half.T
    x = cp.Variable((3, 3), PSD=True)
    objective = cp.Minimize(cp.square(cp.pos(cp.lambda_max(x))) + cp.square(x[0, 0]))
    value = cp.Problem(objective, [x - given >> 0]).solve("CLARABEL")
    s = solve([[1]], Program.parse(text), givens={"A": given})
    assert s.bound_grade == "proved" and s.gap <= GAP_INTERIOR
    assert s.objective == pytest.approx(value, rel=GAP)
    assert "entries of a convex expression" in str(explain(Program.parse(text)))


def test_columns_of_other_units(subtests: pytest.Subtests) -> None:
    """Numbers far apart are brought near one by their middle: no solver takes them for zero."""
    text = """\
program units
given
    A: matrix[m, n]
    c: vector[n]
choose
    x: vector[n] >= 0
minimize
    c @ x
subject to
    need: A @ x >= 1
"""
    units = np.array([1e5, 1.0, 1e-5])
    a, c = np.array([[1, 0.5, 0.2], [0.3, 1, 0.6], [0.2, 0.4, 1]]), np.array([1, 1.2, 0.9])
    best = scipy.optimize.linprog(c, -a, -np.ones(3)).fun
    for solver in ("clarabel", "highs"):
        with subtests.test(solver):
            s = solve([[1]], Program.parse(text), givens={"A": a * units, "c": c * units}, solver=solver)
            assert s.bound_grade == "proved" and s.gap <= GAP
            assert s.objective == pytest.approx(best, rel=GAP)
