"""Charts of a strategy: its entries as a heat map, what each cell costs, and the error of each query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.errors import TooLargeError, whole
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.numerics.split_arrays import Level
from mmopt.report.charts import COLOURS, empty_figure, plainly, stroke
from mmopt.results.rows_and_json import levels
from mmopt.strategies import ADD_REMOVE, ComponentStrategy, StrategyForm
from mmopt.strategies.baselines import baseline_strategy
from mmopt.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["entries", "error_curves", "error_figure", "heat_map", "profile_of_cells"]

MOST_PIXELS = 256  # of a heat map, a side: what is larger is coarsened
MOST_PANELS = 9  # components with a picture of their own
MOST_DENSE = 2048  # rows and columns up to which a structured strategy is drawn as its matrix
BASELINES = ("identity", "workload")


def heat_map(strategy: StrategyForm, title: str = "") -> Figure:
    """The entries of a strategy, zero in white, below 0 and above in two colours.

    A large matrix is coarsened: the title says how many entries are one square, which shows the one of them
    largest in magnitude. A strategy by component has a panel for each, the largest ``MOST_PANELS`` of them.

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
    images = [_draw(axes, name, matrix, largest) for axes, (name, matrix) in panels]
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


def _draw(axes: Axes, name: str, matrix: Array, largest: float) -> Any:
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
    said = f"{block[0]} × {block[1]} entries a square: the largest" if max(block) > 1 else ""
    axes.set_title(", ".join(filter(None, (name, said))), loc="left", fontsize=8)
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    if not name:
        axes.set(xlabel="cell", ylabel="measured query")
    return image


def coarsened(matrix: Array) -> tuple[Array, tuple[int, int]]:
    """The matrix, at most ``MOST_PIXELS`` a side, and how many entries, down and across, are one of it.

    One shows the entry largest in magnitude of its block.
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

    A strategy by component has one length an orbit of cells, drawn as wide as its orbit has cells.
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
    said = "privacy profile at unit noise"
    plainly(axes, f"{title}: {said}" if title else said)
    return figure


def error_figure(
    strategy: StrategyForm, workload: Workload, title: str = "", bound: float | None = None
) -> Figure:
    """Standard error of each query at unit noise per unit of sensitivity, beside baselines of the same norm.

    bound : on total error, over all strategies: a line at √(bound / m), below which no root mean square
        can be. Drawn where it is a bound on that: all weights are 1, the noise is
        Gaussian, and neighbours differ by a row. Baselines too are drawn for such neighbours alone.

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
    """By name (m,) the standard errors of the queries at unit noise per unit of sensitivity.

    Of the strategy and, where neighbours differ by a row, of the baselines that tell the answers and fit in
    memory. A strategy that has the name of a baseline is told apart.
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
