"""Shipped certificates prove; an author's are claims, which feasible points that no repair touched refute.

Guards driver/judge/assemble_solution.py, score_and_meaning.py, mechanism/release_plan.py, proof/recheck.py.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from edited_programs import edited

from mmopt import (
    ContradictionError,
    OptionError,
    Privacy,
    PrivacyError,
    Program,
    Solution,
    Workload,
    certify,
    plan,
    solve,
    verify,
)
from mmopt.compiler import bind
from mmopt.driver.judge.assemble_solution import check_derived, check_figures
from mmopt.driver.judge.score_and_meaning import REPORT, RefutedError

PREFIX = Workload.from_matrix(np.tri(4), targets=1.0)
TWICE = [
    ("l2_strategy", ("diag(X) <= 1", "diag(X) <= 2"), 6.874144 / 2),
    ("fitness_for_use", ("<= alpha", "<= 2 * alpha"), 1.758596 / 2),
    ("l2_strategy_lmi", ("diag(X) <= 1", "diag(X) <= 1.1"), 6.874144 / 1.1),
    ("l2_strategy_block", ("diag(X) <= 1", "diag(X) <= 1.1"), 6.874144 / 1.1),
    ("query_weighting", ("(D * D).T @ u <= 1", "(D * D).T @ u <= 2"), None),
]
PATTERNS = """
program participation
given
    W: matrix[r, n] = workload.root
    U: matrix[k, n]
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    pattern: U[i, :] @ X @ U[i, :].T <= 1 for i in k
repair
    X = X / max(diag(U @ X @ U.T))
strategy
    factor(X) norm 2
