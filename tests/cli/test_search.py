"""A program that is searched has a table of rounds, and options that others refuse."""

import json
from pathlib import Path
from typing import Any

import pytest
from tolerances import RECOMPUTED

THREE = "domain: {a: {range: [0, 3], width: 1}}\nworkload: [{product: {a: prefix}}]\n"
SEARCH = ("--program", "min_error", "--starts", "2", "--seed", "3", "--given", "penalty=2")


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
