"""PODS 2010, section 5.2 and appendices B and C: other measures of sensitivity, and their optima."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from instances import DRAWS, Array, pairs, random_rotation, random_rows, random_strategy, squares
from item import Item, Row, worst

from mmopt import Strategy, Workload, solve
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_delta, continuous_gaussian_scale
from mmopt.workloads import factors_and_products

__all__ = ["ITEMS"]

SOLVED = 6
"""Random workloads on which a program is solved."""
GAP = 1e-5
"""Relative: what the objectives of solved programs may be off by."""


def program_5_2(rng: np.random.Generator) -> Iterator[Row]:
    """One inequality a query, as printed, against our kernel for the same problem."""
    for n, rows in ((4, np.tri(4)), (8, np.tri(8)), (8, factors_and_products.all_range(8).matrix())):
        workload = Workload.from_matrix(rows)
        kernel, printed = solve(workload, "l2_strategy"), solve(workload, "l2_strategy_lmi")
        name = "prefix sums" if len(rows) == n else "all ranges"
        yield Row(
            f"{name} of {n}, the problem solved directly",
            kernel.objective,
            printed.objective,
            "=",
            GAP,
            printed.bound,
        )
    found = []
    for _ in range(SOLVED):
        workload = random_rows(rng, int(rng.integers(2, 6)))
        found.append((solve(workload, "l2_strategy").objective, solve(workload, "l2_strategy_lmi").objective))
    yield worst("random queries, the problem solved directly", found, within=GAP)


def theorem_5_20(rng: np.random.Generator) -> Iterator[Row]:
    """The L2 optimum is, with Laplace noise, within n of the best: of the least error under any strategy."""
    found = []
    for _ in range(SOLVED):
        n = int(rng.integers(2, 7))
        workload = random_rows(rng, n)
        s = solve(workload, "l2_strategy")
        pure = Strategy(s.strategy.matrix, norm=1).total_error(workload)
        found.append((n * (s.bound or math.nan), pure))  # the bound is below the error of every strategy
    yield worst("n times the least error, Laplace error of the L2 optimum", found, "<=", GAP)


def theorem_5_22(rng: np.random.Generator) -> Iterator[Row]:
    """The exact δ of Gaussian noise of scale ‖W‖₂ √(2 ln(2/δ))/ε."""
    found = []
    for _ in range(DRAWS):
        epsilon, delta = rng.uniform(0.01, 1.0), 10 ** rng.uniform(-8, -1)
        exact = continuous_gaussian_delta(epsilon, epsilon / math.sqrt(2 * math.log(2 / delta)))
        found.append((1.0, exact / delta))
    yield worst("1, exact δ over the δ asked for, ε up to 1", found, "<=")


def section_5_2_1(_: np.random.Generator) -> Iterator[Row]:
    """Printed: going to (ε, δ) always gives better utility. Standard deviations for the identity at ε = 1."""
    yield Row(
        "noise for ε = 1, least noise for (1, 10⁻⁵), identity queries",
        math.sqrt(2),
        continuous_gaussian_scale(1.0, 1e-5),
        "<=",
        why="true only where the L1 sensitivity is much larger than the L2 one",
    )


def theorem_5_23(rng: np.random.Generator) -> Iterator[Row]:
    """√(Σλ²/n) ≤ ‖A‖₁ for all equivalent A, and the least ball around some rotation has radius √(Σλ²)."""
    below, above = [], []
    for _ in range(DRAWS):
        A = random_strategy(rng, 4, 4)
        _, values, V = np.linalg.svd(A)
        frobenius = math.sqrt(float(squares(values)))
        rotated = [A, *(random_rotation(rng, 4) @ A for _ in range(DRAWS))]
        below.append((frobenius / 2, min(Strategy(B, norm=1).sensitivity for B in rotated)))
        above.append((frobenius, Strategy(values[:, None] * V, norm=1).sensitivity))
    yield worst("√(Σλ²/n), least sensitivity over rotations", below, ">=")
    yield worst("√(Σλ²), sensitivity of Λ Vᵀ", above, "<=")


def approximation(A: Array, workload: Workload) -> float:
    """The objective of Problem 5.24."""
    return float(squares(A)) * float(Strategy(A).variances(workload).sum())


def suggested(workload: Workload) -> tuple[Array, float]:
    """Theorem 5.25: the strategy Λ^½ Vᵀ of the singular values λ of the workload, and (Σλ)²."""
    _, values, V = np.linalg.svd(workload.matrix, full_matrices=False)
    kept = values > 1e-9 * values[0]
    return np.sqrt(values[kept])[:, None] * V[kept], float(values[kept].sum() ** 2)


def theorem_5_25(rng: np.random.Generator) -> Iterator[Row]:
    """The objective of Problem 5.24 at Λ^½ Vᵀ is (Σλ)², and no strategy has less."""
    attained, others = [], []
    for other, workload in pairs(rng):
        A, least = suggested(workload)
        attained.append((least, approximation(A, workload)))
        others.append((least, approximation(other, workload)))
    yield worst("(Σλ)², objective at Λ^½ Vᵀ", attained)
    yield worst("(Σλ)², objective at a random strategy", others, ">=")


def theorem_5_26(rng: np.random.Generator) -> Iterator[Row]:
    """Λ^½ Vᵀ is, with Laplace noise, within n of the best."""
    found = []
    for _ in range(SOLVED):
        n = int(rng.integers(2, 7))
        workload = random_rows(rng, n)
        bound = solve(workload, "l2_strategy").bound or math.nan
        found.append((n * bound, Strategy(suggested(workload)[0], norm=1).total_error(workload)))
    yield worst("n times the least error, error of Λ^½ Vᵀ", found, "<=", GAP)


def lemma_c_36(rng: np.random.Generator) -> Iterator[Row]:
    """{x: vᵀx = √(vᵀA Aᵀv)} touches the ellipsoid of the points A u, ‖u‖₂ = 1."""
    touches, below = [], []
    for _ in range(DRAWS):
        A, v = random_strategy(rng, 4, 4), rng.normal(size=4)
        support = float(np.linalg.norm(A.T @ v))
        point = A @ A.T @ v / support
        touches.append((support, float(v @ point)))
        directions = rng.normal(size=(4, 50))
        below.append((support, float((v @ A @ directions / np.linalg.norm(directions, axis=0)).max())))
    yield worst("√(vᵀA Aᵀv), vᵀx at the point of contact", touches)
    yield worst("√(vᵀA Aᵀv), vᵀx on the ellipsoid", below, "<=")


ITEMS = (
    Item(
        "Problem 5.19",
        "Least total error with the L2 sensitivity.",
        "explained",
        remark="Program 5.2 states it, and is solved there.",
    ),
    Item(
        "Theorem 5.20",
        "The optimum of Problem 5.19, with Laplace noise, is within n of the best.",
        "checked",
        theorem_5_20,
    ),
    Item(
        "Definition 5.21",
        "(ε, δ)-differential privacy.",
        "explained",
        remark="A definition, without a figure: Theorem 5.22 has its formula.",
    ),
    Item(
        "Theorem 5.22",
        "Gaussian noise of scale ‖W‖₂ √(2 ln(2/δ))/ε is (ε, δ)-private.",
        "checked",
        theorem_5_22,
        remark="The exact δ of continuous noise (Balle and Wang 2018).",
    ),
    Item(
        "Section 5.2.1",
        "The relaxation always gives better utility.",
        "computed",
        section_5_2_1,
        errata=("Section 5.2.1, relaxed privacy",),
    ),
    Item(
        "Program 5.2",
        "Problem 5.19 as a semidefinite program: `l2_strategy_lmi`.",
        "checked",
        program_5_2,
        remark="The paper prints no figures.",
    ),
    Item(
        "Theorem 5.23",
        "The least sensitivity of a profile, between two bounds by singular values (equation 11).",
        "checked",
        theorem_5_23,
    ),
    Item(
        "Problem 5.24",
        "Least total error with √(Σλ²) for the sensitivity.",
        "explained",
        remark="Theorem 5.25 solves it.",
    ),
    Item("Theorem 5.25", "Λ^½ Vᵀ solves Problem 5.24: `singular_value_bound`.", "checked", theorem_5_25),
    Item(
        "Theorem 5.26", "That strategy, with Laplace noise, is within n of the best.", "checked", theorem_5_26
    ),
    Item(
        "Lemma C.36",
        "A hyperplane that touches an ellipsoid.",
        "checked",
        lemma_c_36,
        remark="The formula is not in our text of the paper; this is the one that its proof uses.",
    ),
)
