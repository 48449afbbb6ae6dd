"""Product strategies side by side: sensitivity and error against dense matrices, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from highdim.unions import SMALL
from tolerances import RECOMPUTED

from mmopt.errors import OptionError
from mmopt.queries import ProductStrategy, Strategy, UnionStrategy


@pytest.mark.parametrize("norm", [1, 2])
def test_least_squares_over_all_parts_is_no_worse(norm: int, rng: np.random.Generator) -> None:
    """Its rows, stacked, have its sensitivity and at most its error."""
    parts = tuple(
        ProductStrategy((rng.random((8, 6)) / 8, np.eye(3) + rng.random((3, 3))), norm) for _ in range(3)
    )
    s = UnionStrategy(parts, np.array([0.2, 0.5, 0.3]))
    dense = Strategy(np.vstack([x * p.matrix for x, p in zip(s.shares, parts, strict=True)]), norm)
    assert (s.p, s.n, s.norm) == (dense.p, dense.n, dense.norm)
    assert dense.sensitivity <= s.sensitivity * (1 + RECOMPUTED)
    assert dense.total_error(SMALL) <= s.total_error(SMALL) * (1 + RECOMPUTED)


def test_one_part_is_the_part() -> None:
    part = ProductStrategy((np.eye(6), np.eye(3)))
    whole = UnionStrategy((part,), np.array([0.25]))
    assert whole.total_error(SMALL) == pytest.approx(part.total_error(SMALL), rel=RECOMPUTED)
    assert whole.rmse(SMALL) == pytest.approx(part.rmse(SMALL), rel=RECOMPUTED)


def test_messages() -> None:
    part = ProductStrategy((np.eye(6), np.eye(3)))
    with pytest.raises(OptionError) as wrong:
        UnionStrategy((part,), np.array([1.0, 2.0]))
    assert str(wrong.value) == "1 parts need as many positive shares, found [1.0, 2.0]"
    with pytest.raises(OptionError) as kinds:
        UnionStrategy((part, ProductStrategy((np.eye(2),))), np.ones(2))
    assert str(kinds.value) == "the parts have 2 kinds of norm and sizes, expected one"
