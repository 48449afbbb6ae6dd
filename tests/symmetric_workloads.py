"""Random workloads with symmetries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Factor, Product, Workload, factors_and_products as f


def random_factor(rng: np.random.Generator, size: int) -> Factor:
    """A factor that some values leave alone: groups of values, signed ones, ranges, trees, unions."""
    kind = rng.integers(10)
    if kind < 5:
        return [f.identity, f.total, f.all_range, f.prefix, f.hierarchy][kind](size)
    if kind == 5:
        return f.width_range(size, int(rng.integers(1, size + 1)))
    if kind == 6:
        ordered = f.prefix(size) if size & (size - 1) else f.haar(size)
        return f.reordered(ordered, rng.permutation(size))
    if kind == 7:  # the members of a group one by one, and the group
        group = rng.permutation(size)[: max(1, size // 2)]
        rows = np.vstack([np.eye(size)[group], np.isin(np.arange(size), group)])
    elif kind == 8:  # signed, also as its own negative
        group = np.isin(np.arange(size), rng.permutation(size)[: max(1, size // 2)])
        rows = np.vstack([np.where(group, 1.0, -2.0), np.where(group, -1.0, 2.0)])
    else:  # differences of all pairs, with fractions
        pairs = list(itertools.combinations(range(size), 2)) or [(0, 0)]
        rows = np.array([0.3 * np.eye(size)[a] - 0.7 * np.eye(size)[b] for a, b in pairs])
        rows = np.vstack([rows, -rows[:, ::-1]])
    rows = rows[rows.any(axis=1)]
    made = f.predicates(rows, [f"p{i}" for i in range(len(rows))])
    return f.union(made, f.total(size)) if rng.random() < 0.4 else made


def random_products(rng: np.random.Generator, full: bool = False) -> Workload:
    """Up to three attributes; targets differ by product. With ``full`` the identity is among the products."""
    sizes = [int(size) for size in rng.integers(1, 6, size=int(rng.integers(1, 4)))]
    products = [
        Product(
            tuple(random_factor(rng, size) for size in sizes),
            weight=float(rng.choice([1.0, 0.5, 3.0])),
            target=float(rng.choice([2.0, 0.1])),
        )
        for _ in range(int(rng.integers(1, 4)))
    ]
    if full:
        products.append(Product(tuple(f.identity(size) for size in sizes), target=1.5))
    return Workload.from_products(domain_of(*sizes), products)


def random_symmetric_matrix(rng: np.random.Generator) -> Workload:
    """Rows with their mirror images, or with every swap of two cells; each with its target."""
    n = int(rng.integers(2, 7))
    rows = rng.integers(-1, 3, size=(3, n)).astype(float)
    rows[~rows.any(axis=1), 0] = 1.0
    targets = rng.choice([1.0, 2.0], size=3)
    if rng.random() < 0.5:
        swapped = rows.copy()
        swapped[:, [0, 1]] = swapped[:, [1, 0]]
    else:
        swapped = -rows[:, ::-1]
    return Workload.from_matrix(np.vstack([rows, swapped]), targets=np.concatenate([targets, targets]))


def nearly(rng: np.random.Generator, workload: Workload, kinds: Sequence[int] = range(5)) -> Workload:
    """Rows that break a symmetry by little: an entry, a weight, small rows beside a large one."""
    rows, weights = workload.queries.copy(), workload.weights.copy()
    kind = rng.choice(kinds)
    size = 10.0 ** rng.integers(-16, -7)
    j, i = int(rng.integers(len(rows))), int(rng.integers(rows.shape[1]))
    if kind == 0:
        rows[j, i] *= 1 + size
    elif kind == 1:
        weights[j] *= 1 + size
    elif kind == 2:
        rows[j, i] += size
    else:
        large = rng.choice([1 / size + 1 / 3, 2.0**53, 1e9]) * np.ones((1, rows.shape[1]))
        rows = np.vstack([large, rows + (kind == 3) * rng.integers(0, 2, size=rows.shape)])
        rows[~rows.any(axis=1), 0] = 1.0
        weights = np.concatenate([[1.0], weights])
    targets = np.concatenate([np.full(len(rows) - workload.m, 1.0), workload.targets])
    return Workload.from_matrix(rows, targets, weights)
