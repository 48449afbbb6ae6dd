"""Covariances whose large eigenvalues are lowered."""

import numpy as np
import pytest
import tolerances
from rational import orthogonal

from mmopt.solvers.nuclear.nuclear_problem import conditioned


def test_only_what_is_too_large_is_lowered(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for decades in [1, 4, 9]:
        with subtests.test(decades=decades):
            turn, values = orthogonal(rng, 6), 10.0 ** np.linspace(0, decades, 6)
            (found,) = conditioned([turn * values], 1e6)
            expected = (turn * np.minimum(values**2, 1e6)) @ turn.T
            np.testing.assert_allclose(found, expected, atol=tolerances.FINE * expected.max())
            assert np.linalg.eigvalsh(found)[0] == pytest.approx(1.0, rel=tolerances.FINE)


def test_what_a_root_does_not_reach_gets_the_largest(rng: np.random.Generator) -> None:
    """And the smallest eigenvalue is that of all roots."""
    turn = orthogonal(rng, 5)
    low, high = conditioned([turn[:, :3] * np.array([3.0, 2.0, 20.0]), 10.0 * np.eye(2)], 25.0)
    np.testing.assert_allclose(np.linalg.eigvalsh(low), [4.0, 9.0, 100.0, 100.0, 100.0], rtol=tolerances.FINE)
    np.testing.assert_allclose(high, 100.0 * np.eye(2), atol=tolerances.FINE)
