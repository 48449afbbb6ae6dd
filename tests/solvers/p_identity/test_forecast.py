"""The forecast grows with the cells, and knows nothing but their number."""

from __future__ import annotations

import numpy as np

from mmopt.solvers.p_identity import needs


def test_it_grows() -> None:
    found = [needs({"W": np.zeros((1, n)), "p": 1}) for n in (64, 1024, 8192)]
    memory, seconds = zip(*found, strict=True)
    assert list(memory) == sorted(memory) and list(seconds) == sorted(seconds)
    assert memory[-1] > 8 * 8192**2 and 5 < seconds[1] < 30
