"""The workloads of Tables 4 to 11 of PVLDB 2021, as the tables have them.

Tables 5 to 8 and 11 print one random draw each, of a seed that is not known: these are draws of the same
kind. Where text and tables differ (Tables 6 to 8, see programs/ERRATA.md) they follow the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mmopt import Workload
from mmopt.testing import census_workloads
from mmopt.testing.query_matrices import marginals, random_ranges

Array = NDArray[np.float64]
Random = np.random.Generator

PL94 = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))


def pl94(races: int = 63) -> Workload:
    """Voting age, ethnicity, sets of races, and the cells; 2 x 2 x 63 cells, 319 queries."""
    return Workload.from_matrix(marginals((2, 2, races), PL94), targets=1.0)


def age_pyramids(ages: int = 116, adult: int = 18) -> Workload:
    """For men, women and all: everyone up to each age, and the adults; 232 cells, 351 queries."""
    asked = np.vstack([np.tri(ages), np.arange(ages) >= adult])
    rows = [np.kron(np.array([who]), asked) for who in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))]
    return Workload.from_matrix(np.vstack(rows), targets=1.0)


def cubes(t: int) -> Workload:
    """All one- and two-way marginals over t x t x t cells."""
    return census_workloads.marginals((t, t, t), (1, 2), target=1.0)


def ranges(rng: Random, d: int) -> Array:
    """2 d ranges between two uniform ends."""
    return random_ranges(d, 2 * d, rng)


def coins(rng: Random, d: int) -> Array:
    """2 d queries of fair coins, +1 or -1 (the text has +1 with probability 0.2)."""
    return np.where(rng.random((2 * d, d)) < 0.5, 1.0, -1.0)


def _integers(rng: Random, m: int) -> Array:
    """1 to 9 (the text has uniform(1, 10))."""
    return rng.integers(1, 10, size=m).astype(float)


Drawn = Callable[[Random, int], Array]

RANDOM: Mapping[int, tuple[Drawn, Drawn]] = {
    5: (ranges, lambda rng, m: np.ones(m)),
    6: (ranges, _integers),
    7: (coins, lambda rng, m: np.ones(m)),
    8: (coins, _integers),
    # d / 2 combinations of d / 2 Gaussian queries.
    11: (
        lambda rng, d: rng.normal(size=(d // 2, d // 2)) @ rng.normal(size=(d // 2, d)),
        lambda rng, m: np.ones(m),
    ),
}
"""How the queries and the targets of a table are drawn."""


def draw(table: int, d: int, seed: int) -> Workload:
    """One draw of a random table over d cells."""
    queries, targets = RANDOM[table]
    rng = np.random.default_rng(seed)
    rows = queries(rng, d)
    return Workload.from_matrix(rows, targets=targets(rng, len(rows)))


def workload(table: int, size: int, seed: int = 0) -> Workload:
    """The workload of a line of a table; ``size`` as in ``printed.PRINTED``."""
    if table in RANDOM:
        return draw(table, size, seed)
    return cubes(size) if table == 10 else pl94() if table == 4 else age_pyramids()
