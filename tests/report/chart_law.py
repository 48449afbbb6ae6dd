"""The law of charts: what may be wrong with a figure, whatever it shows."""

import itertools
from typing import Any

import numpy as np

WHOLE = ("query, in the order of the workload", "queries in their order", "iterations", "cell", "age")
SLACK = 0.02  # inches


def faults(figure: Any) -> list[str]:
    """List what lies off the page or over a panel, ticks that overlap, and counts at no whole number."""
    figure.draw_without_rendering()
    found = []
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    if min(box.x0, box.y0, width - box.x1, height - box.y1) < -SLACK:
        found.append(f"off the page: {box} of {width:.2f} by {height:.2f}")
    of_panels = [axes.get_legend() for axes in figure.axes if axes.get_legend() is not None]
    for legend in [*figure.legends, *of_panels]:
        one = legend.get_window_extent()
        for axes in figure.axes:
            other = axes.bbox
            across = min(one.x1, other.x1) - max(one.x0, other.x0)
            if min(across, min(one.y1, other.y1) - max(one.y0, other.y0)) > 1:
                found.append(f"over a panel: legend {one} over {other}")
    for axes in figure.axes:
        for axis, label in ((axes.xaxis, axes.get_xlabel()), (axes.yaxis, axes.get_ylabel())):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            places = np.array([tick.get_loc() for tick in ticks])
            if label.split("\n")[0] in (*WHOLE, "measured query") and (places % 1).any():
                found.append(f"no whole number: {places} of {label}")
            boxes = [tick.label1.get_window_extent() for tick in ticks if tick.label1.get_text()]
            ends = sorted((b.x0, b.x1) if axis is axes.xaxis else (b.y0, b.y1) for b in boxes)
            if any(after[0] < before[1] - 1 for before, after in itertools.pairwise(ends)):
                found.append(f"ticks overlap: {[tick.label1.get_text() for tick in ticks]}")
    return found
