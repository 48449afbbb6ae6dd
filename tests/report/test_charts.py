"""The chart of a comparison: what is drawn, and that nothing overlaps or is cut."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mmopt.comparison import Outcome, compare
from mmopt.driver import Progress
from mmopt.errors import OptionError, ResultError
from mmopt.report import check_chart, write_chart
from mmopt.report.charts import SMALLEST_GAP, curves, draw
from mmopt.workloads import Workload


def points(program: str, *gaps: float | None) -> tuple[Progress, ...]:
    """One certified point per second with these gaps; None for a point without a bound."""
    found = []
    for second, gap in enumerate(gaps, 1):
        bound = None if gap is None else 0.0 if math.isinf(gap) else 1.0
        found.append(Progress(program, "scs", float(second), second, 1.0 + (gap or 0.0), bound))
    return tuple(found)


def stopped(program: str, *gaps: float | None, solver: str = "scs") -> Outcome:
    return Outcome(program, solver, None, "x", "x", "time limit", history=points(program, *gaps))


def test_a_curve_has_the_finite_gaps_of_the_program_itself() -> None:
    outcome = stopped("p", None, math.inf, 1e6, 0.5, 0.0)
    outcome = Outcome("p", "scs", None, "x", "x", "time limit", history=outcome.history + points("step", 0.1))
    assert curves(outcome) == [(4.0, 0.5), (5.0, SMALLEST_GAP)]


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    programs = ["l2_strategy", "query_weighting", "eigen_design", "fitness_for_use"]
    return compare(Workload.from_matrix(np.tri(8)), programs, ["scs", "clarabel"], [1e-3])


def test_a_curve_ends_at_the_gap_of_the_solution(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.solution is None:
            assert curves(outcome) == []
            continue
        seconds, gap = curves(outcome)[-1]
        assert gap == outcome.solution.gap
        assert seconds > 0
        # The one point of a procedure's step belongs to another program.
        if outcome.program == "eigen_design":
            assert len(curves(outcome)) == 1


def test_each_run_ends_in_a_mark_that_is_filled_when_its_gap_was_reached(outcomes: list[Outcome]) -> None:
    figure = draw(outcomes, "title")
    (axes,) = figure.axes
    marks = [line for line in axes.lines if line.get_marker() in ("o", "s")]
    drawn = [o for o in outcomes if o.solution is not None]
    assert len(marks) == len(drawn) == 6
    for mark, outcome in zip(marks, drawn, strict=True):
        assert outcome.solution is not None and outcome.solution.gap is not None
        is_open = mark.get_markerfacecolor() == "white"
        assert is_open == (outcome.solution.gap > (outcome.tolerance or 0.0))
        assert mark.get_marker() == {"scs": "o", "clarabel": "s"}[outcome.solver]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert axes.get_title(loc="left") == "title"
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [
        "program", "l2_strategy", "query_weighting", "eigen_design", " ",
        "solver", "scs", "clarabel", "open: gap not reached", "gap asked for",
    ]  # fmt: skip
    assert figure.get_supxlabel() == "Without a certified gap below 1000: fitness_for_use"


def test_many_programs_have_strokes_of_their_own_and_fit() -> None:
    names = [f"program_{i:02}_{'x' * 12}" for i in range(25)]
    many = [stopped(name, 1.0, 10.0**-i, solver=s) for i, name in enumerate(names) for s in ("a", "b")]
    figure = draw(many)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    steps = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    strokes = {(line.get_color(), line.get_linestyle()) for line in steps}
    assert (len(steps), len(strokes)) == (50, 25)
    assert [text.get_text() for text in axes.texts] == [str(i // 2 + 1) for i in range(50)]
    page = figure.bbox
    (legend,) = figure.legends
    legend_box, axes_box = legend.get_window_extent(), axes.get_tightbbox()
    assert axes_box is not None
    assert page.y0 <= legend_box.y0 and legend_box.y1 <= page.y1 and legend_box.x1 <= page.x1
    assert axes_box.x1 <= legend_box.x0
    assert [text.get_text() for text in legend.get_texts()][1:26] == [
        f"{i}  {name}" for i, name in enumerate(names, 1)
    ]


def test_a_solution_that_was_asked_for_no_gap_is_open(outcomes: list[Outcome]) -> None:
    first = outcomes[0]
    assert first.solution is not None
    closed = replace(first, solution=replace(first.solution, options={}))
    figure = draw([closed])
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "open: gap not reached" in texts and "gap asked for" not in texts


def test_nothing_to_draw(tmp_path: Path) -> None:
    write_chart([Outcome("p", "", None, "x", "x", "refused")], tmp_path / "empty.png")
    assert (tmp_path / "empty.png").stat().st_size > 0


def test_the_same_outcomes_are_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        write_chart([stopped("p", 0.1, 0.01)], tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.svg"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(ResultError) as error:
        write_chart([stopped("p", 0.1)], tmp_path / "taken.svg")
    assert str(error.value) == f"'{tmp_path / 'taken.svg'}' cannot be written: Is a directory"
    assert [path.name for path in tmp_path.iterdir()] == ["taken.svg"]


def test_another_format_is_refused() -> None:
    with pytest.raises(OptionError) as error:
        check_chart(Path("gaps"))
    assert str(error.value) == "a chart is written to an .svg or .png file, not to 'gaps'"
