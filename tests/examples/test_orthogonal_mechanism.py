"""The orthogonal mechanism on workloads of all kinds: W = R W̃, its error, its privacy."""

import numpy as np
import pytest
from cases import NAMED, named, random_workload
from examples.scripts import scripts
from rational import fractions
from tolerances import RECOMPUTED, SHAPE

from mmopt import OptionError, Workload

orthogonal = scripts("orthogonal").orthogonal_mechanism.orthogonal
orthogonal_least_squares = scripts("orthogonal").orthogonal_mechanism.orthogonal_least_squares


def workloads(rng: np.random.Generator) -> list[Workload]:
    return [*(named(name) for name in NAMED), *(random_workload(rng) for _ in range(30))]


def test_the_queries_are_put_together_exactly(rng: np.random.Generator) -> None:
    for w in workloads(rng):
        found = orthogonal(w)
        W, R = found.strategy.matrix, found.reconstruction
        assert np.abs(R @ W - w.queries).max() <= SHAPE * np.abs(w.queries).max()
        assert len(found.selected) == w.rank == np.linalg.matrix_rank(w.queries)
        assert np.linalg.matrix_rank(W) == len(W) and len(W) >= w.rank


def test_ranges_are_put_together_without_any_rounding() -> None:
    for name in ("prefix", "all ranges", "identity and total"):
        w = named(name)
        found = orthogonal(w)
        product = fractions(found.reconstruction).dot(fractions(found.strategy.matrix))
        assert (product == fractions(w.queries)).all()


def test_sensitivity_is_that_of_the_worst_block(rng: np.random.Generator) -> None:
    """Proposition 2: blocks share no cell."""
    for w in workloads(rng):
        for norm in (1, 2):
            found = orthogonal(w, norm)
            A = found.strategy.matrix
            cells = np.concatenate(found.blocks)
            assert len(np.unique(cells)) == len(cells)
            for row, block in zip(A, found.owner, strict=True):
                assert set(np.flatnonzero(row)) <= set(found.blocks[block])
            each = [np.linalg.norm(A[:, c], ord=norm, axis=0).max() for c in found.blocks]
            assert found.strategy.sensitivity == pytest.approx(max(each), rel=1e-12)


def test_the_error_is_that_of_the_noise(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(np.tri(6)[::-1] + np.eye(6), weights=rng.uniform(0.5, 2, size=6))
    found = orthogonal(w)
    scale = found.strategy.sensitivity / 0.5
    noise = rng.laplace(scale=scale, size=(found.strategy.p, 200_000))
    squares = w.weights @ np.square(found.reconstruction @ noise)
    assert squares.mean() == pytest.approx(found.expected_error(0.5), rel=0.02)
    assert found.expected_error(0.5) == pytest.approx(8 * found.total_error, rel=1e-12)


def test_least_squares_finds_the_same_reconstruction(rng: np.random.Generator) -> None:
    """Corollary 1: the new queries are independent, so there is one R."""
    for w in workloads(rng):
        found = orthogonal(w)
        np.testing.assert_allclose(
            w.queries @ np.linalg.pinv(found.strategy.matrix), found.reconstruction, atol=1e-8
        )
        assert found.total_error == pytest.approx(found.strategy.total_error(w), rel=RECOMPUTED)


@pytest.mark.parametrize("norm", [1, 2])
def test_completed_and_balanced_it_is_never_worse(norm: int, rng: np.random.Generator) -> None:
    better = 0
    for w in workloads(rng):
        improved = orthogonal_least_squares(w, norm)
        assert improved.sensitivity <= 1.0
        before, after = orthogonal(w, norm).total_error, improved.total_error(w)
        assert after <= before * (1 + RECOMPUTED)
        better += after < 0.99 * before
    assert better >= 3


def test_words() -> None:
    w = Workload.from_matrix(np.tri(3))
    assert repr(orthogonal(w)) == "OrthogonalMechanism(3 queries from 3 over 3 blocks, sensitivity 1)"
    with pytest.raises(OptionError) as caught:
        orthogonal(w).expected_error(0.0)
    assert str(caught.value) == "epsilon is 0.0, expected a positive number"
    with pytest.raises(OptionError) as caught:
        orthogonal(w, norm=2).expected_error(1.0)
    assert str(caught.value) == (
        "the strategy has norm 2, and Theorem 5 is on Laplace noise (norm 1)\n"
        "  write: orthogonal(workload, norm=1)"
    )
