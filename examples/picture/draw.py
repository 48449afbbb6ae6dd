"""Draw the picture of the README: ``python examples/picture/draw.py`` (needs matplotlib).

64 cumulative counts, the best strategy for them, and the standard error of each answer for four
ways of adding noise at the same privacy (unit noise at sensitivity 1).
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import mmopt
from mmopt.strategies import normalise

CELLS = 64
TICKS = (1, 16, 32, 48, 64)


def main() -> None:
    workload = mmopt.Workload.from_matrix(np.tri(CELLS), targets=np.ones(CELLS))
    best = mmopt.solve(workload, "l2_strategy", solver="scs")
    fitness = mmopt.solve(workload, "fitness_for_use", solver="scs")
    strategies = {
        "the queries themselves": normalise(mmopt.Strategy(np.tri(CELLS))),
        "every cell by itself": mmopt.Strategy(np.eye(CELLS)),
        f"l2_strategy (gap {best.gap:.0e})": best.strategy,
        f"fitness_for_use, equal targets (gap {fitness.gap:.0e})": normalise(fitness.strategy),
    }
    plt.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "mmopt"})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.4), width_ratios=(1, 1, 1.5))
    # Of the estimates of all cells: its inverse root is the symmetric form of the strategy.
    covariance = best.strategy.covariance(np.eye(CELLS))
    for axes, matrix, title in (
        (left, np.tri(CELLS), "workload: at most i"),
        (middle, mmopt.Strategy.from_covariance(covariance, np.eye(CELLS)).matrix, "strategy"),
    ):
        limit = np.abs(matrix).max()
        axes.imshow(matrix, cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
        axes.set(title=title, xlabel="cell", xticks=[i - 1 for i in TICKS], yticks=[i - 1 for i in TICKS])
        axes.set(xticklabels=TICKS, yticklabels=TICKS)
    left.set_ylabel("query")
    for (name, strategy), style in zip(strategies.items(), (":", "-.", "-", "--"), strict=True):
        errors = strategy.sensitivity * np.sqrt(strategy.variances(workload))
        right.plot(np.arange(1, CELLS + 1), errors, style, label=name)
    right.set(title="standard error of each answer", xlabel="query", xticks=TICKS, ylim=(0, None))
    right.legend(frameon=False, fontsize=8, loc=(0.38, 0.31))
    right.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("prefix.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
