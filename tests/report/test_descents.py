"""How solves came down: the places that a chart draws.

Guards charts.py.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from mmopt.comparison import Outcome, combinations, outcomes
from mmopt.driver import Progress, solve
from mmopt.report.charts import SMALLEST_GAP, descents
from mmopt.results import Solution
from mmopt.workloads import Workload
from tests.cli.tasks_here import Here

PREFIX = Workload.from_matrix(np.tri(6))


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(PREFIX, "l2_strategy")


def progress(program: str, second: float, gap: float | None) -> Progress:
    bound = None if gap is None else 0.0 if math.isinf(gap) else 1.0
    return Progress(program, "scs", second, int(second), 1.0 + (gap or 0.0), bound)


def test_the_gaps_of_the_program_itself_that_are_finite() -> None:
    gaps = [None, math.inf, 1e6, 0.5, 0.0]
    history = [progress("p", float(second), gap) for second, gap in enumerate(gaps, 1)]
    outcome = Outcome(
        "p", "scs", None, "x", "x", "time limit", history=(*history, progress("step", 6.0, 0.1))
    )
    (found,) = descents(outcome)
    assert found.certified == [(4.0, 4, 0.5), (5.0, 5, SMALLEST_GAP)]
    assert not found.reported and not found.has_reached


def test_those_of_a_comparison_end_at_the_gap_of_the_solution() -> None:
    chosen = combinations(["l2_strategy", "eigen_design"])
    for outcome in outcomes(PREFIX, chosen, isolated=Here()):
        assert outcome.solution is not None
        (found,) = descents(outcome)
        seconds, iterations, gap = found.certified[-1]
        assert gap == outcome.solution.gap and iterations == outcome.solution.iterations
        assert seconds is not None and 0 < seconds <= outcome.seconds
        assert found.has_reached == (gap <= outcome.solution.options["tolerance"])
        for run in found.reported:  # its seconds too count from the start of the process
            assert all(place[0] is not None and place[0] <= seconds for place in run)


@pytest.mark.quick
def test_its_own_count_is_the_largest_of_gap_and_residuals(solution: Solution) -> None:
    rows = [
        {"run": 1, "iteration": 1, "objective": 3.0, "bound": 2.0, "primal residual": 0.1},
        {"run": 1, "iteration": 2, "objective": 2.0, "bound": 2.5, "dual residual": 0.1, "seconds": 4.0},
        {"run": 1, "iteration": 3, "objective": 2.1, "bound": 2.0, "primal residual": 0.7},
        {"run": 1, "iteration": 4, "objective": 2.0, "bound": 2.0, "primal residual": 1e-9},
        {"run": 2, "iteration": 5, "objective": 2.0},
        {"run": 2, "iteration": 6, "objective": 2.0, "bound": 1.0},
        {"run": 2, "iteration": 7, "objective": 3.0, "bound": 1.0},
    ]
    history = tuple({**row, "certified": False} for row in rows)
    (found,) = descents(replace(solution, history=history))
    assert [[(p[0], p[1]) for p in run] for run in found.reported] == [
        [(None, 1), (4.0, 2), (None, 3)], [(None, 6), (None, 7)]
    ]  # fmt: skip
    assert [place[2] for run in found.reported for place in run] == pytest.approx([0.5, 0.2, 0.7, 1.0, 2.0])


def test_runs_that_are_told_by_their_ends_are_one_line(solution: Solution) -> None:
    rows = ({"run": i, "iteration": 100 * i, "objective": 1.0 + 0.1**i, "bound": 1.0} for i in (1, 2, 3))
    history = tuple({**row, "certified": False} for row in rows)
    (found,) = descents(replace(solution, history=history))
    assert [[place[1] for place in run] for run in found.reported] == [[100, 200, 300]]


@pytest.mark.quick
def test_of_parts_each_has_its_own_line_and_the_whole_is_certified() -> None:
    blocks = np.kron(np.eye(2), np.tri(5)) * np.repeat([1.0, 2.0], 5)
    found = solve(Workload.from_matrix(blocks), "l2_strategy")
    (one,) = descents(found)
    assert len(one.reported) == 2 and len(one.certified) == 1 and one.certified[0][2] == found.gap


def test_of_a_procedure_each_step_is_drawn_and_of_rounds_nothing() -> None:
    found = solve(PREFIX, "eigen_separation")
    assert [one.program for one in descents(found)] == [f"step {name}" for name in found.steps]
    many = {str(i): step for i, step in enumerate([*found.steps.values()] * 10)}
    assert [one.program for one in descents(replace(found, steps=many))] == [
        f"step {i}" for i in range(10, 20)
    ]
    rounds = solve(PREFIX, "singular_value_bound")
    (one,) = descents(replace(rounds, history=({"start": 1, "round": 1, "objective": 2.0},)))
    assert not one.reported
