"""The workloads of Figures 3 and 5 and Table 2 of PVLDB 2012, at any number of cells that is a power of two.

The paper has 2048 cells. What it samples (cell orders, ranges, marginals, predicates) comes from a seed here;
how many it samples is not printed, see ``PER_CELL``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.components import Array
from mmopt.workloads import Attribute, Domain, Factor, Product, Workload
from mmopt.workloads.blocks.factor import all_range, identity, predicates, prefix, reordered, total

__all__ = [
    "FEWEST",
    "PER_CELL",
    "Shape",
    "all_ranges",
    "cumulative",
    "k_way",
    "order",
    "permuted_cells",
    "permuted_ranges",
    "random_marginals",
    "random_predicates",
    "random_ranges",
    "sampled_predicates",
    "sampled_ranges",
    "sampled_sets",
    "shape",
]

Shape = tuple[int, ...]

PER_CELL = {"ranges": 0.25, "predicates": 8}
"""Queries sampled per cell. With more predicates the ratios hardly change: in the limit G is I + 11ᵀ."""

FEWEST = 16
"""Cells: at least two for each of four attributes."""


def shape(cells: int, attributes: int | None = None) -> Shape:
    """So many attributes, as equal as powers of two can be, larger ones first; None for attributes of 2.

    2048 cells: 64 × 32, 16 × 16 × 8, 8 × 8 × 8 × 4. OptionError unless a power of two of at least ``FEWEST``.
    """
    bits = cells.bit_length() - 1
    if cells < FEWEST or cells != 1 << bits:
        raise OptionError(f"--cells is {cells}, expected a power of two, {FEWEST} or more")
    count = bits if attributes is None else attributes
    each, more = divmod(bits, count)
    return (2 ** (each + 1),) * more + (2**each,) * (count - more)


def _domain(sizes: Shape) -> Domain:
    names = (chr(ord("a") + i) for i in range(len(sizes)))
    return Domain(
        tuple(Attribute(name, tuple(map(str, range(n)))) for name, n in zip(names, sizes, strict=True))
    )


def _products(sizes: Shape, sets: Sequence[Sequence[int]], block: Callable[[int], Factor]) -> Workload:
    """A product for each set of attributes: ``block`` on those, totals on the others."""
    factors = [[block(n) if i in chosen else total(n) for i, n in enumerate(sizes)] for chosen in sets]
    return Workload.from_products(_domain(sizes), [Product(tuple(own)) for own in factors])


def all_ranges(sizes: Shape) -> Workload:
    """Every product of one range per attribute."""
    return _products(sizes, [range(len(sizes))], all_range)


def cumulative(cells: int) -> Workload:
    """CDF: the first cell, the first two, … all of them."""
    return _products((cells,), [[0]], prefix)


def k_way(sizes: Shape, k: int, *, ranges: bool = False) -> Workload:
    """All k-way marginals; with ``ranges`` all ranges on each margin (k-way range marginals)."""
    return _products(
        sizes, [*itertools.combinations(range(len(sizes)), k)], all_range if ranges else identity
    )


def order(cells: int, seed: int) -> list[int]:
    """A random order of the cells."""
    return [int(cell) for cell in np.random.default_rng(seed).permutation(cells)]


def permuted_ranges(cells: int, seed: int) -> Workload:
    """All ranges of one attribute, cells in a random order."""
    return _products((cells,), [[0]], lambda n: reordered(all_range(n), order(n, seed)))


def permuted_cells(w: Workload, seed: int) -> Workload:
    """The same queries with the cells in a random order; rows over one attribute."""
    return Workload.from_matrix(w.queries[:, order(w.n, seed)])


def sampled_ranges(sizes: Shape, count: int, seed: int) -> list[tuple[tuple[int, int], ...]]:
    """Random ranges: first and last cell on each attribute, between two uniform ends."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, np.array(sizes)[:, None], size=(count, len(sizes), 2)), axis=2)
    return [tuple((int(low), int(high)) for low, high in own) for own in ends]


def random_ranges(sizes: Shape, seed: int) -> Workload:
    """Ranges of ``sampled_ranges``, ``PER_CELL`` for each cell."""
    sampled = sampled_ranges(sizes, round(PER_CELL["ranges"] * math.prod(sizes)), seed)
    products = [
        Product(tuple(_range(n, *ends) for n, ends in zip(sizes, own, strict=True))) for own in sampled
    ]
    return Workload.from_products(_domain(sizes), products)


def _range(n: int, low: int, high: int) -> Factor:
    row = np.zeros((1, n))
    row[0, low : high + 1] = 1.0
    return predicates(row)


def sampled_sets(attributes: int, seed: int) -> list[tuple[int, ...]]:
    """As many different sets of attributes as there are attributes, none empty."""
    ways = range(1, attributes + 1)
    sets = [own for k in ways for own in itertools.combinations(range(attributes), k)]
    chosen = np.random.default_rng(seed).choice(len(sets), size=attributes, replace=False)
    return [sets[at] for at in np.sort(chosen)]


def random_marginals(sizes: Shape, seed: int) -> Workload:
    """The marginals of ``sampled_sets``."""
    return _products(sizes, sampled_sets(len(sizes), seed), identity)


def sampled_predicates(cells: int, count: int, seed: int) -> Array:
    """Each cell is in each predicate with probability ½; (count, cells)."""
    return np.asarray(np.random.default_rng(seed).random((count, cells)) < 0.5, dtype=np.float64)


def random_predicates(cells: int, seed: int) -> Workload:
    """Uniformly sampled predicates, ``PER_CELL`` for each cell."""
    return Workload.from_matrix(sampled_predicates(cells, round(PER_CELL["predicates"] * cells), seed))
