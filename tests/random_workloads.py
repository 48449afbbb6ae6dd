"""Random domains and workloads, each from a generator of numpy."""

from __future__ import annotations

import numpy as np

from mmopt.workloads import Attribute, Domain, Factor, Product, Workload, factors_and_products as f
from tests.workloads.implicit_twins import random_block


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(f"v{j}" for j in range(size))) for i, size in enumerate(sizes))
    )


def random_factor(rng: np.random.Generator, size: int, depth: int = 1) -> Factor:
    block = random_block(rng, size)
    if depth and rng.random() < 0.3:
        parts = [random_factor(rng, size, depth - 1) for _ in range(int(rng.integers(1, 4)))]
        return f.union(*parts)
    return block if block.size == size else f.hierarchy(size)


def random_workload(rng: np.random.Generator) -> Workload:
    sizes = [int(size) for size in rng.integers(1, 5, size=int(rng.integers(1, 4)))]
    products = [
        Product(
            tuple(random_factor(rng, size) for size in sizes),
            weight=float(rng.choice([1.0, 0.5, 3.0])),
            target=float(rng.choice([np.inf, 2.0, 0.1])),
        )
        for _ in range(int(rng.integers(1, 4)))
    ]
    return Workload.from_products(domain_of(*sizes), products)
