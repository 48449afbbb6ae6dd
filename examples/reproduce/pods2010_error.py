"""PODS 2010, section 4 and appendices A and E: the error of a strategy, and which have the same."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from instances import DRAWS, Array, pairs, random_rotation, random_strategy, squares
from item import Item, Row, worst
from running_examples import EPSILON, EXAMPLES, exact_profile, l1, profile

from mmopt import Strategy, Workload
from mmopt.workloads import factors_and_products

__all__ = ["ITEMS"]


def error(A: Array, rows: Array) -> Array:
    """Equation 1, of each row: 2 (‖A‖₁/ε)² w (AᵀA)⁻¹wᵀ."""
    return np.asarray(2 * (l1(A) / EPSILON) ** 2 * np.einsum("ij,jk,ik->i", rows, profile(A), rows))


def proposition_4_4(rng: np.random.Generator) -> Iterator[Row]:
    """Equations 1 and 2 against the variance of W A⁺ b, entry by entry of the Laplace noise b."""
    single, total = [], []
    for A, workload in pairs(rng):
        W, variance = workload.matrix, 2 * (l1(A) / EPSILON) ** 2
        noise = variance * squares(W @ np.linalg.pinv(A), axis=1)
        single += list(zip(error(A, W), noise, strict=True))
        trace = float(variance * np.trace(profile(A) @ W.T @ W))
        total.append((trace, 2 / EPSILON**2 * Strategy(A, norm=1).total_error(workload)))
    yield worst("equation 1, variance of W A⁺ b", single)
    yield worst("equation 2, total error", total)


def figure_3(_: np.random.Generator) -> Iterator[Row]:
    """The error profiles, in exact fractions and as strategies have them."""
    for name, A in EXAMPLES.items():
        exact = exact_profile(A)
        entries = [(float(exact[i][j]), float(profile(A)[i, j])) for i in range(4) for j in range(4)]
        yield worst(
            f"profile of {name}, diagonal {exact[0][0]}, first row {', '.join(map(str, exact[0]))}", entries
        )


def example_4_7(_: np.random.Generator) -> Iterator[Row]:
    """Single counts are best asked for, and queries of many counts approach that."""
    queries = {"one count": [1, 0, 0, 0], "three counts": [0, 1, 1, 1]}
    ratio = {}
    for label, query in queries.items():
        errors = {name: float(error(A, np.array([query], float))[0]) for name, A in EXAMPLES.items()}
        for name in ("H₄", "Y₄"):
            yield Row(f"{label}: error of {name} over that of I₄", 1.0, errors[name] / errors["I₄"], ">=")
            ratio[name, label] = errors[name] / errors["I₄"]
    for name in ("H₄", "Y₄"):
        yield Row(
            f"{name}: three counts, at most one count",
            ratio[name, "one count"],
            ratio[name, "three counts"],
            "<=",
        )


def example_4_8(rng: np.random.Generator) -> Iterator[Row]:
    """Total error of the cells, of the workload as strategy, and of noise on its answers."""
    cells, itself, laplace = [], [], []
    for _ in range(DRAWS):
        n = int(rng.integers(2, 7))
        W = random_strategy(rng, n)
        workload, factor = Workload.from_matrix(W), 2 / EPSILON**2
        cells.append((factor * float(squares(W)), factor * Strategy(np.eye(n), norm=1).total_error(workload)))
        error_itself = factor * Strategy(W, norm=1).total_error(workload)
        itself.append((factor * n * l1(W) ** 2, error_itself))
        laplace.append((factor * len(W) * l1(W) ** 2, error_itself))
    yield worst("2/ε² trace(W Wᵀ), error of the cells", cells)
    yield worst("2n/ε² ‖W‖₁², error of the workload as strategy", itself)
    yield worst("2m/ε² ‖W‖₁² of the Laplace mechanism", laplace, "<=")


def definition_4_9(rng: np.random.Generator) -> Iterator[Row]:
    """Profiles are positive definite, and are their decomposition."""
    least, same = [], []
    for A, _ in pairs(rng):
        M = profile(A)
        values, P = np.linalg.eigh(M)
        least.append((0.0, float(values[0])))
        same.append((0.0, float(np.abs(P * values @ P.T - M).max() / values[-1])))
    yield worst("least eigenvalue of a profile", least, ">=")
    yield worst("P D Pᵀ less the profile, relative", same)


def theorem_4_13(rng: np.random.Generator) -> Iterator[Row]:
    """Every Q D^(-½) Pᵀ has the profile, and every strategy of that profile is such a one."""
    achieves, decomposed = [], []
    for A, _ in pairs(rng):
        M = profile(A)
        values, P = np.linalg.eigh(M)
        p, n = A.shape
        scaled = np.zeros((p, n))
        scaled[:n] = np.diag(values**-0.5)
        B = random_rotation(rng, p) @ scaled @ P.T
        achieves.append((0.0, float(np.abs(profile(B) - M).max() / np.abs(M).max())))
        columns = A @ P * values**0.5  # the first n columns of Q
        decomposed.append((0.0, float(np.abs(columns.T @ columns - np.eye(n)).max())))
    yield worst("profile of Q D^(-½) Pᵀ less the profile, relative", achieves)
    yield worst("columns of A P D^½: distance from orthonormal", decomposed)


def proposition_a_31(rng: np.random.Generator) -> Iterator[Row]:
    """A multiple of a strategy has its errors."""
    found = []
    for A, workload in pairs(rng):
        scaled = rng.choice([-1, 1]) * rng.uniform(0.1, 10) * A
        found += list(zip(error(A, workload.matrix), error(scaled, workload.matrix), strict=True))
    yield worst("error of w under A, under αA", found)


def proposition_a_33(rng: np.random.Generator) -> Iterator[Row]:
    """Noise of scale bᵢ on row i: the rows over bᵢ with equal noise, and rows times bᵢ afterwards."""
    found = []
    for A, _ in pairs(rng):
        scales = rng.uniform(0.1, 10, size=len(A))
        x, noise = rng.integers(0, 9, size=A.shape[1]), rng.laplace(size=len(A))
        equal = (A / scales[:, None]) @ x + noise
        found.append((0.0, float(np.abs(scales * equal - (A @ x + scales * noise)).max())))
    yield worst("D(D⁻¹A x + b) less A x + D b", found)


def coefficients(x: Array) -> tuple[list[float], list[int]]:
    """The Haar wavelet as Xiao et al. (ICDE 2010) define it: averages, and the leaves below each."""
    values, leaves = [float(x.mean())], [len(x)]
    level = [x]
    while len(level[0]) > 1:
        halves = [half for part in level for half in np.split(part, 2)]
        for left, right in zip(halves[::2], halves[1::2], strict=True):
            values.append(float(left.mean() - right.mean()) / 2)
            leaves.append(2 * len(left))
        level = halves
    return values, leaves


def proposition_e_43(_: np.random.Generator) -> Iterator[Row]:
    """The covariance of the estimate of x, from the original coefficients and from Y."""
    for n in (4, 16, 64):
        M = np.array([coefficients(column)[0] for column in np.eye(n)]).T
        scales = (1 + math.log2(n)) / np.array(coefficients(np.ones(n))[1], float)
        inverse = np.linalg.inv(M)
        original = inverse * scales**2 @ inverse.T
        Y = factors_and_products.haar(n).matrix()
        ours = l1(Y) ** 2 * profile(Y)
        yield worst(f"covariances for n = {n}", [*zip(original.ravel(), ours.ravel(), strict=True)])


DEFINED = "A definition, without a figure: "

ITEMS = (
    Item(
        "Definition 4.3",
        "The error of a query is its mean squared error, of a workload their sum.",
        "explained",
        remark=DEFINED + "`Strategy.variances` and `Strategy.total_error`, without the factor 2/ε².",
    ),
    Item(
        "Proposition 4.4",
        "Error of a query (equation 1) and of a workload (equation 2).",
        "checked",
        proposition_4_4,
    ),
    Item(
        "Definition 4.6",
        "The error profile of A is (AᵀA)⁻¹.",
        "explained",
        remark=DEFINED + "Figure 3 has three.",
    ),
    Item(
        "Figure 3",
        "Error profiles of the three matrices.",
        "computed",
        figure_3,
        remark="The paper's side is computed in exact fractions.",
    ),
    Item(
        "Example 4.7",
        "The cells are best for one count, the others come nearer for many.",
        "computed",
        example_4_7,
    ),
    Item(
        "Example 4.8",
        "Total error of the cells, of the workload as strategy, of the Laplace mechanism.",
        "checked",
        example_4_8,
    ),
    Item("Definition 4.9", "The decomposition of a profile.", "checked", definition_4_9),
    Item(
        "Definition 4.10",
        "Strategies are profile equivalent when their profiles are equal.",
        "explained",
        remark=DEFINED + "Theorem 4.13 finds them all.",
    ),
    Item(
        "Definition 4.12",
        "The singular value decomposition of a strategy.",
        "explained",
        remark=DEFINED + "Theorem 5.23 uses it.",
    ),
    Item(
        "Theorem 4.13",
        "The strategies of a profile P D Pᵀ are the matrices Q D^(-½) Pᵀ.",
        "checked",
        theorem_4_13,
    ),
    Item("Proposition A.31", "A multiple of a strategy has the same errors.", "checked", proposition_a_31),
    Item("Proposition A.33", "Unequal noise is equal noise on other queries.", "checked", proposition_a_33),
    Item("Proposition E.43", "The wavelet of Xiao et al. is the matrix Y.", "checked", proposition_e_43),
)
