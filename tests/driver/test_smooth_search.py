"""Programs of class smooth, the shipped ones too: against the conic answer, starts, limits, refusals.

Guards smooth_search.py.
"""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from tolerances import GAP, GAP_INTERIOR, PAPER_RMSE, RECOMPUTED

from mmopt import OptionError, Program, SolverError, UnsuitableError, Workload, certify, solve
from mmopt.driver import Progress
from mmopt.strategies.baselines import baseline

PREFIX = Workload.from_matrix(np.tri(6), targets=np.arange(1.0, 7.0))
P_IDENTITY = """program own_identity
class smooth
given
    W: matrix[r, n] = workload.root
parameter
    p: dim = 1
choose
    Theta: matrix[p, n] >= 0
let
    A = [[eye(n)], [Theta]] @ diag(1 / (1 + sum(Theta, axis=0)))
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 1
bound
    l2_strategy
"""
PLAIN = """program plain
class smooth
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n]
minimize
    sum((x - 2)**4) + 1
subject to
    line: {line}
start
    {start}
strategy
    diag(1 + x * x) norm 2
"""


def plain(line: str = "x <= 9", start: str = "random") -> Program:
    return Program.parse(PLAIN.format(line=line, start=start))


def smooth(name: str, *dropped: str) -> Program:
    text = Program.load(name).text.replace("class  convex", "class  smooth")
    for section in dropped:
        before, _, after = text.partition(f"\n{section}\n")
        text = before + "\n" + after[after.index("\n\n") :]
    return Program.parse(text)


@pytest.mark.some(1)
@pytest.mark.parametrize("dropped", [(), ("repair",)])
@pytest.mark.parametrize("name", ["l2_strategy", "fitness_for_use"])
def test_agrees_with_the_conic_answer(name: str, dropped: tuple[str, ...]) -> None:
    """Also without a repair: the search itself keeps the constraints."""
    w = Workload.from_matrix(np.tri(4), targets=np.arange(1.0, 5.0))
    best = solve(w, name)
    s = solve(w, smooth(name, *dropped), seed=3, starts=2)
    assert s.solver == "lbfgs" and s.status.feasible
    assert s.objective == pytest.approx(best.objective, rel=10 * GAP_INTERIOR)
    # The multipliers of the constraints prove it.
    assert -1e-12 <= s.gap <= GAP
    assert len(s.history) == (1 if s.gap <= 1e-6 else 2)


def test_equal_sides_and_signs() -> None:
    text = """program shares
class smooth
given
    G: psd[n, n] = workload.gram
choose
    x: vector[n] >= 0
    X: psd[n, n] >= 0
minimize
    x @ G @ x + sum((X - 3 * eye(n) + 1)**2)
subject to
    whole: sum(x) == 1
    first: x[0] >= 0.5
    pairs: x[j] <= 0.3 + x[0] for j in n
strategy
    diag(1 + x) norm 2
"""
    s = solve(PREFIX, Program.parse(text), starts=2)
    assert abs(s.variables["x"].sum() - 1) <= 1e-10
    assert s.variables["x"].min() >= 0 and s.variables["x"][0] >= 0.5 - 1e-10
    # Off the diagonal entries would be -1, were they not declared >= 0.
    np.testing.assert_allclose(s.variables["X"], 2 * np.eye(6), atol=1e-5)
    from cvxpy import Minimize, Problem, Variable, quad_form

    x = Variable(6, nonneg=True)
    known = Problem(Minimize(quad_form(x, PREFIX.gram)), [sum(x) == 1, x[0] >= 0.5])
    known.solve(solver="CLARABEL")
    assert s.objective == pytest.approx(known.value + 30.0, rel=1e-6)


