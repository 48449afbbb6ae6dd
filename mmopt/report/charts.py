"""Parts that charts share, performance profiles, and charts of a strategy.

All charts share colours, and dashes and marks that differ without colour, too; and are saved in one way.

A performance profile is the number of instances that each solver has solved within a factor of the quickest
one. Source: Dolan & Moré, Benchmarking optimization software with performance profiles, Mathematical
Programming 2002.

Charts of a strategy are its entries as a heat map, the cost of each cell, and the error of each query.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.errors import OptionError, TooLargeError, counted, whole
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.numerics.split_arrays import Level
from mmopt.resources import write_whole
from mmopt.results.rows_and_json import levels
from mmopt.strategies import ADD_REMOVE, ComponentStrategy, StrategyForm
from mmopt.strategies.baselines import baseline_strategy
from mmopt.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
FORMATS = (".svg", ".png")
# Okabe & Ito's, which are distinct also for readers who do not see red or green; their yellow is too pale.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")  # one for each time that the colours are used up
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def check_chart(path: Path) -> None:
    """OptionError unless the file ends in .svg or .png and matplotlib is installed."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"a chart is written to an .svg or .png file, not to '{path}'")
    need_matplotlib()


def has_matplotlib() -> bool:
    """Whether charts can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """OptionError unless matplotlib is installed."""
    if not has_matplotlib():
        raise OptionError("a chart needs matplotlib, which is not installed", hint="pip install mmopt[chart]")


def save(path: Path, draw: Callable[[], Figure]) -> None:
    """Draw, and write the figure whole or not at all; the same picture is the same file.

    Raises
    ------
    OptionError : as ``check_chart``.
    ResultError : the file cannot be written.
    """
    check_chart(path)
    write_whole(path, picture(draw, path.suffix.lower().removeprefix(".")))


def picture(draw: Callable[[], Figure], kind: str) -> bytes:
    """The bytes of a drawing as ``svg`` or ``png``, without a date."""
    import matplotlib

    with matplotlib.rc_context({"font.size": 9, "svg.fonttype": "path", "svg.hashsalt": "mmopt"}):
        return _drawn(draw(), kind, 150)


def empty_figure(width: float, height: float) -> Figure:
    """A figure of so many inches, which a notebook shows also where pyplot was never imported."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = functools.partial(_drawn, figure, "png", 110)  # type: ignore[attr-defined]
    return figure


