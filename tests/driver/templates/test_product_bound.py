"""The bound by multipliers that are products is below the optimum.

Guards templates_and_bound.py.
"""

import numpy as np
import pytest
import tolerances
from few_attributes import up_to
from symmetric_workloads import random_products

from mmopt import Workload, solve
from mmopt.driver.templates import multipliers_of, product, product_bound, templates_and_bound
from mmopt.strategies import Strategy
from mmopt.strategies.factor_strategies import ProductStrategy
from mmopt.testing.problem_registry import domain_of, marginals
from mmopt.workloads import Product, factors_and_products as f


def two(n: int, *rows: tuple[str, str]) -> Workload:
    blocks = {"R": f.all_range, "P": f.prefix, "I": f.identity, "T": f.total}
    return Workload.from_products(
        domain_of(n, n),
        [Product((blocks[a](n), blocks[b](n)), weight=1.0 + i) for i, (a, b) in enumerate(rows)],
    )


@pytest.mark.quick
def test_the_bound_is_below_the_optimum_and_the_product_above(rng: np.random.Generator) -> None:
    for _ in range(2):
        workload = random_products(rng)
        found = product(workload, norm=2, starts=1)
        optimum = solve(workload, "l2_strategy")
        error = found.total_error(workload)
        own = multipliers_of(found, workload)
        assert product_bound(workload, own) <= optimum.objective <= error * (1 + 1e-6)
        identity = ProductStrategy(tuple(Strategy(np.eye(n)) for n in workload.domain.shape))
        assert error <= identity.total_error(workload) * (1 + tolerances.ROUNDING)
        # Any multipliers give a bound.
        other = [rng.uniform(0, 1, n) for n in workload.domain.shape]
        assert product_bound(workload, other) <= optimum.objective


def test_of_one_product_the_product_is_the_optimum() -> None:
    """And the bound is tight: nuclear norms multiply."""
    workload = two(6, ("P", "R"))
    found = product(workload, norm=2, starts=1)
    error = found.total_error(workload)
    assert error == pytest.approx(solve(workload, "l2_strategy").objective, rel=tolerances.GAP_INTERIOR)
    assert product_bound(workload, multipliers_of(found, workload)) == pytest.approx(error, rel=1e-5)


def test_products_that_differ_in_one_attribute_are_one() -> None:
    """(P + I) ⊗ R: one Gram matrix on the first attribute; the bound sees it."""
    domain = domain_of(5, 4)
    rows = [Product((f.prefix(5), f.all_range(4))), Product((f.identity(5), f.all_range(4)))]
    workload = Workload.from_products(domain, rows)
    found = product(workload, norm=2, starts=1)
    bound = product_bound(workload, multipliers_of(found, workload))
    assert bound == pytest.approx(found.total_error(workload), rel=1e-5)


def test_the_bound_is_the_optimum_of_marginals(subtests: pytest.Subtests) -> None:
    """Their Gram matrices live on the subspaces that the bound splits into."""
    for ways in [(2,), (0, 1, 2), (0, 1, 2, 3)]:
        with subtests.test(ways=ways):
            workload = marginals((2, 5, 3), ways)
            optimum = solve(workload, "l2_strategy")
            bound = product_bound(workload, [np.ones(n) for n in workload.domain.shape])
            assert bound == pytest.approx(optimum.objective, rel=tolerances.GAP_INTERIOR)


@pytest.mark.quick
def test_the_bound_of_templates_without_a_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound for too many cells, on a few: the bound is no more than the optimum, and meets it for one
    product."""
    workload = two(6, ("P", "R"))
    optimum = solve(workload, "l2_strategy").objective
    monkeypatch.setattr(templates_and_bound, "LARGEST_SOLVED", 0)
    monkeypatch.setattr(templates_and_bound, "by_components", lambda *args, **options: None)
    bound, origin = templates_and_bound.template_bound(workload)
    assert optimum * (1 - 1e-4) <= bound <= optimum and origin == "multipliers that are products"


def test_many_attributes_of_which_few_are_looked_at() -> None:
    """Only 211 of 2^20 subspaces count: all prefixes of one and two of 20 attributes."""
    bounds = [product_bound(up_to((10,) * k, 2), [np.ones(10)] * k) for k in (10, 20)]
    assert bounds[0] < bounds[1]
    assert bounds[0] == pytest.approx(310236.7466946, rel=tolerances.RECOMPUTED)
