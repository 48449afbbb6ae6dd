"""Programs with a rank constraint: what the heuristic reaches, and what it says when it does not.

Guards rank_search.py.
"""

import itertools
import re
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tolerances import GAP, GAP_INTERIOR, PUBLISHED, RECOMPUTED, ROUNDING

from mmopt import OptionError, Program, ProgramError, Solution, SolverError, Workload, solve, verify
from mmopt.compiler import bind, cones
from mmopt.driver import Progress
from mmopt.driver.rank_search import _RankSearch
from mmopt.errors import TooLargeError
from mmopt.language import violation
from mmopt.language.check.names_and_relations import rank_line
from mmopt.results.status_grade_and_verification import is_stop
from mmopt.solvers import SOLVERS, missing_cones

PREFIX = Workload.from_matrix(np.tri(3))

# The best strategy of p rows; it has to lie in the space of the queries, or it does not support them.
FEW = """\
program few_rows
class  rank
given
    W: matrix[r, n] = workload.root
parameter
    p: dim = 2
choose
    A: matrix[p, n]
    X: psd[n, n]
let
    Z = [[eye(p), A], [A.T, X]]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    gram:        Z >> 0
    exact:       rank(Z) == p
    sensitivity: diag(X) <= 1
repair
    A = A @ pinv(W) @ W
    A = A / sqrt(max(sum(A * A, axis=0)))
    X = A.T @ A
strategy
    A norm 2
certificate d: vector[n] >= 0 from dual(sensitivity)
    nuclear(W @ diag(sqrt(d)))**2 / sum(d)
"""
# The same for p = r without a rank: A = factor(M) @ W.
INSIDE = """\
program inside
given
    W: matrix[r, n] = workload.root
choose
    M: psd[r, r]
minimize
    trace(inv(M))
subject to
    sensitivity: diag(W.T @ M @ W) <= 1
repair
    M = M / max(diag(W.T @ M @ W))
strategy
    factor(M) @ W norm 2
"""
TWO = Workload.from_matrix([[1.0, 1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 2.0, 0.0]])


def few(*changes: tuple[str, str]) -> Program:
    text = FEW
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return Program.parse(text)


def residual_of(s: Solution, p: int) -> float:
    """By how much Z = [[I, A], [Aᵀ, X]] of the repaired point misses the rank, with numpy alone."""
    a, x = s.variables["A"], s.variables["X"]
    values = np.linalg.svd(np.block([[np.eye(len(a)), a], [a.T, x]]), compute_uv=False)
    return float(values[p] / values[0])


def test_a_users_program_finds_the_optimum_known_otherwise() -> None:
    s = solve(TWO, few(), starts=3)
    best = solve(TWO, Program.parse(INSIDE))
    assert s.strategy.matrix.shape[0] == 2
    assert s.objective >= best.objective * (1 - GAP_INTERIOR)
    assert s.objective == pytest.approx(best.objective, rel=GAP)
    assert s.error == pytest.approx(s.objective, rel=RECOMPUTED)
    assert residual_of(s, 2) < 1e-12
    assert re.fullmatch(r"rank reached in \d+ of 3 starts", s.status.stop)
    assert s.status.feasible and s.bound_grade == "claimed"


def test_the_bound_comes_from_the_relaxation() -> None:
    """Round 0 is solved without the penalty: its multipliers are the best for the bound."""
    s = solve(TWO, few(), starts=1)
    over_all = solve(TWO, "l2_strategy")
    assert s.bound == pytest.approx(over_all.bound, rel=GAP) and s.bound <= s.objective
    assert (s.history[0]["start"], s.history[0]["penalty"]) == (0, 0.0)
    assert s.history[1]["start"] == 1


def test_maximize() -> None:
    turned = few(
        ("minimize\n    trace(W @ inv(X) @ W.T)", "maximize\n    -trace(W @ inv(X) @ W.T)"),
        (FEW[FEW.index("certificate") :], ""),
    )
    s = solve(TWO, turned, starts=3)
    assert s.objective == pytest.approx(-solve(TWO, Program.parse(INSIDE)).objective, rel=GAP)
    best = max(row["objective"] for row in s.history if "objective" in row)
    assert s.objective == pytest.approx(best, rel=ROUNDING)


