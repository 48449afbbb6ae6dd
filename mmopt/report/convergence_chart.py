"""Charts of convergence: gap against seconds and iterations, for solutions or a comparison.

The certified gap (the best repaired point and the best bound so far, by the program file) is a thick line of
steps with a mark at its end. The solver's count of its iterations is a thin line, named as such in the
legend: the largest of its gap and its residuals, which are not checked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.comparison import Outcome
from mmopt.report.chart_parts import (
    COLOURS,
    DASHES,
    MARKERS,
    empty_figure,
    entry,
    logarithmic,
    mark,
    need_matplotlib,
    on_its_page,
    plainly,
    stroke,
)
from mmopt.report.comparison_tables import in_groups
from mmopt.results import Solution, gap_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
LARGEST_GAP = 1e3  # a gap above this means nothing, and would press the others together
SMALLEST_GAP = 1e-16  # a gap of zero has no logarithm
MOST_STEPS = 10  # of a procedure: the last ones are drawn

Place = tuple[float | None, int | None, float]  # seconds, iterations, gap; None where not known


@dataclass(frozen=True)
class Descent:
    """The course of a solve: places of its certified points, and those that its solver reported, by run.

    has_reached : whether the last certified gap is within the tolerance.
    tolerance : the requested gap; 0 where that is not known. is_claimed : whether the bound is only claimed.
    """

    program: str
    solver: str
    certified: list[Place] = field(default_factory=list)
    reported: list[list[Place]] = field(default_factory=list)
    tolerance: float = 0.0
    is_claimed: bool = False

    @property
    def has_reached(self) -> bool:
        return bool(self.certified) and self.certified[-1][2] <= self.tolerance


def descents(result: Outcome | Solution) -> list[Descent]:
    """The lines that are drawn for an outcome or a solution; for a procedure without a history its last
    steps.

    Gaps of ``LARGEST_GAP`` and more are left out, those below ``SMALLEST_GAP`` are drawn at that gap.
    """
    if isinstance(result, Outcome):
        return [_of_outcome(result)]
    rows = _iterations(result)
    if rows or not result.steps:
        places = _certified(rows, result.sense)
        return [_descent(result, rows, _with_end(places, result, result.seconds.get("total")))]
    steps = ((f"step {name}", descents(step)) for name, step in list(result.steps.items())[-MOST_STEPS:])
    return [replace(one, program=name) for name, those in steps for one in those[:1]]


def _of_outcome(outcome: Outcome) -> Descent:
    """The line of an outcome, all its seconds from the start of its process."""
    places: list[Place] = [
        (point.seconds, point.iterations, gap)
        for point in outcome.history
        # Steps of a procedure solve other programs.
        if point.program == outcome.program and (gap := _drawn(point.gap)) is not None
    ]
    if (solution := outcome.solution) is None:
        return Descent(outcome.program, outcome.solver, places)
    rows = _iterations(solution)
    # Seconds of an outcome count from the start of its process, those of a history from that of the solve.
    first = next((row["seconds"] for row in rows if row["certified"]), None)
    before = outcome.history[0].seconds - first if outcome.history and first is not None else 0.0
    return _descent(solution, rows, _with_end(places, solution, outcome.seconds), before)


def _with_end(places: list[Place], solution: Solution, seconds: float | None) -> list[Place]:
    """The places with the gap of the solution as the last: its bound may come from another program.

    seconds : when it was there; where the last place has that gap already, the two are one.
    """
    if (last := _drawn(solution.gap)) is None:
        return places
    if places and math.isclose(places[-1][2], last, rel_tol=1e-3):  # one gap, judged twice
        seconds, iterations, _ = places[-1]
        return [*places[:-1], (seconds, iterations, last)]
    return [*places, (seconds, solution.iterations, last)]


def _iterations(solution: Solution) -> list[Mapping[str, Any]]:
    """The rows of iterations; rows of a search's rounds have no bound and are left out."""
    return [row for row in solution.history if "certified" in row]


def _descent(
    solution: Solution, rows: Sequence[Mapping[str, Any]], certified: list[Place], before: float = 0.0
) -> Descent:
    """The line of a solution, with what its solver reported in ``rows``, ``before`` seconds later."""
    runs = itertools.groupby(
        (row for row in rows if not row["certified"]), key=lambda row: (row.get("part"), row.get("run"))
    )
    reported = [list(_reported(run, solution.sense, before)) for _, run in runs]
    if all(len(run) < 2 for run in reported):  # only the end of each run
        reported = [[place for run in reported for place in run]]
    return Descent(
        solution.program,
        solution.solver,
        certified,
        [run for run in reported if run],
        float(solution.options.get("tolerance") or 0.0),
        solution.bound_grade == "claimed",
    )


def _certified(rows: Iterable[Mapping[str, Any]], sense: str) -> list[Place]:
    """The certified rows with a gap; those of the whole where there are rows of its parts, too."""
    certified = [row for row in rows if row["certified"]]
    return [
        (row.get("seconds"), row.get("iteration"), gap)
        for row in [row for row in certified if "part" not in row] or certified
        if (gap := _drawn(gap_between(row.get("objective", np.nan), row.get("bound"), sense))) is not None
    ]


