"""Multipliers prove what weak duality says, once moved into the dual cone, and nothing else.

Guards driver/why_no_solution.py in its proofs.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from mmopt.driver import why_no_solution
from mmopt.driver.why_no_solution import natural_sizes, prove
from mmopt.solvers import Vectors


def vectors(a: Any, b: Any, c: Any, y: Any, solver: str = "SCS", **dims: Any) -> Vectors:
    cones = SimpleNamespace(
        **{"zero": 0, "nonneg": 0, "soc": [], "psd": [], "exp": 0, "p3d": [], "pnd": [], **dims}
    )
    data = {"A": sp.csc_array(np.array(a, dtype=float)), "b": np.array(b, dtype=float), "c": np.array(c)}
    handed = SimpleNamespace(data=data, cones=cones, solver=solver)
    return Vectors(handed, np.zeros(len(c)), np.array(y, dtype=float))


def test_a_ray_of_farkas() -> None:
    """x <= 1 and -x <= -2."""
    found = prove(vectors([[1], [-1]], [1, -2], [0.0], [1, 1], nonneg=2))
    assert found is not None
    assert found.value == pytest.approx(1.0) and found.residual < 1e-14 and found.radius == 1 / found.residual


def test_a_residual_limits_the_reach() -> None:
    found = prove(vectors([[1], [-1]], [1, -2], [0.0], [1, 1.001], nonneg=2))
    assert found is not None
    assert found.radius == pytest.approx(1.002 / 1e-3, rel=1e-6)
    # The sum of the rows, -0.001 x <= -1.002, holds from there on.
    assert -1e-3 * found.radius == pytest.approx(-1.002, rel=1e-6)


def test_the_residuals_of_all_unknowns_count() -> None:
    """x + y <= 1 and -x - y <= -2: what 1 and 1.001 of them leave, 0.001 of each, adds up."""
    found = prove(vectors([[1, 1], [-1, -1]], [1, -2], [0.0, 0.0], [1, 1.001], nonneg=2))
    assert found is not None and found.radius == pytest.approx(1.002 / 2e-3, rel=1e-6)


def test_what_proves_nothing(subtests: pytest.Subtests) -> None:
    """Negative multipliers are clipped; those of one row alone leave x free or give no sign."""
    for y in [[-1, -1], [1, 0], [0, 1], [0, 0]]:
        with subtests.test(y=y):
            found = prove(vectors([[1], [-1]], [1, -2], [0.0], y, nonneg=2))
            assert found is None or found.radius <= 2.0


@pytest.mark.quick
def test_a_lower_bound_on_the_cost() -> None:
    """minimize x subject to -x <= -3."""
    found = prove(vectors([[-1]], [-3], [1.0], [1], nonneg=1))
    assert found is not None and found.value == pytest.approx(3.0) and found.value < 3.0


@pytest.mark.quick
def test_a_psd_cone(rng: np.random.Generator) -> None:
    """The triangle of -M = M(x) with M positive definite is in no psd cone: y = any psd matrix shows it."""
    for solver in ["SCS", "CLARABEL"]:
        index = np.tril_indices(3) if solver == "CLARABEL" else np.triu_indices(3)
        weight = np.where(index[0] == index[1], 1.0, np.sqrt(2.0))
        root = rng.normal(size=(3, 3))
        b = -(root @ root.T + np.eye(3))[index] * weight
        other = rng.normal(size=(3, 3))
        y = (other @ other.T)[index] * weight
        found = prove(vectors(np.zeros((6, 1)), b, [0.0], y, solver, psd=[3]))
        assert found is not None and found.radius == np.inf
        assert found.value >= -float(b @ y) * (1 - 1e-12)
        # A feasible s = diag(1, 1, 5): the negative eigenvalue of y is clipped before it is believed.
        s, wrong = (np.diag([1.0, 1.0, sign * 5.0])[index] * weight for sign in (1, -1))
        assert -float(s @ wrong) > 0
        assert prove(vectors(np.zeros((6, 1)), s, [0.0], wrong, solver, psd=[3])) is None


def test_a_second_order_cone_is_widened() -> None:
    """s = (0, 1, 0) is not in the cone; y = (1, -1, 0) shows it, y = (0, -1, 0) after it is widened."""
    for first in (1.0, 0.0):
        found = prove(vectors(np.zeros((3, 1)), [0, 1, 0], [0.0], [first, -1, 0], soc=[3]))
        assert found is not None and found.value == pytest.approx(1.0)
    assert prove(vectors(np.zeros((3, 1)), [2, 1, 0], [0.0], [0, -1, 0], soc=[3])) is None


def test_other_cones_are_not_read() -> None:
    assert prove(vectors([[1.0]] * 3, [1, 1, 1], [0.0], [1, 1, 1], exp=1)) is None


def test_natural_sizes() -> None:
    """1e-12 x >= 1, x = 1e-3 z: x is near 1e12 and z near 1e15."""
    a = sp.csc_array(np.array([[-1e-12, 0.0, 0.0], [1.0, -1e-3, 0.0]]))
    sizes = natural_sizes(a, np.array([-1.0, 0.0]), np.zeros(3, dtype=bool))
    assert sizes[:2] == pytest.approx([1e12, 1e15], rel=1e-2)
    assert sizes[2] == 1.0
    alone = natural_sizes(a, np.array([-1.0, 0.0]), np.array([True, False, False]))
    assert (alone >= 1.0).all() and alone[1] < 1e4


def moved(y: np.ndarray, solver: str, **dims: Any) -> np.ndarray:
    none = {"zero": 0, "nonneg": 0, "soc": [], "psd": [], "exp": 0, "p3d": [], "pnd": []}
    handed = SimpleNamespace(cones=SimpleNamespace(**{**none, **dims}), solver=solver)
    found = why_no_solution._inside(Vectors(handed, np.zeros(0), y))
    assert found is not None
    return found


@pytest.mark.quick
def test_every_part_is_in_its_cone(rng: np.random.Generator) -> None:
    for solver in ["CLARABEL", "SCS"]:
        for _ in range(20):
            y = rng.normal(size=2 + 3 + 4 + 6)
            found = moved(y, solver, zero=2, nonneg=3, soc=[4], psd=[3])
            np.testing.assert_array_equal(found[:2], y[:2])
            assert (found[2:5] >= 0).all()
            assert found[5] >= np.linalg.norm(found[6:9])
            entries = found[9:] / np.array([1, np.sqrt(2), 1, np.sqrt(2), np.sqrt(2), 1])
            if solver == "SCS":
                entries = found[9:] / np.array([1, np.sqrt(2), np.sqrt(2), 1, np.sqrt(2), 1])
            matrix = np.zeros((3, 3))
            matrix[np.tril_indices(3) if solver == "CLARABEL" else np.triu_indices(3)] = entries
            matrix = matrix + np.triu(matrix, 1).T + np.tril(matrix, -1).T - 0.0
            assert np.linalg.eigvalsh(matrix)[0] >= 0
