"""Strategies of any signs: error and gradient against dense inverses, starts, and the end of the search.

Guards l1_kernel.py.
"""

import math

import numpy as np
import pytest
from tolerances import DERIVATIVE, PUBLISHED, RECOMPUTED

from mmopt import Workload, solve
from mmopt.limits import Stop
from mmopt.solvers.l1_kernel import SignedObjective, parts, points, signed, with_pairs
from mmopt.solvers.options_points_and_clock import Clock, Options, Point
from mmopt.solvers.p_identity_kernel import search


def test_error_and_gradient_are_those_of_the_matrix(rng: np.random.Generator) -> None:
    w = rng.normal(size=(7, 5))
    objective = SignedObjective.of(w.T @ w)
    t = signed(rng.normal(size=(3, 5)), rng.random(5))
    value, gradient = objective.value_and_gradient(t)
    a = np.vstack([np.diag(t[-1]), t[:3] - t[3:-1]]) / t.sum(axis=0)
    assert np.abs(a).sum(axis=0) == pytest.approx(np.ones(5), rel=RECOMPUTED)
    assert value == pytest.approx(np.sum((w @ np.linalg.pinv(a)) ** 2), rel=RECOMPUTED)
    way = rng.normal(size=t.shape)
    step = 1e-6 * way
    slope = (objective.value_and_gradient(t + step)[0] - objective.value_and_gradient(t - step)[0]) / 2e-6
    assert np.sum(gradient * way) == pytest.approx(slope, rel=DERIVATIVE)


def test_a_singular_strategy_has_no_error() -> None:
    total = signed(np.ones((1, 3)), np.zeros(3))
    assert SignedObjective.of(np.eye(3)).value_and_gradient(total)[0] == np.inf


def test_every_pair_has_its_turn_and_a_place(rng: np.random.Generator) -> None:
    rows, d = np.array([[1.0, 1, 1, 0, 0], [0, -1, 0, 0, 0], [0, 0, 0, 1, -3]]), np.array([1.0, 0, 1, 1, 1])
    start = signed(rows, d)
    first, *some = with_pairs(start, 3, 99, rng)
    assert first is start and len(some) == 10
    pairs = set()
    for t in some:
        up, down, weights = parts(t)
        assert up.shape == (3, 5)
        assert weights[1] > 0, "the row of one cell is a weight of it"
        assert np.count_nonzero(up[2]) == np.count_nonzero(down[2]) == 1
        pairs.add(tuple(np.flatnonzero(up[2] + down[2])))
    assert len(pairs) == 10
    _, *one = with_pairs(start, 1, 4, rng)
    assert [t.shape for t in one] == [(3, 5)] * 4
    assert all(np.count_nonzero(t[:2]) == 2 and (t[2] > 0).all() for t in one)
    assert len(list(with_pairs(signed(np.ones((1, 1)), np.ones(1)), 1, 4, rng))) == 1


# Of prefix sums of so many cells: what p_identity ends at, and a strategy with signs.
ENDS = {3: (6.0, 6.0), 8: (36.0, 35.0541), 9: (43.2192, 42.3189), 12: (67.3436, 67.0531)}


@pytest.mark.parametrize(
    "seed", [None, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
@pytest.mark.parametrize("n", ENDS)
def test_ends_of_prefix_sums(n: int, seed: int | None) -> None:
    s = solve(Workload.from_matrix(np.tri(n)), "l1_strategy", seed=seed)
    assert s.objective <= ENDS[n][1] * (1 + 2e-6)
    assert s.strategy.sensitivity == pytest.approx(1.0, rel=RECOMPUTED)
    assert s.solver == "signed_rows" and s.error_bound <= s.objective


def end(w: np.ndarray, **options: int) -> Point:
    """The last point of the kernel, which is the point that its own count speaks of."""
    *_, last = points("l1_strategy", {"W": w, "p": -(-w.shape[1] // 3)}, Options(**options), Clock(math.inf))
    v = last.variables
    a = np.vstack([np.diag(v["d"]), v["P"] - v["N"]]) / (v["d"] + (v["P"] + v["N"]).sum(axis=0))
    assert last.estimate is not None
    assert last.estimate[0] == pytest.approx(np.sum((w @ np.linalg.pinv(a)) ** 2), rel=PUBLISHED)
    return last


def test_it_never_ends_above_p_identity(rng: np.random.Generator) -> None:
    """Queries of more and fewer dimensions than cells, wherever the search is stopped."""
    for limit in (1, 30, 500, 10**6):
        n = int(rng.integers(1, 9))
        w = rng.integers(-1, 2, (int(rng.integers(1, n + 2)), n)) + 0.0
        w[0, 0] = 1.0
        options = {"starts": 3, "max_iterations": limit}
        *_, other = search(w.T @ w, -(-n // 4), queries=w, count=3, limit=limit)
        last = end(w, **options)
        assert last.estimate is not None and last.estimate[0] <= other.value * (1 + 1e-12)
        assert last.iterations is not None and last.iterations <= limit
        assert last.stop == Stop.LOCAL or last.iterations == limit


def test_stopped_from_outside_it_has_a_point() -> None:
    (one,) = [p for p in points("l1_strategy", {"W": np.tri(4), "p": 2}, Options(), Clock(1e-9)) if p.stop]
    assert one.stop == Stop.STOPPED and (one.variables["d"] == 1).all() and not one.variables["P"].any()


def test_cells_without_a_query_have_next_to_no_weight() -> None:
    w = np.hstack([np.tri(4), np.zeros((4, 2))])
    for program in ("p_identity", "l1_strategy"):
        assert solve(Workload.from_matrix(w), program).objective == pytest.approx(10.0, rel=RECOMPUTED)


def test_signs_are_found_where_queries_have_them() -> None:
    """One query of opposite signs alone has the error 1; measuring both cells 2."""
    s = solve(Workload.from_matrix([[1.0, -1.0]]), "l1_strategy")
    assert s.objective < 1.01
