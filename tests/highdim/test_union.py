"""Unions of products: the budget, the error against dense matrices, and the census workload."""

from __future__ import annotations

import numpy as np
import pytest
from highdim.unions import SMALL, marginal_workload, union
from symmetric import census
from tolerances import RECOMPUTED

from mmopt import Workload
from mmopt import highdim as h
from mmopt.errors import OptionError, UnsuitableError
from mmopt.highdim.union import shares_of
from mmopt.queries import ProductStrategy, Strategy, UnionStrategy
from mmopt.queries import factor as f


def test_the_best_shares_of_the_budget(rng: np.random.Generator) -> None:
    errors = rng.exponential(size=4)
    best = shares_of(errors)
    assert best.sum() == pytest.approx(1.0)
    least = (errors / best**2).sum()
    assert least == pytest.approx(np.cbrt(errors).sum() ** 3)
    for other in rng.dirichlet(np.ones(4), size=50):
        assert (errors / other**2).sum() >= least


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
    part = h.product(SMALL, starts=1)
    whole = UnionStrategy((part,), np.array([0.25]))
    assert whole.total_error(SMALL) == pytest.approx(part.total_error(SMALL), rel=RECOMPUTED)
    assert whole.rmse(SMALL) == pytest.approx(part.rmse(SMALL), rel=RECOMPUTED)


def test_two_parts_are_better_where_queries_have_nothing_in_common() -> None:
    w = union((1.0, [f.identity(30), f.total(30)]), (1.0, [f.total(30), f.identity(30)]))
    s = h.union(w)
    assert s.sensitivity <= 1.0 and len(s.parts) == 2
    # Half of the budget for each side: 60 queries of variance 4.
    assert s.total_error(w) == pytest.approx(240.0, rel=1e-3)
    assert h.product(w).total_error(w) > 300.0


def test_the_driver_keeps_the_best() -> None:
    w = marginal_workload((2, 3, 10), (1, 2))
    found = h.best(w)
    assert set(found.tried) == {"product", "union", "marginals"}
    least = min(t.error for t in found.tried.values())
    assert found.strategy.total_error(w) == least == found.tried[found.kind].error
    assert found.strategy.sensitivity <= 1.0 + 1e-12
    assert str(found).count("\n") == 2 and f"* {found.kind:<10} rmse " in str(found)


def test_messages() -> None:
    with pytest.raises(UnsuitableError):
        h.union(Workload.from_matrix(np.eye(3)))
    with pytest.raises(OptionError) as few:
        h.union(SMALL, 0)
    assert str(few.value) == "'groups' is at least 1, not 0"
    part = h.product(SMALL, starts=1)
    with pytest.raises(OptionError) as wrong:
        UnionStrategy((part,), np.array([1.0, 2.0]))
    assert str(wrong.value) == "1 parts need as many positive shares, found [1.0, 2.0]"
    with pytest.raises(OptionError) as kinds:
        UnionStrategy((part, ProductStrategy((np.eye(2),))), np.ones(2))
    assert str(kinds.value) == "the parts have 2 kinds of norm and sizes, expected one"


def test_census() -> None:
    """One product ends at 5.1578, the best that is published at 5.1695."""
    w = census()
    s = h.union(w)
    assert s.sensitivity <= 1.0
    assert s.rmse(w) <= 4.56
