"""PODS 2010, sections 2 and 3: queries, Laplace noise, and the matrix mechanism."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from instances import DRAWS, Array, pairs, random_strategy, squares
from item import Item, Row, worst
from running_examples import EPSILON, EXAMPLES, H4, Y4, exact_profile, l1, profile

from mmopt import Strategy, Workload

__all__ = ["ITEMS"]


def figure_1(_: np.random.Generator) -> Iterator[Row]:
    """The text's figures of the matrices: their numbers of queries and ranks."""
    for name, queries in (("I₄", "4"), ("H₄", "7"), ("Y₄", "4")):
        yield Row(f"{name}, queries", queries, len(EXAMPLES[name]))
        yield Row(f"{name}, rank", "4", int(np.linalg.matrix_rank(EXAMPLES[name])))


def proposition_1(rng: np.random.Generator) -> Iterator[Row]:
    """The largest change of W x for one row of the table more or less."""
    found = []
    for A, _ in pairs(rng):
        x = rng.integers(0, 9, size=A.shape[1]) * np.ones(A.shape[1])
        changes = [np.abs(A @ x - A @ (x + one)).sum() for one in np.eye(A.shape[1])]
        found.append((float(max(changes)), Strategy(A, norm=1).sensitivity))
    yield worst("largest change, sensitivity", found)


def example_2(_: np.random.Generator) -> Iterator[Row]:
    """Sensitivities of the running examples."""
    for (name, A), printed in zip(EXAMPLES.items(), ("1", "3", "3"), strict=True):
        yield Row(f"‖{name}‖₁", printed, Strategy(A, norm=1).sensitivity)


