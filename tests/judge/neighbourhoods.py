"""Effects of a change of a table on a strategy, by hand: the sets of neighbours, over few cells.

A set is saved with the strategy: its kind, rows or steps of one person, steps between two of these.
"""

import itertools
from collections.abc import Mapping
from typing import Any

from flint import arb, arb_mat
from judge import balls

SINGLE = {"kind": "add-remove"}


def _apart(n: int, b: int, k: int) -> list[tuple[int, ...]]:
    """All sets of at most k of n steps, any two at least b apart."""
    sets = itertools.chain(*(itertools.combinations(range(n), size) for size in range(1, min(k, n) + 1)))
    return [s for s in sets if all(j - i >= b for i, j in itertools.pairwise(s))]


def _moves(n: int) -> arb_mat:
    """The columns e_i - e_j, and one of zeros, for n cells."""
    pairs = [*itertools.combinations(range(n), 2), (0, 0)]
    return arb_mat([[int(c == i) - int(c == j) for i, j in pairs] for c in range(n)])


def sensitivity_to(neighbours: Mapping[str, Any], rows: arb_mat, norm: int) -> arb:
    """Sensitivity of measured rows A: each step of a person may add any vector of norm one, so that |AᵀA|
    counts."""
    match neighbours["kind"]:
        case "add-remove":
            return balls.largest_column(rows, norm)
        case "rows":
            return int(neighbours["at_most"]) * balls.largest_column(rows, norm)
        case "replace-one":
            alone = balls.largest_column(rows, norm) if neighbours["may_drop"] else arb(0)
            return balls.greatest([alone, balls.largest_column(rows * _moves(rows.ncols()), norm)])
        case "participation":
            assert norm == 2
            x = balls.gram(rows).tolist()
            sets = _apart(len(x), int(neighbours["separation"]), int(neighbours["at_most"]))
            sums = [sum((abs(x[i][j]) for i in s for j in s), arb(0)) for s in sets]
            return balls.root(balls.greatest(sums))
        case kind:
            raise AssertionError(f"no sensitivity to {kind} is known")


def bound_for(neighbours: Mapping[str, Any], bound: arb, d: list[arb]) -> arb:
    """A bound ‖W diag(√d)‖∗² / Σd on total error for single rows, for a set of neighbours.

    The squared sensitivity is at least the largest sum of the diagonal of AᵀA over the steps of a person, and
    d is at most max(sums of d over b steps, Σd / k) times a mean of these sets.
    """
    match neighbours["kind"]:
        case "add-remove":
            return bound
        case "rows":
            return int(neighbours["at_most"]) ** 2 * bound
        case "replace-one":  # all columns may be the same large one, unless each may be dropped
            return bound if neighbours["may_drop"] else arb(0)
        case "participation":
            b, every = int(neighbours["separation"]), sum(d, arb(0))
            windows = [sum(d[i : i + b], arb(0)) for i in range(max(1, len(d) - b + 1))]
            return bound * every / balls.greatest([*windows, every / int(neighbours["at_most"])])
        case kind:
            raise AssertionError(f"no bound for {kind} is known")
