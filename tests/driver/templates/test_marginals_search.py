"""Weights of marginals: gradient, the convex case, and figures of the field.

Guards template_searches.py.
"""

import numpy as np
import pytest
import tolerances
from symmetric_workloads import random_products

from mmopt import Workload, solve
from mmopt.driver.templates.template_searches import _MarginalWeights, marginal_strategy
from mmopt.errors import TooLargeError
from mmopt.strategies.factor_strategies import MarginalStrategy, energies, volumes
from mmopt.testing.problem_registry import domain_of, marginals
from mmopt.workloads import Product, factors_and_products as f

ADULT = (2, 5, 16, 20, 75)


def test_value_and_gradient(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            workload = random_products(rng)
            sizes = workload.domain.shape
            problem = _MarginalWeights(energies(workload), volumes(sizes), len(sizes), norm)
            theta = rng.uniform(0.2, 1, 2 ** len(sizes))
            value, gradient = problem.value(theta)
            strategy = MarginalStrategy(sizes, theta, norm)
            assert value == pytest.approx(strategy.total_error(workload), rel=tolerances.RECOMPUTED)
            for i in range(len(theta)):
                step = 1e-6 * np.eye(len(theta))[i]
                slope = (problem.value(theta + step)[0] - problem.value(theta - step)[0]) / 2e-6
                assert slope == pytest.approx(gradient[i], rel=1e-5, abs=1e-6 * value)


def test_a_query_that_is_nearly_the_total_needs_more_than_the_total() -> None:
    rows = np.ones((1, 6))
    rows[0, 0] += 1e-7
    workload = Workload.from_products(domain_of(6), [Product((f.predicates(rows),))])
    total = MarginalStrategy((6,), np.array([1.0, 0.0]), 2)
    assert not total.supports(workload) and total.total_error(workload) == np.inf
    rest = 1e-14 * 5 / 6  # of its squared length
    assert energies(workload)[1] == pytest.approx(rest, rel=1e-6)
    assert energies(Workload.from_products(domain_of(6), [Product((f.total(6),))]))[1] == 0.0


def test_gaussian_weights_are_a_minimum(rng: np.random.Generator) -> None:
    """The problem is convex in θ², so no other weights are better; and no strategy passes the bound."""
    for _ in range(2):
        workload = random_products(rng)
        found = marginal_strategy(workload, 2)
        error = found.total_error(workload)
        assert found.sensitivity <= 1.0
        bound = solve(workload, "l2_strategy").bound
        assert bound <= error
        for _ in range(50):
            near = np.maximum(found.weights + rng.normal(0, 0.1, len(found.weights)), 0.01)
            assert MarginalStrategy(found.sizes, near).total_error(workload) >= error * (
                1 - tolerances.GAP_INTERIOR
            )


# rmse under ε, as HDMM's templates reach it; and what the best weights are under (ε, δ).
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ways", "laplace", "gaussian"),
    [((2,), 6.3456, 21302.88), ((0, 1, 2, 3), 6.8454, 312078.0), ((0, 1, 2, 3, 4, 5), 3.9246, 1801075.0)],
)
def test_figures_on_the_adult_domain(ways: tuple[int, ...], laplace: float, gaussian: float) -> None:
    workload = marginals(ADULT, ways)
    for norm, theirs in ((1, laplace), (2, gaussian)):
        found = marginal_strategy(workload, norm)
        error = found.total_error(workload)
        rmse = found.sensitivity * np.sqrt(found.mean_variance(workload))
        assert rmse == pytest.approx(np.sqrt(error / workload.m), rel=tolerances.RECOMPUTED)
        assert (rmse if norm == 1 else error) <= theirs


def test_too_many_attributes() -> None:
    with pytest.raises(TooLargeError, match=r"^weights for all marginals of 17 attributes are 1e\+05 "):
        marginal_strategy(marginals((2,) * 17, (1,)))
