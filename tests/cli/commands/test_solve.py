"""``mmopt solve`` prints what it saves: program, reason, objective and bound.

Guards strategies_and_reports.py, rank_search.py.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from edited_programs import without_reach

from mmopt.language import Program
from mmopt.results import Solution
from mmopt.workloads import Workload

KEYS = {
    "program", "solver", "status", "objective", "bound", "gap", "error", "error_bound", "error_gap",
    "sensitivity", "rmse", "seconds",
}  # fmt: skip


def test_solve_says_which_program_and_why(run: Any, files: Path) -> None:
    done = run("solve", "targets.yaml")
    assert done.status == 0
    assert done.err == (
        "program: fitness_for_use, by default: every query has an accuracy target "
        "(choose another with --program)\n"
    )
    assert max(map(len, done.out.splitlines())) <= 80
    names = [line.split("  ")[0] for line in done.out.splitlines()]
    assert {"program", "status", "objective", "bound", "gap", "privacy cost", "rmse"} <= set(names)


def test_json_is_one_object_with_the_figures(run: Any, files: Path) -> None:
    done = run("solve", "total.yaml", "--program", "query_weighting", "--json", "--verbose", "--threads", "1")
    found = json.loads(done.out)
    assert (done.status, done.err.startswith("program: ")) == (0, False)
    assert found.keys() >= KEYS and found["seconds"].keys() == {"compile", "solve", "total"}
    assert found["bound"] <= found["objective"] and found["error_bound"] <= found["error"]


def test_saved_solution_is_the_printed_one(saved: Path) -> None:
    solution = Solution.load(saved)
    assert solution.program == "l2_strategy" and solution.gap is not None and solution.gap < 1e-6
    assert solution.workload_hash == Workload.load(saved.with_name("total.yaml")).hash


def test_dry_run_refuses_what_is_too_large(run: Any, files: Path) -> None:
    workload = "domain: {a: {range: [0, 1024], width: 1}}\nworkload: [{product: {a: prefix}}]\n"
    (files / "large.yaml").write_text(workload, encoding="utf-8")
    done = run("solve", "large.yaml", "--program", "min_error", "--dry-run", "--json")
    assert done.status == 2
    (problem,) = json.loads(done.out)["problems"]
    assert done.err == f"error: {problem['refusal']}\n"
    assert problem["solver"] is None and "GiB of memory; the limit here is" in problem["refusal"]


def test_givens(run: Any, files: Path, refused: Any) -> None:
    def objective(value: str) -> float:
        arguments = ("--program", "query_weighting", "--given", value, "--json")
        done = run("solve", "total.yaml", *arguments)
        assert done.status == 0, done
        return float(json.loads(done.out)["objective"])

    # The design queries: the given of query_weighting that is not the workload's root.
    (name,) = (d.name for d in Program.load("query_weighting").givens if d.source != "workload.root")
    np.save(files / "eye.npy", np.eye(6))
    np.savetxt(files / "eye.csv", np.eye(6), delimiter=",")
    values = [objective(f"{name}={value}") for value in ("identity", "eye.npy", "eye.csv")]
    assert values[0] == values[1] == values[2]

    for value, said in (
        (f"{name}=haar", "requires 'independent' of its data"),  # 2 × 3 cells in 2 × 4 rows
        (f"{name}=3", f"the given '{name}' has shape ()"),
    ):
        assert said in refused("solve", "total.yaml", "--program", "query_weighting", "--given", value)


def test_replace_one_is_said(run: Any, files: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "total.yaml").write_text(f"{text}neighbours: replace-one\n", encoding="utf-8")
    done = run("solve", "total.yaml", "--json")
    assert done.err.endswith(
        "neighbours: a release adds noise for replace-one, as the workload file says; objective, bound and "
        "gap here are for the neighbours of the program (one row if it names none)\n"
    )


OWN = """\
program own
title "Mine"
source "A notebook"
class convex
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
minimize
    {objective}
subject to
    {line}
strategy
    factor(X) norm 2
