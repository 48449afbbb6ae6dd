"""Descent over the attributes, and the bound by products of multipliers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tolerances
from symmetric import random_products

from mmopt import Workload, solve
from mmopt.errors import OptionError, WorkloadError
from mmopt.highdim.blocks import block_for
from mmopt.highdim.bound import product_bound
from mmopt.highdim.kron import Block, product_strategy
from mmopt.highdim.union import union_strategy
from mmopt.queries import Product, Strategy
from mmopt.queries import factor as f
from mmopt.queries.product_strategy import ProductStrategy
from mmopt.queries.union_strategy import UnionStrategy
from mmopt.testing.census import domain_of, marginals


def two(n: int, *rows: tuple[str, str]) -> Workload:
    blocks = {"R": f.all_range, "P": f.prefix, "I": f.identity, "T": f.total}
    return Workload.from_products(
        domain_of(n, n),
        [Product((blocks[a](n), blocks[b](n)), weight=1.0 + i) for i, (a, b) in enumerate(rows)],
    )


@pytest.mark.parametrize("draw", range(6))
def test_error_falls_and_stays_between_the_bound_and_independent_noise(
    rng: np.random.Generator, draw: int
) -> None:
    workload = random_products(rng)
    found = product_strategy(workload, block_for(2))
    assert all(b <= a * (1 + tolerances.ROUNDING) for a, b in itertools.pairwise(found.history))
    error = found.strategy.total_error(workload)
    assert error == pytest.approx(found.error, rel=tolerances.RECOMPUTED)
    assert found.strategy.sensitivity <= 1.0 + tolerances.ROUNDING
    optimum = solve(workload, "l2_strategy")
    assert optimum.bound is not None
    assert product_bound(workload, found.multipliers) <= optimum.objective <= error * (1 + 1e-6)
    identity = ProductStrategy(tuple(Strategy(np.eye(n)) for n in workload.domain.shape))
    assert error <= identity.total_error(workload) * (1 + tolerances.ROUNDING)
    # Any multipliers give a bound.
    other = [rng.uniform(0, 1, n) for n in workload.domain.shape]
    assert product_bound(workload, other) <= optimum.objective


def test_of_one_product_the_product_is_the_optimum() -> None:
    """And the bound is tight: nuclear norms multiply."""
    workload = two(6, ("P", "R"))
    found = product_strategy(workload, block_for(2))
    optimum = solve(workload, "l2_strategy")
    assert found.error == pytest.approx(optimum.objective, rel=tolerances.GAP_INTERIOR)
    assert product_bound(workload, found.multipliers) == pytest.approx(found.error, rel=1e-5)


def test_products_that_differ_in_one_attribute_are_one() -> None:
    """(P + I) ⊗ R: one Gram matrix on the first attribute; the bound sees it."""
    domain = domain_of(5, 4)
    rows = [Product((f.prefix(5), f.all_range(4))), Product((f.identity(5), f.all_range(4)))]
    workload = Workload.from_products(domain, rows)
    found = product_strategy(workload, block_for(2))
    assert product_bound(workload, found.multipliers) == pytest.approx(found.error, rel=1e-5)


@pytest.mark.parametrize("ways", [(2,), (0, 1, 2), (0, 1, 2, 3)])
def test_the_bound_is_the_optimum_of_marginals(ways: tuple[int, ...]) -> None:
    """Their Gram matrices live on the subspaces that the bound splits into."""
    workload = marginals((2, 5, 3), ways)
    optimum = solve(workload, "l2_strategy")
    bound = product_bound(workload, [np.ones(n) for n in workload.domain.shape])
    assert bound == pytest.approx(optimum.objective, rel=tolerances.GAP_INTERIOR)


def test_a_union_is_no_worse_than_one_product() -> None:
    workload = two(8, ("R", "T"), ("T", "R"))
    union = union_strategy(workload, block_for(2), 2)
    assert isinstance(union, UnionStrategy) and union.sensitivity <= 1.0
    single = product_strategy(workload, block_for(2)).strategy
    assert union.total_error(workload) < 0.9 * single.total_error(workload)
    # Of two one-attribute problems: (√E₁ + √E₂)².
    one = solve(Workload.from_products(domain_of(8), [Product((f.all_range(8),))]), "l2_strategy").objective
    apart = (np.sqrt(one) + np.sqrt(2 * one)) ** 2
    assert union.total_error(workload) <= apart * (1 + 1e-5)
    assert isinstance(union_strategy(two(4, ("R", "R"), ("I", "T")), block_for(2), 2), ProductStrategy)


def test_many_groups_are_joined_before_they_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.highdim.union.MOST_GROUPS", 2)
    workload = marginals((2, 3, 2), (0, 1, 2))
    found = union_strategy(workload, block_for(2), 2)
    assert found.supports(workload)
    count = len(found.parts) if isinstance(found, UnionStrategy) else 1
    assert count <= 2


def test_refused(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match=r"^the workload is a matrix, and a product strategy needs"):
        product_strategy(Workload.from_matrix(np.eye(3)), block_for(2))
    blind = Block(Strategy(np.ones((1, 3))), np.ones(3))
    workload = Workload.from_products(domain_of(3), [Product((f.identity(3),))])
    with pytest.raises(WorkloadError, match=r"^the strategy found for an attribute does not support"):
        product_strategy(workload, lambda _: blind)
