"""What the written forms of a problem share: numbers, the entries of psd blocks, the comment at the top."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import scipy.sparse as sp

from mmopt.solvers.conic_problem import ConeBlock, ConicProblem

__all__ = ["Entry", "column_names", "entries", "number", "psd_entries"]

Entry = tuple[int, int, float]

ROOT = math.sqrt(2.0)
NEIGHBOURS = 2  # doubles on either side of a quotient by √2 whose product with √2 may be the coefficient


def number(value: float) -> str:
    """The shortest decimal that reads as the same double: 17 digits at most."""
    return repr(float(value))


def entries(problem: ConicProblem, block: ConeBlock) -> Iterator[Entry]:
    """(row of A, column, coefficient) of a block, without zeros, row by row; column n has b, if not zero."""
    part = sp.coo_array(sp.csr_array(problem.A)[block.first : block.end])
    n = problem.A.shape[1]
    rows = [*part.row, *range(block.end - block.first)]
    columns = [*part.col, *[n] * (block.end - block.first)]
    values = [*part.data, *problem.b[block.first : block.end]]
    for row, column, value in sorted(zip(rows, columns, values, strict=True)):
        if value != 0:
            yield block.first + int(row), int(column), float(value)


def psd_entries(problem: ConicProblem, block: ConeBlock) -> Iterator[tuple[int, int, int, float]]:
    """(i, j, column, coefficient) of a psd block's matrix, i >= j: without the √2 of the rows.

    Of the doubles whose product with √2 is the coefficient, the one with the shortest decimal.
    """
    places = [(i, j) for j in range(block.size) for i in range(j, block.size)]
    for row, column, value in entries(problem, block):
        i, j = places[row - block.first]
        yield i, j, column, value if i == j else _without_root(value)


def _without_root(value: float) -> float:
    quotient = value / ROOT
    near = [quotient]
    for end in (-math.inf, math.inf):
        each = quotient
        for _ in range(NEIGHBOURS):
            each = math.nextafter(each, end)
            near.append(each)
    exact = [each for each in near if each * ROOT == value]
    return min(exact, key=lambda each: (len(repr(each)), abs(each - quotient)), default=quotient)


def column_names(problem: ConicProblem) -> Sequence[str]:
    """A line for each column that is an entry of a chosen variable: ``column 6: X[0, 0]``."""
    return [f"column {j}: {name}" for j, name in enumerate(problem.names) if name]
