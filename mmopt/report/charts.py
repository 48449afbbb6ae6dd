"""Charts of a strategy, of accuracy, of released answers and of convergence.

Convergence is gap against seconds and iterations, for solutions or a comparison. The certified gap (the best
repaired point and the best bound so far, by the program file) is a thick line of steps with a mark at its
end. The solver's count of its iterations is a thin line, named as such in the legend: the largest of its gap
and its residuals, which are not checked.

A strategy has charts of its entries as a heat map, of the cost of each cell, of the error of each query.
``accuracy_figure`` shows the half widths of all queries' intervals, before any data: a line for each group.
``release_figure`` shows the answers of a release with error bars: a panel for each group of queries.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mmopt.comparison import Outcome
from mmopt.errors import TooLargeError, counted, whole
from mmopt.mechanism.release_plan import Plan, accuracy_figures
from mmopt.numerics.arrays import Array, rounded
from mmopt.numerics.component_arrays import Level
from mmopt.report.accuracy_release_and_ledger_tables import answer_groups, decimals, interval
from mmopt.report.chart_parts import (
    COLOURS,
    DASHES,
    FEW_QUERIES,
    MARKERS,
    draw_by_query,
    empty_figure,
    entry,
    logarithmic,
    mark,
    need_matplotlib,
    on_its_page,
    plainly,
    stroke,
    titled,
)
from mmopt.report.solution_and_comparison_tables import in_groups
from mmopt.report.table_style import percent
from mmopt.results import Frame, Solution, gap_between
from mmopt.results.solution_rows_and_json import levels
from mmopt.strategies import ADD_REMOVE, ComponentStrategy, StrategyForm
from mmopt.strategies.baselines import NOISE_NAMES, baseline_strategy
from mmopt.workloads import Workload

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
        certified = [row for row in rows if row["certified"]]
        places: list[Place] = [
            (row.get("seconds"), row.get("iteration"), gap)
            # Those of the whole where there are rows of its parts, too.
            for row in [row for row in certified if "part" not in row] or certified
            if (gap := _drawn(gap_between(row.get("objective", np.nan), row.get("bound"), result.sense)))
            is not None
        ]
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
    look = _Look(
        {name: number for number, name in enumerate(dict.fromkeys(one.program for one in drawn))},
        {name: number for number, name in enumerate(dict.fromkeys(one.solver for one in drawn))},
    )
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


MOST_PIXELS = 256  # a side of a heat map: a larger one is coarsened
MOST_PANELS = 9  # components that have a picture
MOST_DENSE = 2048  # rows and columns up to which a structured strategy is drawn as its matrix
BASELINES = ("identity", "workload")  # that errors are compared with


def heat_map(strategy: StrategyForm, title: str = "") -> Figure:
    """The entries of a strategy, zero in white, below 0 and above in two colours.

    A large matrix is coarsened: a square shows the entry largest in magnitude of its block, whose size is in
    the title. A strategy by component has a panel for each of its ``MOST_PANELS`` largest components.

    Raises
    ------
    TooLargeError : a form other than by component, of more than ``MOST_DENSE`` rows or columns.
    """
    if isinstance(strategy, ComponentStrategy):
        parts = zip(strategy.split.parts, strategy.split.columns.multiplicities, strict=True)
        matrices = [(f"component {i}, {times:,.0f} times", part) for i, (part, times) in enumerate(parts, 1)]
    else:
        matrices = [("", entries(strategy))]
    shown = sorted(matrices, key=lambda one: one[1].size, reverse=True)[:MOST_PANELS]
    across = math.ceil(math.sqrt(len(shown)))
    down = math.ceil(len(shown) / across)
    figure = empty_figure(max(5.5, 2.6 * across), max(4.4, 2.6 * down))
    panels = figure.subplots(down, across, squeeze=False).ravel()
    largest = max(float(np.abs(matrix).max(initial=0.0)) for _, matrix in shown) or 1.0
    images = [_draw_entries(axes, *panel, largest) for axes, panel in zip(panels, shown, strict=False)]
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    figure.colorbar(images[0], ax=list(panels), label="entry, for noise of variance 1", shrink=0.8)
    size = f"{strategy.measured:,} measured queries over {whole(strategy.n)} cells"
    size += f"; the {len(shown)} largest of {len(matrices)} components" * (len(matrices) > len(shown))
    figure.suptitle(titled(title, size), x=0.02, ha="left", fontsize=10)
    return on_its_page(figure)


def entries(strategy: StrategyForm) -> Array:
    """The matrix (p, n) of a strategy of any form; TooLargeError beyond ``MOST_DENSE`` rows or columns."""
    if max(strategy.p, strategy.n) > MOST_DENSE:
        raise TooLargeError(
            f"a strategy of {strategy.p:,} rows over {whole(strategy.n)} cells has no picture of its "
            f"entries, and no table: they go up to {MOST_DENSE:,}",
            hint="'profile' in place of 'strategy' is what each cell costs",
        )
    return np.asarray(strategy.implicit().matrix())


def _draw_entries(axes: Axes, name: str, matrix: Array, largest: float) -> Any:
    """Draw a matrix, coarsened if it is large; the image, from which a colour bar is made.

    name : of its component; "" for a whole strategy, whose axes then have words. largest : the magnitude that
        has the full colour.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    picture, block = coarsened(matrix)
    rows, columns = matrix.shape
    image = axes.imshow(
        picture,
        cmap=LinearSegmentedColormap.from_list("signs", [COLOURS[1], "white", COLOURS[0]]),
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, picture.shape[1] * block[1] - 0.5, picture.shape[0] * block[0] - 0.5, -0.5),
    )
    scale = f"{block[0]} × {block[1]} entries a square: the largest" if max(block) > 1 else ""
    axes.set_title(", ".join(filter(None, (name, scale))), loc="left", fontsize=8)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, integer=True, min_n_ticks=1))
    if not name:
        axes.set(xlabel="cell", ylabel="measured query")
    return image


