"""Weighted marginals: their figures against dense matrices, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from highdim.unions import SMALL
from tolerances import RECOMPUTED

from mmopt.errors import OptionError
from mmopt.language.numeric import Array
from mmopt.queries import MarginalsStrategy, Strategy


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


def test_what_it_does_not_measure_has_infinite_error() -> None:
    weights = np.zeros((2, 2))
    weights[1, 0] = 1.0
    s = MarginalsStrategy((np.arange(6), np.arange(3)), weights)
    assert list(np.isinf(s.errors(SMALL))) == [False, True, True]
    assert s.total_error(SMALL) == np.inf


def test_messages() -> None:
    with pytest.raises(OptionError) as shape:
        MarginalsStrategy((np.arange(6),), np.ones((2, 2)))
    assert str(shape.value) == "the weights have shape (2, 2), expected an axis of 2 for each of 1 attributes"
    with pytest.raises(OptionError) as negative:
        MarginalsStrategy((np.arange(6),), np.array([1.0, -1.0]))
    assert str(negative.value) == "the weights of marginals are finite, nonnegative, and not all zero"
    with pytest.raises(OptionError) as norm:
        MarginalsStrategy((np.arange(6),), np.ones(2), 3)
    assert str(norm.value) == "the strategy's norm is 3, expected 1 (Laplace) or 2 (Gaussian)"
    s = MarginalsStrategy((np.zeros(6, dtype=int), np.arange(3)), np.ones((2, 2)))
    with pytest.raises(OptionError) as merged:
        s.errors(SMALL)
    assert str(merged.value) == "prefix(6) tells values apart that the marginals measure together"
    with pytest.raises(OptionError) as other:
        MarginalsStrategy((np.arange(6),), np.ones(2)).errors(SMALL)
    assert str(other.value) == "the marginals are over (6,) values, the workload is over (6, 3) values"
