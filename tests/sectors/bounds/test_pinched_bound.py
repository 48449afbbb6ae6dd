"""The bound in closed form: never above the certificate of the same measure, nor above any strategy."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
import tolerances
from few_attributes import dense, up_to

from mmopt.sectors.bounds.pinched_bound import SLACK, pinched_bound, pinched_bound_at
from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.sectors.residual.residual_bases import best_residual_strategy
from mmopt.sectors.residual.residual_spaces import residual_strategy
from mmopt.testing.census_workloads import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f


@pytest.mark.draws(5)
def test_it_is_below_the_certificate_of_its_measure(rng: np.random.Generator) -> None:
    sizes = (2, 3, 4)
    blocks = [f.total, f.identity, f.prefix, f.all_range]
    products = [
        Product(tuple(blocks[rng.integers(4)](n) for n in sizes), weight=float(rng.uniform(0.2, 3)))
        for _ in range(5)
    ]
    workload = Workload.from_products(domain_of(*sizes), products)
    factors = [rng.dirichlet(np.ones(n)) for n in sizes]
    measure = reduce(np.kron, factors)
    exact = np.linalg.norm(dense(workload) * np.sqrt(measure), "nuc") ** 2
    bound = pinched_bound_at(products_of_few(workload), factors)
    assert exact / 3 <= bound <= exact


def test_of_marginals_it_is_the_optimum() -> None:
    workload = up_to((2, 3, 4), 3, f.identity)
    assert pinched_bound(workload) == pytest.approx(
        residual_strategy(workload).error, rel=tolerances.FROM_SQUARES
    )


@pytest.mark.parametrize(("sizes", "most"), [((6,) * 3, 2), ((5,) * 4, 3), ((4, 3, 5), 3)])
def test_it_is_within_half_of_a_strategy(sizes: tuple[int, ...], most: int) -> None:
    workload = up_to(sizes, most)
    error = best_residual_strategy(workload).error
    assert error / 1.5 <= pinched_bound(workload) <= error


def test_slack_is_taken_off_where_the_bound_is_exact() -> None:
    """Counts of n values at the uniform measure: (n / √n)²."""
    workload = Workload.from_products(domain_of(5), [Product((f.identity(5),))])
    bound = pinched_bound_at(products_of_few(workload), [np.full(5, 0.2)])
    assert 5 * (1 - 3 * SLACK) <= bound <= 5 * (1 - SLACK)
