"""DIMACS errors of hand-made points, right and wrong ones."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from mmopt.solvers.conic_problem import Cones, ConicProblem
from mmopt.solvers.conic_solvers import installed_others
from tests.examples.scripts import scripts

dimacs = scripts("benchmark").dimacs_errors
solvers = scripts("benchmark").called_solvers
ROOT = math.sqrt(2.0)


def linear() -> ConicProblem:
    """minimize x0 + 2 x1 with x0 + x1 = 3, x >= 0: x = (3, 0), optimum 3, y = (-1, 0, 1)."""
    a = sp.csc_array(np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
    return ConicProblem(a, np.array([3.0, 0.0, 0.0]), np.array([1.0, 2.0]), Cones(zero=1, nonnegative=2))


def test_an_optimal_pair_has_no_errors() -> None:
    assert dimacs.dimacs_errors(linear(), np.array([3.0, 0.0]), np.array([-1.0, 0.0, 1.0])) == (0.0,) * 6


def test_each_error_alone() -> None:
    x, y = np.array([3.0, 0.0]), np.array([-1.0, 0.0, 1.0])
    errors = dimacs.dimacs_errors
    # s is off by 4 in an inequality: err1 = 4 / (1 + 3), and s.T y = 4.
    assert errors(linear(), x, y, np.array([0.0, 3.0, 4.0])) == (1.0, 0.0, 0.0, 0.0, 0.0, 4.0 / 7.0)
    # x1 = -2: s = (0, 5, -2), so err2 = 2 / 4; the objective is 1.
    found = errors(linear(), np.array([5.0, -2.0]), y)
    assert found == (0.0, 0.5, 0.0, 0.0, -2.0 / 5.0, -2.0 / 5.0)
    # The equation missed by 1 without an s: then it is the cone of s that is missed.
    assert errors(linear(), np.array([4.0, 0.0]), y)[:2] == (0.0, 0.25)
    # y0 = -2: A.T y + c = (-1, -1), so err3 = sqrt(2) / 3; the dual objective is 6.
    found = errors(linear(), x, np.array([-2.0, 0.0, 1.0]))
    assert found == pytest.approx((0, 0, ROOT / 3, 0, -3 / 10, 0), abs=1e-15)
    # y2 = -1, with y0 = -3: the sum is kept in the second column alone.
    found = errors(linear(), x, np.array([-3.0, 2.0, -1.0]))
    assert found[3] == pytest.approx(1 / 3)


def test_the_smallest_eigenvalue_of_each_cone() -> None:
    v = np.array
    least = dimacs.least
    assert least(Cones(zero=2), v([0.0, -3.0]), False) == -3.0
    assert least(Cones(zero=2), v([0.0, -3.0]), True) == math.inf
    assert least(Cones(second_order=(3,)), v([1.0, 3.0, 4.0]), False) == -4.0
    # [[1, 2], [2, 1]] has the eigenvalues 3 and -1.
    assert least(Cones(psd=(2,)), v([1.0, 2.0 * ROOT, 1.0]), True) == pytest.approx(-1.0)
    # (0, 1, 1 + r) is on the boundary at r = 0; with (0, 1, 2) r is subtracted once from v, twice from w.
    assert least(Cones(exponential=1), v([0.0, 1.0, 1.0]), False) == pytest.approx(0.0, abs=1e-12)
    assert least(Cones(exponential=1), v([0.0, 2.0, 3.0]), False) == pytest.approx(1.0)
    assert least(Cones(exponential=1), v([0.0, -1.0, -2.0]), False) == pytest.approx(-1.0)
    assert least(Cones(exponential=1), v([-1.0, -1.0, 1.0]), True) == pytest.approx(0.0, abs=1e-12)
    assert least(Cones(exponential=1), v([-2.0, 0.0, 2.0]), True) == pytest.approx(1.0)
    assert least(Cones(exponential=1), v([1.0, 0.0, 0.0]), True) < 0
    # sqrt(2 * 8) = 4; in the dual cone sqrt(4 * 16) = 8.
    assert least(Cones(power=(0.5,)), v([2.0, 8.0, 4.0]), False) == pytest.approx(0.0, abs=1e-12)
    assert least(Cones(power=(0.5,)), v([2.0, 8.0, -8.0]), True) == pytest.approx(0.0, abs=1e-12)
    assert least(Cones(power=(0.5,)), v([2.0, 8.0, 5.0]), False) < 0


def test_dual_cones_are_those_of_the_pairing(rng: np.random.Generator) -> None:
    """Points inside a cone and its dual have no negative product; boundary points meet one that is zero."""
    for cones in (Cones(exponential=1), Cones(power=(0.3,))):
        for _ in range(200):
            s, y = rng.normal(size=3), rng.normal(size=3)
            if dimacs.least(cones, s, False) >= 0 and dimacs.least(cones, y, True) >= 0:
                assert s @ y >= -1e-12
    for u, y in rng.normal(size=(20, 2)):
        y = abs(y) + 0.1
        s = np.array([u, y, y * math.exp(u / y)])
        dual = np.array([-math.exp(u / y), math.exp(u / y) * (u / y - 1), 1.0])
        assert dimacs.least(Cones(exponential=1), dual, True) == pytest.approx(0.0, abs=1e-9)
        assert s @ dual == pytest.approx(0.0, abs=1e-9 * (1 + abs(s @ np.abs(dual))))


KINDS = {
    "linear": linear(),
    # minimize t with t >= |(3, 4)|.
    "second-order": ConicProblem(
        sp.csc_array(np.array([[-1.0], [0.0], [0.0]])),
        np.array([0.0, 3.0, 4.0]),
        np.array([1.0]),
        Cones(second_order=(3,)),
    ),
    # minimize t with [[t, 2, 0], [2, t, 1], [0, 1, t]] psd: t = sqrt(5).
    "psd": ConicProblem(
        sp.csc_array(np.array([[-1.0], [0], [0], [-1.0], [0], [-1.0]])),
        np.array([0, 2.0 * ROOT, 0, 0, ROOT, 0]),
        np.array([1.0]),
        Cones(psd=(3,)),
    ),
    # minimize w with w >= exp(1).
    "exponential": ConicProblem(
        sp.csc_array(np.array([[0.0], [0.0], [-1.0]])),
        np.array([1.0, 1.0, 0.0]),
        np.array([1.0]),
        Cones(exponential=1),
    ),
    # minimize -w with |w| <= 2 ** 0.3 * 8 ** 0.7.
    "power": ConicProblem(
        sp.csc_array(np.array([[0.0], [0.0], [-1.0]])),
        np.array([2.0, 8.0, 0.0]),
        np.array([-1.0]),
        Cones(power=(0.3,)),
    ),
}
OPTIMA = {
    "linear": 3.0,
    "second-order": 5.0,
    "psd": math.sqrt(5.0),
    "exponential": math.e,
    "power": -(2**2.4),
}
# Those called by cvxpy too, and plain cvxpy.
NAMES = (*solvers.CALLED, *installed_others(), *(f"{solvers.PLAIN}{name}" for name in solvers.CALLED))


def test_every_solver_as_a_function_returns_optimal_pairs(subtests: pytest.Subtests) -> None:
    """Wrong triangles, orders or signs would show in the errors of y, or in those of s."""
    for name, (kind, problem) in itertools.product(NAMES, KINDS.items()):
        called = solvers.function_of(name)
        if not problem.cones.kinds <= getattr(called, "cones", problem.cones.kinds):
            continue
        with subtests.test(f"{name}, {kind}"):
            found = called(replace(problem, options=replace(problem.options, tolerance=1e-8)))
            errors = dimacs.dimacs_errors(problem, found["x"], found["y"], found.get("s"))
            if found["y"].any() or name in solvers.CALLED:  # some of cvxpy's solvers give no multipliers
                assert max(map(abs, errors)) < (1e-3 if name.startswith(solvers.PLAIN) else 1e-5)
            assert problem.c @ found["x"] == pytest.approx(OPTIMA[kind], rel=1e-3 if ":" in name else 1e-5)
            assert found["status"] and (found["seconds"] is None or found["seconds"] > 0)
            assert found["seconds"] is not None or name not in solvers.CALLED
