"""Sums of exponentials for 1 / z."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import ROUNDING

from mmopt.solvers.nuclear.exponentials import exponentials, many_exponentials

# A Newton step with a Hessian within a quarter of the true one converges all the same.
ENOUGH = 0.25


@pytest.mark.parametrize("ratio", [1.0, 1.5, 30.0, 1e3, 1e6, 1e10])
@pytest.mark.parametrize("low", [1e-9, 1.0, 1e5])
def test_near_everywhere(ratio: float, low: float) -> None:
    z = np.geomspace(low, low * ratio, 1000)
    terms = exponentials(low, low * ratio)
    found = sum(w * np.exp(-a * z) for a, w in terms)
    assert np.abs(found * z - 1.0).max() < ENOUGH
    assert all(w > 0 for _, w in terms)  # the Hessian of a concave function stays one


def test_more_terms_for_a_wider_range_only() -> None:
    counts = [len(exponentials(1.0, ratio)) for ratio in (10.0, 1e4, 1e8)]
    assert counts == sorted(counts) and counts[-1] <= 14


@pytest.mark.parametrize("ratio", [1.0, 30.0, 1e6, 1e10])
@pytest.mark.parametrize("low", [1e-9, 1.0, 1e5])
def test_many_are_exact(ratio: float, low: float) -> None:
    z = np.geomspace(low, low * ratio, 1000)
    found = sum(w * np.exp(-a * z) for a, w in many_exponentials(low, low * ratio))
    assert np.abs(found * z - 1.0).max() < ROUNDING