def coarsened(matrix: Array) -> tuple[Array, tuple[int, int]]:
    """The matrix with at most ``MOST_PIXELS`` a side, and the size of a block, down and across.

    Each block is replaced by its entry largest in magnitude.
    """
    down, across = (math.ceil(size / MOST_PIXELS) for size in matrix.shape)
    padded = np.pad(matrix, [(0, -size % by) for size, by in zip(matrix.shape, (down, across), strict=True)])
    blocks = padded.reshape(padded.shape[0] // down, down, padded.shape[1] // across, across)
    high, low = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    return np.where(high >= -low, high, low), (down, across)


def profile_of_cells(strategy: StrategyForm, title: str = "") -> Figure:
    """The privacy profile: the squared length of each column, in the order of the cells.

    A strategy by component has one length for each orbit of cells, drawn as wide as the orbit has cells.
    """
    costs, sizes = levels(strategy.profile)
    where = "cell"
    if isinstance(strategy.profile, Level):
        where, order = "cells, by orbit, dearest first", np.argsort(-costs, kind="stable")
        costs, sizes = costs[order], sizes[order]
    figure = empty_figure(7.0, 3.4)
    axes = figure.add_subplot()
    ends, highest = np.concatenate([[0.0], np.cumsum(sizes)]), float(costs.max())
    axes.stairs(costs, ends, color=COLOURS[0], fill=True, alpha=0.35)
    axes.stairs(costs, ends, color=COLOURS[0], linewidth=1.4)
    axes.axhline(highest, color="0.4", linewidth=1.0, linestyle=":")
    axes.set(xlabel=where, ylabel="squared column length", xlim=(0, ends[-1]), ylim=(0, 1.1 * highest or 1.0))
    plainly(axes, titled(title, "privacy profile for noise of variance 1"))
    return on_its_page(figure)


def error_figure(
    strategy: StrategyForm, workload: Workload, title: str = "", bound: float | None = None
) -> Figure:
    """Standard error of each query at unit noise per unit of sensitivity, beside baselines of the same norm.

    bound : on the total error of all strategies: a line at √(bound / m), below which no root mean square can
        be. It is drawn where that follows: all weights are 1, the noise is Gaussian, and neighbours differ
        by a row. Baselines, too, are drawn for such neighbours alone.

    Raises
    ------
    TooLargeError : more queries than fit in memory.
    """
    figure = empty_figure(7.5, 4.0)
    axes = figure.add_subplot()
    curves = [
        (f"{name}: rms {rounded(float(np.sqrt(np.mean(np.square(errors)))), 4, up=True)}", errors)
        for name, errors in error_curves(strategy, workload, title or "strategy").items()
    ]
    subject = f"Errors: {NOISE_NAMES[strategy.norm]} noise of variance 1 per unit of sensitivity"
    queries = np.arange(workload.m)
    draw_by_query(axes, ((label, queries, errors) for label, errors in curves), subject, "standard error")
    is_plain = strategy.neighbours == ADD_REMOVE  # as baselines and the bound are
    if bound is not None and is_plain and strategy.norm == 2 and (workload.weights == 1.0).all():
        least = math.sqrt(max(bound, 0.0) / workload.m)
        label = f"least rms of any strategy: {rounded(least, 4, up=False)} or more"
        axes.axhline(least, color="0.2", linewidth=1.0, linestyle=(0, (1, 2)), label=label)
    figure.legend(loc="outside lower left", frameon=False, fontsize=8)
    return on_its_page(figure)


def error_curves(strategy: StrategyForm, workload: Workload, name: str) -> dict[str, Array]:
    """Standard errors (m,) of the queries at unit noise per unit of sensitivity, by name.

    For the strategy and, where neighbours differ by a row, for the baselines that determine the answers and
    fit in memory. A strategy with the name of a baseline gets another one.
    """
    compared = {f"strategy of '{name}'" if name in BASELINES else name: strategy}
    for other in BASELINES if strategy.neighbours == ADD_REMOVE else ():
        with suppress(TooLargeError):
            if (one := baseline_strategy(other, workload, strategy.norm)).supports(workload):
                compared[other] = one
    return {key: one.sensitivity * np.sqrt(one.variances(workload)) for key, one in compared.items()}


GROUPS_NAMED = 12  # in the legend


def accuracy_figure(plan: Plan, confidence: float, title: str = "") -> Figure:
    """Half widths by query, in the order of the workload; the requested ones as a dotted line.

    OptionError where matplotlib is not installed.
    """
    need_matplotlib()
    errors = accuracy_figures(plan, confidence)
    parts = [(name, np.arange(part.start, part.stop)) for name, part in plan.workload.groups()]
    unit, spent = plan.spent
    figure = empty_figure(8.0, 4.0)
    axes = figure.add_subplot()
    lines = (
        (name if number < GROUPS_NAMED else None, queries, errors["half_width"][queries])
        for number, (name, queries) in enumerate(parts)
    )
    noise = f"{plan.law.name} noise, {unit} {rounded(str(spent), 4, up=True)}"
    draw_by_query(axes, lines, titled(title, noise), f"± counts at {percent(confidence)}")
    if "within" in errors and np.isfinite(wishes := errors["within"]).any():
        for number, (_, queries) in enumerate(parts):
            axes.plot(queries, wishes[queries], **{**stroke(number, 0, 1.0), "linestyle": ":"})
        axes.plot([], [], color="0.4", linestyle=":", label="target")
    figure.legend(loc="outside lower left", frameon=False, fontsize=8)
    return on_its_page(figure)


PANELS = 8  # most groups that are drawn; the title says how many are not
LABELS = 30  # answers of a group up to which each has its label
MARKS = 400  # answers of a line up to which each has its error bar; more are a band
BANDS = 500  # most places of a band: each spans the intervals of its answers
LINES = 6  # most values of a second attribute, each in another colour
OFF_SCALE = 2  # most answers that have no place on the scale, which are written below it
LONGEST_LABEL, LABEL_WIDTH = 120, 32  # characters of a label, and of a line of it beside an axis

# The mark of a refined answer.
REFINED: dict[str, Any] = {
    "marker": "D",
    "linestyle": "none",
    "markerfacecolor": "none",
    "color": "black",
    "markersize": 5,
}

Column = npt.NDArray[Any]


class _ValueScale(NamedTuple):
    """Answers on a scale of values: its name, the rows (k,) of the frame, their places on the scale (k,)."""

    name: str
    rows: Column
    places: Column


class _Scale(NamedTuple):
    """A group whose queries are ranges of one attribute, for each of a few values of another one, ``by``.

    off_scale : rows of the frame that have no place on the scale.
    """

    attribute: str
    by: str
    lines: list[_ValueScale]
    off_scale: list[int]


def release_figure(frame: Frame, title: str = "") -> Figure:
    """The answers of an ``answers_frame`` with their intervals.

    Ranges of one attribute are drawn at its values: bins at their middle, prefixes at their upper ends. Other
    queries are drawn in their order, with labels where there are few; many are a line in a band that holds
    all their intervals. Refined answers are diamonds, but not in a band. A warning above marks simulated
    answers. OptionError where matplotlib is not installed.
    """
    need_matplotlib()
    groups = answer_groups(frame)
    drawn = [(name, part, _scale(frame, part)) for name, part in groups[:PANELS]]
    heights = [_height(frame, part, scale) for _, part, scale in drawn]
    figure = empty_figure(8.0, 0.8 + sum(heights))
    panels = figure.subplots(len(drawn), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (name, part, scale) in zip(panels, drawn, strict=True):
        plainly(axes, _short(name))
        if scale is not None:
            _draw_on_scale(axes, frame, scale)
        elif part.stop - part.start <= LABELS:
            _draw_labelled(axes, frame, part)
        else:
            queries = np.arange(part.start, part.stop)
            _draw_row(axes, frame, queries, queries - part.start, 0, joined=False)
            axes.set(xlabel="queries in their order", ylabel="answer")
    words = [
        title,
        f"answers with {percent(frame.metadata['confidence'])} intervals, each query alone",
        "diamonds: refined" if "refined" in frame.metadata else "",
        f"{counted(len(groups) - PANELS, 'more group')} not drawn" if len(groups) > PANELS else "",
    ]
    warning = frame.metadata.get("warning", "")
    above = "\n".join(filter(None, (warning, "; ".join(filter(None, words)))))
    figure.suptitle(above, x=0.01, ha="left", fontsize=10, color="#B00000" if warning else "black")
    return on_its_page(figure)


def _height(frame: Frame, part: slice, scale: _Scale | None) -> float:
    """The height of a panel, in inches: rows of text for each label, as many for all."""
    if scale is not None or part.stop - part.start > LABELS:
        return 2.6
    rows = [_short(label, LABEL_WIDTH).count("\n") + 1 for label in frame["label"][part]]
    return 0.7 + 0.21 * len(rows) * max(rows)


def _scale(frame: Frame, part: slice) -> _Scale | None:
    """A scale for a group, rows ``part``, whose queries are ranges of one attribute; None for another group.

    The ranges of each line start together (prefixes), or follow each other without overlap (bins).
    """
    inner = frame.names[frame.names.index("label") + 1 : frame.names.index("estimate")]
    varying = [name for name in inner if frame[name].dtype == object and len(set(frame[name][part])) > 1]
    ranged = [name for name in varying if _ends(frame, inner, name)]
    others = [name for name in varying if name not in ranged]
    if len(ranged) != 1 or len(others) > 1:
        return None
    low, high = (_as_floats(frame[name]) for name in _ends(frame, inner, ranged[0]))
    rows = np.arange(part.start, part.stop)
    usable = np.isfinite(low[rows]) & np.isfinite(high[rows])
    off_scale = rows[~usable].tolist()
    names = frame[others[0]] if others else np.full(len(frame), None, dtype=object)
    values = list(dict.fromkeys(names[rows].tolist()))
    if len(off_scale) > OFF_SCALE or len(values) > LINES or usable.sum() < 2:
        return None
    lines = []
    for value in values:
        line = rows[usable & np.array([names[row] == value for row in rows])]
        is_prefix, is_bins = len(set(low[line])) == 1, bool((low[line][1:] >= high[line][:-1]).all())
        if not (is_prefix or is_bins) or (len(set(high[line])) < len(line)):
            return None
        # A bin from a whole number to the next stands at the first, the one that it holds.
        middle = (low + high - ((high - low == 1) & (low % 1 == 0))) / 2
        places = high[line] if is_prefix and not is_bins else middle[line]
        name = "all" if value is None else _short(str(value))
        lines.append(_ValueScale(name, line, _as_dates(places, frame, ranged[0])))
    return _Scale(ranged[0], "".join(others), lines, off_scale)


def _ends(frame: Frame, inner: tuple[str, ...], attribute: str) -> tuple[str, ...]:
    """The columns of the lower and upper ends of an attribute of bins; none for any other attribute.

    inner : the names of the columns about attributes. The ends are the two after that of the attribute.
    """
    ends = inner[inner.index(attribute) + 1 :][:2]
    return ends if len(ends) == 2 and all(frame[name].dtype != object for name in ends) else ()


def _as_floats(values: Column) -> Column:
    """Dates as numbers of days, missing ones as NaN."""
    days = values.astype("datetime64[D]") if values.dtype.kind == "M" else None
    return values if days is None else np.where(np.isnat(days), np.nan, days.astype(np.float64))


def _as_dates(places: Column, frame: Frame, attribute: str) -> Column:
    """Days as dates again, to the hour, where the attribute's ends are dates."""
    ends = frame[frame.names[frame.names.index(attribute) + 1]]
    return np.round(24 * places).astype("datetime64[h]") if ends.dtype.kind == "M" else places


def _draw_on_scale(axes: Axes, frame: Frame, scale: _Scale) -> None:
    """A line of answers over the values of the attribute, for each value of the other; the rest in words."""
    for number, line in enumerate(scale.lines):
        _draw_row(axes, frame, line.rows, line.places, number, line.name)
    axes.set(xlabel=_short(scale.attribute), ylabel="answer")
    if len(scale.lines) > 1:
        axes.legend(
            title=_short(scale.by),
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            alignment="left",
            frameon=False,
            fontsize=8,
            title_fontsize=8,
        )
    if scale.off_scale:
        answers = "; ".join(_in_words(frame, row) for row in scale.off_scale)
        axes.set_xlabel(f"{_short(scale.attribute)}\nnot on this scale: {answers}")


def _in_words(frame: Frame, row: int) -> str:
    """An answer with its label and its interval."""
    places = decimals(float(frame["standard_error"][row]))
    answer = f"{frame['estimate'][row]:,.{places}f} {interval(frame, row, places)}"
    return f"{_short(frame['label'][row])}: {answer}"


def _draw_labelled(axes: Axes, frame: Frame, part: slice) -> None:
    """A line of text for each answer, the first on top."""
    rows = np.arange(part.start, part.stop)
    places = np.arange(len(rows))
    low, middle, high = (frame[name][rows] for name in ("low", "estimate", "high"))
    bars = np.maximum([middle - low, high - middle], 0.0)
    axes.errorbar(
        middle, places, xerr=bars, fmt="o", color=COLOURS[0], markersize=4, capsize=2, linewidth=1.2
    )
    if "refined" in frame.metadata:
        axes.plot(frame["refined"][rows], places, **REFINED)
    axes.set_yticks(places, [_short(label, LABEL_WIDTH) for label in frame["label"][rows]])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("answer")


def _draw_row(
    axes: Axes,
    frame: Frame,
    rows: Column,
    places: Column,
    number: int,
    name: str | None = None,
    *,
    joined: bool = True,
) -> None:
    """Draw answers (k,) at places (k,): each with its bar, joined if ``joined``; many as a band."""
    colour = COLOURS[number % len(COLOURS)]
    low, middle, high = (frame[name][rows] for name in ("low", "estimate", "high"))
    if len(rows) <= MARKS:
        bars = np.maximum([middle - low, high - middle], 0.0)
        size = 4 if len(rows) <= FEW_QUERIES else 2
        style: dict[str, Any] = {"markersize": size, "capsize": size / 2, "elinewidth": 1.0, "linewidth": 0.6}
        axes.errorbar(
            places, middle, yerr=bars, fmt="o-" if joined else "o", color=colour, label=name, **style
        )
        if "refined" in frame.metadata:
            axes.plot(places, frame["refined"][rows], **{**REFINED, "markersize": size + 1})
        return
    starts = np.unique(np.linspace(0, len(rows), min(BANDS, len(rows)), endpoint=False).astype(np.int64))
    lowest, highest = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    axes.fill_between(places[starts], lowest, highest, step="post", color=colour, alpha=0.3, linewidth=0)
    mean = np.add.reduceat(middle, starts) / np.diff([*starts, len(rows)])
    axes.plot(places[starts], mean, drawstyle="steps-post", color=colour, linewidth=0.9, label=name)


def _short(text: str, width: int = LONGEST_LABEL) -> str:
    """Lines of this width of at most ``LONGEST_LABEL`` characters, the begin and the end of a longer text."""
    line, half = " ".join(text.split()), LONGEST_LABEL // 2
    return textwrap.fill(line if len(line) <= LONGEST_LABEL else f"{line[: half - 1]}…{line[-half:]}", width)
