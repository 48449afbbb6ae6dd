"""A saved result is rechecked without a solver, and any change of a claim is found.

Guards recheck.py, compiler/bind.py.
"""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from named_workloads import CLOSED, NAMED, named, random_workload

from mmopt import Program, Solution, Workload, certify, solve, verify
from mmopt.compiler.bind import FIELDS_OF_CLAIMS, NO_CLAIM
from mmopt.language import program_names
from mmopt.proof.verify import UNCHECKED, with_worse
from mmopt.workloads import with_bases

# Those that need no given of the caller's and no search.
SOLVED = [
    name
    for name in program_names()
    if all(d.source for d in Program.load(name).givens)
    and Program.load(name).problem_class in ("convex", "procedure", "closed form")
]
# One of each kind: a strategy, a covariance on a basis, design queries, steps.
KINDS = ["l2_strategy", "fitness_for_use", "query_weighting", "eigen_design"]


def failed(solution: Solution, workload: Workload, **options: Any) -> list[str]:
    return [row.what for row in verify(solution, workload, **options).failures]


LONG = {"low_rank", "low_rank_gaussian"}  # searches of many steps


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "program", [pytest.param(p, marks=pytest.mark.nightly) if p in LONG else p for p in SOLVED]
)
def test_what_is_solved_holds(program: str) -> None:
    for name in ("prefix", "rank deficient"):
        found = verify(solve(named(name), program), named(name))
        assert found.holds, f"{name}\n{found}"
        assert found.failures == ()


@pytest.mark.some(1)
@pytest.mark.parametrize("name", NAMED)
def test_hard_workloads_hold(name: str) -> None:
    for program in KINDS:
        found = verify(solve(named(name), program), named(name))
        assert found.holds, f"{program}\n{found}"


def test_random_workloads_hold_after_a_save(rng: np.random.Generator, tmp_path: Path) -> None:
    for _ in range(3):
        w = random_workload(rng)
        for program in KINDS:
            found = verify(solve(w, program).save(tmp_path / "saved"), w)
            assert found.holds, str(found)


def test_certified_strategies_and_closed_forms_hold(rng: np.random.Generator) -> None:
    w = named("rank deficient")
    for program in ("l2_strategy", "fitness_for_use"):
        assert failed(certify(w, rng.normal(size=(9, w.n)), program, solve=False), w) == []
    closed = solve(w, Program.parse(CLOSED))
    assert failed(closed, w) == []
    assert failed(dataclasses.replace(closed, objective=closed.objective - 1), w) == ["objective", "gap"]


