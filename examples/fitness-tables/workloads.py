"""The workloads of Tables 4 to 11 of PVLDB 2021, as the tables have them.

Tables 5 to 8 and 11 print one random draw each: that of numpy's legacy generator with seed 0, drawn in the
order below. Where text and tables differ (Tables 6 to 8, see programs/ERRATA.md) they follow the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mmopt import Workload
from mmopt.testing.problem_registry import marginal_rows, marginals

Array = NDArray[np.float64]
Random = np.random.RandomState

PL94 = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))


def pl94(races: int = 63) -> Workload:
    """Voting age, ethnicity, sets of races, and the cells; 2 x 2 x 63 cells, 319 queries."""
    return Workload.from_matrix(marginal_rows((2, 2, races), PL94), targets=1.0)


def age_pyramids(ages: int = 116, adult: int = 18) -> Workload:
    """For men, women and all: everyone up to each age, and the adults; 232 cells, 351 queries."""
    asked = np.vstack([np.tri(ages), np.arange(ages) >= adult])
    rows = [np.kron(np.array([who]), asked) for who in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))]
    return Workload.from_matrix(np.vstack(rows), targets=1.0)


def cubes(t: int) -> Workload:
    """All one- and two-way marginals over t x t x t cells."""
    return marginals((t, t, t), (1, 2), target=1.0)


def ranges(rng: Random, d: int, highest: int) -> tuple[Array, Array]:
    """2 d ranges between two uniform ends, and targets from 1 to ``highest``, each drawn after its range."""
    rows, targets = np.zeros((2 * d, d)), np.ones(2 * d)
    for j, row in enumerate(rows):
        first, last = sorted((rng.randint(d), rng.randint(d)))
        row[first : last + 1] = 1.0
        targets[j] = rng.randint(1, highest + 1)
    return rows, targets


def signs(rng: Random, d: int, highest: int) -> tuple[Array, Array]:
    """2 d queries of fair coins, +1 or -1, and targets (the text has +1 with probability 0.2)."""
    rows = 2.0 * rng.randint(2, size=(2 * d, d)) - 1.0
    return rows.astype(float), rng.randint(1, highest + 1, size=2 * d).astype(float)


def related(rng: Random, d: int) -> tuple[Array, Array]:
    """d / 2 combinations of d / 2 Gaussian queries."""
    queries = rng.normal(size=(d // 2, d))
    return rng.normal(size=(d // 2, d // 2)) @ queries, np.ones(d // 2)


RANDOM: Mapping[int, Callable[[Random, int], tuple[Array, Array]]] = {
    5: lambda rng, d: ranges(rng, d, 1),
    6: lambda rng, d: ranges(rng, d, 10),
    7: lambda rng, d: signs(rng, d, 1),
    8: lambda rng, d: signs(rng, d, 10),
    11: related,
}
"""How the queries and the targets of a table are drawn over so many cells."""


def draw(table: int, d: int, seed: int = 0) -> Workload:
    """One draw of a random table over d cells; of seed 0 is what is printed."""
    rows, targets = RANDOM[table](np.random.RandomState(seed), d)
    return Workload.from_matrix(rows, targets=targets)


def workload(table: int, size: int) -> Workload:
    """The workload of a line of a table; ``size`` as in ``printed.PRINTED``."""
    if table in RANDOM:
        return draw(table, size)
    return cubes(size) if table == 10 else pl94() if table == 4 else age_pyramids()
