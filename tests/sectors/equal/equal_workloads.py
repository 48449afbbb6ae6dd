"""Workloads of equal attributes, and what is known of measures and strategies on them by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from mmopt.numerics.arrays import Array, Ints
from mmopt.sectors.measures import Mixture
from mmopt.sectors.row_space import RowSpace
from mmopt.testing.census_workloads import domain_of
from mmopt.workloads import Factor, Product, Workload
from mmopt.workloads.blocks import factor_blocks as f


def of_one_and_two(
    attributes: int, one: Sequence[Factor], pairs: Sequence[tuple[Factor, Factor]], weights: Sequence[float]
) -> Workload:
    """The factors at every attribute, the pairs at every two in both orders, but equal factors in one."""
    size = (*one, *(p[0] for p in pairs))[0].size
    products = []
    for chosen, weight in zip([(own,) for own in one] + list(pairs), weights, strict=True):
        places = itertools.permutations(range(attributes), len(chosen))
        for at in places:
            if len(chosen) < 2 or chosen[0] != chosen[1] or at[0] < at[1]:
                placed = dict(zip(at, chosen, strict=True))
                factors = tuple(placed.get(i, f.total(size)) for i in range(attributes))
                products.append(Product(factors, weight=weight))
    return Workload.from_products(domain_of(*[size] * attributes), products)


def random_workload(rng: np.random.Generator, attributes: int, size: int) -> Workload:
    """Prefixes, ranges and random rows; of two attributes a pair of equal factors and one of others."""
    rows = f.predicates(rng.standard_normal((size + 1, size)), [f"p{i}" for i in range(size + 1)])
    prefix, ranges = f.prefix(size), f.all_range(size)
    return of_one_and_two(
        attributes, [prefix, rows], [(prefix, prefix), (rows, ranges)], [1.0, 0.5, *rng.uniform(0.2, 2, 2)]
    )


def random_mixture(rng: np.random.Generator, attributes: int, size: int) -> Mixture:
    """One measure on all attributes, a product of different ones, and a cell."""
    same, cell = rng.dirichlet(np.ones(size)), rng.integers(size, size=attributes)
    factors = (
        np.vstack([same, rng.dirichlet(np.ones(size)), np.eye(size)[value]]) for value in cell.tolist()
    )
    return Mixture(rng.uniform(0.2, 1.0, 3), tuple(factors))


def all_cells(attributes: int, size: int) -> Ints:
    """(n, k) the values of every cell, in the order of the workload's columns."""
    return np.array(list(itertools.product(range(size), repeat=attributes)), dtype=np.int64)


def mean_over_orders(mixture: Mixture) -> Array:
    """(J, n) each product on every cell, averaged over all orders of the attributes."""
    attributes, size = len(mixture.factors), mixture.factors[0].shape[1]
    cells = all_cells(attributes, size)
    found = np.zeros((mixture.count, len(cells)))
    for order in itertools.permutations(range(attributes)):
        factors = [mixture.factors[i][:, own] for i, own in zip(order, cells.T, strict=True)]
        found += np.prod(factors, axis=0) / math.factorial(attributes)
    return found


def best_parts(space: RowSpace, mixture: Mixture) -> tuple[float, tuple[Array, ...]]:
    """t = Σ μ tr (R Q Rᵀ)^½ and N = Rᵀ (R Q Rᵀ)^{-½} R / t by component."""
    total, parts = 0.0, []
    for often, root, moments in zip(
        space.space.multiplicities, space.root.parts, space.moments(mixture), strict=True
    ):
        values, vectors = np.linalg.eigh(root @ moments @ root.T)
        total += float(often * np.sqrt(values).sum())
        directions = root.T @ vectors
        parts.append((directions / np.sqrt(values)) @ directions.T)
    return total, tuple(part / total for part in parts)
