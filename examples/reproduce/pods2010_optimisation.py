"""PODS 2010, sections 5.1, 5.3 and 5.4 and appendix D: the rank programs, and completed columns."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from instances import DRAWS, random_strategy, squares
from item import Item, Row, worst

from mmopt import Strategy, Workload, solve
from mmopt.workloads import factors_and_products

__all__ = ["ITEMS"]

GAP = 1e-5
"""Relative: what the objectives of solved programs may be off by."""


def program_5_1(_: np.random.Generator) -> Iterator[Row]:
    """The rank program on prefix sums: no worse than the cells, and bounded by Program 5.2."""
    for n in (2, 3, 4):
        W = np.tri(n)
        s = solve(Workload.from_matrix(W), "min_error")
        yield Row(
            f"prefix sums of {n}, error of the cells", float(squares(W)), s.objective, "<=", GAP, s.bound
        )


def theorem_5_17(rng: np.random.Generator) -> Iterator[Row]:
    """The rank program ends with a strategy, of the error that it states, above the bound."""
    stated, above = [], []
    for _ in range(3):
        workload = Workload.from_matrix(random_strategy(rng, 2))
        s = solve(workload, "min_error")
        A = s.strategy.matrix
        stated.append(
            (
                float(np.abs(A).sum(axis=0).max() ** 2 * np.trace(np.linalg.solve(A.T @ A, workload.gram))),
                s.objective,
            )
        )
        above.append((s.bound or math.nan, s.objective))
    yield worst("‖A‖₁² trace(WᵀW (AᵀA)⁻¹), objective", stated, within=GAP)
    yield worst("least error by Program 5.2, objective", above, ">=")


def theorem_5_27(rng: np.random.Generator) -> Iterator[Row]:
    """More rows are worse for no query; w = q AᵀA with B qᵀ = 0 gains nothing."""
    never: list[tuple[float, float]] = []
    without_gain: list[tuple[float, float]] = []
    for _ in range(DRAWS):
        n = 5
        A, B = random_strategy(rng, n), rng.normal(size=(int(rng.integers(1, n)), n))
        unmoved = np.linalg.svd(B)[2][len(B) :] @ A.T @ A
        for rows, found in ((rng.normal(size=(6, n)), never), (unmoved, without_gain)):
            workload = Workload.from_matrix(rows)
            both = Strategy(A).variances(workload), Strategy(np.vstack([A, B])).variances(workload)
            found += [(float(before), float(after)) for before, after in zip(*both, strict=True)]
    yield worst("profile term before, after", never, "<=")
    yield worst("the same, w in the set", without_gain)


def section_5_3(_: np.random.Generator) -> Iterator[Row]:
    """Printed: a completed column improves every query that uses it. (1, ½) under [[1, ½], [0, ⅕]]."""
    A = np.array([[1.0, 0.5], [0.0, 0.2]])
    completed = np.vstack([A, [0.0, 0.3]])
    query = Workload.from_matrix([[1.0, 0.5]])
    yield Row(
        "sensitivity before, after", Strategy(A, norm=1).sensitivity, Strategy(completed, norm=1).sensitivity
    )
    ratio = float(Strategy(completed).variances(query)[0] / Strategy(A).variances(query)[0])
    yield Row(
        "error after over before, printed as less than 1",
        1 - 1e-6,
        ratio,
        "<=",
        why="the condition is that of Theorem 5.27, not a coefficient in the column",
    )


def program_5_3(_: np.random.Generator) -> Iterator[Row]:
    """The rank program on the two profiles of Figure 4, of which it prints a rotation."""
    for name, A, printed in (
        (
            "H₄",
            factors_and_products.hierarchy(4).matrix(),
            math.sqrt(7 / 4) + math.sqrt(1 / 2) + math.sqrt(3 / 4),
        ),
        ("Y₄", factors_and_products.haar(4).matrix(), 1 + math.sqrt(2)),
    ):
        s = solve(Workload.from_matrix(A), "min_sensitivity")
        yield Row(f"sensitivity of a rotation of {name}, Figure 4", printed, s.objective, "<=", 0.0, s.bound)
        B = s.objective * s.strategy.matrix  # that of a solution has sensitivity 1
        yield Row(f"its profile less that of {name}", 0.0, float(np.abs(B.T @ B - A.T @ A).max()))


def proposition_d_40(rng: np.random.Generator) -> Iterator[Row]:
    """Eigenvalues of A + I and of A⁻¹."""
    shifted, inverse = [], []
    for _ in range(DRAWS):
        A = random_strategy(rng, 4, 4)
        values, vectors = np.linalg.eig(A)
        for value, vector in zip(values, vectors.T, strict=True):
            shifted.append((0.0, float(np.abs((A + np.eye(4)) @ vector - (value + 1) * vector).max())))
            inverse.append((0.0, float(np.abs(np.linalg.solve(A, vector) - vector / value).max())))
    yield worst("(A + I)v less (λ + 1)v", shifted)
    yield worst("A⁻¹v less v/λ", inverse)


NOT_CONVEX = (
    " Whether a strategy is the best is not proved, the problem is not convex: the bound is Program 5.2's."
)

ITEMS = (
    Item(
        "Problem 5.15",
        "Least total error under ε-differential privacy.",
        "explained",
        remark="Program 5.1 states it, and is solved there.",
    ),
    Item(
        "Problem 5.16",
        "Least sensitivity among the strategies of one profile.",
        "explained",
        remark="Program 5.3 states it, and is solved there.",
    ),
    Item(
        "Program 5.1",
        "Problem 5.15 with a rank constraint: program `min_error`.",
        "computed",
        program_5_1,
        seconds=8,
        remark="The paper prints no figures; the error of the cells stands beside ours." + NOT_CONVEX,
    ),
    Item(
        "Theorem 5.17",
        "A solution of Program 5.1 is a strategy of least error.",
        "checked",
        theorem_5_17,
        remark="On two cells." + NOT_CONVEX,
    ),
    Item(
        "Theorem 5.27",
        "Additional rows are worse for no query, and which queries gain nothing.",
        "checked",
        theorem_5_27,
    ),
    Item(
        "Section 5.3",
        "Completing a column improves every query with a coefficient in it.",
        "computed",
        section_5_3,
        errata=("Section 5.3, completing deficient columns",),
    ),
    Item(
        "Program 5.3",
        "Problem 5.16 with a rank constraint: `min_sensitivity`.",
        "computed",
        program_5_3,
        seconds=5,
    ),
    Item(
        "Theorem 5.28",
        "A solution of Program 5.3 has the profile and the least sensitivity.",
        "explained",
        remark="Program 5.3 is solved, and its profile compared. That no rotation has less is not proved; "
        "the bound is the largest L2 norm of a column.",
    ),
    Item("Proposition D.40", "Eigenvalues of A + I and of A⁻¹.", "checked", proposition_d_40),
)
