"""PVLDB 2012, sections 3.4 and 4: how near the eigen-design is to the best strategy, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from instances import DRAWS, random_rotation, random_rows, squares
from item import Item, Row, worst

from mmopt import Strategy, Workload, solve
from mmopt.testing.problem_registry import marginals
from mmopt.workloads import factors_and_products

__all__ = ["ITEMS"]

SOLVED = 6
"""Random workloads on which a program is solved."""
GAP = 1e-5
"""Relative: what the objectives of solved programs may be off by."""


def singular_value_bound(workload: Workload) -> float:
    """SVDB(W), from the eigenvalues of WᵀW."""
    values = np.clip(np.linalg.eigvalsh(workload.gram), 0, None)
    return float(np.sqrt(values).sum() ** 2 / workload.n)


def theorem_2(rng: np.random.Generator) -> Iterator[Row]:
    """The bound is below the least error, and is it where all cells are alike."""
    found = []
    for _ in range(SOLVED):
        w = random_rows(rng, int(rng.integers(2, 7)))
        found.append((singular_value_bound(w), solve(w, "l2_strategy").objective))
    yield worst("SVDB, least total error", found, ">=")
    w = marginals((2, 3, 4), (1, 2))
    s = solve(w, "l2_strategy")
    yield Row("marginals of 2 × 3 × 4: SVDB", singular_value_bound(w), s.objective, "=", GAP, s.bound)


def strategy_a_l(rng: np.random.Generator) -> Iterator[Row]:
    """A_l has the error SVDB with its sensitivity under-estimated: by weights σᵢ^¼, printed √σᵢ."""
    by_power: dict[float, list[tuple[float, float]]] = {0.25: [], 0.5: []}
    for _ in range(DRAWS):
        w = Workload.from_matrix(rng.normal(size=(9, 6)))
        for power, found in by_power.items():
            A = w.eigenvalues[:, None] ** power * w.eigenqueries
            error = float(squares(A)) / 6 * float(Strategy(A).variances(w).sum())
            found.append((singular_value_bound(w), error))
    yield worst("SVDB, weights σᵢ^¼", by_power[0.25])
    row = worst("SVDB, weights √σᵢ as printed", by_power[0.5])
    yield Row(row.label, row.paper, row.ours, why="the weights are the fourth roots")


def theorem_3(rng: np.random.Generator) -> Iterator[Row]:
    """Error of Program 2 over the least, at most (n σ₁/SVDB)^¼."""
    found = []
    for _ in range(SOLVED):
        w = random_rows(rng, int(rng.integers(2, 7)))
        s = solve(w, "eigen_design")
        ratio = (w.n * float(w.eigenvalues[0]) / singular_value_bound(w)) ** 0.25
        found.append((ratio, math.sqrt(s.error / (s.error_bound or math.nan))))
    yield worst("the ratio, error of Program 2 over the proved bound", found, "<=", GAP)


def repeated() -> tuple[float, float]:
    """Errors of Program 2 with two eigenbases, for the identity over six cells and the total of three."""
    w = Workload.from_matrix(np.vstack([np.eye(6), [1, 1, 1, 0, 0, 0]]))
    turned = w.eigenqueries.copy()
    turned[1:] = random_rotation(np.random.default_rng(0), 5) @ turned[1:]  # of the eigenvalue 1
    return solve(w, "eigen_design").objective, solve(w, "eigen_design", givens={"Q": turned}).objective


REPEATED = "with repeated eigenvalues the eigen-queries, and so the result, are not unique"


def proposition_5(rng: np.random.Generator) -> Iterator[Row]:
    """Cells in another order."""
    found = []
    for _ in range(SOLVED):
        W = rng.normal(size=(7, 5))
        errors = [solve(Workload.from_matrix(M), "eigen_design").error for M in (W, W[:, rng.permutation(5)])]
        found.append((errors[0], errors[1]))
    yield worst("error, cells in another order", found, "=", GAP)
    ours, other = repeated()
    yield Row("a repeated eigenvalue: error, with other eigenvectors", ours, other, why=REPEATED)


def proposition_6(rng: np.random.Generator) -> Iterator[Row]:
    """Rotated queries."""
    found = []
    for _ in range(SOLVED):
        W = rng.normal(size=(7, 5))
        errors = [
            solve(Workload.from_matrix(M), "eigen_design").error for M in (W, random_rotation(rng, 7) @ W)
        ]
        found.append((errors[0], errors[1]))
    yield worst("error, queries rotated", found, "=", GAP)
    ours, other = repeated()
    yield Row("a repeated eigenvalue: error, with other eigenvectors", ours, other, why=REPEATED)


def relative_error(_: np.random.Generator) -> Iterator[Row]:
    """Printed: a query's error is proportional to its L2 norm. Deviations under the wavelet of four cells."""
    queries = Workload.from_matrix([[1, 1, 1, 1], [2, 2, 2, 2], [1, -1, 1, -1]])
    total, twice, signs = np.sqrt(Strategy(factors_and_products.haar(4).matrix()).variances(queries))
    yield Row("a multiple of a query, of twice the norm", 2.0, float(twice / total))
    yield Row(
        "another query of the same norm",
        1.0,
        float(signs / total),
        why="only multiples of one query follow the norm",
    )


