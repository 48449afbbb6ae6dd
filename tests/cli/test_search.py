"""Programs that are searched, from the command line: the table of rounds, the options of a search."""

from __future__ import annotations

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


def test_rounds_are_printed(run: Any, three: str) -> None:
    done = run("solve", three, *SEARCH)
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "rank reached in " in done.out and "\nRounds" in done.out
    header = next(line for line in done.out.splitlines() if line.startswith("start"))
    assert header.split() == ["start", "round", "penalty", "iterations", "residual", "objective"]


def test_no_table_where_nothing_is_searched(run: Any, three: str) -> None:
    assert "Rounds" not in run("solve", three).out


def test_json_has_the_history(run: Any, three: str) -> None:
    found = json.loads(run("solve", three, *SEARCH, "--json").out)
    assert [row["penalty"] for row in found["history"] if row["round"] == 1] == [2.0, 6.0]
    assert (found["options"]["seed"], found["options"]["starts"]) == (3, 2)


@pytest.mark.parametrize("option", ["--starts", "--seed", "--penalty"])
def test_refused_by_a_program_that_is_not_searched(refused: Any, three: str, option: str) -> None:
    classes = "rank" if option == "--penalty" else "rank and smooth"
    assert refused("solve", three, option, "1") == (
        f"error: 'l2_strategy' is of class 'convex', which has no option '{option[2:]}'\n"
        f"  it belongs to class {classes}"
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--starts", "0", "error: 'starts' is at least 1, not 0"),
        ("--seed", "-1", "error: a seed is at least 0, not -1"),
        ("--penalty", "0", "error: a penalty is a positive number, not 0.0"),
    ],
)
def test_out_of_range(refused: Any, three: str, option: str, value: str, message: str) -> None:
    assert refused("solve", three, "--program", "min_error", option, value) == message


def test_a_start_by_name(run: Any, three: str) -> None:
    done = run("solve", three, "--program", "min_error", "--start", "haar", "--max-iterations", "2", "--json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert {row["start"] for row in found["history"]} == {1}
    (haar,) = json.loads(run("baselines", three, "--baseline", "haar", "--json").out)
    assert found["objective"] <= haar["costs"][0]["error"] * (1 + RECOMPUTED)


def test_a_start_that_is_refused(refused: Any, three: str) -> None:
    assert refused("solve", three, "--start", "haar").startswith(
        "error: 'l2_strategy' is of class 'convex', which has no option 'start'\n"
    )
    assert refused("solve", three, "--program", "min_error", "--start", "haar", "--dry-run") == (
        "error: --dry-run solves nothing, so --start has no effect"
    )
