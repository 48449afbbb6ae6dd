"""How far a figure is from the bound on it."""

from __future__ import annotations

import numpy as np

from mmopt.results import gap_between


def test_gap() -> None:
    assert gap_between(3.0, 2.0) == 0.5
    assert gap_between(3.0, 0.0) == np.inf
    assert gap_between(3.0, None) is None
    assert gap_between(0.0, 0.0) == 0.0
    assert gap_between(-1.0, -2.0) == 0.5
    assert gap_between(2.0, 3.0, "maximize") == 0.5
