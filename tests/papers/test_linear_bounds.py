"""Bounds for Laplace noise that are linear in the Gram matrix of a strategy.

The proofs stand in examples/site/notes/linear-bounds.md.
"""

import itertools

import numpy as np
import pytest
import scipy.optimize
from tolerances import GAP_INTERIOR, RECOMPUTED

from mmopt import Workload, solve
from mmopt.numerics.arrays import Array

# θ of the note, by the number of cells.
ROOM = {2: 0.618, 3: 0.381, 4: 0.321, 5: 0.288, 6: 0.267, 7: 0.251, 8: 0.239}
ROOM_OF_MORE = {9: 0.229, 10: 0.220, 11: 0.213, 12: 0.207}


def signs(n: int) -> Array:
    """All s (2^(n - 1), n) of ±1 up to a common sign."""
    return np.array([(1.0, *rest) for rest in itertools.product((1.0, -1.0), repeat=n - 1)])


def room(x: Array) -> tuple[float, float]:
    """The largest θ with X = θ I + Σ w ssᵀ + R, θ and w of sum 1, and the sum of |R| above the diagonal."""
    n = len(x)
    left, right = np.triu_indices(n, 1)
    columns = np.hstack([(signs(n)[:, left] * signs(n)[:, right]).T, np.zeros((len(left), 1))])
    sums = np.vstack([columns, np.ones(columns.shape[1])])
    cost = np.append(np.zeros(columns.shape[1] - 1), -1.0)
    optimum = scipy.optimize.linprog(cost, A_eq=sums, b_eq=np.append(x[left, right], 1.0), method="highs")
    assert optimum.success, optimum.message
    weights = np.maximum(optimum.x, 0.0) / np.maximum(optimum.x, 0.0).sum()
    return float(weights[-1]), float(np.abs(columns @ weights - x[left, right]).sum())


@pytest.mark.parametrize("n", [*ROOM, *(pytest.param(n, marks=pytest.mark.slow) for n in ROOM_OF_MORE)])
def test_the_optimum_for_prefix_sums_is_a_mean_of_sign_matrices(n: int) -> None:
    """Theorem 3: no linear bound is better than that of l2_strategy."""
    s = solve(Workload.from_matrix(np.tri(n)), "l2_strategy", tolerance=1e-10)
    x = np.array(s.variables["X"])
    x[np.diag_indices(n)] = 1.0
    assert s.error_bound is not None
    excess = float(np.trace(np.linalg.solve(x, np.tri(n).T @ np.tri(n)))) - s.error_bound
    assert np.linalg.eigvalsh(x)[0] > 0 and excess > -RECOMPUTED
    theta, rest = room(x)
    assert theta == pytest.approx((ROOM | ROOM_OF_MORE)[n], abs=6e-4)
    assert rest + n**2.5 * np.sqrt(max(excess, 0.0)) < 4e-3 < theta


def test_a_matrix_outside_has_no_such_mean() -> None:
    """Three vectors at 120 degrees: the optimum for the differences of three cells."""
    with pytest.raises(AssertionError, match="infeasible"):
        room(np.full((3, 3), -0.5) + 1.5 * np.eye(3))


def test_a_strategy_is_below_a_mean_of_sign_matrices(rng: np.random.Generator) -> None:
    """Theorem 2."""
    for n, rows in ((3, 1), (4, 6), (6, 3)):
        a = rng.normal(size=(rows, n))
        a = a / np.abs(a).sum(axis=0) * np.array([0.5, *np.ones(n - 1)])
        gram = a.T @ a
        gram[np.diag_indices(n)] = 1.0
        _, rest = room(gram)
        assert rest < RECOMPUTED


def test_where_a_linear_bound_is_better() -> None:
    """Differences of three cells: 4/3 by l2_strategy, 3/2 over all means of sign matrices, 2 reached."""
    differences = np.eye(3) - 1.0 / 3.0
    w = Workload.from_matrix(differences)
    assert solve(w, "l2_strategy").error_bound == pytest.approx(4.0 / 3.0, rel=GAP_INTERIOR)
    least = min(s @ (np.ones((3, 3)) - np.eye(3)) @ s / 6.0 for s in signs(3))
    assert least == pytest.approx(-1.0 / 3.0)
    nearest = (1.0 - least) * np.eye(3) + least
    assert np.trace(differences @ np.linalg.inv(nearest)) == pytest.approx(1.5)
    room(nearest)
    reached = solve(w, "l1_strategy")
    assert 1.5 < reached.objective == pytest.approx(2.0, rel=GAP_INTERIOR)
