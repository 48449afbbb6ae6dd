"""The problem behind all L2 programs: the largest nuclear norm over weights of cells and of queries.

For fixed multipliers the least Lagrangian of ``l2_strategy`` and of ``fitness_for_use`` is a nuclear norm,
so both are the concave maximization of N(p, q) = ‖diag(√q) W diag(√p)‖∗ over cell weights p >= 0 of sum 1 and
query weights q >= 0 with c @ q = 1 (q fixed for total error). The squared optimum is the optimum of the
program. A hybrid adds fixed weights to those of the queries, whose sum is then 1 without them. Where cells
have costs b that no weight changes the largest of b @ p + N² is wanted.

A workload with symmetries splits into parts with multiplicities (Gatermann & Parrilo 2004, Symmetry groups,
semidefinite programs, and sums of squares): weights are then constant on orbits and N adds up over parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace as namespace

from mmopt.solvers.nuclear.lines import Lines, lines_of

__all__ = ["Array", "Env", "Part", "Problem", "whole"]

Array = Any  # of any library that follows the array API standard
Env = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """One component of the queries.

    rows : (r, s). multiplicity : how often the component occurs.
    cells : (s,) whole numbers, the orbit of cells of each column. queries : (r,) the orbit of queries of each
        row, or None when the queries have fixed weights (then only rowsᵀ rows matters). rank : of ``rows``;
        None where it has to be found out from their singular values.
    """

    rows: Array
    multiplicity: float
    cells: Array
    queries: Array | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Problem:
    """Parts over orbits of cells and of queries.

    cells : (o,) number of cells in each orbit. targets : (t,) the sum of the targets c of each orbit of
        queries; None when the weights of the queries are fixed. floors : (t,) what is added to the shares of
        the queries; None for nothing. base : (o,) what each cell costs beside, whatever the noise; None for
        nothing. ``plain`` says that there is a single part whose orbits are its columns
        and rows, in order.
    """

    parts: tuple[Part, ...]
    cells: Array
    targets: Array | None = None
    floors: Array | None = None
    base: Array | None = None
    plain: bool = False

    @cached_property
    def lines(self) -> Lines | None:
        """The parts of one column, which are taken together; None where there are none."""
        return lines_of(self.parts)

    @cached_property
    def others(self) -> tuple[int, ...]:
        """The numbers of all other parts."""
        own = set() if self.lines is None else set(self.lines.places.tolist())
        return tuple(at for at in range(len(self.parts)) if at not in own)


def whole(
    rows: Array, targets: Array | None = None, rank: int | None = None, floors: Array | None = None
) -> Problem:
    """The problem of a matrix (r, n) as it is, every cell (and query) an orbit of its own."""
    xp = namespace(rows)
    r, n = rows.shape
    queries = None if targets is None else xp.arange(r)
    part = Part(rows, 1.0, xp.arange(n), queries, rank)
    return Problem((part,), xp.ones(n, dtype=rows.dtype), targets, floors, plain=True)