def test_a_program_of_a_user_finds_the_p_identity(subtests: pytest.Subtests) -> None:
    """HDMM's strategy: rmse 3.7641 is the best of three starts of its own optimiser."""
    for n, p, rmse in [(64, 4, 3.7641)]:
        with subtests.test(n=n, p=p):
            s = solve(Workload.from_matrix(np.tri(n)), Program.parse(P_IDENTITY), givens={"p": p}, starts=3)
            assert s.rmse == pytest.approx(rmse, rel=PAPER_RMSE)
            assert s.strategy.norm == 1 and s.sensitivity == pytest.approx(1.0)
            assert s.status.stop.startswith("local optimum, 3 starts, spread ")
            assert s.bound == s.error_bound and s.bound < s.objective
            assert s.objective == pytest.approx(s.error, rel=RECOMPUTED)
            assert (s.variables["Theta"] >= 0).all()


def test_starts_by_name_then_at_random() -> None:
    named = "low: x = 0 * ones(n)\n    high: x = 5 * ones(n)"
    s = solve(PREFIX, plain(start=f"{named}\n    random"), starts=4)
    assert [row["start"] for row in s.history] == [1, 2, 3, 4]
    assert set(s.history[0]) == {"start", "objective", "iterations", "gradient norm"}
    assert s.iterations == sum(row["iterations"] for row in s.history)
    assert s.objective == min(row["objective"] for row in s.history)
    assert s.status.stop.startswith("local optimum, 4 starts, spread ")
    assert len(solve(PREFIX, plain(start=named)).history) == 2
    assert solve(PREFIX, plain(start=named.split("\n")[0])).status.stop == "local optimum, 1 start"


def test_seeds_repeat_and_differ() -> None:
    program = plain()
    first, again, other = (solve(PREFIX, program, starts=2, seed=seed) for seed in (7, 7, 8))
    assert first.history == again.history and first.history != other.history
    # A start's random numbers do not depend on how many there are.
    assert solve(PREFIX, program, starts=1, seed=7).history == first.history[:1]


def test_a_start_without_a_value_is_left_out() -> None:
    text = PLAIN.replace("sum((x - 2)**4) + 1", "sum(x - log(x))").format(
        line="x <= 9", start="bad: x = 0 * ones(n) - 1\n    good: x = 2 * ones(n)"
    )
    s = solve(PREFIX, Program.parse(text))
    np.testing.assert_allclose(s.variables["x"], 1.0, atol=1e-5)
    assert "the objective has no value at the start 'bad', which was left out" in s.warnings
    with pytest.raises(SolverError) as refused:
        solve(PREFIX, Program.parse(text), starts=1)
    assert str(refused.value) == (
        "the objective of 'plain' has no value at any start\n  give it a 'start' at which it has one"
    )


def test_limits_of_time_and_iterations() -> None:
    big = Workload.from_matrix(np.tri(24))
    short = solve(big, Program.parse(P_IDENTITY), time_limit=1e-6)
    assert short.status.stop == "time limit" and len(short.history) == 1 and short.status.feasible
    few = solve(big, Program.parse(P_IDENTITY), max_iterations=3)
    assert few.status.stop == "iteration limit" and few.iterations == 3


@pytest.mark.quick
def test_ctrl_c_keeps_the_best() -> None:
    seen = []

    def press(progress: Progress) -> None:
        seen.append(progress)
        os.kill(os.getpid(), signal.SIGINT)

    s = solve(PREFIX, plain(), progress=press)
    assert s.status.stop == "interrupted" and len(s.history) == len(seen) == 1
    assert seen[0].solver == "lbfgs" and seen[0].objective == s.objective and seen[0].bound is None


def test_another_solver() -> None:
    assert solve(PREFIX, plain(), solver="LBFGS", starts=1).solver == "lbfgs"
    with pytest.raises(UnsuitableError) as refused:
        solve(PREFIX, plain(), solver="clarabel")
    assert str(refused.value) == "clarabel does not solve 'plain'\n  these do: lbfgs"
    with pytest.raises(UnsuitableError) as refused:
        solve(PREFIX, "l2_strategy", solver="lbfgs")
    assert str(refused.value) == (
        "lbfgs does not solve 'l2_strategy'\n  these do: nuclear, sectors, clarabel, scs, cvxopt, sdpa"
    )


