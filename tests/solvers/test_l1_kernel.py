"""Strategies of any signs: error and gradient against dense inverses, starts, and the end of the search.

Guards l1_kernel.py.
"""

import itertools

import numpy as np
import pytest
from tolerances import DERIVATIVE, RECOMPUTED

from mmopt import Workload, solve
from mmopt.solvers.l1_kernel import SignedObjective, signed, signed_starts


def test_error_and_gradient_are_those_of_the_matrix(rng: np.random.Generator) -> None:
    w = rng.normal(size=(7, 5))
    objective = SignedObjective.of(w.T @ w)
    t = signed("some", rng.normal(size=(3, 5)), rng.random(5)).rows
    value, gradient = objective.value_and_gradient(t)
    a = np.vstack([np.diag(t[-1]), t[:3] - t[3:-1]]) / t.sum(axis=0)
    assert np.abs(a).sum(axis=0) == pytest.approx(np.ones(5), rel=RECOMPUTED)
    assert value == pytest.approx(np.sum((w @ np.linalg.pinv(a)) ** 2), rel=RECOMPUTED)
    way = rng.normal(size=t.shape)
    step = 1e-6 * way
    slope = (objective.value_and_gradient(t + step)[0] - objective.value_and_gradient(t - step)[0]) / 2e-6
    assert np.sum(gradient * way) == pytest.approx(slope, rel=DERIVATIVE)


def test_a_singular_strategy_has_no_error() -> None:
    assert (
        SignedObjective.of(np.eye(3)).value_and_gradient(np.array([[1.0, 1, 1], [0, 0, 0], [0, 0, 0]]))[0]
        == np.inf
    )


def test_starts_have_signs_and_no_more_rows_than_there_may_be() -> None:
    for most, n in itertools.product((1, 3, 20), (1, 2, 9, 32)):
        some = [start.rows for start in itertools.islice(signed_starts(n, most, 0), 20)]
        assert all(
            len(t) % 2 and 1 <= len(t) // 2 <= most and (t >= 0).all() and (t[-1] > 0).all() for t in some
        )
        assert n == 1 or any((t[len(t) // 2 : -1] > 0).any() for t in some)


# Of prefix sums of so many cells: what p_identity ends at, and a strategy with signs.
ENDS = {3: (6.0, 6.0), 8: (36.0, 35.0541), 9: (43.2192, 42.3189), 12: (67.3436, 67.0531)}


@pytest.mark.parametrize("n", ENDS)
def test_ends_of_prefix_sums(n: int) -> None:
    s = solve(Workload.from_matrix(np.tri(n)), "l1_strategy")
    assert s.objective <= ENDS[n][1] * (1 + 2e-6)
    assert s.strategy.sensitivity == pytest.approx(1.0, rel=RECOMPUTED)


def test_it_never_ends_above_p_identity(rng: np.random.Generator) -> None:
    for _ in range(5):
        w = Workload.from_matrix(rng.normal(size=(6, 6)))
        assert solve(w, "l1_strategy", starts=3).objective <= solve(w, "p_identity", starts=3).objective * (
            1 + 1e-9
        )
