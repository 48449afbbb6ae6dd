"""Performance profiles: how many instances each solver has solved within a factor of the quickest one.

Source: Dolan & Moré, Benchmarking optimization software with performance profiles, Mathematical Programming
2002.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mmopt.errors import OptionError, counted
from mmopt.numerics.arrays import Array
from mmopt.report.chart_parts import (
    MARKERS,
    empty_figure,
    entry,
    logarithmic,
    need_matplotlib,
    on_its_page,
    plainly,
    stroke,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    lengths = set(map(len, seconds.values()))
    if len(lengths) != 1 or 0 in lengths:
        given = ", ".join(f"{name} {len(times)}" for name, times in seconds.items()) or "no solver"
        raise OptionError(
            f"a profile needs a time of every solver for every instance, not: {given}",
            hint="a solver that failed on an instance has infinity there",
        )
    wrong = next(((name, t) for name, times in seconds.items() for t in times if not t > 0), None)
    if wrong is not None:
        raise OptionError(f"a time is a positive number of seconds, but one of '{wrong[0]}' is {wrong[1]}")
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


def profile_figure(accuracies: Mapping[str, Seconds], title: str = "") -> "Figure":
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
    from matplotlib.ticker import PercentFormatter

    profiles = {words: performance_profile(seconds) for words, seconds in accuracies.items()}
    solvers = list(dict.fromkeys(name for profile in profiles.values() for name in profile))
    end = BEYOND * max(
        LEAST_RIGHT_END, *(places[-1] for profile in profiles.values() for places, _ in profile.values())
    )
    columns = max(1, min(MOST_COLUMNS, WIDEST // (max(map(len, solvers)) + 8)))
    figure = empty_figure(6.0, 0.9 + PANEL_HEIGHT * len(profiles))
    panels = figure.subplots(len(profiles), 1, squeeze=False, sharex=True)[:, 0]
    # Dashes shift by one when marks are used up: 32 lines differ without colour.
    strokes = [stroke(number, number + number // len(MARKERS), 1.5) for number in range(len(solvers))]
    marks = [{"marker": MARKERS[number % len(MARKERS)], "markersize": 5} for number in range(len(solvers))]
    for axes, (words, profile) in zip(panels, profiles.items(), strict=True):
        for name, (places, shares) in profile.items():
            number = solvers.index(name)
            marked = end ** ((np.arange(MARKS) * len(solvers) + number + 1) / (MARKS * len(solvers) + 1))
            heights = shares[np.searchsorted(places, marked, side="right") - 1]
            across, up = np.append(places, end), np.append(shares, shares[-1])
            axes.plot(across, up, drawstyle="steps-post", **strokes[number])
            axes.plot(marked, heights, **{**strokes[number], **marks[number], "linestyle": "none"})
        axes.set(xlim=(1.0, end), ylim=(-0.03, 1.03))
        logarithmic(axes)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        plainly(axes, f"{words}: {counted(len(next(iter(accuracies[words].values()))), 'instance')}")
    panels[-1].set_xlabel("factor to the quickest solver of the instance")
    figure.supylabel("share of the instances solved", fontsize=9)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    handles = [entry(name, **strokes[number], **marks[number]) for number, name in enumerate(solvers)]
    figure.legend(handles=handles, loc="outside lower center", frameon=False, fontsize=8, ncols=columns)
    return on_its_page(figure)