"""


@pytest.mark.quick
def test_a_shipped_certificate_proves_under_any_name() -> None:
    for program in ("l2_strategy", edited("l2_strategy", ("X", "Gram"), called="mine")):
        s = solve(PREFIX, program)
        assert (s.objective_grade, s.bound_grade, s.gap_grade) == ("proved", "proved", "proved")
        assert (s.error_grade, s.error_bound_grade, s.error_gap_grade) == ("estimated", "proved", "estimated")
        assert (
            s.survived == 0 and s.status.bound_valid and "(proved: no feasible point is below it)" in str(s)
        )


def test_what_survives_is_a_claim() -> None:
    s = solve(PREFIX, edited("l2_strategy", ("    nuclear", "    0.9 * nuclear")))
    assert (s.bound_grade, s.gap_grade, s.status.bound_valid) == ("claimed", "claimed", False)
    assert s.survived > 5 and f"survived {s.survived} feasible points" in str(s)
    assert s.summary()["bound_grade"] == "claimed" and not s.summary()["status"]["bound_valid"]


def test_a_bound_above_the_objective_names_both_and_the_certificate() -> None:
    with pytest.raises(ContradictionError) as refused:
        solve(PREFIX, edited("l2_strategy", ("    nuclear", "    2 * nuclear")))
    text = str(refused.value)
    for said in ("the bound 13.7482", "the objective 6.87414", "certificate d: vector[n]"):
        assert said in text


def test_a_derived_bound_beyond_a_feasible_point_is_refused(subtests: pytest.Subtests) -> None:
    for name, bound, said in [
        ("l2_strategy", 2.0, "the bound 2 derived for 'l2_strategy' is above the objective 1 of"),
        ("l2_strategy_dual", 0.5, "the bound 0.5 derived for 'l2_strategy_dual' is below the objective 1 of"),
    ]:
        with subtests.test(name=name, bound=bound):
            instance = bind(Program.load(name), PREFIX)
            check_derived(instance, 1.0, 1.0)
            with pytest.raises(ContradictionError) as refused:
                check_derived(instance, 1.0, bound)
            assert str(refused.value) == f"{said} the repaired point, which is feasible\n  {REPORT}"


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "change", "best"), TWICE, ids=[name for name, _, _ in TWICE])
@pytest.mark.parametrize("reduce", [True, False])
def test_a_repair_does_not_hide_a_false_bound(
    name: str, change: tuple[str, str], best: float | None, reduce: bool
) -> None:
    """The repair keeps the points of the program that the certificate is right for."""
    with pytest.raises(RefutedError) as refused:
        solve(PREFIX, edited(name, change), reduce=reduce)
    assert refused.value.bound > refused.value.point.objective * 1.01
    assert best is None or refused.value.point.objective >= best * (1.0 - 1e-5)  # it is feasible


def test_a_slightly_wider_constraint_is_found_also_of_a_given_point() -> None:
    with pytest.raises(RefutedError):
        solve(PREFIX, edited("l2_strategy", ("diag(X) <= 1", "diag(X) <= 1.001")))
    with pytest.raises(RefutedError):
        certify(PREFIX, solve(PREFIX, "l2_strategy"), edited("l2_strategy", ("diag(X) <= 1", "diag(X) <= 2")))


def test_verify_refutes_what_no_solve_would_save(tmp_path: Path) -> None:
    program = edited("l2_strategy", ("    nuclear", "    1.0 * nuclear"), called="mine")
    s = solve(PREFIX, program)
    assert s.bound_grade == "claimed" and verify(s.save(tmp_path / "mine"), PREFIX).holds
    wider = dataclasses.replace(s, program_text=s.program_text.replace("diag(X) <= 1", "diag(X) <= 2"))
    assert [row.what for row in verify(wider, PREFIX).failures] == ["derived bound", "claim"]
    proved = dataclasses.replace(s, bound_grade="proved")
    assert [row.what for row in verify(proved, PREFIX).failures] == ["grades"]
    valid = dataclasses.replace(s, status=dataclasses.replace(s.status, bound_valid=True))
    assert [row.what for row in verify(valid, PREFIX).failures] == ["grades"]


def test_a_file_of_version_0_1_0_is_graded_anew() -> None:
    s = solve(PREFIX, "l2_strategy")
    new = {
        "objective_grade",
        "bound_grade",
        "error_grade",
        "error_bound_grade",
        "survived",
        "own_sensitivity",
    }
    old = Solution.from_fields({name: value for name, value in s.fields().items() if name not in new})
    assert (old.objective_grade, old.bound_grade, old.status.bound_valid) == ("estimated", "claimed", False)
    assert verify(old, PREFIX).holds


@pytest.mark.quick
def test_another_word_for_the_end_of_a_solve_is_found() -> None:
    s = solve(PREFIX, "l2_strategy")
    forged = dataclasses.replace(s, status=dataclasses.replace(s.status, stop="proved optimal"))
    assert [row.what for row in verify(forged, PREFIX).failures] == ["status"]


@pytest.mark.quick
def test_an_objective_is_not_below_the_error_that_it_should_be() -> None:
    program = edited("p_identity", ("    trace(W @", "    0.99 * trace(W @"))
    with pytest.raises(
        ContradictionError, match="should be total error, and is below that of its own strategy"
    ):
        solve(PREFIX, program, starts=1)


def test_a_bound_of_another_workload_is_not_proved() -> None:
    """Other queries passed by the caller change the objective, and not the bound of the workload."""
    s = solve(PREFIX, "p_identity", givens={"W": 3.0 * PREFIX.root}, starts=1)
    assert s.bound_grade == "claimed"


def test_a_program_says_when_its_sensitivity_is_its_own() -> None:
    pairs = np.hstack([np.eye(2), np.eye(2)])
    s = solve(PREFIX, Program.parse(PATTERNS), givens={"U": pairs})
    assert s.own_sensitivity > 1.01
    assert any("largest column norm" in text and "cannot be released" in text for text in s.warnings)
    with pytest.raises(PrivacyError) as refused:
        plan(PREFIX, s, Privacy(rho=1.0))
    assert refused.value.message in s.warnings
    assert verify(s, PREFIX).holds
    hidden = verify(dataclasses.replace(s, own_sensitivity=None), PREFIX)
    assert [row.what for row in hidden.failures] == ["own sensitivity"]
    single = solve(PREFIX, Program.parse(PATTERNS), givens={"U": np.eye(4)})
    assert single.own_sensitivity is None and single.warnings == ()
    of_solution, of_strategy = (plan(PREFIX, given, Privacy(rho=1.0)) for given in (single, single.strategy))
    assert repr(of_solution) == repr(of_strategy)


@pytest.mark.quick
def test_an_error_below_the_bound_on_all_strategies_is_no_error() -> None:
    instance = bind(Program.load("p_identity"), PREFIX)
    assert check_figures(instance, 9.0, None, 9.0, 8.0, 0.0, {}, {}) == (9.0, 9.0)
    with pytest.raises(ContradictionError, match="the bound 9 on the error of all strategies is above"):
        check_figures(instance, 9.0, None, 8.0, 9.0, 0.0, {}, {})


SENSITIVITY = "    sensitivity: diag(X) <= 1"
TIED = (
    ("    X: psd[n, n]", "    Y: symmetric[n, n]\n    X: psd[n, n]"),
    (SENSITIVITY, f"{SENSITIVITY}\n    tie: Y == X"),
)
CERTIFICATE = "nuclear(W @ diag(sqrt(d)))**2 / sum(d)"


def with_repair(*changes: tuple[str, str], repair: str) -> Program:
    """l2_strategy with a false certificate, and a repair that makes every point the one where it holds."""
    program = edited("l2_strategy", (CERTIFICATE, "trace(W @ W.T) + 0 * sum(d)"), *changes)
    head, tail = program.text.split("\nrepair\n")
    return Program.parse(f"{head}\nrepair\n{repair}\n\nstrategy{tail.split('strategy', 1)[1]}")


def test_a_tied_variable_does_not_hide_a_false_bound() -> None:
    program = with_repair(*TIED, repair="    X = 0 * X + eye(n)\n    Y = X")
    with pytest.raises(RefutedError):
        solve(PREFIX, program, solver="scs")


def test_points_near_the_repaired_one_test_nothing() -> None:
    program = with_repair(("diag(X) <= 1", "diag(X) == 1"), repair="    X = 0 * X + eye(n)")
    s = solve(PREFIX, program, solver="scs")
    assert s.survived == 0 and "by the program's author; not tested" in str(s)


def test_figures_for_other_queries_than_the_workload_s_are_claimed() -> None:
    s = solve(PREFIX, "l2_strategy", givens={"W": 1e-3 * PREFIX.root})
    assert (s.objective_grade, s.bound_grade, s.error_bound_grade) == ("claimed", "claimed", "proved")
    assert "W: passed; all figures are with them" in str(s) and s.summary()["givens"] == ["W"]
    assert verify(s, PREFIX).holds
    more = verify(dataclasses.replace(s, objective_grade="proved"), PREFIX)
    assert [row.what for row in more.failures] == ["grades"]
    designed = solve(
        PREFIX, "query_weighting", givens={"Q": np.eye(4)}
    )  # of the given design, and of all of W
    assert (designed.objective_grade, designed.bound_grade) == ("proved", "proved")


def test_a_given_that_a_step_does_not_get_is_refused(subtests: pytest.Subtests) -> None:
    for name in ["c", "L"]:
        with subtests.test(name):
            w = Workload.from_matrix(np.tri(5), targets=np.ones(5))
            givens = {"c": np.array([1.0, 50, 50, 50, 50]), "L": 0.1 * w.representation}
            with pytest.raises(
                OptionError, match=f"'fitness_for_use', whose step does not get the {name} that"
            ):
                solve(w, "fitness_refined", givens={name: givens[name]})


def test_a_bound_from_above_is_none_of_total_error() -> None:
    """l2_strategy's given and certificate, of something that is maximized."""
    objective = "    trace(W @ inv(X) @ W.T)"
    program = edited("l2_strategy", ("minimize", "maximize"), (objective, "    sum(diag(X))"))
    w = Workload.from_matrix(np.eye(4))
    assert solve(w, program, solver="scs").error_bound <= 4.0


