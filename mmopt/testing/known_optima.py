"""What is known of the optimum of a program on a problem of the registry, and what that says of our value.

Published and long computed numbers by problem and size, and two bounds in closed form that any workload has.
All are on the scale that the formulations of a program share (``Solution.value``).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from mmopt.language import Program
from mmopt.workloads import Workload

__all__ = ["EXACT", "Figure", "holds", "known_figures", "meets", "singular_value_bound", "starred"]

NEAR_SPREAD = 0.02
"""A printed figure this far outside the spread of our draws is marked."""


@dataclass(frozen=True)
class Figure:
    """A known number: where it stands, what kind it is, relative tolerance.

    exact: the value itself; upper: our value is at most it; lower: our value is at least it.
    """

    source: str
    kind: str
    value: float
    tolerance: float


def holds(figure: Figure, found: float) -> bool:
    """Whether our value is what the figure says of it."""
    return meets(figure, found, found)


def meets(figure: Figure, low: float, high: float) -> bool:
    """Whether a value that lies between ``low`` and ``high`` may be what the figure says of it."""
    room = figure.tolerance * abs(figure.value)
    above = high >= figure.value - room
    below = low <= figure.value + room
    return {"exact": above and below, "upper": below, "lower": above}[figure.kind]


def starred(draws: Sequence[float], printed: float) -> str:
    """The median of our draws over print, starred where print is outside of them and not near."""
    is_within = min(draws) * (1 - NEAR_SPREAD) <= printed <= max(draws) * (1 + NEAR_SPREAD)
    return f"{statistics.median(draws) / printed:.3f}{' ' if is_within else '*'}"


Table = Mapping[tuple[str, str], tuple[str, float, Mapping[int, float]]]

OPTIMUM = "PODS 2010, Program 5.2"
FIT = "PVLDB 2021, Table 2"

# (program, problem): where it stands, relative tolerance, value by number of cells.
EXACT: Table = MappingProxyType(
    {
        ("l2_strategy", "prefix"): (
            OPTIMUM,
            1e-6,
            {
                4: 6.874144,
                8: 17.866177,
                16: 45.665357,
                32: 114.559703,
                64: 282.20142,
                256: 1631.40304,
                1024: 8944.32919,
            },
        ),
        ("l2_strategy", "all-ranges"): (
            OPTIMUM,
            1e-6,
            {16: 413.14022, 64: 11024.3815, 256: 276929.308, 1024: 6484329.00},
        ),
        ("l2_strategy", "example-4"): ("PVLDB 2012, Example 4", 1e-6, {8: 15.01802}),
        ("l2_strategy", "cube"): ("PVLDB 2021, Table 10, CA", 1e-6, {8: 36.0}),
        ("weighted_l2", "prefix"): (OPTIMUM, 1e-6, {4: 6.874144, 8: 17.866177, 16: 45.665357}),
        ("query_weighting", "prefix"): ("PVLDB 2012, Program 1", 5e-5, {8: 22.931}),
        ("query_weighting", "example-4"): ("PVLDB 2012, Example 4", 5e-5, {8: 15.808}),
        ("eigen_design", "prefix"): ("PVLDB 2012, Program 2", 5e-5, {8: 20.888}),
        ("eigen_design", "example-4"): ("PVLDB 2012, Example 4", 5e-5, {8: 15.474}),
        ("fitness_for_use", "prefix"): (
            FIT,
            1e-5,
            {2: 4 / 3, 4: 1.75860, 8: 2.28156, 16: 2.90525, 32: 3.63072, 64: 4.45787, 1024: 8.77027},
        ),
        # Table 10 prints the privacy cost itself: its square root.
        ("fitness_for_use", "cube"): (
            "PVLDB 2021, Table 10",
            1e-5,
            {8: 1.47731**2, 64: 1.86330**2, 216: 2.02964**2, 512: 2.12236**2},
        ),
        ("fitness_for_use", "identity-and-total"): (
            "PVLDB 2021, Theorem 7",
            1e-5,
            {d: 2 * d / (1 + d) for d in range(5, 4097)},
        ),
    }
)


def known_figures(program: Program, problem: str, workload: Workload) -> tuple[Figure, ...]:
    """What is known of the program's ``value`` there, the closed forms last; perhaps nothing.

    Parameters
    ----------
    program : one of its formulations counts as the program itself.
    problem : the name of the problem that the workload is of; "" for another workload.
    """
    base = program.formulation_of or program.name
    found: list[Figure] = []
    if (base, problem) in EXACT:
        source, tolerance, values = EXACT[base, problem]
        if workload.n in values:
            found.append(Figure(source, "exact", values[workload.n], tolerance))
    low = high = None
    if base == "l2_strategy":
        low = "PVLDB 2012, singular value bound", singular_value_bound(workload)
        high = workload.eigenvalues.sum()
    if base == "fitness_for_use" and workload.has_all_targets:
        alone = np.square(workload.queries).max(axis=1) / workload.targets
        low = "the hardest query alone", float(alone.max())
        high = (workload.squared_norms() / workload.targets).max()
    if low is not None and high is not None:
        found.append(Figure(low[0], "lower", low[1], 1e-9))
        found.append(Figure("noise on each cell", "upper", float(high), 1e-9))
    return tuple(found)


def singular_value_bound(workload: Workload) -> float:
    """No strategy has less total error: the square of the sum of the singular values, over n (plainly)."""
    return float(np.sqrt(workload.eigenvalues).sum() ** 2 / workload.n)
