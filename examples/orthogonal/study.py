"""Figures 1 to 3 of Huang et al. (CIKM 2013): random queries, the orthogonal mechanism and its rivals.

python examples/orthogonal/study.py              the paper's sizes, what can be computed in seconds there
python examples/orthogonal/study.py --small      few queries over 16 cells, with the searches as well
python examples/orthogonal/study.py --low-rank   the low-rank search at sizes of the paper, one draw each
python examples/orthogonal/study.py --draws 20   as often as the paper drew

A figure is the mean of the draws, with their standard deviation. A query has each of its n weights uniform on
(0, 1) with chance `density` (the paper's τ), and 0 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cache

import numpy as np
from orthogonal_mechanism import orthogonal

from mmopt import Strategy, Workload, solve
from mmopt.testing.problem_registry import singular_value_bound

DENSITIES = (0.2, 0.4, 0.8)
EPSILON = 1.0
FIGURE_1 = (0.2, 0.4, 0.8, 1.6)  # values of ε; every error is proportional to 1/ε²
FIGURE_2 = (50, 100, 150, 200, 250, 300)  # m, over n = 1000
FIGURE_3 = (500, 1000, 1500, 2000, 2500)  # n, with m = 200
LOW_RANK = ((50, 500), (50, 1000), (100, 500))  # m, n
# Coarser than by default: half a minute to two minutes for a search, not three to five times as long.
COARSE = {"precision": 1e-2, "cells": 0}  # cells = 0: what the search finds, even above noise on the cells


def draw(m: int, n: int, density: float, rng: np.random.Generator) -> Workload:
    """The paper's workload; a query that comes out empty is drawn again."""
    rows = rng.random((m, n)) * (rng.random((m, n)) < density)
    while not (full := rows.any(axis=1)).all():
        rows[~full] = rng.random((int((~full).sum()), n)) * (rng.random((int((~full).sum()), n)) < density)
    return Workload.from_matrix(rows)


def searched(program: str) -> Callable[[Workload], float]:
    return lambda w: solve(w, program).error


Column = tuple[str, Callable[[Workload], float]]
CLOSED: tuple[Column, ...] = (
    ("orthogonal", lambda w: orthogonal(w).total_error),
    # Laplace noise on each query: m S(W)².
    ("Laplace", lambda w: w.m * Strategy(w.matrix, norm=1).sensitivity ** 2),
    # The eigen-queries by the roots of their singular values, scaled for Laplace noise (PODS 2010, 5.25).
    (
        "spectral",
        lambda w: Strategy(w.eigenvalues[:, None] ** 0.25 * w.eigenqueries, norm=1).total_error(w),
    ),
    ("bound", singular_value_bound),  # no strategy is below it
)
SEARCHED: tuple[Column, ...] = (
    ("weighted eigen", searched("laplace_weighting")),
    ("low rank", searched("low_rank")),
    ("p-identity", searched("p_identity")),
)


@cache
def errors(
    m: int, n: int, density: float, columns: tuple[Column, ...], draws: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Mean squared error of a query, 2 (total error) / (m ε²); a row for each draw."""
    rng = np.random.default_rng([m, n, round(100 * density)])
    found = [[error(w) for _, error in columns] for w in (draw(m, n, density, rng) for _ in range(draws))]
    return np.asarray(2 * np.array(found) / (m * EPSILON**2))


def told(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Mean and, of several draws, standard deviation."""
    spread = f" ± {values.std(ddof=1):,.1f}" if len(values) > 1 else ""
    return f" {values.mean():,.1f}{spread} |"


def table(title: str, sizes: list[tuple[int, int]], columns: tuple[Column, ...], draws: int) -> None:
    print(f"\n## {title}\n")
    print("| density | m | n |" + "".join(f" {name} |" for name, _ in columns) + " least |")
    print("|---:|---:|---:|" + "---:|" * len(columns) + "---|")
    for density in DENSITIES:
        for m, n in sizes:
            found = errors(m, n, density, columns, draws)
            rivals = [i for i, (name, _) in enumerate(columns) if name != "bound"]
            least = {columns[min(rivals, key=own.__getitem__)][0]: None for own in found}
            numbers = "".join(map(told, found.T))
            print(f"| {density} | {m} | {n} |{numbers} {' or '.join(least)} |", flush=True)


def full(draws: int) -> None:
    table("Figure 2: number of queries", [(m, 1000) for m in FIGURE_2], CLOSED, draws)
    table("Figure 3: number of cells", [(200, n) for n in FIGURE_3], CLOSED, draws)
    print("\n## Figure 1: ε\n")
    print("m = 200, n = 1000. Every error is that of Figure 2 divided by ε².\n")
    print("| density | ε |" + "".join(f" {name} |" for name, _ in CLOSED))
    print("|---:|---:|" + "---:|" * len(CLOSED))
    for density in DENSITIES:
        values = errors(200, 1000, density, CLOSED, draws)
        for epsilon in FIGURE_1:
            print(f"| {density} | {epsilon} |" + "".join(told(own / epsilon**2) for own in values.T))


def small(draws: int) -> None:
    sizes = [(4, 16), (8, 16), (16, 16)]
    table("Small workloads, with the searches", sizes, CLOSED[:3] + SEARCHED + CLOSED[3:], draws)


def low_rank(draws: int) -> None:
    """A quarter of an hour. Cells used by the same queries could be merged first; here are none."""
    columns = (
        *CLOSED[:2],
        # The search alone, from the eigen-queries, with 1.2 times as many rows as the rank.
        (
            "low rank, from eigen-queries",
            lambda w: solve(w, "low_rank", givens=COARSE, tolerance=1e-3).error,
        ),
        # The same, from the queries themselves, as many rows as there are.
        (
            "low rank, from the queries",
            lambda w: solve(w, "low_rank", givens={**COARSE, "S": w.matrix}, tolerance=1e-3).error,
        ),
        *CLOSED[3:],
    )
    table("The low-rank search", list(LOW_RANK), columns, draws)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Figures 1 to 3 of Huang et al., CIKM 2013")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--small", action="store_true", help="few queries over 16 cells, with the searches")
    which.add_argument("--low-rank", action="store_true", help="the low-rank search at sizes of the paper")
    parser.add_argument(
        "--draws", type=int, help="workloads per setting (the paper: 20). Default: 3; with a search 1"
    )
    chosen = parser.parse_args(arguments)
    if chosen.draws is not None and chosen.draws < 1:
        parser.error(f"--draws is {chosen.draws}, expected at least 1")
    study = low_rank if chosen.low_rank else small if chosen.small else full
    study(chosen.draws or (3 if study is full else 1))


if __name__ == "__main__":
    main(sys.argv[1:])
