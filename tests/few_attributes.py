"""Workloads whose queries look at few attributes, and measures on them."""

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from mmopt.sectors.functions_of_few import Mixture
from mmopt.workloads import Attribute, Domain, Workload
from mmopt.workloads.blocks.query_matrices import Implicit as Factor
from mmopt.workloads.factors_and_products import Product, identity, predicates, prefix, total


def few_ways(
    sizes: Sequence[int],
    orders: Iterable[int],
    kinds: Callable[[int], Factor] | Sequence[Callable[[int], Factor]],
    weights: bool = True,
) -> Workload:
    """A product for every choice of as many attributes as one of the orders, else totals."""
    kinds = kinds if isinstance(kinds, Sequence) else [kinds] * len(sizes)
    asked = [kind(size) for kind, size in zip(kinds, sizes, strict=True)]
    summed = [total(size) for size in sizes]
    domain = Domain(tuple(Attribute(f"a{i}", tuple(map(str, range(d)))) for i, d in enumerate(sizes)))
    chosen = [set(own) for order in orders for own in itertools.combinations(range(len(sizes)), order)]
    products = [
        Product(
            tuple(asked[i] if i in own else summed[i] for i in range(len(sizes))),
            weight=1.0 + n / 7 if weights else 1.0,
        )
        for n, own in enumerate(chosen)
    ]
    return Workload.from_products(domain, products)


def up_to(
    sizes: Sequence[int], most: int, block: Callable[[int], Factor] = prefix, least: int = 1
) -> Workload:
    """A product on every ``least`` to ``most`` attributes, ``block`` on each of these."""
    return few_ways(sizes, range(least, most + 1), block, weights=False)


def dense(workload: Workload) -> np.ndarray:
    """The queries as a matrix, times the square roots of their weights."""
    assert workload.products is not None
    return np.vstack([product.implicit(weighted=True).matrix() for product in workload.products])


def ends(size: int) -> Factor:
    """Whether a value is one of the first two, or of the last three: values in three orbits."""
    return predicates(np.array([[1] * 2 + [0] * (size - 2), [0] * (size - 3) + [1] * 3]))


MIXED = {
    "prefixes": ((4, 3, 5), (1, 2), prefix),
    "prefix and identity, all ways": ((4, 5, 3), (0, 1, 2, 3), (prefix, identity, prefix)),
    "predicates": ((6, 5, 7), (1, 2), (ends, identity, prefix)),
    "predicates that do not span": ((6, 6), (2,), (ends, ends)),
    "one attribute": ((9,), (1,), ends),
    "identities": ((2, 3, 4, 2), (1, 2, 3), identity),
}


def random_mixture(rng: np.random.Generator, shape: Sequence[int]) -> Mixture:
    """Two products and three cells."""
    factors = tuple(rng.dirichlet(np.ones(o), size=2) for o in shape)
    cells = np.stack([rng.integers(o, size=3) for o in shape], axis=1)
    return Mixture(rng.dirichlet(np.ones(5)), Mixture(np.ones(2), factors).with_cells(cells).factors)
