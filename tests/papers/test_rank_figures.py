"""What the two rank programs of PODS 2010 reach, against the best that is known."""

import numpy as np
import pytest
from constructed import haar
from tolerances import PUBLISHED

from mmopt import Workload, solve

slow = pytest.mark.slow
HIERARCHY = np.vstack([np.ones((1, 4)), np.kron(np.eye(2), np.ones((1, 2))), np.eye(4)])


@slow
@pytest.mark.parametrize(("n", "identity"), [(2, 3.0), (3, 6.0), (4, 10.0), (6, 21.0)])
def test_prefix_min_error(n: int, identity: float) -> None:
    """Program 5.1: the identity's error, upper; no better strategy is known for so few cells."""
    s = solve(Workload.from_matrix(np.tri(n)), "min_error")
    assert s.objective <= identity * (1 + PUBLISHED)
    assert s.bound is not None and s.bound == s.error_bound < s.objective
    assert s.status.stop.startswith("rank reached in ")


@slow
def test_haar_min_sensitivity() -> None:
    """Program 5.3 on Y4, of sensitivity 3: its symmetric root has 2 (upper; the slides print 1 + √2)."""
    s = solve(Workload.from_matrix(haar(4)), "min_sensitivity")
    assert s.objective <= 2.0 * (1 + PUBLISHED)
    assert s.status.stop.startswith("rank reached in ")


@slow
def test_hierarchy_min_sensitivity() -> None:
    """H4, of sensitivity 3: ten starts end at √7 (upper); rotations of 2.578 are known."""
    s = solve(Workload.from_matrix(HIERARCHY), "min_sensitivity")
    assert s.objective <= np.sqrt(7.0) * (1 + PUBLISHED)
    assert s.status.stop.startswith("rank reached in ")


@pytest.mark.nightly
def test_hierarchy_min_sensitivity_from_many_starts() -> None:
    s = solve(Workload.from_matrix(HIERARCHY), "min_sensitivity", starts=200)
    assert s.objective <= 2.6
