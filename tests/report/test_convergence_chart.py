"""Charts of convergence: what is drawn, and that nothing overlaps or is cut."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmopt.comparison import Outcome, combinations, outcomes
from mmopt.driver import Progress, solve
from mmopt.errors import OptionError, ResultError
from mmopt.report import check_chart, convergence_figure
from mmopt.report.chart_parts import save
from mmopt.report.charts import MARK_SIZE
from mmopt.workloads import Workload
from tests.cli.tasks_here import Here


def points(program: str, *gaps: float | None) -> tuple[Progress, ...]:
    """One certified point per second with these gaps; None for a point without a bound."""
    found = []
    for second, gap in enumerate(gaps, 1):
        bound = None if gap is None else 0.0 if math.isinf(gap) else 1.0
        found.append(Progress(program, "scs", float(second), second, 1.0 + (gap or 0.0), bound))
    return tuple(found)


def stopped(program: str, *gaps: float | None, solver: str = "scs") -> Outcome:
    return Outcome(program, solver, None, "x", "x", "time limit", history=points(program, *gaps))


def texts(figure: Any) -> list[str]:
    """Those of the legend, without the entries that fill a column up."""
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts() if text.get_text().strip()]


def ends(axes: Any) -> list[Any]:
    """The marks at the ends of runs."""
    return [line for line in axes.lines if line.get_markersize() == MARK_SIZE]


@pytest.fixture(scope="module")
def compared() -> list[Outcome]:
    programs = ["l2_strategy", "query_weighting", "eigen_design", "fitness_for_use"]
    chosen = combinations(programs, ["scs", "clarabel"], [1e-3])
    return list(outcomes(Workload.from_matrix(np.tri(8)), chosen, isolated=Here()))


def test_each_run_ends_in_a_mark_that_is_filled_when_its_gap_was_reached(compared: list[Outcome]) -> None:
    figure = convergence_figure(compared, "title")
    drawn = [o for o in compared if o.solution is not None]
    for axes in figure.axes:
        marks = ends(axes)
        assert len(marks) == len(drawn) == 6
        for mark, outcome in zip(marks, drawn, strict=True):
            assert outcome.solution is not None and outcome.solution.gap is not None
            is_open = mark.get_markerfacecolor() == "white"
            assert is_open == (outcome.solution.gap > (outcome.tolerance or 0.0))
            assert mark.get_marker() == {"scs": "o", "clarabel": "s"}[outcome.solver]
    over_time, over_iterations = figure.axes
    assert over_time.get_title(loc="left") == "title"
    assert over_time.get_xlabel() == "seconds since the start of its process, compiling included"
    assert over_iterations.get_xlabel() == ("iterations\nWithout a certified gap below 1000: fitness_for_use")
    assert texts(figure) == [
        "l2_strategy", "query_weighting", "eigen_design",
        "scs", "clarabel", "certified", "the solver's own count", "(not checked; gap or residual)",
        "open: gap not reached", "gap asked for",
    ]  # fmt: skip


def test_the_solvers_own_count_is_a_thin_line_that_ends_before_the_mark(compared: list[Outcome]) -> None:
    (one,) = (o for o in compared if (o.program, o.solver) == ("l2_strategy", "clarabel"))
    figure = convergence_figure([one])
    for axes in figure.axes:
        (own,) = (line for line in axes.lines if line.get_linewidth() < 1 and line.get_markersize() < 3)
        (mark,) = ends(axes)
        assert len(own.get_xdata()) >= 5 and (np.diff(own.get_xdata()) >= 0).all()
        assert own.get_xdata()[-1] <= mark.get_xdata()[0]
        assert own.get_ydata()[0] > 100 * own.get_ydata()[-1]
        assert not mark.get_clip_on()  # at the edge it is drawn whole
    (own,) = (line for line in figure.axes[1].lines if line.get_linewidth() < 1 and line.get_markersize() < 3)
    assert own.get_xdata()[0] <= 1  # where the iterations begin, or next to it: a huge gap is not drawn
    assert "l2_strategy" in texts(figure)[0] and "clarabel" in texts(figure)[1]


def test_many_programs_have_strokes_of_their_own_and_fit() -> None:
    names = [f"program_{i:02}_{'x' * 12}" for i in range(25)]
    many = [stopped(name, 1.0, 10.0**-i, solver=s) for i, name in enumerate(names) for s in ("a", "b")]
    figure = convergence_figure([*many, *(stopped(f"without_{'y' * i}", None) for i in range(12))])
    figure.draw_without_rendering()
    page = figure.bbox
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0
    for axes in figure.axes:
        steps = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
        strokes = {(line.get_color(), line.get_linestyle()) for line in steps}
        assert (len(steps), len(strokes)) == (50, 25)
        assert [text.get_text() for text in axes.texts] == [str(i // 2 + 1) for i in range(50)]
        inside = axes.get_tightbbox()
        assert inside is not None and box.y1 <= inside.y0 and page.x0 <= inside.x0 and inside.x1 <= page.x1
    assert texts(figure)[:25] == [f"{i}  {name}" for i, name in enumerate(names, 1)]


def test_programs_differ_without_colour_while_there_are_dashes() -> None:
    figure = convergence_figure([stopped(name, 1.0, 0.1) for name in "abcd"])
    lines = [line for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    assert len({line.get_linestyle() for line in lines}) == 4


def test_solvers_of_one_program_differ_in_colour_dashes_and_marks() -> None:
    figure = convergence_figure([stopped("p", 1.0, 0.1, solver=name) for name in "abcd"])
    lines = [line for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"]
    looks = [{line.get_color() for line in lines}, {line.get_linestyle() for line in lines}]
    looks.append({mark.get_marker() for mark in ends(figure.axes[0])})
    assert [len(look) for look in looks] == [4, 4, 4]
    assert texts(figure)[:5] == ["p", "a", "b", "c", "d"]


def test_scales_are_logarithmic_where_some_took_many_times_as_long() -> None:
    near = convergence_figure([stopped("p", 1.0, 0.1), stopped("q", *[0.5] * 9)])
    far = convergence_figure([stopped("p", 1.0, 0.1), stopped("q", *[0.5] * 99)])
    assert [axes.get_xscale() for axes in near.axes] == ["linear", "linear"]
    assert [axes.get_xscale() for axes in far.axes] == ["log", "log"]
    assert {axes.get_yscale() for figure in (near, far) for axes in figure.axes} == {"log"}


def test_a_gap_of_zero_is_drawn_at_the_least_and_said() -> None:
    figure = convergence_figure([stopped("p", 1.0, 0.0)])
    assert ends(figure.axes[1])[0].get_ydata()[0] == 1e-16
    assert figure.axes[1].get_xlabel() == "iterations\nGaps below 1e-16 are drawn there"


def test_a_solution_that_was_asked_for_no_gap_is_open(compared: list[Outcome]) -> None:
    first = compared[0]
    assert first.solution is not None
    closed = replace(first, solution=replace(first.solution, options={}))
    found = texts(convergence_figure([closed]))
    assert "open: gap not reached" in found and "gap asked for" not in found


def test_a_solution_draws_itself(tmp_path: Path) -> None:
    solution = solve(Workload.from_matrix(np.tri(6)), "l2_strategy")
    figure = solution.plot()
    assert figure.axes[0].get_title(loc="left") == "l2_strategy by nuclear"
    assert figure.axes[0].get_xlabel() == "seconds since the start, compiling included"
    (mark,) = ends(figure.axes[1])
    assert mark.get_xdata()[0] == solution.iterations and mark.get_ydata()[0] == solution.gap
    save(tmp_path / "one.svg", lambda: convergence_figure([solution]))
    assert (tmp_path / "one.svg").read_text().startswith("<?xml")


def test_solvers_that_print_no_times_are_in_the_panel_of_iterations_alone() -> None:
    solution = solve(Workload.from_matrix(np.tri(4)), "query_weighting", solver="cvxopt", history=True)
    over_time, over_iterations = solution.plot().axes
    thin = [sum(line.get_linewidth() < 1 for line in axes.lines) for axes in (over_time, over_iterations)]
    assert thin[0] < thin[1]
    assert over_iterations.get_xlabel() == "iterations\nNo times of single iterations: cvxopt"


def test_the_same_outcomes_are_the_same_file_also_of_nothing(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save(tmp_path / name, lambda: convergence_figure([Outcome("p", "", None, "x", "x", "refused")]))
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.svg"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken.svg").mkdir()
    with pytest.raises(ResultError) as error:
        save(tmp_path / "taken.svg", lambda: convergence_figure([stopped("p", 0.1)]))
    assert str(error.value) == f"'{tmp_path / 'taken.svg'}' cannot be written: Is a directory"
    assert [path.name for path in tmp_path.iterdir()] == ["taken.svg"]


def test_another_format_is_refused() -> None:
    with pytest.raises(OptionError) as error:
        check_chart(Path("gaps"))
    assert str(error.value) == "a chart is written to an .svg or .png file, not to 'gaps'"
