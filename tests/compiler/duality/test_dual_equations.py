"""Bounds of programs whose variables have no ranges hold, and are near the optimum.

Guards problem_for_multipliers.py.
"""

from fractions import Fraction

import numpy as np
import pytest

import mmopt
from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.compiler.duality.problem_for_multipliers import without_remainder
from mmopt.compiler.duality.ranges import Range
from mmopt.driver.judge.derived_bound import line_bounds
from tests.compiler.derived_points import Rng

LINEAR = """
program linear
given
    A: matrix[m, n]
    b: vector[m]
    c: vector[n]
choose
    x: vector[n]
minimize
    c @ x
subject to
    rows: A @ x >= b
"""
CONVEX_FIT = """
program convex_fit
given
    x: matrix[m, d]
    y: vector[m]
choose
    f: vector[m]
    G: matrix[m, d]
minimize
    sum((f - y)**2)
subject to
    convex: f[j] >= f[i] + G[i, :] @ (x[j, :] - x[i, :]) for i, j in m if i != j
"""
FEEDBACK = """
program feedback
given
    A: matrix[n, n]
    B: matrix[n, k]
choose
    P: KIND[n, n]
    Y: matrix[k, n]
    Z: KIND[n, n]
    V: KIND[k, k]
minimize
    trace(Z) + trace(V)
subject to
    stable: A @ P + P @ A.T + B @ Y + Y.T @ B.T + eye(n) << 0
    state: [[Z, P], [P, P]] >> 0
    effort: [[V, Y], [Y.T, P]] >> 0
"""
ONE = Workload.from_matrix(np.ones((1, 1)))


@pytest.mark.parametrize(("is_solved", "most"), [(True, 1e-9), (False, 1e-3)])
def test_bounds_of_linear_programs_without_ranges_are_below_exact_optima(
    is_solved: bool, most: float, rng: Rng, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers make the optimum exact; without steps of least squares all is left to the widening."""
    if not is_solved:
        monkeypatch.setattr(np.linalg, "lstsq", lambda a, b: (np.zeros(a.shape[1]),))
    gaps = []
    for _ in range(40):
        n = int(rng.integers(2, 5))
        a = rng.integers(-9, 10, (n + 3, n))
        x, slack, y = rng.integers(-9000, 9000, n), rng.integers(1, 20, n + 3), rng.integers(1, 9, n + 3)
        active = np.isin(np.arange(n + 3), rng.choice(n + 3, n, replace=False))
        b, c = a @ x - np.where(active, 0, slack), np.where(active, y, 0) @ a
        givens = {"A": a * 1.0, "b": b * 1.0, "c": c * 1.0}
        instance = bind(Program.parse(LINEAR), ONE, givens=givens)
        lines = line_bounds(instance, {"x": x * 1.0}, np.inf)
        ranges = {"x": Range.unknown((n,))}
        near = {"rows": np.where(active, y, 0) * (1.0 + 1e-8 * rng.normal(size=n + 3))}
        if (bound := without_remainder(lines.nodes, ranges, near, {})) is not None:
            assert not bound.residuals["x"].mid.any() and bound.residuals["x"].is_exact
            gaps.append(Fraction(int(c @ x)) - Fraction(float(bound.constant.lower)))
            assert gaps[-1] >= 0
            assert gaps[-1] <= most * (1 + abs(int(c @ x)))
    assert len(gaps) > 20


def test_a_multiplier_that_may_leave_its_cone_proves_nothing() -> None:
    """The equations need a multiplier of -1e-9, near 1e-6."""
    instance = bind(
        Program.parse(LINEAR), ONE, givens={"A": np.eye(2), "b": np.zeros(2), "c": np.array([1.0, -1e-9])}
    )
    lines = line_bounds(instance, {"x": np.zeros(2)}, np.inf)
    ranges = {"x": Range.unknown((2,))}
    assert without_remainder(lines.nodes, ranges, {"rows": np.array([1.0, 1e-6])}, {}) is None


@pytest.mark.parametrize("kind", ["symmetric", "psd"])
def test_matrices_without_ranges_have_a_bound_near_the_optimum(kind: str, rng: Rng) -> None:
    givens = {"A": rng.normal(size=(3, 3)), "B": rng.normal(size=(3, 2))}
    solution = mmopt.solve(ONE, Program.parse(FEEDBACK.replace("KIND", kind)), givens=givens)
    assert solution.gap is not None and solution.gap < 1e-6


def test_a_convex_fit_has_a_bound_near_the_optimum() -> None:
    """Slopes at the corners of the points have no range, and multipliers that are exactly 0."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (8, 2))
    y = (x**2).sum(axis=1) + 0.3 * rng.normal(size=8)
    solution = mmopt.solve(ONE, Program.parse(CONVEX_FIT), givens={"x": x, "y": y})
    assert solution.objective > 0.01 and solution.gap is not None and solution.gap < 1e-6