def _reported(rows: Iterable[Mapping[str, Any]], sense: str, before: float) -> Iterator[Place]:
    """The places that a solver reported, ``before`` seconds later.

    The largest of its gap and its two residuals counts: objective and bound may pass each other while
    residuals are large. Where a solver prints objective and bound with the same few digits, its gap is not
    known.
    """
    for row in rows:
        gap = gap_between(row.get("objective", np.nan), row.get("bound"), sense)
        residuals = [row[name] for name in ("primal residual", "dual residual") if name in row]
        if gap and (drawn := _drawn(max(abs(gap), *residuals, 0.0))) is not None:
            seconds = row.get("seconds")
            yield None if seconds is None else before + seconds, row.get("iteration"), drawn


def _drawn(gap: float | None) -> float | None:
    """The height at which a gap is drawn; None where it is not drawn."""
    return max(gap, SMALLEST_GAP) if gap is not None and gap < LARGEST_GAP else None


PALE_COLOURS = COLOURS[3:6]  # black digits are read on these, white ones on the others
WIDE_FACTOR = 10.0  # factor between the ends of two runs from which their scale is logarithmic
PANEL_HEIGHT, RUN_HEIGHT = 2.5, 0.07  # inches, of a panel, or of each of its runs where that is more
# The line at the requested gap.
TOLERANCE_STYLE: Mapping[str, Any] = {"color": "0.4", "linewidth": 1.0, "linestyle": (0, (1, 2))}
CERTIFIED_WIDTH, REPORTED_WIDTH = 1.7, 0.7  # widths of lines
MARK_SIZE = 10.0  # size of the mark where a run ends


def convergence_figure(results: Sequence[Outcome | Solution], title: str = "") -> Figure:
    """Two panels, one above the other: gap against seconds, and against iterations.

    A program has a colour and dashes, a solver a mark; where there is one program, a solver has all three. A
    filled mark ends a run that reached the requested gap, an open one any other. Where there are more
    programs than dashes the marks are numbered as in the legend. Programs without a gap to draw are named
    below.

    Raises
    ------
    OptionError : matplotlib is not installed.
    """
    need_matplotlib()
    outcomes = in_groups([one for one in results if isinstance(one, Outcome)])
    solutions = [one for one in results if isinstance(one, Solution)]
    ordered: list[Outcome | Solution] = [*outcomes, *solutions]
    every = [descent for one in ordered for descent in descents(one)]
    drawn = [descent for descent in every if descent.certified or descent.reported]
    look = _Look.of(drawn)
    handles = _legend(drawn, look)
    rows = max(map(len, handles), default=0)
    longer = [len(one.steps) for one in solutions if len(one.steps) > MOST_STEPS]
    below = [f"The last {MOST_STEPS} of {steps} steps" for steps in longer] + _below(every, drawn)
    figure = empty_figure(6.0, 2 * max(PANEL_HEIGHT, RUN_HEIGHT * len(drawn)) + 0.8)
    over_time, over_iterations = figure.subplots(2, 1, sharey=True)
    since = "the start of its process" if outcomes else "the start"
    words = (f"seconds since {since}, compiling included", "\n".join(["iterations", *below]))
    for axis, axes in enumerate((over_time, over_iterations)):
        is_log = _is_wide(drawn, axis)
        for descent in drawn:
            _draw(axes, descent, axis, look, is_log=is_log)
        for tolerance in sorted({descent.tolerance for descent in drawn} - {0.0}):
            axes.axhline(tolerance, zorder=1, **TOLERANCE_STYLE)
        axes.set(yscale="log", ylabel="gap", xlabel=words[axis])
        axes.margins(0.06)
        if is_log:
            logarithmic(axes)
        else:
            axes.set_xlim(left=0)
        plainly(axes, "" if axis else title)
    if rows:
        blanks = [entry(" ", linestyle="none")] * rows
        padded = [handle for column in handles for handle in (column + blanks)[:rows]]
        figure.legend(handles=padded, loc="outside lower left", frameon=False, fontsize=8, ncols=2)
    return on_its_page(figure)


@dataclass(frozen=True)
class _Look:
    """The numbers of programs and of solvers, in the order in which they are drawn.

    by_solver : whether a colour is that of a solver, as there is one program. is_numbered : whether marks
    have the numbers of programs, as there are more of those than dashes.
    """

    programs: dict[str, int]
    solvers: dict[str, int]

    @classmethod
    def of(cls, drawn: Sequence[Descent]) -> _Look:
        """The look of these lines."""
        return cls(
            *(
                {name: number for number, name in enumerate(dict.fromkeys(names))}
                for names in ((one.program for one in drawn), (one.solver for one in drawn))
            )
        )

    @property
    def by_solver(self) -> bool:
        return len(self.programs) == 1

    @property
    def is_numbered(self) -> bool:
        return not self.by_solver and len(self.programs) > len(DASHES)


