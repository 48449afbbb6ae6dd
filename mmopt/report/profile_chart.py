"""Performance profiles: how many instances each solver has solved within a factor of the quickest one.

Source: Dolan & Moré, Benchmarking optimization software with performance profiles, Mathematical Programming
2002.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.split_arrays import Array
from mmopt.report.charts import COLOURS, DASHES, MARKERS, empty_figure, need_matplotlib, plainly, save
from mmopt.report.table_style import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["performance_profile", "profile_figure", "write_profile"]

Seconds = Mapping[str, Sequence[float]]

LEAST_RIGHT_END = 2.0  # factor at which the axis ends at least
BEYOND = 1.15  # the axis goes on after the last step, by this factor
PANEL_HEIGHT = 2.3  # inches
MOST_COLUMNS, WIDEST = 4, 64  # of the legend: columns, and characters in a line
MARKS = 3  # on each line


def performance_profile(seconds: Seconds) -> dict[str, tuple[Array, Array]]:
    """For each solver factors τ (k,), ascending from 1, and the share (k,) of the instances solved within τ.

    The factor is that to the quickest solver of the same instance. An instance that no solver solved counts
    in the shares of all: none of them reaches 1 then.

    Parameters
    ----------
    seconds : by solver, of each instance, in the same order; infinity where it was not solved.

    Raises
    ------
    OptionError : no solver or no instance, lists of different lengths, or a time that is not positive.
    """
    lengths = {name: len(times) for name, times in seconds.items()}
    if not lengths or not all(lengths.values()) or len(set(lengths.values())) > 1:
        said = ", ".join(f"{name} {count}" for name, count in lengths.items()) or "no solver"
        raise OptionError(
            f"a profile needs a time of every solver for every instance, not: {said}",
            hint="a solver that failed on an instance has infinity there",
        )
    for name, times in seconds.items():
        wrong = next((t for t in times if not t > 0), None)
        if wrong is not None:
            raise OptionError(f"a time is a positive number of seconds, but one of '{name}' is {wrong}")
    table = np.array([list(times) for times in seconds.values()], dtype=float)
    quickest = table.min(axis=0)
    factors = table / np.where(np.isfinite(quickest), quickest, 1.0)
    found = {}
    for name, row in zip(seconds, factors, strict=True):
        places, counts = np.unique(row[np.isfinite(row)], return_counts=True)
        if not len(places) or places[0] > 1.0:
            places, counts = np.append(1.0, places), np.append(0, counts)
        found[name] = (places, np.cumsum(counts) / len(row))
    return found


def profile_figure(accuracies: Mapping[str, Seconds], title: str = "") -> Figure:
    """A panel of step curves for each accuracy, one above the other, a line for each solver.

    Lines differ in colour, dashes and marks; no two marks stand at one factor.

    Parameters
    ----------
    accuracies : by what was asked for ("gap 1e-4"), the seconds as ``performance_profile`` takes them. A
        solver has the same line in all panels.

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
    """The dashes go on by one when the marks are used up: 32 lines differ without colour too."""
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
