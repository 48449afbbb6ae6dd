"""Points at the gap asked for, and at what rounding allows.

The polar factor that a kernel hands over: orthonormal, and K Zᵀ is symmetric and positive.
"""

import itertools

import numpy as np
import pytest
import tolerances

from mmopt import Workload, solve
from mmopt.solvers.nuclear.nuclear_kernel import polar_of
from mmopt.solvers.nuclear.nuclear_problem import whole
from mmopt.solvers.nuclear.weighted_spectrum import iterate


def test_a_gap_out_of_reach_costs_nothing() -> None:
    """What no arithmetic reaches is no reason to stop before the first step."""
    workload = Workload.from_matrix(np.tri(16))
    reached = solve(workload, "l2_strategy", tolerance=1e-10)
    for tolerance in (1e-14, 1e-15, 1e-300):
        found = solve(workload, "l2_strategy", tolerance=tolerance)
        assert found.gap is not None
        assert found.gap <= 1e-10
        assert found.objective <= reached.objective * (1 + 1e-10)
        assert found.status.stop == "gap not reached"


@pytest.mark.quick
def test_it_is_one(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Also where the rank is a little short: what stands beside changes nothing in <K, Z>.

    With singular values of like sizes: of small ones a Gram matrix gives the directions less well.
    """
    for targets, missing, shape in itertools.product([False, True], [0, 1, 2], [(12, 8), (8, 8), (8, 12)]):
        with subtests.test(targets=targets, missing=missing, shape=shape):
            m, n = shape
            rank = min(shape) - missing
            left, right = (np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in (m, n))
            rows = left * rng.uniform(0.1, 1.0, rank) @ right.T
            problem = whole(rows, np.ones(m) if targets else None)
            cells, queries = rng.dirichlet(np.full(n, 9.0)), rng.dirichlet(np.full(m, 9.0))
            at = iterate(problem, [None], cells, queries if targets else None)
            k = np.sqrt(queries if targets else np.ones(m))[:, None] * rows * np.sqrt(cells)
            z = polar_of(problem, at)
            assert isinstance(z, np.ndarray) and z.shape == shape
            one = z @ z.T if m < n else z.T @ z
            np.testing.assert_allclose(one, np.eye(min(shape)), atol=tolerances.FINE)
            assert np.vdot(k, z) == pytest.approx(np.linalg.norm(k, "nuc"), rel=tolerances.FINE)
            np.testing.assert_allclose(k @ z.T, z @ k.T, atol=tolerances.FINE)


@pytest.mark.quick
def test_far_from_full_rank_there_is_none(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 8))
    assert polar_of(whole(rows), iterate(whole(rows), [None], np.full(8, 0.125), None)) is None