def _drawn(figure: Figure, kind: str, dpi: int) -> bytes:
    drawn = io.BytesIO()
    with warnings.catch_warnings():
        # About letters that the font lacks: the chart has boxes there, tables have the text.
        warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(drawn, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    return drawn.getvalue()


def stroke(number: int) -> dict[str, Any]:
    """The style of line number ``number``: a colour, and another dash each time that these are used up."""
    dashes = DASHES[number // len(COLOURS) % len(DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes, "linewidth": 1.4}


def entry(label: str, **style: Any) -> Line2D:
    """An entry of a legend: a line in a style, or with ``linestyle="none"`` words alone."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **style)


def mark(marker: str, label: str, face: str) -> Line2D:
    """An entry of a legend: a marker alone."""
    edge = {"markeredgecolor": "0.3", "markeredgewidth": 1.4}
    return entry(label, linestyle="none", marker=marker, markersize=7, markerfacecolor=face, **edge)


def plainly(axes: Axes, title: str) -> None:
    """A title on the left, a pale grid below everything, no frame above and on the right."""
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(which="major", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


Seconds = Mapping[str, Sequence[float]]

LEAST_RIGHT_END = 2.0  # factor at which the axis ends at least
BEYOND = 1.15  # the axis goes on after the last step, by this factor
PANEL_HEIGHT = 2.3  # inches
MOST_COLUMNS, WIDEST = 4, 64  # columns of the legend, and characters in a line of it
MARKS = 3  # on each line


def performance_profile(seconds: Seconds) -> dict[str, tuple[Array, Array]]:
    """For each solver factors τ (k,), ascending from 1, and the share (k,) of the instances solved within τ.

    The factor is the time over that of the quickest solver of the same instance. An instance that no solver
    solved counts in the shares of all: none of them reaches 1 then.

    Parameters
    ----------
    seconds : by solver, for each instance, in the same order; infinity where it was not solved.

    Raises
    ------
    OptionError : no solver or no instance, lists of different lengths, or a time that is not positive.
    """
    lengths = {name: len(times) for name, times in seconds.items()}
    if not lengths or not all(lengths.values()) or len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} {count}" for name, count in lengths.items()) or "no solver"
        raise OptionError(
            f"a profile needs a time of every solver for every instance, not: {given}",
            hint="a solver that failed on an instance has infinity there",
        )
    for name, times in seconds.items():
        wrong = next((t for t in times if not t > 0), None)
        if wrong is not None:
            raise OptionError(f"a time is a positive number of seconds, but one of '{name}' is {wrong}")
    table = np.array([list(times) for times in seconds.values()], dtype=float)
    quickest = table.min(axis=0)
    factors = table / np.where(np.isfinite(quickest), quickest, 1.0)
    profiles = {}
    for name, row in zip(seconds, factors, strict=True):
        places, counts = np.unique(row[np.isfinite(row)], return_counts=True)
        if not len(places) or places[0] > 1.0:
            places, counts = np.append(1.0, places), np.append(0, counts)
        profiles[name] = (places, np.cumsum(counts) / len(row))
    return profiles


def profile_figure(accuracies: Mapping[str, Seconds], title: str = "") -> Figure:
    """A panel of step curves for each accuracy, one above the other, a line for each solver.

    Lines differ in colour, dashes and marks; no two marks are at one factor.

    Parameters
    ----------
    accuracies : by the accuracy ("gap 1e-4"), the seconds as ``performance_profile`` takes them. A solver has
        the same line in all panels.

    Raises
    ------
    OptionError : as ``performance_profile``; no accuracy; or matplotlib is not installed.
    """
    need_matplotlib()
    if not accuracies:
        raise OptionError("a profile needs the times at one accuracy at least")
    profiles = {words: performance_profile(seconds) for words, seconds in accuracies.items()}
    solvers = list(dict.fromkeys(name for profile in profiles.values() for name in profile))
    steps = [places[-1] for profile in profiles.values() for places, _ in profile.values()]
    end = BEYOND * max(LEAST_RIGHT_END, *steps)
    columns = max(1, min(MOST_COLUMNS, WIDEST // (max(map(len, solvers)) + 8)))
    below = 0.9 + 0.19 * math.ceil(len(solvers) / columns)
    figure = empty_figure(6.0, below + PANEL_HEIGHT * len(profiles))
    panels = figure.subplots(len(profiles), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (words, profile) in zip(panels, profiles.items(), strict=True):
        for name, (places, shares) in profile.items():
            _draw(axes, places, shares, end, solvers.index(name), len(solvers))
        instances = len(next(iter(accuracies[words].values())))
        _dress(axes, f"{words}: {counted(instances, 'instance')}", end)
    panels[-1].set_xlabel("factor to the quickest solver of the instance")
    figure.supylabel("share of the instances solved", fontsize=9)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    handles = [_entry(number, name) for number, name in enumerate(solvers)]
    figure.legend(handles=handles, loc="outside lower center", frameon=False, fontsize=8, ncols=columns)
    return figure


def write_profile(accuracies: Mapping[str, Seconds], path: Path, title: str = "") -> None:
    """Draw ``profile_figure`` into an .svg or .png file, whole or not at all.

    Raises
    ------
    OptionError : as ``profile_figure``, or for another kind of file. ResultError : it cannot be written.
    """
    save(path, lambda: profile_figure(accuracies, title))


def _style(number: int) -> dict[str, Any]:
    """The style of a line; dashes shift by one when marks are used up: 32 lines differ without colour."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[(number + number // len(MARKERS)) % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
        "linewidth": 1.5,
        "markersize": 5,
    }


def _entry(number: int, name: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=name, **_style(number))


def _draw(axes: Axes, places: Array, shares: Array, end: float, number: int, count: int) -> None:
    style = _style(number)
    turns = np.arange(MARKS) * count + number + 1
    marked = end ** (turns / (MARKS * count + 1))
    heights = shares[np.searchsorted(places, marked, side="right") - 1]
    line = {name: value for name, value in style.items() if not name.startswith("mark")}
    across, up = np.append(places, end), np.append(shares, shares[-1])
    axes.plot(across, up, drawstyle="steps-post", **line)
    axes.plot(marked, heights, **{**style, "linestyle": "none"})


def _dress(axes: Axes, title: str, end: float) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

    axes.set(xscale="log", xlim=(1.0, end), ylim=(-0.03, 1.03))
    subs = (1.0, 2.0, 5.0) if end < 200 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plainly(axes, title)


MOST_PIXELS = 256  # a side of a heat map: a larger one is coarsened
MOST_PANELS = 9  # components that have a picture
MOST_DENSE = 2048  # rows and columns up to which a structured strategy is drawn as its matrix
BASELINES = ("identity", "workload")


def heat_map(strategy: StrategyForm, title: str = "") -> Figure:
    """The entries of a strategy, zero in white, below 0 and above in two colours.

    A large matrix is coarsened: a square shows the entry largest in magnitude of its block, whose size is in
    the title. A strategy by component has a panel for each of its ``MOST_PANELS`` largest components.

    Raises
    ------
    TooLargeError : a form other than by component, of more than ``MOST_DENSE`` rows or columns.
    """
    named = _panels(strategy)
    shown = sorted(named, key=lambda one: one[1].size, reverse=True)[:MOST_PANELS]
    across = math.ceil(math.sqrt(len(shown)))
    down = math.ceil(len(shown) / across)
    figure = empty_figure(max(5.5, 2.6 * across), max(4.4, 2.6 * down))
    every = figure.subplots(down, across, squeeze=False).ravel()
    largest = max(float(np.abs(matrix).max(initial=0.0)) for _, matrix in shown) or 1.0
    panels = zip(every, shown, strict=False)
    images = [_draw_entries(axes, name, matrix, largest) for axes, (name, matrix) in panels]
    for axes in every[len(shown) :]:
        axes.set_visible(False)
    figure.colorbar(images[0], ax=list(every), label="entry, at unit noise", shrink=0.8)
    left = len(named) - len(shown)
    size = f"{strategy.p:,} measured queries over {whole(strategy.n)} cells"
    more = f"; the {len(shown)} largest of {len(named)} components" if left else ""
    figure.suptitle(f"{title}: {size}{more}" if title else f"{size}{more}", x=0.02, ha="left", fontsize=10)
    return figure


def _panels(strategy: StrategyForm) -> list[tuple[str, Array]]:
    if isinstance(strategy, ComponentStrategy):
        split = strategy.split
        often = zip(split.parts, split.columns.multiplicities, strict=True)
        return [(f"component {i}, {times:,.0f} times", part) for i, (part, times) in enumerate(often, 1)]
    return [("", entries(strategy))]


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
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    picture, block = coarsened(matrix)
    colours = LinearSegmentedColormap.from_list("signs", [COLOURS[1], "white", COLOURS[0]])
    rows, columns = matrix.shape
    image = axes.imshow(
        picture,
        cmap=colours,
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, picture.shape[1] * block[1] - 0.5, picture.shape[0] * block[0] - 0.5, -0.5),
    )
    scale = f"{block[0]} × {block[1]} entries a square: the largest" if max(block) > 1 else ""
    axes.set_title(", ".join(filter(None, (name, scale))), loc="left", fontsize=8)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    if not name:
        axes.set(xlabel="cell", ylabel="measured query")
    return image


