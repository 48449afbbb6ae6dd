"""SDPA sparse format (.dat-s): matrix inequalities, the least of c @ x subject to Σ x_k F_k - F_0 psd.

Linear rows are one diagonal block, an equality as two of its entries: then no point is strictly inside. A
second-order cone (t, u) with two numbers u is [[t + u1, u2], [u2, t - u1]], with more t I bordered by u.
What the format cannot say stands in the comment: a constant of the objective, and that a program maximizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmopt.exchange.file_parts import column_names, entries, number, psd_entries
from mmopt.solvers.conic_problem import ConeBlock, ConicProblem

__all__ = ["TAKES", "written"]

TAKES = frozenset({"zero", "nonnegative", "second-order", "psd"})


def written(problem: ConicProblem, head: Sequence[str]) -> str:
    """The file's text; ``head`` becomes its comment."""
    return "\n".join(_lines(problem, head)) + "\n"


def _lines(problem: ConicProblem, head: Sequence[str]) -> Iterator[str]:
    n = problem.A.shape[1]
    linear = 2 * problem.cones.zero + problem.cones.nonnegative
    wide = [block for block in problem.cones.blocks if block.kind in ("second-order", "psd")]
    sides = ([-linear] if linear else []) + [_side(block) for block in wide]
    yield from (f'"{line}' for line in (*head, *_conventions(problem), *column_names(problem)))
    yield from (str(n), str(len(sides)), " ".join(str(side) for side in sides))
    yield " ".join(number(value) for value in problem.c)
    # F_k has minus the coefficients of column k - 1, F_0 minus b: s = b - A @ x = Σ x_k F_k - F_0.
    found = [(n, 1, *entry) for entry in _diagonal(problem)]
    for place, block in enumerate(wide, 1 + bool(linear)):
        found += [(n, place, *entry) for entry in _matrix(problem, block)]
    rows = [(0 if c == n else c + 1, place, i + 1, j + 1, -value) for n, place, i, j, c, value in found]
    yield from (f"{k} {place} {i} {j} {number(value)}" for k, place, i, j, value in sorted(rows))


def _side(block: ConeBlock) -> int:
    return 2 if block.kind == "second-order" and block.size == 3 else block.size


def _conventions(problem: ConicProblem) -> Iterator[str]:
    sign = "-" if problem.sense == "maximize" else ""
    offset = f" + {number(problem.offset)}" if problem.offset else ""
    if sign or offset:
        yield f"the program's value is {sign}(the optimum here{offset})"


def _diagonal(problem: ConicProblem) -> Iterator[tuple[int, int, int, float]]:
    """(i, i, column, coefficient) of the linear rows; an equality is followed by its opposite."""
    zero = problem.cones.zero
    for block in problem.cones.blocks:
        if block.kind == "zero":
            for row, column, value in entries(problem, block):
                yield 2 * row, 2 * row, column, value
                yield 2 * row + 1, 2 * row + 1, column, -value
        elif block.kind == "nonnegative":
            for row, column, value in entries(problem, block):
                yield row + zero, row + zero, column, value


def _matrix(problem: ConicProblem, block: ConeBlock) -> Iterator[tuple[int, int, int, float]]:
    """(i, j, column, coefficient), i <= j, of a matrix that is psd where the block is in its cone."""
    if block.kind == "psd":
        yield from ((j, i, column, value) for i, j, column, value in psd_entries(problem, block))
        return
    if block.size != 3:
        for row, column, value in entries(problem, block):
            if row == block.first:
                yield from ((i, i, column, value) for i in range(block.size))
            else:
                yield 0, row - block.first, column, value
        return
    for (i, j), column, value in _pair(problem, block):
        yield i, j, column, value


def _pair(problem: ConicProblem, block: ConeBlock) -> Iterator[tuple[tuple[int, int], int, float]]:
    """[[t + u1, u2], [u2, t - u1]]: sums of two rows, an entry for each column."""
    sums: dict[tuple[tuple[int, int], int], float] = {}
    signs = {0: (((0, 0), 1.0), ((1, 1), 1.0)), 1: (((0, 0), 1.0), ((1, 1), -1.0)), 2: (((0, 1), 1.0),)}
    for row, column, value in entries(problem, block):
        for place, sign in signs[row - block.first]:
            sums[place, column] = sums.get((place, column), 0.0) + sign * value
    yield from ((place, column, value) for (place, column), value in sums.items() if value != 0)
