"""Numbers and theorems of Huang, Han, Li, Yu: Orthogonal mechanism (CIKM 2013)."""

import math

import numpy as np
import pytest
from named_workloads import random_workload
from tolerances import RECOMPUTED

from mmopt import Strategy, Workload
from tests.examples.scripts import scripts

orthogonal = scripts("orthogonal").orthogonal_mechanism.orthogonal

# Cells: (White, > 50K), (White, <= 50K), (Black, > 50K), (Black, <= 50K), for men, then for women.
INTRODUCTION = np.tile(
    np.array(
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=float
    ),
    (1, 2),
)
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


def test_introduction() -> None:
    """Exact: sensitivity 2 and variance 8/ε² on the queries; 1 and 2/ε² for each of the first four."""
    assert Strategy(INTRODUCTION, norm=1).sensitivity == 2
    found = orthogonal(Workload.from_matrix(INTRODUCTION))
    assert found.selected.tolist() == [0, 1, 2, 3]
    assert found.strategy.matrix.tolist() == INTRODUCTION[:4].tolist()
    assert found.strategy.sensitivity == 1
    assert (2 * found.variances).tolist() == [2, 2, 2, 2, 4, 4]


def test_example_1() -> None:
    """Exact: the printed W̃ and B; upper: 18/ε² (it is 8.84); the queries themselves about 75 (72.2)."""
    found = orthogonal(Workload.from_matrix(EXAMPLE_1))
    assert found.strategy.matrix.tolist() == np.eye(4)[[1, 2, 0, 3]].tolist()
    assert found.strategy.sensitivity == 1
    assert found.reconstruction.tolist() == [
        [0, 0.9812, 0.3657, 0],
        [0.0645, 0, 0, 0],
        [0.5879, 0.7602, 0, 0],
        [0, 0, 0, 0.7310],
        [0.7313, 0, 0, 0],
        [0, 0.7122, 0, 0.9053],
    ]
    assert found.expected_error(1.0) == pytest.approx(8.8403, abs=5e-5) and 8.8403 < 18
    sensitivity = Strategy(EXAMPLE_1, norm=1).sensitivity
    assert sensitivity == pytest.approx(2.5, abs=0.05)
    assert 2 * 6 * sensitivity**2 == pytest.approx(75, rel=0.04)


def test_theorem_4_and_5(rng: np.random.Generator) -> None:
    """Exact: every query is a combination of the new ones; the covariance of R (W̃ x + noise)."""
    for _ in range(20):
        w = random_workload(rng)
        found = orthogonal(w)
        R, A = found.reconstruction, found.strategy.matrix
        np.testing.assert_allclose(R @ A, w.queries, atol=1e-9 * np.abs(w.queries).max())
        epsilon = rng.uniform(0.1, 2)
        variance = 2 * (np.abs(A).sum(axis=0).max() / epsilon) ** 2  # of Laplace noise of that scale
        total = np.trace(R @ (variance * np.eye(len(A))) @ R.T)
        assert found.expected_error(epsilon) == pytest.approx(total, rel=RECOMPUTED)


def test_theorem_6_scaling_the_decomposition_changes_nothing(rng: np.random.Generator) -> None:
    """Its proof: W = (t R)(W̃ / t) has the same error for every t, so tr(R Rᵀ) = 1 may be asked for."""
    found = orthogonal(random_workload(rng))
    R, A = found.reconstruction, found.strategy.matrix
    t = 1 / math.sqrt(np.trace(R @ R.T))
    assert np.trace((t * R) @ (t * R).T) == pytest.approx(1)
    scaled = Strategy(A / t, norm=1).sensitivity ** 2
    assert scaled == pytest.approx(found.total_error / _weighted(found), rel=1e-9)


def _weighted(found: object) -> float:
    """Total error over tr(R Rᵀ) S²: 1 for queries of equal weight."""
    R, w = found.reconstruction, found.workload  # type: ignore[attr-defined]
    return float(w.weights @ np.square(R).sum(axis=1) / np.square(R).sum())


def test_dense_random_queries_leave_one_cell_to_a_block(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    """Section 5's workloads: with 50 queries no two of 1000 cells are used by the same ones.

    So the mechanism measures the cells, and its error is 2 ‖W‖²_F/ε², below that of the Laplace mechanism on
    the queries, 2 m S(W)²/ε² (Figures 1 to 3 show it below for all sizes).
    """
    m = 50
    for density in (0.2, 0.4, 0.8):
        with subtests.test(str(density)):
            W = rng.random((m, 1000)) * (rng.random((m, 1000)) < density)
            found = orthogonal(Workload.from_matrix(W))
            touched = int(W.any(axis=0).sum())
            assert len(found.blocks) == found.strategy.p == touched
            assert found.strategy.sensitivity == 1
            assert found.expected_error(1.0) == pytest.approx(2 * np.square(W).sum(), rel=RECOMPUTED)
            assert found.expected_error(1.0) < 2 * m * Strategy(W, norm=1).sensitivity ** 2