def test_another_machine_may_find_another_basis(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """Eigenvectors of repeated eigenvalues and a basis of the row space are not unique."""
    for program in KINDS:
        with subtests.test(program):
            rows = np.kron(np.vstack([np.eye(3), np.ones((1, 3))]), np.ones((1, 2)))
            w = Workload.from_matrix(rows, targets=1.0)
            turn, _ = np.linalg.qr(rng.normal(size=(2, 2)))
            values, vectors = w.eigenvalues, np.array(w.eigenqueries)
            assert w.rank < w.n
            turned, _ = np.linalg.qr(rng.normal(size=(w.rank, w.rank)))
            pair = next((i for i in range(len(values) - 1) if np.isclose(values[i], values[i + 1])), None)
            if pair is not None:
                vectors[pair : pair + 2] = turn @ vectors[pair : pair + 2]
            other = with_bases(w, {"basis": turned @ w.basis, "eigenqueries": vectors})
            solution = solve(other, program)
            assert failed(solution, w) == []
            # The weights of query_weighting are equal within an eigenspace here: any basis will do.
            if solution.bases and program != "query_weighting":
                assert failed(dataclasses.replace(solution, bases={}), w) != []


def test_fields_that_are_not_checked_exist() -> None:
    fields = {f.name for f in dataclasses.fields(Solution)}
    assert {name.split(".")[0] for name in UNCHECKED} <= fields


def test_a_weaker_program_under_a_shipped_name_is_found() -> None:
    w = named("prefix")
    text = Program.load("l2_strategy").text.replace("diag(X) <= 1", "diag(X) <= 2")
    text = text.replace("sum(d)\n", "(2 * sum(d))\n")
    weaker = solve(w, Program.parse(text))
    (row,) = [r for r in verify(weaker, w).rows if not r.holds]
    assert (row.what, row.stated) == ("program", "l2_strategy")
    assert row.recomputed == "not the program that is shipped under this name"
    assert failed(weaker, w, program=Program.parse(text)) == []


# Every section that a program which is no procedure may have; its point is not asked for here.
EVERY_SECTION = """program own
title  "words"
source "paper"
class convex
given
    W: matrix[r, n] = workload.root
parameter
    t = 1
let
    V = 2 * W
require
    small: t <= 2
choose
    X: psd[n, n]
minimize
    trace(X)
subject to
    sensitivity: diag(X) <= t
repair
    X = X / t
value
    objective / 4
strategy
    factor(X) norm 2
neighbours
    rows 2
from strategy A: matrix[p, n]
    X = A.T @ A
certificate d: vector[n] >= 0 from dual(sensitivity)
    sum(V) * sum(d)
"""
# By field, an edit that changes it and nothing else.
FORGED = {
    "name": ("own", "other"),
    "objective": ("    trace", "    2 * trace"),
    "meaning": ("factor(X)", "2 * factor(X)"),
    "neighbours": ("rows 2", "rows 1"),
    "problem_class": ("convex", "smooth"),
    "givens": ("W: matrix[r, n] = workload.root", "W: matrix[m, n] = workload.matrix"),
    "parameters": ("t = 1", "t = 2"),
    "lets": ("2 * W", "3 * W"),
    "requires": ("t <= 2", "t <= 3"),
    "choose": ("X: psd[n, n]", "X: psd[n, n] >= 0"),
    "sense": ("minimize", "maximize"),
    "constraints": ("diag(X) <= t", "diag(X) <= 2 * t"),
    "steps": ("A = weighting", "A = 2 * weighting"),
    "value": ("objective / 4", "objective / 2"),
    "certificate": ("sum(V) *", "2 * sum(V) *"),
    "bound": ("bound\n    l2_strategy\n", ""),
}
WITHOUT_CLAIM = {
    "title": ('"words"', '"other words"'),
    "cite": ('"paper"', '"another paper"'),
    "formulation_of": ('"paper"', '"paper"\nformulation of l2_strategy'),
    "starts": ("repair\n", "start\n    near: X = eye(n)\nrepair\n"),
    "search": ("repair\n", "search\n    rounds = 3\nrepair\n"),
    "repair": ("X / t", "X / (2 * t)"),
    "adoption": ("X = A.T @ A", "X = 2 * A.T @ A"),
}


@pytest.fixture(scope="module")
def solved() -> Solution:
    return solve(named("prefix"), "l2_strategy")


def test_every_field_of_a_program_is_forged_or_named() -> None:
    compared = {f.name for f in dataclasses.fields(Program) if f.compare}
    assert set(FORGED) == set(FIELDS_OF_CLAIMS) and set(WITHOUT_CLAIM) == set(NO_CLAIM)
    assert set(FORGED) | set(WITHOUT_CLAIM) == compared


def test_a_program_with_another_field_is_refused(solved: Solution, subtests: pytest.Subtests) -> None:
    """One field of the saved text, changed with what the file says besides."""
    for field, edit in [*FORGED.items(), *WITHOUT_CLAIM.items()]:
        with subtests.test(field):
            classes = {"starts": "class smooth", "search": "class rank"}
            text = EVERY_SECTION.replace("class convex", classes.get(field, "class convex"))
            text = text.replace("<= t\n", "<= t\n    exact: rank(X) == r\n") if field == "search" else text
            text = Program.load("eigen_design").text if field in ("steps", "bound") else text
            assert edit[0] in text
            honest, forged = Program.parse(text), Program.parse(text.replace(*edit, 1))
            fields = [f.name for f in dataclasses.fields(Program) if f.compare]
            assert [name for name in fields if getattr(honest, name) != getattr(forged, name)] == [field]
            for program in (honest, forged):
                p = program
                saved = dataclasses.replace(
                    solved, program=p.name, title=p.title, cite=p.cite, sense=p.sense, program_text=p.text
                )
                (row,) = (r for r in verify(saved, named("prefix"), honest).rows if r.what == "program")
                is_refused = program is forged and field in FORGED
                assert row.recomputed == ("not " * is_refused + "the program given")
                assert row.holds != is_refused


@pytest.mark.quick
def test_of_two_figures_the_one_that_says_less_is_published(
    solved: Solution, subtests: pytest.Subtests
) -> None:
    """Stated and recomputed may differ by rounding: the error is not below either, nor the bound above."""
    for sense in ["minimize", "maximize"]:
        with subtests.test(sense):
            found = verify(solved, named("prefix"))
            assert found.holds
            is_least = sense == "minimize"
            larger = {
                **dict.fromkeys(("objective", "value"), is_least),
                **dict.fromkeys(("error", "sensitivity", "rmse"), True),
                "bound": not is_least,
                "error_bound": False,
            }
            again = {row.field: row.recomputed for row in found.rows}
            for factor in (1 - 1e-10, 1 + 1e-10):
                stated = {name: again[name] * factor for name in larger}
                told = with_worse(dataclasses.replace(solved, sense=sense, **stated), found)
                for name, is_larger in larger.items():
                    pick = max if is_larger else min
                    assert getattr(told, name) == pick(stated[name], again[name]), name


@pytest.mark.quick
def test_a_figure_that_was_not_recomputed_is_not_published(solved: Solution) -> None:
    found = verify(solved, named("prefix"))
    for name in ("objective", "value", "bound", "error", "error_bound", "sensitivity", "rmse"):
        fewer = dataclasses.replace(found, rows=tuple(row for row in found.rows if row.field != name))
        with pytest.raises(KeyError, match=name):
            with_worse(solved, fewer)


def test_a_program_of_ones_own_is_compared_when_it_is_given() -> None:
    w = named("prefix")
    text = Program.load("l2_strategy").text.replace("program l2_strategy", "program own")
    own = solve(w, Program.parse(text))
    assert failed(own, w) == [] == failed(own, w, program=Program.parse(text))
    rows = {row.what: row.recomputed for row in verify(own, w).rows}
    assert rows["program"] == "not a shipped one; taken as its text says"
    assert failed(own, w, program="l2_strategy") == ["program"]
    words = text.replace("only a shape", "").replace("A strategy A is", "It is")
    assert failed(own, w, program=Program.parse(words)) == []


def test_another_workload_is_found_and_nothing_else_is_said() -> None:
    w = named("prefix")
    found = verify(solve(w, "l2_strategy"), named("signed"))
    assert [(row.what, row.holds) for row in found.rows] == [("workload", False)]


@pytest.mark.quick
def test_a_gap_that_was_not_reached_is_found() -> None:
    w = named("prefix")
    solution = certify(w, np.eye(8), "l2_strategy", solve=False)
    status = dataclasses.replace(solution.status, stop="gap reached")
    asked = {**solution.options, "tolerance": 1e-6}
    assert failed(dataclasses.replace(solution, status=status, options=asked), w) == ["status"]


def test_givens_in_place_of_the_workloads_are_told() -> None:
    w = named("prefix")
    solution = solve(w, "query_weighting", givens={"Q": np.eye(8)})
    rows = {row.what: row for row in verify(solution, w).rows}
    assert rows["given Q"].stated == "Q 8 × 8"
    assert rows["given Q"].recomputed == "passed by the caller, in place of workload.eigenqueries"
    assert failed(dataclasses.replace(solution, givens={}), w) != []


@pytest.fixture(scope="module")
def procedure() -> tuple[Solution, Workload]:
    w = named("prefix")
    return solve(w, "eigen_design"), w


def test_steps_of_a_procedure(procedure: tuple[Solution, Workload]) -> None:
    s, w = procedure
    rows = [row.what for row in verify(s, w).rows]
    assert {"weighting: objective", "weighting: bound", "weighting: givens", "steps"} <= set(rows)
    missing = verify(dataclasses.replace(s, steps={}), w)
    (said,) = (row.recomputed for row in missing.failures)
    assert (
        said.startswith("cannot be combined: ") and "a step that solves 'query_weighting' is missing" in said
    )
    twice = dataclasses.replace(s, steps={**s.steps, "again": s.steps["weighting"]})
    assert failed(twice, w) == ["steps"]
    renamed = dataclasses.replace(s, steps={"other": s.steps["weighting"]})
    assert failed(renamed, w) == ["steps"]


def test_a_step_that_solved_something_else(procedure: tuple[Solution, Workload]) -> None:
    s, w = procedure
    other = dataclasses.replace(s, steps={"weighting": solve(w, "l2_strategy")})
    assert "weighting: program" in failed(other, w)
    haar = solve(w, "query_weighting", givens={"Q": np.eye(8)})
    assert failed(dataclasses.replace(s, steps={"weighting": haar}), w)[0] == "weighting: givens"


def test_searches_hold(subtests: pytest.Subtests) -> None:
    """Programs of class rank and smooth: the search is not repeated, its point is evaluated."""
    for program in ["min_error", "min_sensitivity_rotation"]:
        with subtests.test(program):
            w = Workload.from_matrix(np.tri(3))
            assert failed(solve(w, program, starts=1, seed=1), w) == []


def test_steps_of_a_convex_program_are_found(procedure: tuple[Solution, Workload]) -> None:
    s, w = procedure
    one = solve(w, "l2_strategy")
    assert failed(dataclasses.replace(one, steps=s.steps), w) == ["steps"]


def test_what_it_says() -> None:
    w = named("prefix")
    solution = solve(w, "l2_strategy")
    found = verify(dataclasses.replace(solution, objective=1.0), w)
    assert found.verdict() == f"2 of {len(found.rows)} checks do not hold"
    assert "objective        DOES NOT HOLD: 1 / " in str(found)
    assert f'<p class="loud">{found.verdict()}</p>' in found._repr_html_()
    assert f'<p class="strong">all {len(found.rows)} checks hold' in verify(solution, w)._repr_html_()
    summary = found.summary()
    json.dumps(summary, allow_nan=False)
    assert summary["holds"] is False and summary["program"] == "l2_strategy"
    assert verify(solution, w).verdict() == f"all {len(found.rows)} checks hold"
    infinite = verify(dataclasses.replace(solution, objective=float("inf")), w)
    json.dumps(infinite.summary(), allow_nan=False)


@pytest.mark.slow
def test_no_solver_is_loaded(tmp_path: Path) -> None:
    path = solve(Workload.from_matrix(np.tri(3)), "eigen_design").save(tmp_path / "saved")
    code = f"""
import sys
import numpy as np
import mmopt
assert mmopt.verify({str(path)!r}, mmopt.Workload.from_matrix(np.tri(3))).holds
print(sorted(sys.modules.keys() & {{"cvxpy", "clarabel", "scs", "cvxopt", "qoco", "sdpap"}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


CAPPED = """program capped
class convex
given
    c: vector[k] > 0
choose
    x: vector[k] >= 0
maximize
    sum(c * x)
subject to
    cap:   sum(x) <= 1
    large: x <= 5
"""


def test_multipliers_that_nothing_reads_are_listed_as_unchecked() -> None:
    """Those of a certificate are checked by the bound; without one the derived bound has its own."""
    w = named("prefix")
    own = solve([[1.0]], Program.parse(CAPPED), givens={"c": [1.0, 2.0]})
    assert set(own.multipliers) == {"cap", "large"} and own.derived_bound is not None
    for solution in (own, dataclasses.replace(own, multipliers={"cap": np.array(7.0)})):
        found = verify(solution, [[1.0]])
        assert found.holds
        assert set(found.unchecked) - set(UNCHECKED) == {
            f"multipliers.{name}" for name in solution.multipliers
        }
    certified = solve(w, "l2_strategy")
    assert "sensitivity" in certified.multipliers and verify(certified, w).unchecked == UNCHECKED
    changed = {name: value / 2 for name, value in certified.multipliers.items()}
    assert failed(
        dataclasses.replace(certified, multipliers={**changed, "sensitivity": -changed["sensitivity"]}), w
    )
