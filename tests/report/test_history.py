"""The table of a search: which rows it keeps, and how they read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from mmopt.driver import solve
from mmopt.report import history_table
from mmopt.report.solution_tables import ROUNDS_SHOWN
from mmopt.results import Solution
from mmopt.workloads import Workload


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(Workload.from_matrix(np.eye(2)), "l2_strategy")


def lines(solution: Solution) -> list[list[str]]:
    console = Console(width=80, color_system=None)
    with console.capture() as captured:
        console.print(history_table(solution))
    return [line.split() for line in captured.get().splitlines() if line.strip()]


def test_a_short_history_is_shown_whole(solution: Solution) -> None:
    rows = (
        {"start": 1, "round": 1, "residual": 0.25},
        {"start": 1, "round": 2, "residual": 0.0, "objective": 6},
    )
    assert lines(replace(solution, history=rows)) == [
        ["Rounds"],
        ["start", "round", "residual", "objective"],
        ["─" * 33],
        ["1", "1", "2.5e-01", "-"],
        ["1", "2", "0.0e+00", "6"],
    ]


@pytest.mark.parametrize(("sense", "best"), [("minimize", 1.0), ("maximize", 60.0)])
def test_a_long_one_keeps_the_best_and_the_last_of_each_start(
    solution: Solution, sense: str, best: float, rng: np.random.Generator
) -> None:
    objectives = rng.permutation(60) + 1.0
    rows = tuple(
        {"start": 1 + i // 20, "round": 1 + i % 20, "objective": value} for i, value in enumerate(objectives)
    )
    head, _, _, *shown = lines(replace(solution, history=rows, sense=sense))
    assert head == ["Rounds,", str(ROUNDS_SHOWN), "of", "60"]
    found = [(int(start), int(number), float(value)) for start, number, value in shown]
    assert len(found) == ROUNDS_SHOWN and found == sorted(found, key=lambda row: row[:2])
    assert best in [value for _, _, value in found]
    sign = 1.0 if sense == "minimize" else -1.0
    for start in (1, 2, 3):
        own = [row for row in rows if row["start"] == start]
        leading = min(own, key=lambda row: sign * row["objective"])
        assert (start, leading["round"], leading["objective"]) in found
        assert (start, 20, own[-1]["objective"]) in found


def test_more_starts_than_rows(solution: Solution) -> None:
    rows = tuple({"start": i, "round": 1, "objective": 100.0 - i} for i in range(50))
    shown = lines(replace(solution, history=rows))[3:]
    assert [float(value) for _, _, value in shown] == [100.0 - i for i in range(30, 50)]
