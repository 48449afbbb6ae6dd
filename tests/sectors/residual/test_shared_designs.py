"""One strategy of each attribute in all sectors: as good as sectors alone where they ask the same of it."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances
from few_ways import MIXED, few_ways

from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.sectors.residual.residual_spaces import strategy_at
from mmopt.sectors.residual.shared_designs import shared_designs
from mmopt.testing.census_workloads import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks.factor_blocks import all_range, identity, prefix, total


def bases_of(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(1.2 * rng.dirichlet(np.ones(n)) - 0.2 / n for n in sizes)


@pytest.mark.quick
@pytest.mark.parametrize("name", ["prefixes", "prefix and identity, all ways", "identities"])
def test_as_sectors_alone_where_queries_of_an_attribute_are_the_same(
    name: str, rng: np.random.Generator
) -> None:
    sizes, orders, kinds = MIXED[name]
    products = products_of_few(few_ways(sizes, orders, kinds))
    bases = bases_of(rng, sizes)
    found, alone = shared_designs(products, bases), strategy_at(products, bases)
    assert found.error == pytest.approx(alone.error, rel=tolerances.RECOMPUTED)
    assert sum(found.shares.values()) == pytest.approx(1, rel=tolerances.ROUNDING)


@pytest.mark.draws(3)
def test_no_other_strategy_of_an_attribute_is_better_where_they_differ(rng: np.random.Generator) -> None:
    """Prefixes alone, values with others: neither of their own strategies does as well for both."""
    sizes = (5, 4)
    asked = [
        Product((prefix(5), total(4))),
        Product((identity(5), all_range(4)), weight=float(rng.uniform(0.5, 3))),
    ]
    products = products_of_few(Workload.from_products(domain_of(*sizes), asked))
    bases = bases_of(rng, sizes)
    found = shared_designs(products, bases)
    assert found.error >= strategy_at(products, bases).error * (1 - tolerances.RECOMPUTED)
    for product in products:
        only = shared_designs([product], bases).designs[0]
        costs = {
            (len(p.attributes), i): float(np.vdot(_contrast(g, bases[i]), own.inverse))
            for p in products
            for i, g, own in zip(p.attributes, p.grams, (only, found.designs.get(1)), strict=False)
        }
        assert found.error <= _error(products, bases, costs) * (1 + 1e-5)


def _contrast(gram: np.ndarray, base: np.ndarray) -> np.ndarray:
    p = np.eye(len(base)) - np.outer(base, np.ones(len(base)))
    return p.T @ gram @ p


def _error(products, bases, costs) -> float:
    """(Σ √E)² over the sectors, spelled out for two attributes."""
    found: dict[tuple[int, ...], float] = {}
    for p in products:
        size = len(p.attributes)
        for mask in range(2**size):
            one = tuple(i for at, i in enumerate(p.attributes) if mask >> at & 1)
            value = p.weight
            for i, gram in zip(p.attributes, p.grams, strict=True):
                value *= costs[size, i] if i in one else float(bases[i] @ gram @ bases[i])
            found[one] = found.get(one, 0.0) + value
    return sum(np.sqrt(value) for value in found.values()) ** 2
