"""CIKM 2013, sections 1 and 3 and the definitions of section 4: sensitivity, privacy, orthogonal sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from item import Item, Row, worst
from numpy.typing import NDArray
from studies import study_files

from mmopt import Strategy, Workload

__all__ = ["EXAMPLE_1", "ITEMS", "TRIALS", "drawn", "far", "orthogonal", "privacy_loss", "sensitivity"]

Array = NDArray[np.float64]
Random = np.random.Generator
TRIALS = 20

# Cells: (White, > 50K), (White, <= 50K), (Black, > 50K), (Black, <= 50K), for men, then for women.
INTRODUCTION = np.tile(np.vstack([np.eye(4), [[1, 0, 1, 0], [0, 1, 0, 1]]]), (1, 2))
EXAMPLE_1 = np.array(
    [
        [0.3657, 0, 0.9812, 0],
        [0, 0.0645, 0, 0],
        [0, 0.5879, 0.7602, 0],
        [0, 0, 0, 0.7310],
        [0, 0.7313, 0, 0],
        [0, 0, 0.7122, 0.9053],
    ]
)


def orthogonal(rows: Array) -> Any:
    """The mechanism of examples/orthogonal for these queries."""
    return study_files("orthogonal").orthogonal_mechanism.orthogonal(Workload.from_matrix(rows))


def drawn(rng: Random) -> Array:
    """Queries with small whole coefficients, half of them 0; each uses a cell, and several share some."""
    m, n = int(rng.integers(2, 7)), int(rng.integers(3, 9))
    rows = rng.integers(1, 4, size=(m, n)) * (rng.random((m, n)) < 0.5)
    rows[np.arange(m), rng.integers(0, n, size=m)] = 1
    return np.asarray(rows, dtype=float)


def sensitivity(rows: Array) -> float:
    return Strategy(rows, norm=1).sensitivity


def far(ours: Array, other: Array) -> float:
    """The largest difference of two arrays."""
    return float(np.abs(ours - other).max())


def privacy_loss(rows: Array, scales: Array, rng: Random) -> float:
    """The largest log density ratio of rows x + Laplace noise of these scales, over neighbours of an x.

    A ratio is largest at outputs beyond both means, on the side of x's own.
    """
    x = rng.integers(0, 50, size=rows.shape[1]).astype(float)
    losses = []
    for cell in np.eye(len(x)):
        mean, other = rows @ x, rows @ (x + cell)
        output = mean + 1e3 * np.where(mean >= other, 1.0, -1.0)
        losses.append(((np.abs(output - other) - np.abs(output - mean)) / scales).sum())
    return float(max(losses))


def introduction(_: Random) -> Iterator[Row]:
    found = orthogonal(INTRODUCTION)
    yield Row("S(Q)", "2", sensitivity(INTRODUCTION))
    yield Row("variance of a query of Q, times ε²", "8", 2 * sensitivity(INTRODUCTION) ** 2)
    yield Row("S of q₁ to q₄", "1", found.strategy.sensitivity)
    yield Row("W̃ is q₁ to q₄: largest difference", "0", far(found.strategy.matrix, INTRODUCTION[:4]))
    yield Row("largest variance of q₁ to q₄, times ε²", "2", 2 * max(found.variances[:4]))


def definition_3(rng: Random) -> Iterator[Row]:
    """‖W D₁ - W D₂‖₁ over data that differ in one record, against the largest column sum."""
    pairs = []
    for _ in range(TRIALS):
        rows = rng.normal(size=(int(rng.integers(1, 6)), int(rng.integers(1, 6))))
        x = rng.integers(0, 9, size=rows.shape[1])
        changes = [np.abs(rows @ (x + cell) - rows @ x).sum() for cell in np.eye(rows.shape[1])]
        pairs.append((float(max(changes)), sensitivity(rows)))
    yield worst("largest change is the largest column sum", pairs)
    yield Row(
        "Example 1, sum over n rows as printed",
        sensitivity(EXAMPLE_1),
        float(np.abs(EXAMPLE_1[:4]).sum(axis=0).max()),
        why="the sum is over the m queries, not over n rows (errata)",
    )


def linear_queries(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        rows = drawn(rng)
        x = rng.integers(0, 99, size=rows.shape[1]).astype(float)
        sums = [sum(w * own for w, own in zip(row, x, strict=True)) for row in rows]
        pairs += list(zip(sums, Workload.from_matrix(rows).answers(x), strict=True))
    yield worst("Σ wᵢ xᵢ against answers(x)", pairs)


def proposition_1(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        rows, epsilon = drawn(rng), float(rng.uniform(0.1, 2))
        scales = np.full(len(rows), sensitivity(rows) / epsilon)
        pairs.append((epsilon, privacy_loss(rows, scales, rng)))
    yield worst("ε against the largest log ratio of densities", pairs)


def theorem_1(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        rows, epsilon = drawn(rng), float(rng.uniform(0.1, 2))
        together = sum(sensitivity(row[None]) for row in rows)
        pairs.append((epsilon, privacy_loss(rows, np.full(len(rows), together / epsilon), rng)))
    yield worst("log ratio at most ε", pairs, "<=")


def disjoint(rng: Random) -> tuple[list[Array], Array]:
    """Query sets over disjoint cells, and all of them together."""
    parts = [drawn(rng) for _ in range(int(rng.integers(2, 5)))]
    whole = np.zeros((sum(len(p) for p in parts), sum(p.shape[1] for p in parts)))
    row = column = 0
    for part in parts:
        whole[row : row + len(part), column : column + part.shape[1]] = part
        row, column = row + len(part), column + part.shape[1]
    return parts, whole


def theorem_2(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        epsilon = float(rng.uniform(0.1, 2))
        parts, whole = disjoint(rng)
        scales = np.concatenate([np.full(len(p), sensitivity(p) / epsilon) for p in parts])
        pairs.append((epsilon, privacy_loss(whole, scales, rng)))
    yield worst("ε of each part against that of all together", pairs)


def proposition_2(rng: Random) -> Iterator[Row]:
    pairs = []
    for _ in range(TRIALS):
        parts, whole = disjoint(rng)
        pairs.append((max(map(sensitivity, parts)), sensitivity(whole)))
    yield worst("S of orthogonal query sets is the largest of theirs", pairs)


def orthogonal_sets(rng: Random) -> Iterator[Row]:
    """Cells that rows of W̃ of different blocks share."""
    shared = 0
    for _ in range(TRIALS):
        found = orthogonal(drawn(rng))
        used = found.strategy.matrix != 0
        apart = found.owner[:, None] != found.owner
        shared += int(((used.astype(int) @ used.T) * apart).sum())
    yield Row(f"cells shared by queries of different blocks, {TRIALS} workloads", "0", shared)


ITEMS = (
    Item(
        "Section 1, example",
        "Six counts of a census: noise on four of them has a quarter of the variance.",
        "computed",
        introduction,
    ),
    Item(
        "Table 1",
        "Four census records.",
        "explained",
        remark="They name the values of the two examples; no figure is computed from the records.",
    ),
    Item(
        "Table 2",
        "List of notations.",
        "explained",
        remark="Names, no figures; mmopt's are in the glossary.",
    ),
    Item(
        "Definition 1",
        "Neighbouring data differ in one record, and one count by 1.",
        "explained",
        remark="A definition. It is mmopt's own where a workload file names no other (`add-remove`).",
    ),
    Item(
        "Definition 2",
        "ε-differential privacy.",
        "explained",
        remark="A definition; Proposition 1 and Theorems 1 to 3 compare its two sides.",
    ),
    Item(
        "Definition 3",
        "The sensitivity of queries is the largest L1 norm of a column.",
        "checked",
        definition_3,
        errata=("Definition 3 and Example 1",),
    ),
    Item(
        "Proposition 1",
        "Laplace noise of scale S(Q)/ε is ε-private, and no less would do.",
        "checked",
        proposition_1,
    ),
    Item("Theorem 1", "Noise for the sum of the queries' sensitivities is ε-private.", "checked", theorem_1),
    Item("Theorem 2", "Over disjoint cells, each query has its own noise.", "checked", theorem_2),
    Item("Definition 4", "A linear query is w D = Σ wᵢ xᵢ.", "checked", linear_queries),
    Item("Definition 5", "A query set is W D, the sums of all its queries.", "checked", linear_queries),
    Item("Definition 6", "Queries are orthogonal if they share no cell.", "checked", orthogonal_sets),
    Item("Definition 7", "Query sets are orthogonal if all their pairs are.", "checked", orthogonal_sets),
    Item(
        "Proposition 2",
        "Orthogonal query sets are as private together as each; S(Q̃) is the largest S(Q̃ⱼ).",
        "checked",
        proposition_2,
    ),
)
