"""PVLDB 2021, section 7: Tables 2 to 11 and Figures 2 and 3, from the study of examples/fitness-tables."""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from item import DIFFERS, Item, Relation, Reproduce, Row
from studies import study_files

from mmopt import Workload, solve

__all__ = ["ITEMS", "why_of"]

Random = np.random.Generator
DRAWS = 5
SM_II = "SM-II, 1 by definition"
CA_FORMS = ("CA", "wCA-I", "wCA-II")
EQUAL = 1e-5
"""Relative: gaps of the solves are below 1e-6."""
NEAR = 0.02
"""What print may lie outside the spread of our draws by."""
SEVERAL = 256  # cells up to which several draws are taken

PREFIX = {2: "1.33", 4: "1.76", 8: "2.28", 16: "2.91", 64: "4.46"}
"""Table 2: both of its lines."""

EARLY = "SM-II ended 14 % above the optimum, so all its ratios are too small by that (errata)"
LESS_EARLY = "SM-II ended 0.7 to 1.6 % above the optimum (errata)"
CA_NOT = "column CA is not at its optimum (errata)"
UNLIKE = "a single draw of print that is unlike ours (errata)"
SHORT = "print is below all of our draws at 64 cells (errata)"
ONE_DRAW = "one draw of print beside one of ours: nothing can be said of either (errata)"
SMALLER = "print is below all of our draws at 256 cells, by 2 to 5 % (errata)"

WHY: Mapping[tuple[int, int, str], str] = {
    (4, 0, "HM"): "branching 84 in the order voting age, ethnicity, race fits print; 16 is the best (errata)",
    **{(4, 0, name): EARLY for name in ("IP", *CA_FORMS)},
    **{(6, 64, name): UNLIKE for name in CA_FORMS},
    (5, 128, "HM"): UNLIKE,
    (6, 128, "HM"): UNLIKE,
    **{(7, d, "HM"): "print has a tree of two levels, the total and the cells (errata)" for d in (64, 128)},
    **{(8, 256, name): UNLIKE for name in ("IP", "HM", "CA")},
    (9, 0, "IP"): "SM-II ended 0.4 % above the optimum (errata)",
    (9, 0, "HM"): "a tree of branching 10 for each sex fits print (errata)",
    **{(9, 0, name): CA_NOT for name in CA_FORMS},
    (10, 2, "HM"): "branching 6 fits print; 3 is the best (errata)",
    **{(10, t, name): LESS_EARLY for t in range(2, 18, 2) for name in ("IP", "HM") if (t, name) != (2, "HM")},
    **{
        (10, t, "HM"): f"branching {b}, of two levels, fits print; {t} is the best (errata)"
        for t, b in ((14, 53), (16, 64))
    },
    **{(10, 2, name): LESS_EARLY for name in CA_FORMS},
    **{(10, t, name): CA_NOT for t in range(4, 18, 2) for name in CA_FORMS},
    (9, 0, "total"): "as column CA, which is short of its optimum (errata)",
    (4, 0, "total"): "with SM-II 14 % above the optimum it is 2.09 (errata)",
    (10, 16, "total"): "SM-II and CA of print are not at their optima (errata)",
    **{(11, 64, name): SHORT for name in ("IP", "HM")},
    **{(11, 256, name): SMALLER for name in CA_FORMS},
    **{(11, d, name): ONE_DRAW for d in (512, 1024) for name in ("IP", "HM")},
}
"""Why a figure differs, by table, size and column; used where it does."""


def why_of(table: int, size: int, row: Row, name: str) -> Row:
    """The row with its reason, where it differs and has one."""
    return dataclasses.replace(row, why=WHY.get((table, size, name), "")) if row.verdict == DIFFERS else row


def study() -> Any:
    return study_files("fitness-tables")


@functools.cache
def ratios(table: int, size: int, seed: int) -> tuple[dict[str, float], float, float]:
    """Each mechanism's ratio to the optimum, 1 of SM-II; total error over that of CA; bound over optimum."""
    files = study()
    w = files.workloads.workload(table, size, seed)
    best, least = solve(w, "fitness_for_use"), solve(w, "l2_strategy")
    costs = files.study.costs(w, files.printed.MECHANISMS)
    assert best.bound is not None
    found = {name: cost / best.objective for name, cost in costs.items()} | {SM_II: 1.0}
    return found, best.error / least.error, best.bound / best.objective


def printed(table: int, size: int) -> dict[str, str]:
    """A line of a table, as it is printed."""
    figures = study().printed.printed(table, size)
    return {name: "6.2" if figure == 6.2 else f"{figure:.2f}" for name, figure in figures.items()} | {
        SM_II: "1.00"
    }