def test_history_has_a_row_for_every_round_and_the_repaired_point_is_saved(tmp_path: Path) -> None:
    s = solve(PREFIX, "min_error", starts=3)
    assert {row["start"] for row in s.history} == {1, 2, 3}
    for start in (1, 2, 3):
        rows = [row for row in s.history if row["start"] == start]
        assert [row["round"] for row in rows] == list(range(1, len(rows) + 1))
        weights = [row["penalty"] for row in rows]
        assert weights == sorted(weights) and weights[0] == (3.0 if start == 2 else 1.0)
        assert all(row["residual"] > 1e-6 for row in rows[:-1]), "a start ends when the rank is reached"
    # Or the identity's, which is the best here, without a round's rounding.
    best = min(row["objective"] for row in s.history if "objective" in row)
    assert s.objective == pytest.approx(best, rel=RECOMPUTED) and s.objective <= best
    assert s.iterations == sum(row["iterations"] for row in s.history)
    ended = [max((r for r in s.history if r["start"] == k), key=lambda r: r["round"]) for k in (1, 2, 3)]
    reached = sum(row["residual"] <= 1e-6 for row in ended)
    assert s.status.stop == f"rank reached in {reached} of 3 starts" and reached > 0
    assert s.summary()["history"] == [dict(row) for row in s.history]
    assert Solution.load(s.save(tmp_path / "s")) == s
    instance = bind(Program.load("min_error"), PREFIX)
    env = {**instance.env, **s.variables}
    assert max(violation(c, env) for c in instance.program.constraints) <= 1e-10
    assert violation(rank_line(instance.program.constraints), env) <= 1e-12
    assert np.abs(s.strategy.matrix).sum(axis=0).max() <= 1.0
    # The same seed gives the same result, and a start does not depend on the others.
    alone, other = (solve(PREFIX, "min_error", starts=1, seed=seed) for seed in (5, 6))
    two = solve(PREFIX, "min_error", starts=2, seed=5)
    assert list(alone.history) == [row for row in two.history if row["start"] == 1]
    assert alone.history[0]["residual"] != other.history[0]["residual"]
    assert (two.options["seed"], two.options["starts"]) == (5, 2)


def test_the_search_is_set_in_the_text_and_by_the_caller(subtests: pytest.Subtests) -> None:
    """Its parameters change the rounds that they say, whoever sets them; the claims are the same."""
    section = "search\n    penalty = 2\n    growth = 3\n    zero = 0.1\n    rounds = 5\n"
    text = Program.load("min_error").text
    written = Program.parse(text[: text.index("search\n")] + section + text[text.index("repair\n") :])
    passed = {"penalty": 2, "growth": 3, "zero": 0.1, "rounds": 5}
    here, there = solve(PREFIX, written, starts=4), solve(PREFIX, "min_error", starts=4, givens=passed)
    assert here.history == there.history and here.bound_grade == there.bound_grade == "proved"
    assert verify(here, PREFIX, "min_error").holds and verify(there, PREFIX).holds
    for start in (1, 2, 3, 4):
        rows = [row for row in here.history if row["start"] == start]
        assert rows[0]["penalty"] == (6 if start % 2 == 0 else 2)
        assert len(rows) <= 5 and all(row["residual"] > 0.1 for row in rows[:-1])
        for before, after in itertools.pairwise(rows):
            assert after["penalty"] in (before["penalty"], 3 * before["penalty"])
    assert any(row["start"] == 1 and row["penalty"] == 6 for row in here.history), "it grew"
    for edit, said in (
        ("growth = 3", "growth: vector[n] = ones(n)"),
        ("growth = 3", "growht = 3"),
        ("growth = 3", "growth = sum(u)"),
    ):
        with subtests.test(said), pytest.raises(ProgramError):
            solve(PREFIX, Program.parse(written.text.replace(edit, said)))
    for rounds in (0, 2.5, 2.0**53):
        with (
            subtests.test(rounds=rounds),
            pytest.raises(OptionError, match="whole number, at least 1, not"),
        ):
            solve(PREFIX, "min_error", givens={"rounds": rounds})
    with pytest.raises(OptionError, match=r"\n  the search takes no other sign(\n|$)"):
        solve(PREFIX, "min_error", givens={"penalty": -1})
    with pytest.raises(ProgramError, match="belong to 'class rank'"):
        Program.parse(INSIDE.replace("repair\n", "search\n    penalty = 2\nrepair\n"))
    with pytest.raises(ProgramError, match="'growth'"):  # lines do not depend on it
        solve(PREFIX, Program.parse(written.text.replace("axis=0) <= 1", "axis=0) <= growth", 1)))


def test_a_saved_program_without_the_section_is_the_shipped_one() -> None:
    """A text of version 0.1.0 has no section 'search'."""
    text = Program.load("min_error").text
    old = Program.parse(text[: text.index("search\n")] + text[text.index("repair\n") :])
    s = solve(PREFIX, old, starts=1)
    assert s.bound_grade == "proved" and verify(s, PREFIX, "min_error").holds
    assert list(s.history) == list(solve(PREFIX, "min_error", starts=1).history)