def rank_of_marginals(_: np.random.Generator) -> Iterator[Row]:
    """The complexities stand on ranks of at most k d for one-way marginals, and (k d)² with two-way ones."""
    for k, d in ((3, 4), (4, 3), (2, 8)):
        for ways, most in (((1,), k * d), ((1, 2), (k * d) ** 2)):
            w = marginals((d,) * k, ways)
            rank = int(np.linalg.matrix_rank(w.gram))
            yield Row(
                f"rank of {'one' if len(ways) == 1 else 'one- and two'}-way marginals, k = {k}, d = {d}",
                float(most),
                rank,
                "<=",
            )


def separation_cost(_: np.random.Generator) -> Iterator[Row]:
    """Groups of g: (n/g) n g³ + n (n/g)³, least at g = (1.5 n²)^⅕, where n^⅓ is printed."""
    n, sizes = 1e6, np.geomspace(1, 1e5, 20001)
    cost = n**2 * sizes**2 + n**4 / sizes**3
    best = float(sizes[cost.argmin()])
    yield Row("best group for n = 10⁶: (1.5 n²)^⅕", (1.5 * n**2) ** 0.2, best, "=", 1e-3)
    yield Row(
        "best group for n = 10⁶: n^⅓", n ** (1 / 3), best, why="n/g groups of n g³ each make n² g², not n² g³"
    )


ITEMS = (
    Item(
        "Theorem 2",
        "The singular value bound (√σ₁ + … + √σₙ)²/n is below the error of every strategy.",
        "checked",
        theorem_2,
    ),
    Item(
        "Section 3.4, A_l",
        "The strategy behind Theorem 2 weighs the eigen-queries by √σᵢ.",
        "checked",
        strategy_a_l,
        errata=("Section 3.4, the strategy A_l behind Theorem 2",),
    ),
    Item("Theorem 3", "Program 2 is within (n σ₁/SVDB)^¼ of the least error.", "checked", theorem_3),
    Item(
        "Proposition 5",
        "Program 2 has the same error when cells are in another order.",
        "checked",
        proposition_5,
        errata=("Propositions 5 and 6 need simple spectra",),
    ),
    Item(
        "Proposition 6",
        "Program 2 has the same error when queries are rotated.",
        "checked",
        proposition_6,
        errata=("Propositions 5 and 6 need simple spectra",),
    ),
    Item(
        "Section 3.4, relative error",
        "The error of a query is proportional to its L2 norm.",
        "computed",
        relative_error,
        errata=("Section 3.4, relative error",),
    ),
    Item(
        "Section 4.1",
        "Ranks of low-order marginals, on which the complexity of Program 2 stands.",
        "computed",
        rank_of_marginals,
        remark="Orders of operations are not compared.",
    ),
    Item(
        "Section 4.2",
        "The best size of a group of eigen-queries.",
        "computed",
        separation_cost,
        errata=("Section 4.2, cost of eigen-query separation",),
    ),
)
