"""A workload like the census Summary File 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Factor, Product, Workload, factors_and_products as f


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


# Products of a workload like the census Summary File 1: sex, Hispanic, race, relationship, age. A line that
# occurs twice counts twice. Relationship (17 values) is always summed over.
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
        named = zip(factors, (sex, hispanic, race, "total", age), strict=True)
        products.append(Product(tuple(by_name[word] for by_name, word in named), target=target))
    return Workload.from_products(domain_of(2, 2, 64, 17, 115), products)