"""


def test_a_program_without_a_solution(files: Path, refused: Any) -> None:
    for objective, line, message in (
        (
            "trace(W @ inv(X) @ W.T)",
            "low: diag(X) >= 2\n    high: diag(X) <= 1",
            "error: 'own' has no feasible point: 'low' and 'high' cannot hold together with 'X' psd\n  relax "
            "one of them or leave it out (a nearby point violates constraint ",
        ),
        (
            "-trace(X)",
            "low: diag(X) >= 1",
            "error: 'own' seems to have no optimum, or one with entries beyond ",
        ),
    ):
        (files / "own.program").write_text(OWN.format(objective=objective, line=line), encoding="utf-8")
        said = without_reach(refused("solve", "total.yaml", "--program", "own.program"))
        assert said.startswith(message)


def test_a_solve_that_stops_early_warns(run: Any, files: Path) -> None:
    done = run("solve", "total.yaml", "--solver", "scs", "--max-iterations", "5", "--json")
    (warning,) = json.loads(done.out)["warnings"]
    assert done.status == 0 and warning.startswith("stopped at the iteration limit of 5: ")


def test_reductions_are_printed_and_can_be_left_out(run: Any, files: Path) -> None:
    text = files.joinpath("total.yaml").read_text(encoding="utf-8").replace("{age: prefix}", "{sex: prefix}")
    files.joinpath("one.yaml").write_text(text, encoding="utf-8")
    reduced = run("solve", "one.yaml", "--program", "l2_strategy")
    plain = run("solve", "one.yaml", "--program", "l2_strategy", "--no-reduce")
    assert (reduced.status, plain.status) == (0, 0)
    assert "merge cells: 6 -> 2 cells" in reduced.out and "merge" not in plain.out
    found = json.loads(run("solve", "one.yaml", "--program", "l2_strategy", "--json").out)
    assert found["reductions"] == ["merge cells: 6 -> 2 cells"]


def test_iterations_are_written_and_drawn(run: Any, files: Path) -> None:
    options = ("--program", "query_weighting", "--solver", "cvxopt")
    done = run("solve", "total.yaml", *options, "--history", "it.csv", "--chart", "gap.svg")
    assert (done.status, done.err) == (0, "iterations: it.csv\nchart: gap.svg\n")
    assert "Iterations" not in done.out
    head, *rows = (files / "it.csv").read_text(encoding="utf-8").splitlines()
    assert head == "run,iteration,seconds,objective,bound,gap,primal residual,dual residual,certified"
    assert len(rows) > 5 and rows[0].endswith(",false") and rows[-1].endswith(",true")
    assert "<svg" in (files / "gap.svg").read_text(encoding="utf-8")


def test_verbose_shows_the_iterations_and_json_has_those_that_cost_nothing(run: Any, files: Path) -> None:
    options = ("solve", "total.yaml", "--program", "l2_strategy", "--no-reduce")
    shown = run(*options, "--verbose").out.split("\n\n")[1].splitlines()
    title = next(i for i, line in enumerate(shown) if line.startswith("iter "))  # of one line, or of two
    assert " ".join(shown[:title]) == "Iterations: the solver's own count where not certified"
    assert shown[-1].endswith("certified") and shown[-2].endswith("own count")
    assert max(map(len, shown)) <= 80
    found = json.loads(run(*options, "--json").out)["history"]
    assert len(found) == len(shown) - title - 2 and [row["certified"] for row in found][-2:] == [False, True]


def test_a_bound_is_derived_where_none_is_stated(run: Any, files: Path) -> None:
    program = files / "own.program"
    text = Program.load("l2_strategy").text.replace("program l2_strategy", "program own")
    program.write_text(text[: text.index("certificate")], encoding="utf-8")
    command = ("solve", "total.yaml", "--program", str(program), "--json")
    found, without = (json.loads(run(*command, *more).out) for more in ((), ("--no-derive",)))
    assert found["bound"] == found["derived_bound"] and found["bound_grade"] == "proved"
    assert without["bound"] is None and "derived_bound" not in without
    asked = json.loads(run("solve", "total.yaml", "--program", "l2_strategy", "--derive", "--json").out)
    assert asked["derived_grade"] == "proved" and asked["derived_bound"] != asked["bound"]


def test_a_trace_in_place_of_the_tables_and_beside_the_figures(run: Any, files: Path) -> None:
    done = run("solve", files / "total.yaml", "--program", "l2_strategy", "--trace")
    assert done.status == 0 and max(map(len, done.out.splitlines())) <= 80
    assert "─ evaluation" in done.out and re.search(r"─ kernel +\S+ s  nuclear ", done.out)
    found = json.loads(run("solve", files / "total.yaml", "--trace", "--json").out)
    assert found["trace"]["name"] == found["program"] and "objective" in found
    done = run("solve", files / "total.yaml", "--trace-page", files / "t.html")
    page = (files / "t.html").read_text(encoding="utf-8")
    assert done.out.startswith("program ") and "<b>evaluation</b>" in page


def test_a_trace_without_a_solution_ends_in_the_error(
    run: Any, files: Path, subtests: pytest.Subtests
) -> None:
    """The way up to the solver is known, with the lines and their cones; the status is that of the error."""
    for sense, line in (("minimize", "x <= -1"), ("maximize", "x >= 1")):
        with subtests.test(sense):
            text = f"program p\nchoose\n    x: scalar >= 0\n{sense}\n    x\nsubject to\n    a: {line}\n"
            (files / "p.program").write_text(text, encoding="utf-8")
            command = ("solve", files / "total.yaml", "--program", "p.program")
            alone, shown = run(*command), run(*command, "--trace")
            assert (
                (shown.status, shown.err) == (alone.status, alone.err)
                and alone.out == ""
                and alone.status != 0
            )
            assert shown.out.count("solver gets  linear, as it stands") == 2 and re.search(
                r"─ solver  \S+ s  clarabel", shown.out
            )
            found = json.loads(run(*command, "--trace", "--json").out)
            assert found["status"] is None and found["problem"] in alone.err
            assert [node["name"] for node in found["trace"]["nodes"]][-2:] == ["solver", "error"]


def test_a_trace_of_a_text_with_a_mistake_goes_as_far_as_the_text(
    run: Any, files: Path, subtests: pytest.Subtests
) -> None:
    """The tree, the part to blame, then the same error as without it; an object on stdout with --json."""
    text = "program p\nchoose\n    x: vector[2] >= 0\nminimize\n    sum(x)\nsubject to\n    a: sum({}) >= 1\n"
    for part, nodes in (("x**2", 5), ("sqrrt(x)", 1), ("x", 0)):
        with subtests.test(part):
            (files / "p.program").write_text(text.format(part), encoding="utf-8")
            alone, shown, found = (
                run("solve", "--program", "p.program", *more)
                for more in ((), ("--trace",), ("--trace", "--json"))
            )
            assert (alone.status, shown.status, shown.err) == (2 * bool(nodes), alone.status, alone.err)
            tree = json.loads(found.out)["trace"]
            assert not nodes or [node["name"] for node in tree["nodes"]][-1] == "error"
            assert not nodes or len(tree["nodes"]) >= nodes
            assert ("cause: convex" in shown.out) == (part == "x**2")


def test_a_program_without_data_of_a_workload_needs_no_file(run: Any, files: Path) -> None:
    text = "program p\nchoose\n    x: scalar\nminimize\n    x\nsubject to\n    a: x >= 2\n"
    (files / "p.program").write_text(text, encoding="utf-8")
    assert json.loads(run("solve", "--program", "p.program", "--json").out)["objective"] == pytest.approx(2)
    trace = run("solve", "--program", "p.program", "--trace").out
    assert "─ instance  no queries are used" in trace and "solver gets  linear" in trace
    first = run("solve", "p.program")
    assert first.status == 2 and "mmopt solve [WORKLOAD] --program p.program" in first.err
    needs = run("solve", "--program", "fitness_for_use")
    assert needs.status == 2 and "'B' is workload.basis" in needs.err and "solve WORKLOAD" in needs.err


def test_a_forecast_counts_the_solves_of_a_search(run: Any, files: Path) -> None:
    for more, times in (
        ((), 400),
        (("--starts", "3", "--max-iterations", "7"), 21),
        (("--starts", "2", "--given", "rounds=5"), 10),
    ):
        command = ("solve", files / "total.yaml", "--program", "min_error", "--dry-run", *more)
        (problem,) = json.loads(run(*command, "--json").out)["problems"]
        said = re.fullmatch(
            r"up to (\d+) solves of about \S+ s each, \S+ (s|min) in all; most end sooner", problem["search"]
        )
        assert said is not None and int(said[1]) == times
        assert f"search {problem['search']}" in " ".join(run(*command).out.split())
    convex = run("solve", files / "total.yaml", "--program", "l2_strategy", "--dry-run", "--json")
    assert [problem["search"] for problem in json.loads(convex.out)["problems"]] == [None]
