"""A solver's multipliers are moved into the dual cone before anything is proved by them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mmopt.solvers import cone_bounds
from mmopt.solvers.solver_protocol import Vectors

pytestmark = pytest.mark.quick


def moved(y: np.ndarray, solver: str, **dims: Any) -> np.ndarray:
    none = {"zero": 0, "nonneg": 0, "soc": [], "psd": [], "exp": 0, "p3d": [], "pnd": []}
    handed = SimpleNamespace(cones=SimpleNamespace(**{**none, **dims}), solver=solver)
    found = cone_bounds._inside(Vectors(handed, np.zeros(0), y))
    assert found is not None
    return found


def test_every_part_is_in_its_cone(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for solver in ["CLARABEL", "SCS"]:
        with subtests.test(solver=solver):
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
