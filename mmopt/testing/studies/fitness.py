"""Tables 4 to 11 of PVLDB 2021, run again: mechanisms over the optimum, beside the printed ratios."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mmopt.driver import solve
from mmopt.errors import OptionError
from mmopt.testing.studies.fitness_costs import costs
from mmopt.testing.studies.fitness_tables import MECHANISMS, PRINTED, printed
from mmopt.testing.studies.fitness_workloads import RANDOM, workload

__all__ = ["Line", "lines", "sizes_of"]

CLOSE = 0.02
"""A printed ratio this far outside the spread of our draws is marked."""


@dataclass(frozen=True)
class Line:
    """One line of a table. ratios : per mechanism those of our draws. gap : the largest, of the optimum."""

    table: int
    size: int
    ratios: dict[str, tuple[float, ...]]
    gap: float

    @property
    def label(self) -> str:
        """As the table names it."""
        return {4: "PL94", 9: "AGE", 10: f"t = {self.size}"}.get(self.table, f"d = {self.size}")

    def ours(self, name: str) -> float:
        """The median of our draws."""
        return statistics.median(self.ratios[name])

    def paper(self, name: str) -> float:
        """The printed figure."""
        return printed(self.table, self.size)[name]

    def agrees(self, name: str) -> bool:
        """Whether the printed figure lies within our draws, give or take ``CLOSE``."""
        own = self.ratios[name]
        return min(own) * (1 - CLOSE) <= self.paper(name) <= max(own) * (1 + CLOSE)


def sizes_of(table: int, largest: int) -> list[int]:
    """The sizes of a table of at most so many cells; OptionError for a table that there is not."""
    if table not in PRINTED:
        raise OptionError(f"there is no Table {table}, expected one of {', '.join(map(str, PRINTED))}")
    return [size for size in PRINTED[table] if (size**3 if table == 10 else size) <= largest]


def lines(tables: Sequence[int], largest: int, draws: int) -> Iterator[Line]:
    """Solve line by line, random ones for the seeds 0 to draws - 1."""
    if draws < 1:
        raise OptionError(f"a table needs at least one draw, found {draws}")
    for table, size in [(known, size) for known in tables for size in sizes_of(known, largest)]:
        found: dict[str, list[float]] = {name: [] for name in MECHANISMS}
        gaps = []
        for seed in range(draws if table in RANDOM else 1):
            w = workload(table, size, seed)
            best = solve(w, "fitness_for_use")
            assert best.gap is not None
            gaps.append(best.gap)
            for name, value in costs(w, MECHANISMS).items():
                found[name].append(value / best.objective)
        ratios = {name: tuple(values) for name, values in found.items()}
        yield Line(table, size, ratios, max(gaps))
