"""Counts rounded to whole numbers so that totals and hierarchies still add up.

Sets of which any two are nested or apart are a laminar family: a hierarchy. The rows of 0 and 1 of two such
families (the rows and the columns of a table, each with their sums) are totally unimodular: it is a network
in which a unit flows from the sets of the one to those of the other (Edmonds 1970; Schrijver, Combinatorial
optimization, 2003). So there are counts, each rounded up or down, for which the answer of every set of both
families is rounded up or down as well (Hoffman and Kruskal 1956): x itself meets these limits, which are
whole. HiGHS finds those of least distance; that they keep the limits is checked in integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmopt.errors import SolverError
from mmopt.limits import require_time, time_left
from mmopt.numerics.arrays import Array, Ints

__all__ = ["Whole", "in_two_families", "whole_counts"]

Bools = npt.NDArray[np.bool_]

SECONDS, OUT_OF_TIME = 60.0, 1  # of HiGHS, and what scipy calls that it ended for this
LARGEST = 2.0**50  # of what is counted: so far floats are whole numbers, and their sums


@dataclass(frozen=True, eq=False)
class Whole:
    """Whole counts (c,), the answers (m,), and for which queries (m,) it is proved that these are near.

    within_one : the answer is the value before rounding, rounded up or down. farthest : how far the answers
        of the other queries are from theirs, at most; 0 without any.
    """

    counts: Ints
    answers: Ints
    within_one: Bools
    farthest: float


def whole_counts(counts: Array, queries: Array, sums: Array, totals: Array) -> Whole:
    """Counts (c,) rounded, with the sums (q, c) of known totals (q,), which stay as they are.

    Of the queries (m, c), all of whole numbers, as many as fit into two laminar families beside the totals,
    in their order, have answers that are rounded up or down; of all that do so those with the least sum of
    distances, over counts and these queries, are taken; or the best of them that HiGHS finds in a minute, or
    until the time is over that a ``deadline`` around this allows.

    Raises
    ------
    SolverError : totals that do not fit into two families, and that no such rounding keeps; or none was found
        in time.
    TimeLimitError : that time was over before.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    near = in_two_families(queries, sums)
    least = np.floor(counts)
    values = queries @ counts
    low, high = np.floor(values[near]), np.ceil(values[near])
    kept = queries[near]
    start = kept @ least
    nearest = 1.0 - 2.0 * (counts - least) + (1.0 - 2.0 * (values[near] - low)) @ kept
    limits = [LinearConstraint(kept, low - start, high - start)] if near.any() else []
    if len(sums):
        rest = totals - sums @ least
        limits.append(LinearConstraint(sums, rest, rest))
    require_time()
    seconds = min(SECONDS, time_left())
    found = milp(
        nearest,
        integrality=np.ones(len(counts)),
        bounds=Bounds(0.0, np.ceil(counts) - least),
        constraints=limits,
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    if found.x is None and found.status == OUT_OF_TIME:
        raise SolverError(
            f"whole counts were not found in {seconds:.3g} s",
            hint="refine without whole answers, ask for fewer"
            + ("" if seconds == SECONDS else ", or allow more time"),
        )
    if found.x is None:
        raise SolverError(
            "no whole counts were found that are the refined ones rounded up or down and keep all totals",
            hint="name fewer totals, those of one hierarchy, or refine without whole answers",
        )
    whole = (least + np.rint(found.x)).astype(np.int64)
    answers = _exact(queries, whole)
    if (
        np.abs(counts).max(initial=0.0) > LARGEST
        or (whole < 0).any()
        or (answers[near] < low).any()
        or (answers[near] > high).any()
        or (_exact(sums, whole) != totals).any()
    ):
        raise SolverError("the rounding that HiGHS found does not keep its limits", hint="refine without it")
    farthest = np.abs(answers - values)[~near].max(initial=0.0)
    return Whole(whole, answers, near, float(farthest))


def _exact(rows: Array, whole: Ints) -> Ints:
    return np.asarray(rows.astype(np.int64) @ whole)


def in_two_families(queries: Array, first: Array) -> Bools:
    """Which queries (m,) of 0 and 1 are in two laminar families, taken greedily after the rows ``first``."""
    families: tuple[set[int], set[int]] = (set(), set())
    for row in first:
        _enter(row, families)
    return np.array([_enter(row, families) for row in queries], dtype=bool)


def _enter(row: Array, families: Iterable[set[int]]) -> bool:
    """Put the set of a row, as bits, into the first family that it goes with."""
    if not ((row == 0) | (row == 1)).all():
        return False
    own = int.from_bytes(np.packbits(row.astype(bool)).tobytes(), "big")
    for family in families:
        if own in family or all(own & one in (0, own, one) for one in family):
            family.add(own)
            return True
    return False
