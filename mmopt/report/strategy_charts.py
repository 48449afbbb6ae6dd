"""Charts of a strategy: its entries as a heat map, the cost of each cell, the error of each query."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from mmopt.errors import TooLargeError, whole
from mmopt.numerics.arrays import Array, rounded
from mmopt.numerics.component_arrays import Level
from mmopt.report.chart_parts import COLOURS, draw_by_query, empty_figure, on_its_page, plainly, titled
from mmopt.results.solution_rows_and_json import levels
from mmopt.strategies import ADD_REMOVE, ComponentStrategy, StrategyForm
from mmopt.strategies.baselines import NOISE_NAMES, baseline_strategy
from mmopt.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    figure.colorbar(images[0], ax=list(panels), label="entry, at unit noise", shrink=0.8)
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
    plainly(axes, titled(title, "privacy profile at unit noise"))
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
    subject = f"Errors at unit noise: {NOISE_NAMES[strategy.norm]}, of variance 1 per unit of sensitivity"
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