def test_constraints_that_cannot_hold() -> None:
    with pytest.raises(SolverError) as refused:
        solve(PREFIX, plain(line="x @ x <= -1"), starts=1)
    first, hint = str(refused.value).splitlines()
    assert first.startswith("lbfgs returned a point that violates a constraint by ")
    assert " after its repair for 'plain' (" in first
    assert hint == "  allow more time or iterations, ask for more starts, or give the program a 'repair'"


FOUR = Workload.from_matrix(np.tri(4))
COLUMNS = """program columns
class smooth
given
    W: matrix[r, n] = workload.root
parameter
    p: dim = n
choose
    B: matrix[p, n]
let
    A = B @ diag(1 / sqrt(sum(B * B, axis=0)))
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
from strategy S: matrix[p, n]
    B = S
bound
    l2_strategy
"""
SMOOTH = Program.parse(COLUMNS)


def test_a_start_from_a_strategy(tmp_path: Path, subtests: pytest.Subtests) -> None:
    found = {}
    for name in ["identity", "haar", "hierarchical(branching=2)"]:
        with subtests.test(name):
            s = found[name] = solve(FOUR, SMOOTH, start=name)
            assert s.status.stop == "local optimum, 1 start"
            # The rows are a parameter, taken from the strategy.
            assert s.strategy.p == baseline(name, FOUR, 2).p
            assert s.gap <= GAP_INTERIOR
    np.save(tmp_path / "start.npy", np.eye(4))
    from_file = solve(FOUR, SMOOTH, start=tmp_path / "start.npy")
    assert np.array_equal(from_file.strategy.matrix, found["identity"].strategy.matrix)


def test_where_the_search_starts() -> None:
    """Without a step, it is the strategy itself; its own optimum is where it ends."""
    started = solve(FOUR, SMOOTH, start="haar", max_iterations=1)
    assert started.objective <= certify(FOUR, "haar", SMOOTH, solve=False).objective * (1 + RECOMPUTED)
    best = solve(FOUR, "l2_strategy")
    near, far = (solve(FOUR, SMOOTH, start=start) for start in (best, "haar"))
    assert near.iterations < far.iterations


def test_a_program_with_a_rank_never_ends_above_its_start(subtests: pytest.Subtests) -> None:
    for name in ["haar", "hierarchical(branching=2)"]:
        with subtests.test(name):
            s = solve(FOUR, "min_error", start=name, max_iterations=2)
            given = certify(FOUR, name, "min_error", norm=1, solve=False)
            assert s.objective <= given.objective * (1 + RECOMPUTED)
            assert {row["start"] for row in s.history} == {1.0}
            assert s.strategy.norm == 1 and s.options["starts"] == 1
    again = solve(FOUR, "min_error", start=name, max_iterations=2)
    assert again.objective == s.objective  # nothing is drawn


def test_starts_that_are_refused(subtests: pytest.Subtests) -> None:
    for program, arguments, message in [
        (
            "l2_strategy",
            {"start": "haar"},
            "'l2_strategy' is of class 'convex', which has no option 'start'\n  it is an option of class "
            "rank and smooth; a baseline can also be a given (--given NAME=haar, in Python givens={'NAME': "
            "'haar'})",
        ),
        (
            "min_error",
            {"start": "haar", "starts": 2},
            "'starts' has no effect with 'start': the search starts from there alone",
        ),
        ("min_error", {"start": "har"}, "the strategy 'har' is not a baseline or a .npy, .csv or .npz file"),
        (
            "min_error",
            {"start": np.ones((1, 4))},
            "the strategy does not support the workload: W A⁺ A differs from W for 3 of 4 queries",
        ),
        (
            "min_error",
            {"start": baseline("haar", FOUR, 2)},
            "'min_error' is about strategies of norm 1, this one has norm 2",
        ),
        ("p_identity", {"start": "haar"}, "'p_identity' has no section 'from strategy'"),
    ]:
        with subtests.test(program=program, message=message):
            with pytest.raises(OptionError) as error:
                solve(FOUR, program, **arguments)
            assert str(error.value).startswith(message)