def _draw(axes: Axes, one: Descent, axis: int, look: _Look, *, is_log: bool) -> None:
    """Draw the line of a solve over seconds (``axis`` 0) or iterations (1), on a logarithmic axis or not."""
    number = look.solvers[one.solver] if look.by_solver else look.programs[one.program]
    colour = COLOURS[number % len(COLOURS)]
    for run in one.reported:
        # Iteration 0, the start, has no place on a logarithmic axis.
        line = [(p[axis], p[2]) for p in run if p[axis] is not None and (p[axis] or not is_log)]
        if line:
            axes.plot(
                *zip(*line, strict=True), marker=".", markersize=2.5, **stroke(number, number, REPORTED_WIDTH)
            )
    line = [(place[axis], place[2]) for place in one.certified if place[axis] is not None]
    if not line:
        return
    across, gaps = zip(*line, strict=True)
    axes.plot(across, gaps, drawstyle="steps-post", alpha=0.75, **stroke(number, number, CERTIFIED_WIDTH))
    marker = MARKERS[look.solvers[one.solver] % len(MARKERS)]
    axes.plot(across[:-1], gaps[:-1], linestyle="none", marker=marker, markersize=4, color=colour)
    axes.plot(
        across[-1:],
        gaps[-1:],
        linestyle="none",
        marker=marker,
        markersize=MARK_SIZE,
        markeredgecolor=colour,
        markeredgewidth=1.4,
        markerfacecolor=colour if one.has_reached else "white",
        clip_on=False,
        zorder=3 + number / 1000,  # a mark hides the number of the mark below it
    )
    if look.is_numbered:
        axes.annotate(
            str(number + 1),
            line[-1],
            ha="center",
            va="center_baseline",
            fontsize=6.5,
            color=(colour if not one.has_reached else "black" if colour in PALE_COLOURS else "white"),
            fontweight="bold",
            zorder=3.0005 + number / 1000,
        )


def _legend(drawn: Sequence[Descent], look: _Look) -> tuple[list[Any], list[Any]]:
    """Two columns: the lines; the marks and what they mean."""
    claimed = {one.program for one in drawn if one.is_claimed}
    names = {name: name + " (bound claimed)" * (name in claimed) for name in look.programs}
    markers = {name: MARKERS[n % len(MARKERS)] for name, n in look.solvers.items()}
    if look.by_solver:
        lines = [
            entry(*names.values(), linestyle="none"),
            *(
                entry(name, marker=markers[name], markersize=5, **stroke(n, n, CERTIFIED_WIDTH))
                for name, n in look.solvers.items()
            ),
        ]
    else:
        lines = [
            entry(f"{n + 1}  " * look.is_numbered + names[name], **stroke(n, n, CERTIFIED_WIDTH))
            for name, n in look.programs.items()
        ]
    is_reported = any(one.reported for one in drawn)
    meanings = (
        (any(one.certified for one in drawn), entry("certified", color="0.3", linewidth=CERTIFIED_WIDTH)),
        (
            is_reported,
            entry(
                "the solver's own count", color="0.3", linewidth=REPORTED_WIDTH, marker=".", markersize=2.5
            ),
        ),
        (is_reported, entry("(not checked; gap or residual)", linestyle="none")),
        (
            not all(one.has_reached for one in drawn if one.certified),
            mark("o", "open: gap not reached", "white"),
        ),
        (any(one.tolerance for one in drawn), entry("gap asked for", **TOLERANCE_STYLE)),
    )
    marks = [] if look.by_solver else [mark(marker, name, "0.3") for name, marker in markers.items()]
    return lines, [*marks, *(meaning for occurs, meaning in meanings if occurs)]


def _below(every: Sequence[Descent], drawn: Sequence[Descent]) -> list[str]:
    """Remarks below the chart: what is left out of it, and where."""
    certified = {one.program for one in every if one.certified}
    missing = dict.fromkeys(one.program for one in every if one.program not in certified)
    untimed = dict.fromkeys(one.solver for one in drawn for run in one.reported for p in run if p[0] is None)
    lowest = any(p[2] == SMALLEST_GAP for one in drawn for run in [one.certified, *one.reported] for p in run)
    remarks = [
        f"Without a certified gap below {LARGEST_GAP:g}: {', '.join(missing)}" if missing else "",
        f"No times of single iterations: {', '.join(untimed)}" if untimed else "",
        f"Gaps below {SMALLEST_GAP:g} are drawn there" if lowest else "",
    ]
    return list(filter(None, remarks))


def _is_wide(drawn: Sequence[Descent], axis: int) -> bool:
    """Whether some runs took many times as many seconds (``axis`` 0) or iterations (1) as others."""
    every = [[p[axis] or 0 for run in [one.certified, *one.reported] for p in run] for one in drawn]
    ends = [end for places in every if (end := max(places)) > 0]
    return bool(ends) and max(ends) > WIDE_FACTOR * min(ends)
