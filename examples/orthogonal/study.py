"""Figures 1 to 3 of Huang et al. (CIKM 2013): random queries, the orthogonal mechanism and its rivals.

python examples/orthogonal/study.py              the paper's sizes, what can be computed in seconds there
python examples/orthogonal/study.py --small      few queries over 16 cells, with the searches as well
python examples/orthogonal/study.py --draws 20   as often as the paper drew

A query has each of its n weights uniform on (0, 1) with chance `density` (the paper's τ), and 0 otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from mmopt import Strategy, Workload, solve
from mmopt.queries.orthogonal import orthogonal

DENSITIES = (0.2, 0.4, 0.8)
EPSILON = 1.0
FIGURE_1 = (0.2, 0.4, 0.8, 1.6)  # values of ε; every error is proportional to 1/ε²
FIGURE_2 = (50, 100, 150, 200, 250, 300)  # m, over n = 1000
FIGURE_3 = (500, 1000, 1500, 2000, 2500)  # n, with m = 200


def draw(m: int, n: int, density: float, rng: np.random.Generator) -> Workload:
    """The paper's workload; a query that comes out empty is drawn again."""
    rows = rng.random((m, n)) * (rng.random((m, n)) < density)
    while not (full := rows.any(axis=1)).all():
        rows[~full] = rng.random((int((~full).sum()), n)) * (rng.random((int((~full).sum()), n)) < density)
    return Workload.from_matrix(rows)


def laplace(w: Workload) -> float:
    """Laplace noise on each query: m S(W)²."""
    return w.m * Strategy(w.matrix, norm=1).sensitivity ** 2


def bound(w: Workload) -> float:
    """No strategy is below it: the square of the sum of the singular values, over n."""
    return float(np.sqrt(w.eigenvalues).sum() ** 2 / w.n)


def spectral(w: Workload) -> float:
    """The eigen-queries by the roots of their singular values, scaled for Laplace noise (PODS 2010, 5.25)."""
    return Strategy(w.eigenvalues[:, None] ** 0.25 * w.eigenqueries, norm=1).total_error(w)


def searched(program: str) -> Callable[[Workload], float]:
    return lambda w: solve(w, program).error


Column = tuple[str, Callable[[Workload], float]]
CLOSED: tuple[Column, ...] = (
    ("orthogonal", lambda w: orthogonal(w).total_error),
    ("Laplace", laplace),
    ("spectral", spectral),
    ("bound", bound),
)
SEARCHED: tuple[Column, ...] = (
    ("weighted eigen", searched("laplace_weighting")),
    ("low rank", searched("low_rank")),
    ("p-identity", searched("p_identity")),
)


def errors(m: int, n: int, density: float, columns: tuple[Column, ...], draws: int) -> list[float]:
    """Mean squared error of a query, 2 (total error) / (m ε²), averaged over draws."""
    rng = np.random.default_rng([m, n, round(100 * density)])
    found = [[error(w) for _, error in columns] for w in (draw(m, n, density, rng) for _ in range(draws))]
    return [float(v) for v in 2 * np.mean(found, axis=0) / (m * EPSILON**2)]


def table(title: str, sizes: list[tuple[int, int]], columns: tuple[Column, ...], draws: int) -> None:
    print(f"\n## {title}\n")
    print("| density | m | n |" + "".join(f" {name} |" for name, _ in columns) + " least |")
    print("|---:|---:|---:|" + "---:|" * len(columns) + "---|")
    for density in DENSITIES:
        for m, n in sizes:
            values = errors(m, n, density, columns, draws)
            rivals = [(v, name) for v, (name, _) in zip(values, columns, strict=True) if name != "bound"]
            numbers = "".join(f" {v:,.1f} |" for v in values)
            print(f"| {density} | {m} | {n} |{numbers} {min(rivals)[1]} |", flush=True)


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
            print(f"| {density} | {epsilon} |" + "".join(f" {v / epsilon**2:,.1f} |" for v in values))


def small(draws: int) -> None:
    sizes = [(4, 16), (8, 16), (16, 16)]
    table("Small workloads, with the searches", sizes, CLOSED[:3] + SEARCHED + CLOSED[3:], draws)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Figures 1 to 3 of Huang et al., CIKM 2013")
    parser.add_argument("--small", action="store_true", help="few queries over 16 cells, with the searches")
    parser.add_argument("--draws", type=int, default=1, help="workloads per setting (the paper: 20)")
    chosen = parser.parse_args(arguments)
    (small if chosen.small else full)(chosen.draws)


if __name__ == "__main__":
    main(sys.argv[1:])
