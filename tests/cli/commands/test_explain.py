"""``mmopt explain`` writes a program, filled in or not, in each of its forms, and refuses others."""

import json
import re
from pathlib import Path
from typing import Any

from mmopt.language import Program


def test_with_a_workload(run: Any, files: Path) -> None:
    done = run("explain", "fitness_for_use", files / "targets.yaml")
    assert (done.status, done.err) == (0, "")
    assert "With the workload: 8 queries over 6 cells, rank 6" in done.out
    assert "workload.representation" in done.out and "nonzeros" in done.out
    assert "At the solution" not in done.out


def test_solve_names_cells_and_queries(run: Any, files: Path) -> None:
    text = (files / "targets.yaml").read_text(encoding="utf-8")
    (files / "targets.yaml").write_text(text.replace("200.0", "400.0"), encoding="utf-8")
    done = run("explain", "fitness_for_use", files / "targets.yaml", "--solve")
    assert done.status == 0
    text = " ".join(done.out.split())
    assert "At the solution" in text and "6 of 6" in text
    assert re.search(r"query \d \(\w", text) and re.search(r"cell \d \([FM], ", text)


def test_a_saved_solution(run: Any, files: Path, saved: Path) -> None:
    done = run("explain", "l2_strategy", files / "total.yaml", "--solution", saved)
    assert (done.status, done.err) == (0, "")
    assert "gap reached" in done.out and "6 of 6" in done.out
    alone = run("explain", "l2_strategy", "--solution", saved)
    assert alone.status == 0 and "At the solution" in alone.out
    done = run("explain", "query_weighting", files / "total.yaml", "--given", "Q=identity")
    assert done.status == 0 and "passed  " in done.out


def test_forms(run: Any, files: Path) -> None:
    assert run("explain", "l2_strategy", "--latex").out.startswith("\\documentclass")
    assert run("explain", "l2_strategy", "--html").out.startswith("<!DOCTYPE html>")
    record = json.loads(run("explain", "l2_strategy", "total.yaml", "--json").out)
    assert record["compiled"]["matrix"]["nonzeros"] > 0
    assert [line["name"] for line in record["lines"]] == ["minimize", "sensitivity"]


def test_a_file_is_written_in_the_form_of_its_name(run: Any, files: Path) -> None:
    for name, start in (
        ("a.html", "<!DOCTYPE html>"),
        ("a.tex", "\\documentclass"),
        ("a.json", "{"),
        ("a.txt", "Least total error"),
        ("a.HTM", "<!DOCTYPE html>"),
    ):
        done = run("explain", "l2_strategy", "--out", name)
        assert (done.status, done.out, done.err) == (0, "", f"written: {name}\n")
        written = (files / name).read_text(encoding="utf-8")
        assert written.startswith(start) and written.endswith("\n") and not written.endswith("\n\n")


def test_a_program_that_is_not_convex(run: Any, files: Path) -> None:
    text = Program.load("l2_strategy").text.replace("diag(X) <= 1", "diag(X)**2 >= 1")
    (files / "own.program").write_text(text, encoding="utf-8")
    done = run("explain", "own.program", "total.yaml")
    assert (done.status, done.err) == (0, "")
    assert "    sensitivity: diag(X)**2 >= 1" in done.out and " ^^^^^^^^^^\n" in done.out
    assert "Not compiled: 'sensitivity' cannot be handed to a convex solver" in done.out


def test_a_program_without_a_solution_is_explained_all_the_same(run: Any, files: Path) -> None:
    text = "program none\nchoose\n    x: vector[2]\nminimize\n    sum(x)\n"
    text += "subject to\n    a: x >= 1\n    b: x <= 0\n"
    (files / "none.program").write_text(text, encoding="utf-8")
    done = run("explain", "none.program", files / "total.yaml", "--solve")
    assert done.status == 2 and "'a' and 'b' cannot hold together" in done.err
    assert "\nSolvers\n" in done.out and "At the solution" not in done.out


def test_a_program_that_asks_nothing_of_a_workload_needs_none(run: Any, tmp_path: Path) -> None:
    file, given = tmp_path / "own.program", ("--given", "k=2")
    text = "program own\ngiven\n    k: scalar\nchoose\n    x: vector[2] >= 0\nminimize sum(x)\nsubject to\n"
    file.write_text(f"{text}    c: x >= k\n", encoding="utf-8")
    alone, filled, solved = (run("explain", file, *more) for more in ((), given, (*given, "--solve")))
    assert [one.status for one in (alone, filled, solved)] == [0, 0, 0]
    assert "With its numbers" not in alone.out and "With its numbers" in filled.out
    assert "\nSolvers\n" in filled.out and "At the solution" not in filled.out
    assert "At the solution" in solved.out and "2 of 2" in solved.out