def test_a_round_has_its_eigenvalues_and_its_direction() -> None:
    s = solve(TWO, few(), starts=1, history=True)
    last, row = s.history[-2:]
    side, rank = 7, 2
    values = [row[f"eigenvalue {i}"] for i in range(side)]
    assert values == sorted(values, reverse=True)
    assert row["residual"] == pytest.approx(np.sort(np.abs(values))[-1 - rank] / values[0], rel=RECOMPUTED)
    upper = np.zeros((side, side))
    for i, j in zip(*np.triu_indices(side), strict=True):
        upper[i, j] = row[f"direction {i} {j}"]
    direction = upper + np.triu(upper, 1).T
    assert direction @ direction == pytest.approx(direction, abs=1e-12)  # a projector
    assert np.trace(direction) == pytest.approx(side - rank)
    assert not any(name.startswith("direction") for name in solve(TWO, few(), starts=1).history[-1])
    assert last["start"] in (0, 1) and "eigenvalue 0" in last


def test_rank_that_is_not_reached_is_said() -> None:
    s = solve(PREFIX, "min_error", givens={"penalty": 0.3}, max_iterations=1, starts=2)
    smallest = min(row["residual"] for row in s.history)
    assert len(s.history) == 2 and smallest > 1e-3
    assert s.status.stop == f"iteration limit, rank not reached (residual {smallest:.1e})"
    # The repaired point is feasible all the same, and its objective that of its strategy.
    assert s.status.feasible and residual_of(s, 3) < 1e-12
    assert s.status.violation < ROUNDING  # the identity is feasible as it is
    assert s.objective == pytest.approx(s.error, rel=RECOMPUTED)
    assert str(s.status).startswith(f"{s.status.stop}; feasible (violation before repair ")


@pytest.mark.some(1)
@pytest.mark.parametrize(("program", "power"), [("min_error", 2), ("min_sensitivity", 1)])
def test_queries_times_a_number(program: str, power: int) -> None:
    times = Workload.from_matrix(100.0 * PREFIX.queries)
    one, other = (solve(w, program, starts=2) for w in (PREFIX, times))
    assert other.objective == pytest.approx(100.0**power * one.objective, rel=PUBLISHED)
    assert [row["residual"] for row in other.history if row["round"] == 1] == pytest.approx(
        [row["residual"] for row in one.history if row["round"] == 1], rel=GAP, abs=1e-8
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("solver", [row.name for row in SOLVERS])
def test_every_solver_with_a_psd_cone(solver: str) -> None:
    row = next(r for r in SOLVERS if r.name == solver)
    instance = bind(Program.load("min_sensitivity"), PREFIX)
    if missing_cones(row, cones(instance.checked, instance.sizes())):
        with pytest.raises(SolverError, match=f"'min_sensitivity' does not work with {solver}"):
            solve(PREFIX, "min_sensitivity", solver=solver)
        return
    s = solve(PREFIX, "min_sensitivity", solver=solver, starts=2)
    assert s.status.stop.startswith("rank reached in ")
    assert s.variables["A"].T @ s.variables["A"] == pytest.approx(PREFIX.gram, rel=RECOMPUTED, abs=1e-9)
    assert s.objective == pytest.approx(np.abs(s.variables["A"]).sum(axis=0).max(), rel=RECOMPUTED)
    assert s.bound == pytest.approx(np.sqrt(3.0), rel=RECOMPUTED)


def test_a_rotation_that_meets_its_bound_ends_the_search() -> None:
    """Orthogonal queries of one cell each: nothing is below the length of the longest."""
    s = solve(Workload.from_matrix(np.diag([3.0, 2.0])), "min_sensitivity")
    assert s.status.stop == "gap reached" and s.objective == pytest.approx(3.0, rel=GAP)
    assert len({row["start"] for row in s.history}) < 10


def test_a_profile_that_is_passed() -> None:
    gram = np.array([[2.0, 1.0], [1.0, 2.0]])
    s = solve(Workload.from_matrix(np.eye(2)), "min_sensitivity", givens={"S": gram}, starts=2)
    assert s.variables["A"].T @ s.variables["A"] == pytest.approx(gram, rel=RECOMPUTED)
    assert s.objective <= 1.94  # the symmetric root: (sqrt 3 + 1) / 2 + (sqrt 3 - 1) / 2 is sqrt 3


def test_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, passed = time.monotonic, []
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 1e5 * bool(passed))
    announced = []

    def noted(p: Progress) -> None:
        (passed if p.predicted is None else announced).append(p)

    s = solve(PREFIX, "min_error", starts=100_000, time_limit=1e5, progress=noted)
    assert [p.solves for p in announced] == [4_000_000]
    assert re.fullmatch(r"time limit, rank (reached in \d+ of \d+ starts|not reached \(.*\))", s.status.stop)
    assert s.status.feasible and s.objective >= s.error_bound


