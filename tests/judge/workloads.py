"""Workloads that are hard in one way each, with the rows that the judge builds for itself."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mmopt import Attribute, Domain, Workload
from mmopt.workloads import Product, factors_and_products as words

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A workload, and its unweighted rows written down without mmopt."""

    workload: Workload
    rows: Array


def _matrix(rows: Array, **options: object) -> Case:
    rows = np.asarray(rows, dtype=float)
    return Case(Workload.from_matrix(rows, **options), rows)


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def over(*sizes: int) -> Domain:
    return Domain(tuple(Attribute("abc"[i], tuple(map(str, range(s)))) for i, s in enumerate(sizes)))


def _rank_deficient() -> Case:
    rng = _random(7)
    rows = rng.integers(-1, 3, size=(7, 3)) @ rng.integers(0, 3, size=(3, 6))
    return _matrix(rows, targets=np.arange(1.0, 8.0))


def _half_targets() -> Case:
    rows = np.vstack([np.eye(4), np.ones((1, 4)), [[0, 1, 1, 0]]])
    return _matrix(rows, targets=[1, 2, 3, 1, np.inf, np.inf])


DENSE: dict[str, Callable[[], Case]] = {
    "prefix": lambda: _matrix(np.tri(5), targets=[1, 2, 3, 1, 2]),
    "fractions": lambda: _matrix(_random(3).normal(size=(4, 5)), targets=[1, 1, 2, 3]),
    "weighted": lambda: _matrix(np.tri(5), targets=1.0, weights=[0.1, 0.3, 1, 5, 10]),
    "repeated columns": lambda: _matrix(np.repeat(np.tri(4), [1, 2, 1, 2], axis=1), targets=1.5),
    "rank deficient": _rank_deficient,
    "zero columns": lambda: _matrix(np.tri(4) @ np.eye(4, 7, k=1), targets=[1, 4, 2, 2]),
    "large and small": lambda: _matrix(
        [[1e8, 1, 0, 0], [1, 1, 1, 0], [0, 1e8, 1, 1], [0, 0, 1, -1]], targets=[1e16, 1, 1e15, 2]
    ),
    "total": lambda: _matrix(np.ones((1, 6)), targets=2.0),
    "repeated rows": lambda: _matrix(
        np.repeat(np.tri(4), [1, 3, 1, 2], axis=0), targets=[1, 2, 2, 3, 1, 1, 4]
    ),
    "half targets": _half_targets,
}


def _prefix_and_cells() -> Case:
    products = [
        Product((words.prefix(5), words.total(4), words.identity(6)), target=1.0),
        Product((words.total(5), words.identity(4), words.total(6)), target=2.0, weight=3.0),
    ]
    one, row = np.eye, lambda n: np.ones((1, n))
    rows = np.vstack([np.kron(np.kron(np.tri(5), row(4)), one(6)), np.kron(np.kron(row(5), one(4)), row(6))])
    return Case(Workload.from_products(over(5, 4, 6), products), rows)


def _ranges_and_cells() -> Case:
    products = [
        Product((words.all_range(4), words.identity(5)), target=1.0),
        Product((words.identity(4), words.total(5)), target=2.0, weight=3.0),
    ]
    ranges = [[float(i <= v <= j) for v in range(4)] for i in range(4) for j in range(i, 4)]
    rows = np.vstack([np.kron(ranges, np.eye(5)), np.kron(np.eye(4), np.ones((1, 5)))])
    return Case(Workload.from_products(over(4, 5), products), rows)


PRODUCTS: dict[str, Callable[[], Case]] = {
    "prefix and cells": _prefix_and_cells,
    "ranges and cells": _ranges_and_cells,
}
