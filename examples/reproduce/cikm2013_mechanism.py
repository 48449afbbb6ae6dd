"""CIKM 2013, section 4: the orthogonal mechanism of examples/orthogonal, its algorithms and theorems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cikm2013_privacy import EXAMPLE_1, TRIALS, drawn, far, orthogonal, privacy_loss, sensitivity
from item import Item, Row, worst
from numpy.typing import NDArray

from mmopt import Workload, solve

__all__ = ["ITEMS"]

Array = NDArray[np.float64]
Random = np.random.Generator

NEW_QUERIES = np.eye(4)[[1, 2, 0, 3]]
COEFFICIENTS = np.array(
    [
        [0, 0.9812, 0.3657, 0],
        [0.0645, 0, 0, 0],
        [0.5879, 0.7602, 0, 0],
        [0, 0, 0, 0.7310],
        [0.7313, 0, 0, 0],
        [0, 0.7122, 0, 0.9053],
    ]
)


def algorithm_1(rng: Random) -> Iterator[Row]:
    """Mean squared error of simulated answers, not private: noise by numpy."""
    for number in (1, 2, 3):
        rows, epsilon = drawn(rng), 0.5
        found = orthogonal(rows)
        x = rng.integers(0, 50, size=rows.shape[1]).astype(float)
        W, B = found.strategy.matrix, found.reconstruction
        noise = rng.laplace(scale=found.strategy.sensitivity / epsilon, size=(100_000, len(W)))
        errors = (W @ x + noise) @ B.T - rows @ x
        mean = float(np.square(errors).sum(axis=1).mean())
        yield Row(
            f"workload {number}: Theorem 5 against 100,000 runs",
            found.expected_error(epsilon),
            mean,
            within=0.05,
        )


def algorithm_2(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        rows = drawn(rng)
        found = orthogonal(rows)
        pairs.append((float(np.linalg.matrix_rank(rows)), float(len(found.selected))))
    yield worst("rank(W) against the queries selected", pairs)
    rows = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
    yield Row(
        "error of (0, 1), (1, 1), (1, 2), times ε²/2, from the last two against the first two",
        orthogonal(rows).total_error,
        orthogonal(rows[[1, 2, 0]]).total_error,
        why="line 1 selects at random, and the result depends on it (errata)",
    )


def algorithm_3_as_printed(rows: Array, parts: Array) -> Array:
    B = np.zeros((len(rows), len(parts)))
    for i, query in enumerate(rows):
        for j, part in enumerate(parts):
            inside = part != 0
            restricted = np.where(inside, query, 0.0)
            if (query[inside] != 0).all() and np.linalg.matrix_rank([restricted, part]) == 1:
                B[i, j] = restricted @ part / (part @ part)
    return B


def algorithm_3(rng: Random) -> Iterator[Row]:
    yield Row(
        "Example 1: largest |B - Algorithm 3|",
        "0",
        far(COEFFICIENTS, algorithm_3_as_printed(EXAMPLE_1, NEW_QUERIES)),
    )
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    found = orthogonal(rows)
    W = found.strategy.matrix
    yield Row(
        "(1, 2), (2, 1), (1, 1): largest |W - B W̃|, as printed",
        "0",
        far(rows, algorithm_3_as_printed(rows, W) @ W),
        why="two independent queries share a block, (1, 1) is parallel to neither (errata)",
    )
    yield Row("the same with a linear system within the block", 0.0, far(rows, found.reconstruction @ W))


def example_1(_: Random) -> Iterator[Row]:
    found = orthogonal(EXAMPLE_1)
    yield Row("largest difference from the printed W̃", "0", far(found.strategy.matrix, NEW_QUERIES))
    yield Row("largest difference from the printed B", "0", far(found.reconstruction, COEFFICIENTS))
    yield Row("S(Q)", "2.5", sensitivity(EXAMPLE_1))
    yield Row("S(Q̃)", "1", found.strategy.sensitivity)
    yield Row(
        "variance of Q, times ε² (printed: around)", "75", 12 * sensitivity(EXAMPLE_1) ** 2, within=0.04
    )
    best = solve(found.workload, "low_rank")
    error = found.expected_error(1.0)
    yield Row("variance by Q̃, times ε²", "18", error, "<=", bound=2 * best.error_bound)


def theorem_3(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        A, epsilon = orthogonal(drawn(rng)).strategy.matrix, float(rng.uniform(0.1, 2))
        pairs.append((epsilon, privacy_loss(A, np.full(len(A), sensitivity(A) / epsilon), rng)))
    yield worst("ε against the largest log ratio of densities", pairs)


def theorem_4(rng: Random) -> Iterator[Row]:
    found = [orthogonal(drawn(rng)) for _ in range(TRIALS)]
    left = max(far(own.workload.queries, own.reconstruction @ own.strategy.matrix) for own in found)
    yield Row(f"largest |W - B W̃|, {TRIALS} workloads", 0.0, left)


def corollary_1(rng: Random) -> Iterator[Row]:
    found = [orthogonal(drawn(rng)) for _ in range(TRIALS)]
    ranks = [(float(len(A)), float(np.linalg.matrix_rank(A))) for A in (own.strategy.matrix for own in found)]
    yield worst("rows of W̃ against its rank: B is unique", ranks)
    apart = [
        far(own.reconstruction, own.workload.queries @ np.linalg.pinv(own.strategy.matrix)) for own in found
    ]
    yield Row("largest |B - W W̃⁺|: least squares gives the same", 0.0, max(apart))


def theorem_5(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        found, epsilon = orthogonal(drawn(rng)), float(rng.uniform(0.1, 2))
        B, A = found.reconstruction, found.strategy.matrix
        variance = 2 * (float(np.abs(A).sum(axis=0).max()) / epsilon) ** 2
        covariance = B @ (variance * np.eye(len(A))) @ B.T
        pairs.append(
            (2 * np.trace(B @ B.T) * (found.strategy.sensitivity / epsilon) ** 2, np.trace(covariance))
        )
    yield worst("2 tr(B Bᵀ) S²/ε² against the trace of the covariance", pairs)


def theorem_6(rng: Random) -> Iterator[Row]:
    """Its scaling; and the least error of a decomposition of Example 1, by a search."""
    pairs = []
    for _ in range(TRIALS):
        found = orthogonal(drawn(rng))
        t = 1 / np.linalg.norm(found.reconstruction)
        pairs.append((found.total_error, sensitivity(found.strategy.matrix / t) ** 2))
    yield worst("tr(B Bᵀ) S(W̃)² against S² after scaling to tr(B Bᵀ) = 1", pairs)
    error = orthogonal(EXAMPLE_1).total_error
    best = solve(Workload.from_matrix(EXAMPLE_1), "low_rank")
    yield Row("Example 1: S² of low_rank's decomposition", error, best.error, "<=", bound=best.error_bound)


ITEMS = (
    Item("Algorithm 1", "Measure W̃ x + noise, answer B (W̃ x + noise).", "checked", algorithm_1),
    Item(
        "Algorithm 2",
        "The new queries, by sets of cells that the same queries use.",
        "checked",
        algorithm_2,
        errata=("Algorithm 2, line 1", "Algorithm 2, lines 6 to 11", "Algorithm 2, line 17"),
    ),
    Item(
        "Algorithm 3",
        "The coefficients B with W = B W̃.",
        "checked",
        algorithm_3,
        errata=("Algorithm 3 and Corollary 1", "Algorithm 3, line 3"),
    ),
    Item(
        "Example 1",
        "Six queries over four cells: W̃, B, and the variance before and after.",
        "computed",
        example_1,
        remark="The bound is on the error of every strategy, proved with the answer of low_rank.",
        errata=("Definition 3 and Example 1",),
    ),
    Item("Theorem 3", "Algorithm 1 is ε-private.", "checked", theorem_3),
    Item("Theorem 4", "Every query is a combination of the new ones.", "checked", theorem_4),
    Item(
        "Corollary 1",
        "There is one B only.",
        "checked",
        corollary_1,
        errata=("Algorithm 3 and Corollary 1", "Corollary 1 leaves nothing to least squares"),
    ),
    Item(
        "Theorem 5",
        "The expected squared error is 2 tr(B Bᵀ) S(Q̃)²/ε².",
        "checked",
        theorem_5,
        errata=("Less error than the Laplace mechanism",),
    ),
    Item(
        "Theorem 6",
        "The best decomposition: least S(W̃) with W = B W̃ and tr(Bᵀ B) ≤ 1 (equations 3 to 5).",
        "checked",
        theorem_6,
    ),
)
