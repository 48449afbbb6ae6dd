"""Workloads with symmetries: random ones, marginals, and a census workload of 500,480 cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from mmopt.queries import Attribute, Domain, Factor, Product, Workload
from mmopt.queries import factor as f

__all__ = ["census", "domain_of", "marginals", "random_factor", "random_products", "random_symmetric_matrix"]


def domain_of(*sizes: int) -> Domain:
    return Domain(
        tuple(Attribute(f"a{i}", tuple(f"v{j}" for j in range(size))) for i, size in enumerate(sizes))
    )


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


def marginals(sizes: Sequence[int], ways: Sequence[int], target: float = math.inf) -> Workload:
    """All marginals over so many attributes."""
    products = [
        Product(
            tuple(f.identity(size) if i in chosen else f.total(size) for i, size in enumerate(sizes)),
            target=target,
        )
        for way in ways
        for chosen in itertools.combinations(range(len(sizes)), way)
    ]
    return Workload.from_products(domain_of(*sizes), products)


def _groups(size: int, groups: Sequence[Sequence[int]]) -> Factor:
    rows = np.zeros((len(groups), size))
    for row, values in zip(rows, groups, strict=True):
        row[list(values)] = 1.0
    return f.predicates(rows, [f"p{i}" for i in range(len(rows))])


def _census_factors() -> list[dict[str, Factor]]:
    alone = [1, 2, 4, 8, 16, 32]  # race is a bit mask of six categories
    races = [v.bit_count() for v in range(64)]
    by_count = [[v for v in range(64) if races[v] == k] for k in range(1, 7)]
    several = [v for v in range(64) if races[v] >= 2]
    starts = [0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85, 115]
    years = [[age] for age in range(100)]
    two = {
        "total": f.total(2),
        "each": f.identity(2),
        "both": f.union(f.identity(2), f.total(2)),
        "yes": _groups(2, [[1]]),
        "no": _groups(2, [[0]]),
    }
    race = {
        "total": f.total(64),
        "seven": _groups(64, [[v] for v in alone] + [[v for v in range(64) if v not in alone]]),
        "seventy": _groups(64, [[v] for v in range(1, 64)] + by_count + [several]),
        "white": _groups(64, [[1]]),
    }
    age = {
        "total": f.total(115),
        "voting": _groups(115, [range(18, 115)]),
        "groups": _groups(115, [range(low, high) for low, high in itertools.pairwise(starts)]),
        "years": _groups(115, [*years, range(100, 105), range(105, 110), range(110, 115)]),
    }
    return [two, two, race, {"total": f.total(17)}, age]


# Products of a census Summary File 1-like workload: sex, Hispanic, race, relationship, age. One named twice
# counts twice. Relationship (17 values) is summed over everywhere.
CENSUS = """
total total total total
total total seven total
total total total total
total each total total
total total total total
total each seven total
total both total total
total total seventy total
total total total total
total each total total
total yes seventy total
total total total total
total total seventy voting
total total total voting
total each total voting
total yes seventy voting
total total total voting
each total total groups
both total total total
each total seven groups
both total seven total
each no total groups
both no total total
each yes white groups
both yes white total
each total total years
both total total total
each total seven years
both total seven total
each no total years
both no total total
each yes seven years
both yes seven total
"""


def census(target: float = math.inf) -> Workload:
    """33 products, 4,151 queries over 2 × 2 × 64 × 17 × 115 = 500,480 cells."""
    factors = _census_factors()
    products = []
    for line in CENSUS.split("\n")[1:-1]:
        sex, hispanic, race, age = line.split()
        words = (sex, hispanic, race, "total", age)
        own = tuple(known[word] for known, word in zip(factors, words, strict=True))
        products.append(Product(own, target=target))
    return Workload.from_products(domain_of(2, 2, 64, 17, 115), products)