def loss(A: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Largest log ratio of the density of y between neighbours: over random outputs, and over far ones."""
    scale, p, n = l1(A) / EPSILON, *A.shape
    x = rng.integers(0, 9, size=n)

    def ratio(y: Array, i: int) -> float:
        return float((np.abs(y - A @ (x + np.eye(n)[i])) - np.abs(y - A @ x)).sum() / scale)

    drawn = [ratio(A @ x + rng.laplace(scale=scale, size=p), i) for i in range(n) for _ in range(50)]
    far = [ratio(A @ x - 1e3 * np.sign(A[:, i]), i) for i in range(n)]
    return max(map(abs, drawn)), max(far)


def proposition_2(rng: np.random.Generator) -> Iterator[Row]:
    """Laplace noise of scale Δ/ε costs at most ε, and some outputs cost that much."""
    found = [loss(A, rng) for A, _ in pairs(rng)]
    yield worst("log ratio of densities, ε", [(EPSILON, drawn) for drawn, _ in found], "<=")
    yield worst("the same, outputs far away", [(EPSILON, far) for _, far in found])


def definition_3_2(rng: np.random.Generator) -> Iterator[Row]:
    """A⁺y is the least-squares solution, and A⁻¹y for a square A."""
    least, square = [], []
    for A, _ in pairs(rng):
        y = rng.normal(size=len(A))
        estimate = profile(A) @ A.T @ y
        least.append((0.0, float(np.abs(estimate - np.linalg.lstsq(A, y, rcond=None)[0]).max())))
        B = random_strategy(rng, 3, 3)
        exact = np.linalg.inv(B)
        square.append((0.0, float(np.abs(profile(B) @ B.T - exact).max() / np.abs(exact).max())))
    yield worst("(AᵀA)⁻¹Aᵀy less the least-squares solution", least)
    yield worst("(AᵀA)⁻¹Aᵀ less A⁻¹, A square, relative", square)


def example_3(_: np.random.Generator) -> Iterator[Row]:
    """The first row of Y₄⁻¹."""
    weights = np.linalg.inv(Y4)[0]
    for i, printed in enumerate((0.25, 0.25, 0.5, 0.0)):
        yield Row(f"weight of y{'₁₂₃₄'[i]} in the estimate of x₁", printed, float(weights[i]))


def example_4(_: np.random.Generator) -> Iterator[Row]:
    """The first row of H₄⁺, in exact fractions and in floating point."""
    exact = exact_profile(H4)
    found = np.linalg.pinv(H4)[0]
    for i in range(7):
        weight = sum(exact[0][j] * int(H4[i, j]) for j in range(4))
        yield Row(
            f"weight of y{'₁₂₃₄₅₆₇'[i]} in the estimate of x₁, {weight}", float(weight), float(found[i])
        )
    yield Row("the greatest weight is that of y", "4", int(found.argmax()) + 1)


def theorem_1(rng: np.random.Generator) -> Iterator[Row]:
    """Any other unbiased linear estimate has at least the variances of least squares."""
    least, without_bias = [], []
    for _ in range(DRAWS):
        A = random_strategy(rng, 4, 6)
        other = np.linalg.pinv(A) + rng.normal(size=(4, 6)) @ (np.eye(6) - A @ np.linalg.pinv(A))
        w = rng.normal(size=4)
        variance = float(Strategy(A).variances(Workload.from_matrix([w]))[0])
        least.append((float(squares(w @ other)), variance))
        without_bias.append((0.0, float(np.abs(np.linalg.pinv(A) @ A - np.eye(4)).max())))
    yield worst("variance of another unbiased estimate, of least squares", least, "<=")
    yield worst("bias of least squares", without_bias)


def proposition_3(rng: np.random.Generator) -> Iterator[Row]:
    """M_A(W, x) = W x + W A⁺ noise is post-processing of the Laplace mechanism on A."""
    found = []
    for A, workload in pairs(rng):
        x, noise = rng.integers(0, 9, size=A.shape[1]), rng.laplace(scale=l1(A) / EPSILON, size=len(A))
        W = workload.matrix
        printed = W @ x + W @ np.linalg.pinv(A) @ noise
        answers = W @ np.linalg.lstsq(A, A @ x + noise, rcond=None)[0]
        found.append((0.0, float(np.abs(answers - printed).max())))
    yield worst("W A⁺(A x + b) less W x + W A⁺b", found)


DEFINED = "A definition, without a figure: "

ITEMS = (
    Item(
        "Definition 2.1",
        "A linear query is a row of n coefficients.",
        "explained",
        remark=DEFINED + "a row of `Workload.matrix`.",
    ),
    Item(
        "Definition 2.2",
        "A query matrix has a query in each row.",
        "explained",
        remark=DEFINED + "`Workload.matrix`.",
    ),
    Item("Example 1", "Three query matrices over four cells: Figure 1.", "explained", remark="See Figure 1."),
    Item(
        "Figure 1",
        "Identity, hierarchy and Haar wavelet of four cells.",
        "computed",
        figure_1,
        remark="The matrices are those of `mmopt.workloads.factors_and_products`.",
    ),
    Item(
        "Definition 2.3",
        "ε-differential privacy.",
        "explained",
        remark=DEFINED + "Proposition 2 has its formula.",
    ),
    Item(
        "Proposition 1",
        "The sensitivity of a query matrix is the largest L1 norm of a column.",
        "checked",
        proposition_1,
    ),
    Item("Example 2", "Sensitivities of the three matrices.", "computed", example_2),
    Item(
        "Proposition 2",
        "Laplace noise of scale ‖W‖₁/ε is ε-differentially private.",
        "checked",
        proposition_2,
        remark="On continuous noise, as in the paper; `mmopt` draws discrete noise.",
    ),
    Item(
        "Definition 3.1",
        "A strategy supports the queries that are combinations of its rows.",
        "explained",
        remark=DEFINED + "`Strategy.supports`.",
    ),
    Item("Definition 3.2", "The estimate of x from noisy answers y is A⁺y.", "checked", definition_3_2),
    Item(
        "Figure 2",
        "Reconstruction matrices of H₄ and Y₄.",
        "explained",
        remark="A picture of two matrices; Examples 3 and 4 have their first rows.",
    ),
    Item("Example 3", "The estimate of x₁ from the wavelet.", "computed", example_3),
    Item(
        "Example 4",
        "The estimate of x₁ from the hierarchy.",
        "computed",
        example_4,
        remark="The paper's side is computed in exact fractions.",
    ),
    Item(
        "Theorem 1",
        "Least squares is unbiased and has the least variance among linear unbiased estimates.",
        "checked",
        theorem_1,
    ),
    Item(
        "Proposition 3",
        "The matrix mechanism is the Laplace mechanism on A, post-processed.",
        "checked",
        proposition_3,
    ),
)