def fixed(table: int, sizes: Sequence[int], totals: Mapping[int, str] = MappingProxyType({})) -> Reproduce:
    """Rows of a table of known workloads; ``totals`` is what is printed of total error over that of CA."""

    def rows(_: Random) -> Iterator[Row]:
        for size in sizes:
            found, total, bound = ratios(table, size, 0)
            name_of = study().study.label_of(table, size)
            for name, figure in printed(table, size).items():
                own = bound if name == SM_II else None
                yield why_of(table, size, Row(f"{name_of}, {name}", figure, found[name], bound=own), name)
            if size in totals:
                row = Row(f"{name_of}, total error over that of CA", totals[size], total)
                yield why_of(table, size, row, "total")

    return rows


def spread(table: int, size: int, name: str, draws: int) -> tuple[float, float]:
    """The median of our draws, and how far the others are from it, relatively."""
    values = [ratios(table, size, seed)[0][name] for seed in range(draws)]
    median = statistics.median(values)
    return median, max(abs(value / median - 1) for value in values)


def drawn(table: int, sizes: Sequence[int], most: str = "") -> Reproduce:
    """Rows of a table of random workloads: the median of our draws, with the room that they spread over.

    Above ``SEVERAL`` cells one draw, with the room of the draws there.
    most : the largest total error over that of CA, as the text has it.
    """

    def rows(_: Random) -> Iterator[Row]:
        for size in sizes:
            draws = DRAWS if size <= SEVERAL else 1
            for name, figure in printed(table, size).items():
                median = spread(table, size, name, draws)[0]
                apart = spread(table, min(size, SEVERAL), name, DRAWS)[1]
                room = math.ceil(100 * (apart + NEAR)) / 100 if apart else 0.0
                found = [ratios(table, size, seed) for seed in range(draws)]
                bound = min(own for _, _, own in found) if name == SM_II else None
                row = Row(f"d = {size}, {name}", figure, median, within=room, bound=bound)
                yield why_of(table, size, row, name)
            if most:
                total = statistics.median(own for _, own, _ in found)
                yield Row(f"d = {size}, total error over that of CA", most, total, "<=", within=NEAR)

    return rows


def table_2(_: Random) -> Iterator[Row]:
    for d, figure in PREFIX.items():
        w = Workload.from_matrix(np.tri(d), targets=1.0)
        best = solve(w, "fitness_for_use")
        yield Row(f"d = {d}, interior point", figure, best.objective, bound=best.bound)
        steps = solve(w, "fitness_softmax")
        cost = steps.sensitivity**2 * float(steps.strategy.variances(w).max())
        yield Row(f"d = {d}, SM-II", figure, cost, bound=best.bound)
    yield Row("d = 64, privacy cost Δ", "4.46", math.sqrt(best.objective), why="print has α = Δ² (errata)")


def table_10_high_trees(_: Random) -> Iterator[Row]:
    """HM over IP, which is free of the optimum, with the branching that fits print."""
    files = study()
    for t, b in ((12, 42), (14, 53), (16, 64)):
        w, line = files.workloads.cubes(t), files.printed.printed(10, t)
        quotient = files.study.tree_cost(b, w) / files.study.input_perturbation(w)
        yield Row(
            f"t = {t}, HM over IP with branching {b} = ⌈√n⌉", line["HM"] / line["IP"], quotient, within=1e-3
        )


@functools.cache
def loose_total(d: int, k: float) -> tuple[float, ...]:
    """Ratios of CA, wCA-II and wCA-I where the cells have target 1 and their total k."""
    files = study().study
    w = Workload.from_matrix(np.vstack([np.eye(d), np.ones(d)]), targets=np.r_[np.ones(d), k])
    best = solve(w, "fitness_for_use").objective
    costs = files.costs(w, CA_FORMS)
    return tuple(costs[name] / best for name in ("CA", "wCA-II", "wCA-I"))


def identity_and_total(cases: Sequence[tuple[int, float]], label: Callable[[int, float], str]) -> Reproduce:
    """Figures 2 and 3: weights make CA worse, for d cells and the target k of the total."""

    def rows(_: Random) -> Iterator[Row]:
        for d, k in cases:
            ca, second, first = loose_total(d, k)
            relation: Relation = "=" if k == 1 else ">="
            yield Row(f"{label(d, k)}: CA against SM-II", 1.0, ca, ">=")
            yield Row(f"{label(d, k)}: wCA-II against CA", ca, second, relation, within=EQUAL)
            yield Row(f"{label(d, k)}: wCA-I against wCA-II", second, first, relation, within=EQUAL)

    return rows