def test_ctrl_c_keeps_the_best_point() -> None:
    seen = []

    def press(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    s = solve(PREFIX, "min_error", progress=press)
    assert signal.getsignal(signal.SIGINT) is before
    assert s.status.stop.startswith("interrupted, rank ") and len(s.history) == 3
    assert s.objective == seen[-1].objective and s.iterations == seen[-1].iterations


def test_a_rank_that_no_matrix_has(subtests: pytest.Subtests) -> None:
    for rank, said in [("2.5", "2.5"), ("p + 6", "8"), ("-1", "-1")]:
        with subtests.test(rank=rank, said=said):
            with pytest.raises(OptionError) as refused:
                solve(TWO, few(("rank(Z) == p", f"rank(Z) == {rank}")))
            assert f"'exact': a matrix with 7 rows does not have rank {said}" in str(refused.value)
            assert f"rank(Z) == {rank}" in str(refused.value), "the line is shown"


def test_a_program_that_cannot_be_met() -> None:
    with pytest.raises(SolverError) as refused:
        solve(TWO, few(("diag(X) <= 1", "diag(X) <= 1\n    more: trace(X) >= 9")))
    assert str(refused.value) == (
        "no feasible point of 'few_rows' was found; that there is none, as clarabel says (PrimalInfeasible), "
        "was not proved\n  check the constraints and the data, write the constraints in units in which the "
        "numbers are near 1, or try another solver"
    )


def test_without_a_repair_no_rank_is_exact() -> None:
    repair = FEW[FEW.index("repair") : FEW.index("strategy")]
    with pytest.raises(SolverError) as refused:
        solve(TWO, few((repair, "")), starts=1)
    assert re.match(
        r"the point of clarabel for 'few_rows' violates constraint 'exact' by \S+, relatively \(\w+\)\n"
        r"  give the program a 'repair' that restores 'exact'",
        str(refused.value),
    )


def test_a_search_that_is_too_large_is_refused(subtests: pytest.Subtests) -> None:
    for cells, program, options, said in [
        (
            20,
            "min_error",
            {"solver": "clarabel"},
            r"'min_error' would be solved up to 400 times with clarabel, each about \d+\.\d s; "
            r"without a time limit 10 min in all are allowed\n"
            r"  give a time limit, fewer starts or iterations, or fewer cells",
        ),
        (
            40,
            "min_sensitivity",
            {"time_limit": 1.0},
            r"'min_sensitivity' solves one problem after another, and over 40 cells each is .* with "
            r"clarabel; the time limit is 1 s in all\n"
            r"  this is a program for about eight cells: take fewer, or allow more",
        ),
        (
            1000,
            "min_sensitivity",
            {"time_limit": 1e6, "solver": "scs"},
            r"the direction of 'min_sensitivity' has 2000 rows and would need (.|\n)*",
        ),
    ]:
        with subtests.test(cells=cells):
            with pytest.raises(TooLargeError) as refused:
                solve(Workload.from_matrix(np.tri(cells)), program, **options)
            assert re.fullmatch(said, str(refused.value))


def test_it_never_ends_above_the_identity() -> None:
    """One round gains nothing: measuring every cell has the error sum(W * W)."""
    prefix = Workload.from_matrix(np.tri(4))
    s = solve(prefix, "min_error", starts=1, max_iterations=1)
    assert s.objective == pytest.approx(10.0, rel=RECOMPUTED)
    assert (
        "no round of the search is better than measuring every cell (the identity), which this is"
        in s.warnings
    )
    # Nor with more rows, nor from a worse start.
    for options in ({"starts": 1, "givens": {"p": 5}}, {"start": np.diag([1.0, 1.0, 0.1, 0.1])}):
        s = solve(prefix, "min_error", max_iterations=1, **options)
        assert s.objective == pytest.approx(10.0, rel=RECOMPUTED)
        assert s.variables["A"].shape == (options.get("givens", {"p": 4})["p"], 4)
    total = Workload.from_matrix(np.ones((1, 3)))
    better = solve(total, "min_error", starts=4)
    assert better.objective < 2.0 < np.square(total.queries).sum() and not any(
        "identity" in text for text in better.warnings
    )


def test_a_rank_that_is_reached_where_lines_fail_is_not_called_one_that_is_not() -> None:
    rounds = [{"start": 1, "round": 1, "residual": 0.0}]
    best = SimpleNamespace(stop=lambda options, clock: None)
    search = SimpleNamespace(best=best, options=None, clock=None, history=rounds, search={"zero": 1e-6})
    assert _RankSearch.stop(search, limited=False) == "rank not reached at a feasible point"
    assert is_stop("rank not reached at a feasible point")
    assert is_stop(f"time limit, {_RankSearch.stop(search, limited=False)}")
