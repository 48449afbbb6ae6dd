"""Projections onto unit balls, and columns that come closest.

The kernel on the two halves: against a conic solver, and how it stops.
"""

import itertools

import numpy as np
import pytest
import scipy.optimize
from named_workloads import named, random_workload
from tolerances import GAP

from mmopt import Workload, solve
from mmopt.solvers.low_rank_kernel import approach, project, reconstruction


def test_a_projection_is_the_nearest_point(rng: np.random.Generator) -> None:
    """In the ball, itself if it was in it; the way to it turns away from every point of the ball."""
    for norm in [1, 2]:
        for scale in (0.05, 1.0, 30.0):
            points = scale * rng.normal(size=(6, 40))
            found = project(points, norm)
            assert np.linalg.norm(found, ord=norm, axis=0).max() <= 1 + 1e-12
            inside = np.linalg.norm(points, ord=norm, axis=0) <= 1
            assert np.array_equal(found[:, inside], points[:, inside])
            others = rng.normal(size=(6, 40))
            others /= np.linalg.norm(others, ord=norm, axis=0)
            assert (((points - found) * (others - found)).sum(axis=0) <= 1e-12 * (1 + scale)).all()


def objective(R: np.ndarray, V: np.ndarray, A: np.ndarray, S: np.ndarray, price: float, near: float) -> float:
    squares = (np.square(R), price * np.square(V - R @ A), near * np.square(A - S))
    return float(sum(part.sum() for part in squares))


def test_both_sides_close(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm, near in [*itertools.product([1, 2], [0.0, 0.3])]:
        with subtests.test(norm=norm, near=near):
            for _ in range(5):
                r, p, n = 3, 5, 7
                R, V, S = rng.normal(size=(r, p)), 2 * rng.normal(size=(r, n)), rng.normal(size=(p, n))
                low, high = -np.inf, np.inf
                for state in itertools.islice(approach(R, V, 4.0, S, near, norm), 100):
                    assert state.objective <= high and state.bound >= low
                    low, high = state.bound, state.objective
                    assert high == pytest.approx(objective(R, V, state.columns, S, 4.0, near), rel=1e-12)
                    assert np.linalg.norm(state.columns, ord=norm, axis=0).max() <= 1 + 1e-12
                assert low <= high * (1 + 1e-12) and state.gap <= 1e-6


def test_of_nothing_to_reconstruct_with_every_strategy_is_as_good() -> None:
    states = approach(np.zeros((2, 3)), np.ones((2, 4)), 2.0, np.zeros((3, 4)), 0.0, 1)
    first, second = next(states), next(states)
    assert first.gap == second.gap == 0.0 and first.objective == 16.0


def test_the_closed_form_is_least(rng: np.random.Generator) -> None:
    A, V = rng.normal(size=(3, 5)), rng.normal(size=(2, 5))

    def value(flat: np.ndarray) -> float:
        return objective(flat.reshape(2, 3), V, A, A, 1.7, 0.0)

    found = reconstruction(A, V, 1.7)
    searched = scipy.optimize.minimize(value, np.zeros(6))
    assert value(found.ravel()) <= searched.fun * (1 + 1e-12)
    np.testing.assert_allclose(found.ravel(), searched.x, atol=1e-5)


HALVES = ["low_rank_reconstruction", "low_rank_strategy", "low_rank_gaussian_strategy"]


def test_as_a_conic_solver(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in HALVES:
        with subtests.test(program):
            for w in (named("prefix"), named("rank deficient"), random_workload(rng)):
                givens = {} if program == HALVES[0] else {"S": rng.normal(size=(6, w.n)), "near": 0.2}
                if givens:
                    givens["R"] = rng.normal(size=(w.root.shape[0], 6))
                own, conic = (solve(w, program, solver=s, givens=givens) for s in (None, "clarabel"))
                assert own.solver == "low_rank" and conic.solver == "clarabel"
                for one, other in ((own, conic), (conic, own)):
                    assert one.status.feasible and one.gap is not None and one.gap <= GAP
                    assert one.bound is not None and one.bound <= other.objective


def test_a_finer_gap_is_reached() -> None:
    w = Workload.from_matrix(np.tri(12))
    rough, fine = (solve(w, "low_rank_strategy", tolerance=t) for t in (1e-2, 1e-8))
    assert rough.status.stop == fine.status.stop == "gap reached"
    assert rough.iterations < fine.iterations and fine.gap is not None and fine.gap <= 1e-8