RANDOM_TABLES = {
    5: ("Random ranges, equal targets.", "1.09", ()),
    6: ("Random ranges, random targets.", "", ("Table 6, the targets",)),
    7: ("Random signs, equal targets.", "1.005", ("Table 7, the coin", "Table 7, column HM")),
    8: ("Random signs, random targets.", "", ("Table 8, the targets", "Table 7, the coin")),
    11: ("WRelated queries, equal targets.", "1.08", ("Table 11, d = 64",)),
}
"""What they are of, the text on total error, errata."""

ABOVE_OPTIMUM = "Tables 4 and 10, column SM-II is not at the optimum"
HIGH_TREES = "Table 10, t = 14 and 16, column HM"
SINGLE = "Tables 5, 6 and 8, single draws"
MEDIAN = (
    "Print is one draw of an unknown seed; ours the median of five, with the room of their spread, and above "
    "256 cells one draw with the room of the draws there."
)


def random_table(table: int) -> Item:
    """A table at 64 cells."""
    what, most, errata = RANDOM_TABLES[table]
    return Item(
        f"Table {table}",
        f"{what[:-1]}, 64 cells.",
        "computed",
        drawn(table, (64,), most),
        remark=MEDIAN,
        errata=(*errata, SINGLE),
    )


def larger_random_tables(rng: Random) -> Iterator[Row]:
    for table, (_, most, _) in RANDOM_TABLES.items():
        for row in drawn(table, (128, 256, 512, 1024), most)(rng):
            yield dataclasses.replace(row, label=f"Table {table}, {row.label}")


ITEMS = (
    Item(
        "Table 2",
        "Privacy cost on prefix sums, interior point and SM-II.",
        "computed",
        table_2,
        seconds=1,
        remark="Interior point: `fitness_for_use`; SM-II: `fitness_softmax`, to a precision of 10⁻⁴.",
        errata=("Table 2 prints α = Δ², not Δ",),
    ),
    Item(
        "Table 3",
        "Seconds to converge, gradient descent and SM-II.",
        "explained",
        remark="Times of unpublished programs on another machine.",
    ),
    Item(
        "Figure 2",
        "Cells and a total with target 4: by d.",
        "computed",
        identity_and_total([(d, 4.0) for d in (16, 64, 256)], lambda d, k: f"d = {d}"),
        seconds=1,
        remark="A picture without numbers: compared is that weighting makes it worse, as the text says.",
    ),
    Item(
        "Figure 3",
        "256 cells and a total: by its target k.",
        "computed",
        identity_and_total([(256, k) for k in (1.0, 4.0, 16.0)], lambda d, k: f"k = {k:g}"),
        seconds=1,
        remark="As Figure 2.",
    ),
    Item(
        "Table 4",
        "PL94, equal targets.",
        "computed",
        fixed(4, (0,), {0: "2.07"}),
        seconds=1,
        errata=(ABOVE_OPTIMUM, "Table 4, column HM"),
    ),
    random_table(5),
    random_table(6),
    random_table(7),
    random_table(8),
    Item(
        "Table 9",
        "Age pyramids, equal targets.",
        "computed",
        fixed(9, (0,), {0: "1.07"}),
        seconds=1,
        errata=("Table 9, column CA", "Table 9, column HM"),
    ),
    Item(
        "Table 10",
        "All one- and two-way marginals over t × t × t cells, equal targets.",
        "computed",
        fixed(10, (2, 4, 6, 8), {2: "1.1"}),
        seconds=1,
        errata=(ABOVE_OPTIMUM, "Table 10, t = 2, column HM"),
    ),
    Item(
        "Table 10, t from 10",
        "The same over 1000 to 4096 cells.",
        "computed",
        fixed(10, (10, 12, 14, 16), {16: "1.34"}),
        seconds=2,
        errata=(ABOVE_OPTIMUM, HIGH_TREES),
    ),
    Item(
        "Table 10, branching",
        "HM over IP at t = 12, 14 and 16 with trees of two levels.",
        "computed",
        table_10_high_trees,
        seconds=1,
        remark="Free of the optimum. The branching that is best for ranges is 42, 14, 16; print fits ⌈√n⌉.",
        errata=(HIGH_TREES,),
    ),
    random_table(11),
    Item(
        "Tables 5 to 8 and 11, from 128 cells",
        "The tables of random queries over 128 to 1024 cells.",
        "computed",
        larger_random_tables,
        seconds=220,
        remark=MEDIAN,
        errata=(SINGLE, "Table 7, column HM"),
    ),
)
