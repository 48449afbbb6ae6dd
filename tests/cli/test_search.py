"""A program that is searched has a table of rounds, and options that others refuse."""

import json
from pathlib import Path
from typing import Any

import pytest
from tolerances import RECOMPUTED

THREE = "domain: {a: {range: [0, 3], width: 1}}\nworkload: [{product: {a: prefix}}]\n"
SEARCH = ("--program", "min_error", "--starts", "2", "--seed", "3", "--penalty", "2")


@pytest.fixture
def three(files: Path) -> str:
    (files / "three.yaml").write_text(THREE, encoding="utf-8")
    return "three.yaml"


def test_rounds_are_printed_where_something_is_searched(run: Any, three: str) -> None:
    done = run("solve", three, *SEARCH)
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "rank reached in " in done.out and "\nRounds" in done.out
    header = next(line for line in done.out.splitlines() if line.startswith("start"))
    assert header.split() == ["start", "round", "penalty", "iterations", "residual", "objective"]
    assert "Rounds" not in run("solve", three).out
    found = json.loads(run("solve", three, *SEARCH, "--json").out)
    assert [row["penalty"] for row in found["history"] if row["round"] == 1] == [2.0, 6.0]
    assert (found["options"]["seed"], found["options"]["starts"]) == (3, 2)


def test_a_start_by_name(run: Any, three: str) -> None:
    done = run("solve", three, "--program", "min_error", "--start", "haar", "--max-iterations", "2", "--json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert {row["start"] for row in found["history"]} == {1}
    (haar,) = json.loads(run("baselines", three, "--baseline", "haar", "--json").out)
    assert found["objective"] <= haar["costs"][0]["error"] * (1 + RECOMPUTED)


def test_what_is_refused(refused: Any, three: str, subtests: pytest.Subtests) -> None:
    for option, classes in (
        ("starts", "rank and smooth"),
        ("seed", "rank and smooth"),
        ("penalty", "rank"),
        ("start", None),
    ):
        message = f"error: 'l2_strategy' is of class 'convex', which has no option '{option}'\n"
        with subtests.test(option):
            found = refused("solve", three, f"--{option}", "1" if classes else "haar")
            assert found.startswith(message)
            assert classes is None or found == f"{message}  it belongs to class {classes}"
    for options, message in (
        (("--starts", "0"), "error: 'starts' is at least 1, not 0"),
        (("--seed", "-1"), "error: a seed is at least 0, not -1"),
        (("--penalty", "0"), "error: a penalty is a positive number, not 0.0"),
        (
            ("--start", "haar", "--dry-run"),
            "error: --dry-run solves nothing, so --start has no effect",
        ),
    ):
        with subtests.test(" ".join(options)):
            assert refused("solve", three, "--program", "min_error", *options) == message
