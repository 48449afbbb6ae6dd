"""Free MPS (with QUADOBJ for a quadratic objective): linear rows, columns X0, X1, … without bounds.

MPS minimizes, and what it says of a constant of the objective is minus its right-hand side. Where a program
maximizes, the comment says that its value is minus the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import scipy.sparse as sp

from mmopt.exchange.file_parts import column_names, number
from mmopt.solvers.conic_problem import ConicProblem

__all__ = ["TAKES", "written"]

TAKES = frozenset({"zero", "nonnegative"})
LETTERS = {"zero": "E", "nonnegative": "L"}


def written(problem: ConicProblem, head: Sequence[str]) -> str:
    """The file's text; ``head`` becomes its comment."""
    return "\n".join(_lines(problem, head)) + "\n"


def _lines(problem: ConicProblem, head: Sequence[str]) -> Iterator[str]:
    turned = ["the program maximizes: its value is minus the optimum here"]
    yield from (
        f"* {line}" for line in (*head, *turned * (problem.sense == "maximize"), *column_names(problem))
    )
    yield from ("NAME mmopt", "ROWS", " N COST")
    for block in problem.cones.blocks:
        yield from (f" {LETTERS[block.kind]} R{row}" for row in range(block.first, block.end))
    yield "COLUMNS"
    columns = sp.csc_array(problem.A)
    for j, cost in enumerate(problem.c):
        first, end = columns.indptr[j], columns.indptr[j + 1]
        pairs = sorted(zip(columns.indices[first:end], columns.data[first:end], strict=True))
        # A column without any coefficient has to stand somewhere.
        if cost != 0 or not pairs:
            yield f" X{j} COST {number(cost)}"
        yield from (f" X{j} R{row} {number(value)}" for row, value in pairs if value != 0)
    yield "RHS"
    if problem.offset:
        yield f" RHS COST {number(-problem.offset)}"
    yield from (f" RHS R{row} {number(value)}" for row, value in enumerate(problem.b) if value != 0)
    yield "BOUNDS"
    yield from (f" FR BOUND X{j}" for j in range(len(problem.c)))
    if problem.P is not None and problem.P.nnz:
        yield "QUADOBJ"
        lower = sp.coo_array(sp.tril(problem.P))
        found = sorted(zip(lower.col, lower.row, lower.data, strict=True))
        yield from (f" X{j} X{i} {number(value)}" for j, i, value in found if value != 0)
    yield "ENDATA"
