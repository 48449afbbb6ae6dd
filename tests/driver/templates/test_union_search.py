"""Unions of products: the budget, the error against dense matrices, and the census workload."""

import numpy as np
import pytest
from driver.templates.unions import SMALL, union
from tolerances import RECOMPUTED

from mmopt import Domain, Workload
from mmopt.driver import templates as h
from mmopt.driver.templates.union_search import shares_of
from mmopt.errors import OptionError, TooLargeError, UnsuitableError
from mmopt.strategies.union_strategy import UnionStrategy
from mmopt.testing.census_workloads import census
from mmopt.workloads.blocks import factor_blocks as f


def test_the_best_shares_of_the_budget(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for norm, power in [(1, 3), (2, 2)]:
        with subtests.test(norm=norm, power=power):
            errors = rng.exponential(size=4)
            best = shares_of(errors, norm)
            assert np.linalg.norm(best, norm) == pytest.approx(1.0)
            least = (errors / best**2).sum()
            assert least == pytest.approx((errors ** (1 / power)).sum() ** power)
            for other in rng.dirichlet(np.ones(4), size=50):
                assert (errors / (other / np.linalg.norm(other, norm)) ** 2).sum() >= least * (1 - RECOMPUTED)


def test_two_parts_are_better_where_queries_have_nothing_in_common() -> None:
    w = union((1.0, [f.identity(30), f.total(30)]), (1.0, [f.total(30), f.identity(30)]))
    s = h.union(w)
    assert s.sensitivity <= 1.0 and len(s.parts) == 2
    # Half of the budget for each side: 60 queries of variance 4.
    assert s.total_error(w) == pytest.approx(240.0, rel=1e-3)
    assert h.product(w).total_error(w) > 300.0


def test_queries_of_next_to_no_weight_beside_others(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    """One product may not measure them at all: its error is infinite, and two parts are the way on."""
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            apart = float(10.0 ** rng.uniform(3, 12))
            w = union((apart, [f.identity(3), f.total(20)]), (1 / apart, [f.identity(3), f.identity(20)]))
            s = h.union(w, norm=norm)
            assert s.sensitivity <= 1.0 and s.supports(w)
            assert s.total_error(w) < np.inf


def rmse(s: UnionStrategy, w: Workload) -> float:
    return s.sensitivity * float(np.sqrt(s.mean_variance(w)))


@pytest.mark.slow
def test_gaussian_noise() -> None:
    w = census()
    s = h.union(w, norm=2)
    assert s.sensitivity <= 1.0 and s.norm == 2
    assert rmse(s, w) <= 2.10


def test_messages() -> None:
    with pytest.raises(UnsuitableError):
        h.union(Workload.from_matrix(np.eye(3)))
    with pytest.raises(OptionError) as few:
        h.union(SMALL, 0)
    assert str(few.value) == "'groups' is at least 1, not 0"


@pytest.mark.slow
def test_census() -> None:
    """One product ends at 5.1578, the best that is published at 5.1695."""
    w = census()
    s = h.union(w)
    assert s.sensitivity <= 1.0
    assert rmse(s, w) <= 4.56


def test_too_many_products_over_too_many_attributes_are_refused() -> None:
    asked = Domain.of(**{f"a{i}": range(10) for i in range(20)}).marginals([1, 2])
    with pytest.raises(TooLargeError) as raised:
        h.union(asked)
    assert str(raised.value) == (
        "a union is searched for up to 2,048 factors of products, and 210 products over 20 attributes "
        "have 4,200"
    )
