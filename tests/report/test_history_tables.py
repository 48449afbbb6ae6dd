"""The history as a table and as a frame: which rows are kept, and how they read.

Guards solution_and_comparison_tables.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from mmopt.driver import solve
from mmopt.report import history_frame, history_table
from mmopt.report.solution_and_comparison_tables import ROWS_SHOWN
from mmopt.results import Solution
from mmopt.workloads import Workload
from tests.report.printed import printed


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(Workload.from_matrix(np.eye(2)), "l2_strategy")


def lines(solution: Solution) -> list[list[str]]:
    return [line.split() for line in printed(history_table(solution)).splitlines() if line.strip()]


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


def test_a_long_one_keeps_the_best_and_the_last_of_each_start(
    solution: Solution, rng: np.random.Generator
) -> None:
    objectives = rng.permutation(60) + 1.0
    rows = tuple(
        {"start": 1 + i // 20, "round": 1 + i % 20, "objective": value} for i, value in enumerate(objectives)
    )
    for sense, best in (("minimize", 1.0), ("maximize", 60.0)):
        head, _, _, *shown = lines(replace(solution, history=rows, sense=sense))
        assert head == ["Rounds,", str(ROWS_SHOWN), "of", "60"]
        found = [(int(start), int(number), float(value)) for start, number, value in shown]
        assert len(found) == ROWS_SHOWN and found == sorted(found, key=lambda row: row[:2])
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


def test_iterations_say_who_counted_them(solution: Solution) -> None:
    own = {"run": 1, "iteration": 1, "seconds": 0.5, "objective": 3.0, "bound": 4.0, "dual residual": 0.25}
    last = {"run": 1, "iteration": 2, "seconds": 0.75, "objective": 6.0, "bound": 5.0}
    rows = ({**own, "certified": False}, {**last, "certified": True})
    title, *shown = lines(replace(solution, history=rows))
    begun, *more = lines(replace(solution, history=({**own, "bound": 2.0, "certified": False}, rows[1])))
    assert " ".join(begun) == "Iterations: the solver's own count where not certified"
    assert more[0][0] == "iter"
    del last["bound"]
    apart = lines(replace(solution, history=(rows[0], {**last, "certified": True})))
    words = (
        "; a gap below 0: not feasible yet; the proved bound is derived from the constraints and is in no row"
    )
    assert " ".join(" ".join(line) for line in apart).startswith(" ".join(begun) + words)
    title += shown.pop(0)
    assert " ".join(title) == " ".join(begun) + words.rpartition(";")[0]
    assert [line for line in shown if "─" not in line[0]] == [
        ["iter", "sec", "objective", "bound", "gap", "dual", "by"],
        ["1", "0.5", "3", "4", "-2.5e-01", "2.5e-01", "own", "count"],
        ["2", "0.75", "6", "5", "2.0e-01", "-", "certified"],
    ]


def test_of_many_iterations_the_certified_ones_and_some_others_are_shown(solution: Solution) -> None:
    rows = tuple(
        {"iteration": i, "objective": 2.0, "bound": 1.0, "certified": i % 40 == 39} for i in range(120)
    )
    title, *shown = lines(replace(solution, history=rows))
    assert " ".join(title).startswith(f"Iterations, {ROWS_SHOWN} of 120: ")
    numbers = [int(line[0]) for line in shown if line[0].isdecimal()]
    assert len(numbers) == ROWS_SHOWN and numbers == sorted(numbers)
    assert {0, 39, 79, 118, 119} <= set(numbers)


def test_the_widest_table_fits_80_columns(solution: Solution) -> None:
    row = {
        "part": 12, "run": 3, "iteration": 12345, "seconds": 1234.56, "objective": -12345.678,
        "bound": -23456.789, "primal residual": 1.5e-10, "dual residual": 1.5e-10,
    }  # fmt: skip
    rows = tuple({**row, "run": run, "certified": certified} for run in (1, 2) for certified in (False, True))
    text = printed(history_table(replace(solution, history=rows)))
    assert max(map(len, text.splitlines())) <= 80
    assert "certified" in text and "own count" in text and "…" not in text


def test_a_frame_has_every_row_and_those_of_steps(solution: Solution) -> None:
    own = {"iteration": 1, "objective": 3.0, "bound": 2.0, "certified": False}
    rounds = {"start": 1, "round": 2, "residual": 0.5, "objective": 4.0}
    inner = replace(
        solution, history=(own, {"iteration": 2, "objective": 3.0, "bound": 0.0, "certified": True})
    )
    whole = history_frame(replace(solution, history=(rounds,), steps={"first": inner, "then 1": inner}))
    assert whole.names == (
        "step", "iteration", "objective", "bound", "gap", "start", "round", "residual", "certified"
    )  # fmt: skip
    assert whole["step"].tolist() == ["", "first", "first", "then 1", "then 1"]
    assert whole["certified"].tolist() == [True, False, True, False, True]
    assert whole["gap"][1:3].tolist() == [0.5, 1.0] and np.isnan(whole["gap"][0])
    text = history_frame(inner).to_csv()
    assert text == "iteration,objective,bound,gap,certified\n1,3,2,0.5,false\n2,3,0,1,true\n"
    assert len(history_frame(replace(inner, history=()))) == 0
