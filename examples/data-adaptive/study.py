"""Error with and without looking at the data, on simulated data. A SIMULATION, NOT A RELEASE.

python examples/data-adaptive/study.py                     256 cells: minutes; prints the page
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
from mechanisms import MECHANISMS
from page import chart, page
from simulated_data import SHAPES, WORKLOADS, drawn, queries

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
    workloads: Sequence[str] = WORKLOADS,
    shapes: Sequence[str] = SHAPES,
    rows: Sequence[int] = ROWS,
    epsilons: Sequence[float] = EPSILONS,
) -> Iterator[Row]:
    """A row for each workload, shape, number of rows, ε and mechanism. All see the same data and queries."""
    for workload, shape, size in itertools.product(workloads, shapes, rows):
        W = queries(workload, cells, np.random.default_rng([cells, 1]))
        seeds = [[cells, SHAPES.index(shape), size, draw] for draw in range(draws)]
        data = [drawn(shape, cells, size, np.random.default_rng(seed)) for seed in seeds]
        for epsilon, mechanism in itertools.product(epsilons, MECHANISMS):
            rngs = [np.random.default_rng([*seed, 7]) for seed in seeds]
            errors = [mechanism.error(W, x, epsilon, rng) for x, rng in zip(data, rngs, strict=True)]
            error = math.sqrt(sum(errors) / draws) / size
            yield Row(workload, shape, cells, size, epsilon, mechanism.name, mechanism.adaptive, draws, error)


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
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="default: all")
    parser.add_argument("--out", type=Path, help="folder for page.md, rows.csv and chart.svg")
    chosen = parser.parse_args(arguments)
    if chosen.cells < 8 or chosen.draws < 1:
        parser.error(f"--cells is {chosen.cells}, --draws {chosen.draws}, expected at least 8 and 1")
    asked = chosen.workloads.split(",")
    if wrong := [name for name in asked if name not in WORKLOADS]:
        parser.error(f"--workloads has '{wrong[0]}', expected some of {', '.join(WORKLOADS)}")
    rows = list(study(chosen.cells, chosen.draws, asked))
    if chosen.out is None:
        print(page(rows))
    else:
        write(chosen.out, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
