"""A start from every fourth cell: near where neighbours are alike, none where they are not."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances

from mmopt.solvers.nuclear.coarse import FEWEST, start
from mmopt.solvers.nuclear.problem import whole
from mmopt.solvers.nuclear.search import search


@pytest.mark.parametrize("n", [FEWEST, 515])
def test_prefix_sums_start_close(n: int) -> None:
    problem = whole(np.tri(n))
    shares = start(problem)
    assert shares is not None and shares.shape == (n,) and shares.min() > 0
    assert shares.sum() == pytest.approx(1.0, rel=tolerances.ROUNDING)
    near, far = next(search(problem, (shares, None))), next(search(problem))
    assert near.gap < far.gap / 10


def test_none_where_it_would_not_help(rng: np.random.Generator) -> None:
    assert start(whole(np.tri(FEWEST - 1))) is None
    assert start(whole(np.tri(FEWEST), np.ones(FEWEST))) is None
    scales = np.exp(rng.normal(size=FEWEST))
    assert start(whole(np.eye(FEWEST) * scales)) is None  # each cell has a weight of its own
