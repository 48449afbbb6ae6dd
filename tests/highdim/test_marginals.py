"""Weights of marginals: their error against dense matrices, local optimality, and published figures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from highdim.unions import SMALL, marginal_workload, union
from tolerances import RECOMPUTED

from mmopt import Workload
from mmopt.errors import OptionError, UnsuitableError
from mmopt.highdim import marginals
from mmopt.language.numeric import Array
from mmopt.queries import MarginalsStrategy, Strategy
from mmopt.queries import factor as f


def dense(s: MarginalsStrategy) -> Array:
    """All rows that it measures."""
    blocks = []
    for kept in itertools.product((0, 1), repeat=len(s.classes)):
        rows = np.ones((1, 1))
        for k, classes in zip(kept, s.classes, strict=True):
            own = (classes == np.arange(classes.max() + 1)[:, None]).astype(float)
            rows = np.kron(rows, own if k else own.sum(axis=0, keepdims=True))
        if s.weights[kept] > 0:
            blocks.append(s.weights[kept] * rows)
    return np.vstack(blocks)


@pytest.mark.parametrize("norm", [1, 2])
def test_its_figures_are_those_of_the_dense_matrix(norm: int, rng: np.random.Generator) -> None:
    s = MarginalsStrategy((np.arange(6), np.arange(3)), rng.random((2, 2)), norm)
    a = Strategy(dense(s), norm)
    assert (s.p, s.n) == (a.p, a.n)
    assert s.sensitivity == pytest.approx(a.sensitivity, rel=RECOMPUTED)
    assert s.total_error(SMALL) == pytest.approx(a.total_error(SMALL), rel=RECOMPUTED)
    assert s.rmse(SMALL) == pytest.approx(a.sensitivity * np.sqrt(a.mean_variance(SMALL)), rel=RECOMPUTED)


def test_merged_values_and_values_that_nobody_asks_for() -> None:
    w = union((1.0, [f.predicates([[1, 1, 1, 0], [1, 1, 0, 0]]), f.identity(3)]))
    s = marginals(w)
    assert s.sizes == (2, 3) and s.n == 12
    assert s.total_error(w) == pytest.approx(Strategy(dense(s), 1).total_error(w), rel=RECOMPUTED)


def test_no_weight_can_be_moved_to_gain(rng: np.random.Generator) -> None:
    w = marginal_workload((2, 3, 4), (1, 2))
    s = marginals(w)
    assert s.sensitivity <= 1.0
    for _ in range(20):
        moved = np.maximum(s.weights + 1e-3 * rng.normal(size=s.weights.shape), 0.0)
        other = MarginalsStrategy(s.classes, moved)
        assert other.total_error(w) >= s.total_error(w) * (1 - 1e-6)


@pytest.mark.parametrize(
    ("ways", "theirs"), [((2,), 6.3456), ((0, 1, 2, 3), 6.8454), ((0, 1, 2, 3, 4, 5), 3.9246)]
)
def test_below_the_best_that_hdmm_finds(ways: tuple[int, ...], theirs: float) -> None:
    w = marginal_workload((2, 5, 16, 20, 75), ways)
    assert marginals(w).rmse(w) < theirs


def test_what_it_does_not_measure_has_infinite_error() -> None:
    weights = np.zeros((2, 2))
    weights[1, 0] = 1.0
    s = MarginalsStrategy((np.arange(6), np.arange(3)), weights)
    assert list(np.isinf(s.errors(SMALL))) == [False, True, True]
    assert s.total_error(SMALL) == np.inf


def test_messages() -> None:
    with pytest.raises(UnsuitableError):
        marginals(Workload.from_matrix(np.eye(3)))
    with pytest.raises(OptionError) as few:
        marginals(SMALL, starts=0)
    assert str(few.value) == "'starts' is at least 1, not 0"
    with pytest.raises(OptionError) as shape:
        MarginalsStrategy((np.arange(6),), np.ones((2, 2)))
    assert str(shape.value) == "the weights have shape (2, 2), expected an axis of 2 for each of 1 attributes"
    with pytest.raises(OptionError) as negative:
        MarginalsStrategy((np.arange(6),), np.array([1.0, -1.0]))
    assert str(negative.value) == "the weights of marginals are finite, nonnegative, and not all zero"
    s = MarginalsStrategy((np.zeros(6, dtype=int), np.arange(3)), np.ones((2, 2)))
    with pytest.raises(OptionError) as merged:
        s.errors(SMALL)
    assert str(merged.value) == "prefix(6) tells values apart that the marginals measure together"
