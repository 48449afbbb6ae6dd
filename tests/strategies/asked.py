"""Workloads on which baselines are tried: one attribute, several, marginals, a matrix."""

import math
from dataclasses import replace

import numpy as np
from symmetric_workloads import random_products

from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Factor, Product, Workload, factors_and_products as f


def line(block: Factor) -> Workload:
    """One attribute."""
    return Workload.from_products(domain_of(block.size), [Product((block,))])


def marginals_of(sizes: tuple[int, ...], *sets: tuple[int, ...], weight: float = 1.0) -> Workload:
    """Marginals over these sets of attributes, the first one with a weight."""
    products = []
    for number, chosen in enumerate(sets):
        factors = tuple(f.identity(s) if i in chosen else f.total(s) for i, s in enumerate(sizes))
        products.append(Product(factors, weight=1.0 if number else weight))
    return Workload.from_products(domain_of(*sizes), products)


def random_asked(rng: np.random.Generator, kind: int | None = None) -> Workload:
    """A third each: a matrix over one attribute, marginals, other products; or of one of these kinds."""
    kind = int(rng.integers(3)) if kind is None else kind
    if kind == 0:
        n = int(rng.integers(2, 10))
        rows = rng.integers(-1, 3, size=(int(rng.integers(1, 9)), n)).astype(float)
        rows[~rows.any(axis=1), 0] = 1.0
        return Workload.from_matrix(rows, weights=rng.uniform(0.5, 2.0, size=len(rows)))
    if kind == 1:
        sizes = tuple(int(s) for s in rng.integers(1, 4, size=int(rng.integers(1, 4))))
        masks = rng.choice(2 ** len(sizes), size=int(rng.integers(1, 2 ** len(sizes) + 1)), replace=False)
        sets = [tuple(i for i in range(len(sizes)) if mask >> i & 1) for mask in masks.tolist()]
        return marginals_of(sizes, *sets, weight=float(rng.uniform(0.5, 2.0)))
    return random_products(rng)


def with_targets(workload: Workload, rng: np.random.Generator) -> Workload:
    """Give the queries random targets, and the first ones once more without."""
    if workload.products is None:
        targets = np.append(rng.uniform(0.5, 4.0, size=workload.m), math.inf)
        rows = np.vstack([workload.queries, workload.queries[:1]])
        return Workload.from_matrix(
            rows, targets=targets, weights=np.append(workload.weights, workload.weights[0])
        )
    found = [replace(one, target=float(rng.uniform(0.5, 4.0))) for one in workload.products]
    return Workload.from_products(workload.domain, [*found, workload.products[0]])
