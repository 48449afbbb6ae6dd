"""Products of p-identities: their error against dense matrices, what is merged, and the census workload."""

import numpy as np
import pytest
from driver.templates.unions import SMALL, union
from few_attributes import up_to

from mmopt import Workload, solve
from mmopt.driver.templates import Terms, product
from mmopt.errors import OptionError, TooLargeError, UnsuitableError
from mmopt.strategies.product_strategy import ProductStrategy
from mmopt.testing.census_workloads import census
from mmopt.workloads.blocks import factor_blocks as f


def rmse(s: ProductStrategy, w: Workload) -> float:
    return s.sensitivity * float(np.sqrt(s.mean_variance(w)))


def test_it_is_better_than_noise_on_each_cell_and_not_below_the_bound() -> None:
    w = union((1.0, [f.prefix(20), f.total(12)]), (1.0, [f.total(20), f.all_range(12)]))
    s = product(w)
    assert s.sensitivity <= 1.0 + 1e-12
    assert solve(w, "l2_strategy").error < s.total_error(w) < 0.6 * np.trace(w.gram)


def test_one_attribute_is_a_search_of_p_identity() -> None:
    w = union((1.0, [f.prefix(64)]))
    assert rmse(product(w), w) == pytest.approx(solve(w, "p_identity").rmse, rel=2e-3)


def test_the_same_seed_gives_the_same_strategy() -> None:
    one, two = product(SMALL, starts=2, seed=3), product(SMALL, starts=2, seed=3)
    assert all(np.array_equal(a.matrix, b.matrix) for a, b in zip(one.factors, two.factors, strict=True))


def test_values_that_no_query_tells_apart_are_measured_together() -> None:
    w = union((1.0, [f.predicates([[1, 1, 1, 0], [1, 1, 0, 0]]), f.total(1000)]))
    assert [side.size for side in Terms.of(w).sides] == [2, 1]
    first, second = (own.matrix for own in product(w).factors)
    # Nobody asks for the last value; the thousand are one.
    assert np.array_equal(first[:, 0], first[:, 1]) and not first[:, 3].any()
    assert np.array_equal(second, np.ones((1, 1000)))


def test_messages() -> None:
    with pytest.raises(UnsuitableError) as wrong:
        product(Workload.from_matrix(np.eye(3)))
    assert str(wrong.value).startswith(
        "the workload is a matrix, and strategies by attribute need a union of products"
    )
    with pytest.raises(OptionError) as few:
        product(SMALL, starts=0)
    assert str(few.value) == "'starts' is at least 1, not 0"


def test_census() -> None:
    """Their search ends at 5.1695, the best of three random starts; noise on each cell has 67.65."""
    w = census()
    s = product(w, starts=1)
    assert s.n == 500_480 and s.sensitivity <= 1.0 + 1e-12
    assert rmse(s, w) <= 5.16


def test_gaussian_noise() -> None:
    """One product is the optimum where the workload is one; their census product has 2.3214."""
    one = union((1.0, [f.prefix(12), f.all_range(5)]))
    assert product(one, norm=2).total_error(one) == pytest.approx(solve(one, "l2_strategy").error, rel=1e-5)
    w = census()
    s = product(w, norm=2, starts=1)
    assert s.norm == 2 and s.sensitivity <= 1.0 + 1e-12
    assert rmse(s, w) <= 2.3214
    with pytest.raises(OptionError) as wrong:
        product(one, norm=3)
    assert str(wrong.value) == "the strategy's norm is 3, expected 1 (Laplace) or 2 (Gaussian)"


def test_too_many_factors_are_refused() -> None:
    with pytest.raises(TooLargeError) as raised:
        product(up_to((2,) * 40, 2))
    assert str(raised.value) == (
        "one product is searched for up to 16,384 factors of products, and 820 products over 40 attributes "
        "have 32,800\n  solve l2_strategy, which takes queries of few attributes over any number of cells"
    )
