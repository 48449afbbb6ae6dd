"""A row solved, and what that took: in this process, or in one of its own."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from rows import ROWS, Row

from mmopt import Workload, solve
from mmopt.driver.templates import templates
from mmopt.errors import Error


@dataclass(frozen=True)
class Reached:
    """value : the row's figure. bound : proved, of the same figure; None without one.

    cpu : seconds of building the workload and solving it. memory : bytes, the peak of the process with all
    that it imports; None where the system does not say. theirs : the figure of the best of the others.
    """

    value: float
    bound: float | None
    cpu: float
    memory: int | None
    theirs: float | None

    @property
    def ratio(self) -> float | None:
        """Their figure over ours: above 1 where ours is better."""
        return None if self.theirs is None else self.theirs / self.value

    @property
    def gap(self) -> float | None:
        """The figure over its bound, less 1."""
        return None if self.bound is None else self.value / self.bound - 1.0


def reach(row: Row, **options: Any) -> Reached:
    """Solve a row, with ``mmopt.solve``'s options where a program does it; errors as there."""
    start = time.process_time()
    value, bound = solved(row, row.build(), {**row.options, **options})
    return Reached(value, bound, time.process_time() - start, peak(), row.peers.get(row.best))


def reach_alone(row: Row, **options: Any) -> Reached:
    """Solve a row in a process that does nothing else."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        found, reason = process.submit(_by_name, row.group, row.name, options).result()
    if found is None:
        raise Error(reason)
    return found


def _by_name(group: str, name: str, options: Mapping[str, Any]) -> tuple[Reached | None, str]:
    """Errors are words: they have more than a process can hand over."""
    (row,) = (row for row in ROWS if (row.group, row.name) == (group, name))
    try:
        return reach(row, **options), ""
    except Error as error:
        return None, f"{group}, {name}: {error}"


def solved(row: Row, workload: Workload, options: dict[str, Any]) -> tuple[float, float | None]:
    """The row's figure and its bound."""
    if row.program == "templates":
        search = templates(workload, 1)
        return search.best.rmse, per_query(search.bound, workload)
    solution = solve(workload, row.program, **options)
    value, bound = solution.objective, solution.bound
    if row.figure == "rmse":
        return solution.rmse, None if bound is None else per_query(bound, workload)
    if row.figure == "volume":
        return per_direction(value, workload), None if bound is None else per_direction(bound, workload)
    return value, bound


def per_query(error: float, workload: Workload) -> float:
    """Root mean square of a total error where all weights are 1."""
    return float((error / workload.m) ** 0.5)


def per_direction(logdet: float, workload: Workload) -> float:
    """The determinant of the inverse, to the power of one over the number of parameters."""
    return math.exp(-logdet / workload.m)


def peak() -> int | None:
    """The most memory that this process has held, in bytes."""
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