def coarsened(matrix: Array) -> tuple[Array, tuple[int, int]]:
    """The matrix with at most ``MOST_PIXELS`` a side, and the size of a block, down and across.

    Each block is replaced by its entry largest in magnitude.
    """
    down, across = (math.ceil(size / MOST_PIXELS) for size in matrix.shape)
    rows, columns = (math.ceil(size / by) * by for size, by in zip(matrix.shape, (down, across), strict=True))
    padded = np.zeros((rows, columns))
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = padded.reshape(rows // down, down, columns // across, across)
    high, low = blocks.max(axis=(1, 3)), blocks.min(axis=(1, 3))
    return np.where(high >= -low, high, low), (down, across)


def profile_of_cells(strategy: StrategyForm, title: str = "") -> Figure:
    """The privacy profile: the squared length of each column, in the order of the cells.

    A strategy by component has one length for each orbit of cells, drawn as wide as the orbit has cells.
    """
    profile = strategy.profile
    costs, sizes = levels(profile)
    if isinstance(profile, Level):
        order = np.argsort(-costs, kind="stable")
        costs, sizes = costs[order], sizes[order]
    figure = empty_figure(7.0, 3.4)
    axes = figure.add_subplot()
    ends = np.concatenate([[0.0], np.cumsum(sizes)])
    axes.stairs(costs, ends, color=COLOURS[0], fill=True, alpha=0.35)
    axes.stairs(costs, ends, color=COLOURS[0], linewidth=1.4)
    axes.axhline(float(costs.max()), color="0.4", linewidth=1.0, linestyle=":")
    axes.set_ylim(0, 1.1 * float(costs.max()) or 1.0)
    axes.set_xlim(0, ends[-1])
    where = "cells, by orbit, dearest first" if isinstance(profile, Level) else "cell"
    axes.set(xlabel=where, ylabel="squared column length")
    subject = "privacy profile at unit noise"
    plainly(axes, f"{title}: {subject}" if title else subject)
    return figure


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
    from matplotlib.ticker import MaxNLocator

    figure = empty_figure(7.5, 4.0)
    axes = figure.add_subplot()
    is_plain = strategy.neighbours == ADD_REMOVE  # as baselines and the bound are
    for number, (name, errors) in enumerate(error_curves(strategy, workload, title or "strategy").items()):
        rmse = float(np.sqrt(np.mean(np.square(errors))))
        marker = "o" if workload.m <= 60 else ""
        label = f"{name}: rms {rounded(rmse, 4, up=True)}"
        axes.plot(errors, label=label, marker=marker, markersize=3, **stroke(number))
    if bound is not None and is_plain and strategy.norm == 2 and (workload.weights == 1.0).all():
        least = math.sqrt(max(bound, 0.0) / workload.m)
        label = f"least rms of any strategy: {rounded(least, 4, up=False)} or more"
        axes.axhline(least, color="0.2", linewidth=1.0, linestyle=(0, (1, 2)), label=label)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    noise = {1: "Laplace", 2: "Gaussian"}[strategy.norm]
    axes.set(xlabel="query, in the order of the workload", ylabel="standard error")
    plainly(axes, f"Errors at unit noise: {noise}, of variance 1 per unit of sensitivity")
    figure.legend(loc="outside lower left", frameon=False, fontsize=8)
    return figure


def error_curves(strategy: StrategyForm, workload: Workload, name: str) -> dict[str, Array]:
    """Standard errors (m,) of the queries at unit noise per unit of sensitivity, by name.

    For the strategy and, where neighbours differ by a row, for the baselines that determine the answers and
    fit in memory. A strategy with the name of a baseline gets another one.
    """
    compared = {f"strategy of '{name}'" if name in BASELINES else name: strategy}
    if strategy.neighbours == ADD_REMOVE:
        for other in BASELINES:
            try:
                one = baseline_strategy(other, workload, strategy.norm)
            except TooLargeError:
                continue
            if one.supports(workload):
                compared[other] = one
    return {key: one.sensitivity * np.sqrt(one.variances(workload)) for key, one in compared.items()}