def test_a_covariance_that_costs_another_than_the_objective_says_so() -> None:
    w = Workload.from_matrix(np.tri(4), targets=np.ones(4))
    s = solve(w, edited("fitness_for_use", ("    Sigma on B", "    Sigma / 100 on B"), called="mine"))
    assert s.own_sensitivity == pytest.approx(10 * np.sqrt(s.objective), rel=1e-6)
    assert any("has privacy cost" in text and "cannot be released" in text for text in s.warnings)
    assert verify(s, w).holds
    other = solve(w, edited("fitness_for_use", ("c[j] ", "1.0 * c[j] "), called="mine"))
    assert other.own_sensitivity is None and not other.warnings


@pytest.mark.quick
def test_an_objective_below_a_derived_bound_is_refused_without_a_section_to_name() -> None:
    """A file may say so of a program that has neither a certificate nor a section 'bound'."""
    instance = bind(Program.parse(PATTERNS), PREFIX, {"U": np.eye(4)})
    point = {"X": np.eye(4)}
    with pytest.raises(ContradictionError) as refused:
        check_figures(instance, 1.0, 2.0, 3.0, 1.0, 0.0, {}, point)
    assert str(refused.value) == (
        "the bound 2 derived for 'participation' is above the objective 1 of the repaired point, which is "
        "feasible\n  please report it with the command and its files"
    )
