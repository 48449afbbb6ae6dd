"""The workloads of Figures 3 and 5 and Table 2 of PVLDB 2012, at any number of cells that is a power of two.

The paper has 2048 cells. What it samples (cell orders, ranges, marginals, predicates) comes from a seed here;
how many it samples is not printed, see ``PER_CELL``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mmopt import OptionError, Workload
from mmopt.testing.problem_registry import domain_of, products_on
from mmopt.workloads import Factor, Product
from mmopt.workloads.factors_and_products import all_range, identity, predicates, prefix, reordered

Array = NDArray[np.float64]
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


def all_ranges(sizes: Shape) -> Workload:
    """Every product of one range per attribute."""
    return products_on(sizes, [range(len(sizes))], all_range)


def cumulative(cells: int) -> Workload:
    """CDF: the first cell, the first two, … all of them."""
    return products_on((cells,), [[0]], prefix)


def k_way(sizes: Shape, k: int, *, ranges: bool = False) -> Workload:
    """All k-way marginals; with ``ranges`` all ranges on each margin (k-way range marginals)."""
    return products_on(
        sizes, [*itertools.combinations(range(len(sizes)), k)], all_range if ranges else identity
    )


def order(cells: int, seed: int) -> list[int]:
    """A random order of the cells."""
    return [int(cell) for cell in np.random.default_rng(seed).permutation(cells)]


def permuted_ranges(cells: int, seed: int) -> Workload:
    """All ranges of one attribute, cells in a random order."""
    return products_on((cells,), [[0]], lambda n: reordered(all_range(n), order(n, seed)))


def permuted_cells(w: Workload, seed: int) -> Workload:
    """Permute the cells of the queries at random; rows over one attribute."""
    return Workload.from_matrix(w.queries[:, order(w.n, seed)])


def sampled_ranges(sizes: Shape, count: int, seed: int) -> list[tuple[tuple[int, int], ...]]:
    """Random ranges: first and last cell on each attribute, between two uniform ends."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, np.array(sizes)[:, None], size=(count, len(sizes), 2)), axis=2)
    return [tuple((int(low), int(high)) for low, high in one) for one in ends]


def random_ranges(sizes: Shape, seed: int) -> Workload:
    """Ranges of ``sampled_ranges``, ``PER_CELL`` for each cell."""
    sampled = sampled_ranges(sizes, round(PER_CELL["ranges"] * math.prod(sizes)), seed)
    products = [
        Product(tuple(_range(n, *ends) for n, ends in zip(sizes, one, strict=True))) for one in sampled
    ]
    return Workload.from_products(domain_of(*sizes), products)


def _range(n: int, low: int, high: int) -> Factor:
    row = np.zeros((1, n))
    row[0, low : high + 1] = 1.0
    return predicates(row)


def sampled_sets(attributes: int, seed: int) -> list[tuple[int, ...]]:
    """Draw as many different sets of attributes as there are attributes, none empty."""
    sets = [one for k in range(1, attributes + 1) for one in itertools.combinations(range(attributes), k)]
    chosen = np.random.default_rng(seed).choice(len(sets), size=attributes, replace=False)
    return [sets[at] for at in np.sort(chosen)]


def random_marginals(sizes: Shape, seed: int) -> Workload:
    """The marginals of ``sampled_sets``."""
    return products_on(sizes, sampled_sets(len(sizes), seed), identity)


def sampled_predicates(cells: int, count: int, seed: int) -> Array:
    """Each cell is in each predicate with probability ½; (count, cells)."""
    return np.asarray(np.random.default_rng(seed).random((count, cells)) < 0.5, dtype=np.float64)


def random_predicates(cells: int, seed: int) -> Workload:
    """Uniformly sampled predicates, ``PER_CELL`` for each cell."""
    return Workload.from_matrix(sampled_predicates(cells, round(PER_CELL["predicates"] * cells), seed))


# -- which of them figures and tables have, and the rivals on each

RIVALS: Mapping[str, str] = {
    "Hier.": "hierarchical(branching=2)",
    "Wav.": "wavelet",
    "Four.": "fourier",
    "Cube": "datacube",
    "cells": "identity",
    "answers": "workload",
}
"""The paper's rivals and, last, noise on every cell and on every answer; with the names of the baselines."""

ALWAYS = ("cells", "answers")
_RANGES, _MARGINALS = ("Hier.", "Wav."), ("Four.", "Cube")


@dataclass(frozen=True)
class Case:
    """A workload of the study.

    part : figure or table. kind : its row in ``printed``. make : the workload; of a seed where it is random.
    rivals : those that the paper compares with on it.
    """

    part: str
    kind: str
    label: str
    make: Callable[..., Workload]
    rivals: tuple[str, ...]
    is_random: bool = False

    def workload(self, seed: int) -> Workload:
        """One draw."""
        return self.make(seed) if self.is_random else self.make()


def cases(cells: int) -> list[Case]:
    """Figure 3, then Table 2. OptionError for a number of cells that is not a power of two, or too small.

    Two-way marginals of two attributes are the cells, and left out.
    """
    shapes = [shape(cells, count) for count in (1, 2, 3, 4, None)]
    ranges, marginals = ("3", "ranges"), ("3", "marginals")
    sizes = shapes[2]  # of the attributes of the range marginals
    margins = [(f"{k}-way", partial(k_way, sizes, k, ranges=True)) for k in (1, 2)]
    sampled = partial(random_predicates, cells)
    return [
        *(Case(*ranges, _label("all", s), partial(all_ranges, s), _RANGES) for s in shapes),
        *(Case(*ranges, _label("random", s), partial(random_ranges, s), _RANGES, True) for s in shapes),
        *(Case(*marginals, _label("2-way", s), partial(k_way, s, 2), _MARGINALS) for s in shapes[2:]),
        *(
            Case(*marginals, _label("random", s), partial(random_marginals, s), _MARGINALS, True)
            for s in shapes[1:]
        ),
        Case("2", "permuted", f"permuted, {cells}", partial(permuted_ranges, cells), _RANGES, True),
        *(Case("2", name, _label(name, sizes), make, _RANGES + _MARGINALS) for name, make in margins),
        Case("2", "CDF", f"CDF, {cells}", partial(cumulative, cells), _RANGES),
        Case("2", "predicates", f"predicates, {cells}", sampled, (*_RANGES, "Four."), True),
    ]


def _label(kind: str, sizes: Shape) -> str:
    same = len(sizes) > 4 and len(set(sizes)) == 1
    return f"{kind}, {f'{sizes[0]}^{len(sizes)}' if same else 'x'.join(map(str, sizes))}"
