"""Random domains and workloads, each from a numpy generator whose seed the test's name shows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mmopt.queries import Attribute, Domain, Factor, Product, Workload
from mmopt.queries import factor as f


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(f"v{j}" for j in range(size))) for i, size in enumerate(sizes))
    )


def random_factor(rng: np.random.Generator, size: int, depth: int = 1) -> Factor:
    kind = rng.integers(6 if depth else 5)
    if kind < 4:
        return [f.identity, f.total, f.prefix, f.all_range][kind](size)
    if kind == 4:
        rows = int(rng.integers(1, 4))
        matrix = rng.integers(-1, 2, size=(rows, size)).astype(float)
        matrix[matrix.any(axis=1) == 0, 0] = 1
        return f.predicates(matrix, [f"p{i}" for i in range(rows)])
    parts = [random_factor(rng, size, depth - 1) for _ in range(int(rng.integers(1, 4)))]
    return f.union(*parts)


def random_workload(seed: int) -> Workload:
    rng = np.random.default_rng(seed)
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


@pytest.fixture(name="domain_of")
def _domain_of() -> Callable[..., Domain]:
    return domain_of


@pytest.fixture(name="random_factor")
def _random_factor() -> Callable[..., Factor]:
    return random_factor


@pytest.fixture(name="random_workload")
def _random_workload() -> Callable[[int], Workload]:
    return random_workload
