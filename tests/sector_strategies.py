"""Workloads of few attributes, layouts of their sectors and random strategies on them, for tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from mmopt.sectors.functions_of_few import all_subsets
from mmopt.sectors.row_space_cells_and_targets import RestComponent, SectorLayout
from mmopt.strategies import RowSpaceStrategy
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import identity, prefix, total


def prefixes(sizes: Sequence[int], sets: Iterable[tuple[int, ...]] | None = None) -> Workload:
    """Prefixes of the attributes of each set; by default of each one and each two."""
    k = len(sizes)
    own = [s for w in (1, 2) for s in itertools.combinations(range(k), w)] if sets is None else list(sets)
    factors = [(total(n), prefix(n)) for n in sizes]
    return Workload.from_products(
        domain_of(*sizes), [Product(tuple(factors[i][i in one] for i in range(k))) for one in own]
    )


def layout(rng: np.random.Generator, sizes: Sequence[int], sets: Sequence[tuple[int, ...]]) -> SectorLayout:
    """Sectors of random functions, the same ones on attributes of one size."""
    functions = {n: rng.normal(size=(n - 1, n)) for n in sizes}
    labels = {n: np.arange(n) for n in sizes}
    return SectorLayout(
        tuple(labels[n] for n in sizes), tuple(functions[n] for n in sizes), all_subsets(sets)
    )


def pairs(rng: np.random.Generator, k: int, d: int) -> SectorLayout:
    """All sets of at most two of k attributes of d values."""
    return layout(rng, (d,) * k, list(itertools.combinations(range(k), 2)))


def with_rests(rng: np.random.Generator) -> tuple[RowSpaceStrategy, Workload]:
    """Values of the first attribute all alike, of the third in two classes; the second has a class each."""
    labels = (np.zeros(3, dtype=np.int64), np.arange(2), np.array([0, 1, 0, 1, 1]))
    functions = (np.zeros((0, 1)), rng.normal(size=(1, 2)), rng.normal(size=(1, 2)))

    def component(rests: tuple[tuple[int, int], ...], *sets: tuple[int, ...]) -> RestComponent:
        own = SectorLayout(labels, functions, all_subsets(sets))
        matrix = np.eye(own.size) + rng.uniform(-0.3, 0.3, (own.size, own.size))
        return RestComponent(rests, own, matrix)

    whole = component((), (0, 1), (1, 2), (0, 2))
    classes = [component(((2, o),), (1,), (0,)) for o in (0, 1)]
    both = [component(((0, 0), (2, o)), ()) for o in (0, 1)]
    rests = (component(((0, 0),), (1,), (2,)), *classes, *both)
    kinds = ((total(3), identity(3)), (total(2), prefix(2)), (total(5), identity(5)))
    products = [
        Product(tuple(kinds[i][i in one] for i in range(3)), weight=1.0 + len(one))
        for one in ((0,), (0, 1), (1, 2), (0, 2))
    ]
    workload = Workload.from_products(domain_of(3, 2, 5), products)
    return strategy_of(whole.layout, whole.core, 0.8, rests), workload


def near_identity(rng: np.random.Generator, size: int) -> np.ndarray:
    """A matrix with an inverse that is not much longer."""
    return np.eye(size) + rng.uniform(-1, 1, (size, size)) / (2 * size)


def strategy_of(
    own: SectorLayout, core: np.ndarray, scale: float = 1.0, rests: Sequence[RestComponent] = ()
) -> RowSpaceStrategy:
    """A strategy scaled by its largest column in floats, and a little more."""
    components = (RestComponent((), own, core), *rests)
    columns = RowSpaceStrategy(components, 1.0).implicit().matrix()
    largest = float(np.linalg.norm(columns, axis=0).max()) * (1 + 1e-12)
    return RowSpaceStrategy(components, largest, scale)
