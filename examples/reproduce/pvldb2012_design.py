"""PVLDB 2012, sections 3.1 to 3.3: weights of design queries, and the eigen-design."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from instances import DRAWS, Array, random_rotation, random_rows, squares
from item import Item, Row, worst
from scipy.optimize import minimize_scalar

from mmopt import Strategy, Workload, solve
from mmopt.workloads import factors_and_products

__all__ = ["ITEMS"]

SOLVED = 6
"""Random workloads on which a program is solved."""
GAP = 1e-5
"""Relative: what the objectives of solved programs may be off by."""


def independent(rng: np.random.Generator, n: int) -> Array:
    """Design queries that are not nearly dependent, of unlike lengths."""
    return np.asarray(random_rotation(rng, n) * rng.uniform(0.5, 2.0, size=n))


def costs(workload: Workload, Q: Array) -> Array:
    """Squared lengths of the columns of W Q⁺."""
    return squares(workload.matrix @ np.linalg.pinv(Q), axis=0)


def program_1(rng: np.random.Generator) -> Iterator[Row]:
    """Its objective Σ c v with u v ≥ 1 and (Q ∘ Q)ᵀu ≤ 1, beside the other forms of the same problem."""
    found: dict[str, list[tuple[float, float]]] = {"query_weighting_inverse": [], "query_weighting_dual": []}
    bounds = []
    for _ in range(SOLVED):
        n = int(rng.integers(2, 6))
        workload, Q = random_rows(rng, n), independent(rng, n)
        printed = solve(workload, "query_weighting", givens={"Q": Q}, solver="clarabel")
        bounds.append((printed.bound or math.nan, printed.objective))
        for name, other in found.items():
            other.append((printed.objective, solve(workload, name, givens={"Q": Q}).value))
    yield worst("proved bound, objective", bounds, ">=")
    yield worst("proved bound, objective", bounds, "=", GAP)
    for name, other in found.items():
        yield worst(f"as printed, `{name}`", other, "=", GAP)


def theorem_1(rng: np.random.Generator) -> Iterator[Row]:
    """The error of weights u is Σ c/u, and no weights have less than those of Program 1."""
    terms, others = [], []
    for _ in range(SOLVED):
        n = int(rng.integers(2, 6))
        workload, Q = random_rows(rng, n), independent(rng, n)
        best = solve(workload, "query_weighting", givens={"Q": Q})
        for _ in range(DRAWS):
            u = rng.uniform(0.01, 1, size=n)
            strategy = Strategy(np.sqrt(u)[:, None] * Q)
            error = strategy.total_error(workload)
            terms.append((strategy.sensitivity**2 * float((costs(workload, Q) / u).sum()), error))
            others.append((best.bound or math.nan, error))
    yield worst("‖A‖₂² Σ cᵢ/uᵢ, total error", terms)
    yield worst("bound of Program 1, error of other weights", others, ">=")
    least, chosen = dependent()
    label = "cells and total of 4 cells: least error of weights, error of Program 1's"
    yield Row(label, least, chosen, why="it holds for independent design queries")


def dependent() -> tuple[float, float]:
    """The cells and the total of four cells for themselves: least error of weights, error of Program 1's."""
    rows = np.vstack([np.eye(4), np.ones(4)])
    workload, c = Workload.from_matrix(rows), costs(Workload.from_matrix(rows), rows)

    def weights(total: float) -> Array:  # of the cells, by symmetry equal, and of the total
        return np.array([*[1 - total] * 4, total])

    def error(total: float) -> float:
        return Strategy(np.sqrt(weights(total))[:, None] * rows).total_error(workload)

    def least(objective: Callable[[float], float]) -> float:
        found = minimize_scalar(objective, bounds=(0, 1), method="bounded", options={"xatol": 1e-9})
        return float(found.x)

    return error(least(error)), error(least(lambda total: float((c / weights(total)).sum())))


def problem_2(_: np.random.Generator) -> Iterator[Row]:
    """Weights of wavelet rows and of eigen-queries for prefix sums, over all strategies."""
    for n in (8, 64):
        workload = Workload.from_matrix(np.tri(n))
        bound = solve(workload, "l2_strategy").bound
        for name, given in (
            ("eigen-queries", {}),
            ("wavelet", {"Q": factors_and_products.haar(n).matrix()}),
        ):
            s = solve(workload, "query_weighting", givens=given)
            yield Row(
                f"{name}, {n} prefix sums: bound of Program 1",
                s.bound or math.nan,
                s.objective,
                "=",
                GAP,
                bound,
            )


def definition_6(rng: np.random.Generator) -> Iterator[Row]:
    """Qᵀ D Q = WᵀW with orthonormal rows in Q."""
    whole, orthonormal = [], []
    for _ in range(DRAWS):
        w = random_rows(rng, int(rng.integers(2, 7)))
        Q = w.eigenqueries
        whole.append((0.0, float(np.abs(Q.T * w.eigenvalues @ Q - w.gram).max() / np.abs(w.gram).max())))
        orthonormal.append((0.0, float(np.abs(Q @ Q.T - np.eye(len(Q))).max())))
    yield worst("Qᵀ D Q less WᵀW, relative", whole)
    yield worst("Q Qᵀ less the identity", orthonormal)


def program_2(_: np.random.Generator) -> Iterator[Row]:
    """The weights of Program 1, then completed columns: never worse. And weights that end better."""
    for n in (8, 64):
        w = Workload.from_matrix(np.tri(n))
        s = solve(w, "eigen_design")
        yield Row(
            f"prefix sums of {n}: weights, completed",
            s.steps["weighting"].objective,
            s.objective,
            "<=",
            0.0,
            s.error_bound,
        )
    simple = Strategy(completed(w.eigenvalues[:, None] ** 0.25 * w.eigenqueries)).total_error(w)
    why = "the weights that are best before completing are not best after"
    yield Row(
        "prefix sums of 64: Program 2, weights σᵢ^¼ completed",
        s.objective,
        simple,
        ">=",
        0.0,
        s.error_bound,
        why,
    )


def completed(A: Array) -> Array:
    """Steps 4 and 5."""
    lengths = squares(A, axis=0)
    return np.vstack([A, np.diag(np.sqrt(lengths.max() - lengths))])


ITEMS = (
    Item(
        "Problem 2",
        "The weights of given design queries with the least error (equation 3).",
        "computed",
        problem_2,
        remark="No figures are printed. The bound is that over all strategies.",
    ),
    Item(
        "Program 1",
        "Problem 2 as a semidefinite program: `query_weighting`.",
        "checked",
        program_1,
        remark="No figures are printed: two other forms of the problem stand beside it.",
    ),
    Item(
        "Theorem 1",
        "The output of Program 1 solves Problem 2.",
        "checked",
        theorem_1,
        errata=("Theorem 1 needs independent design queries",),
    ),
    Item("Definition 6", "The eigen-queries are the eigenvectors of WᵀW.", "checked", definition_6),
    Item(
        "Program 2",
        "The eigen-design: weighted eigen-queries, then completed columns: `eigen_design`.",
        "computed",
        program_2,
        remark="Example 4 has its printed figure.",
        errata=("Program 2, weights first and completed columns afterwards",),
    ),
)
