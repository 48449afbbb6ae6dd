"""The Conic Benchmark Format, version 3 (https://cblib.zib.de/format.html): all cones that there are.

Every column is a free variable, every row a constraint ``b - A @ x`` in its cone: in CON, psd blocks in
PSDCON. The exponential cone of CBF has its entries the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmopt.exchange.file_parts import column_names, entries, number, psd_entries
from mmopt.solvers.conic_problem import ConicProblem

__all__ = ["TAKES", "written"]

TAKES = frozenset({"zero", "nonnegative", "second-order", "psd", "exponential", "power"})
WORDS = {"zero": "L=", "nonnegative": "L+", "second-order": "Q", "exponential": "EXP"}


def written(problem: ConicProblem, head: Sequence[str]) -> str:
    """The file's text; ``head`` becomes its comment. A program that maximizes is written as such (MAX)."""
    return "\n".join(_lines(problem, head)) + "\n"


def _lines(problem: ConicProblem, head: Sequence[str]) -> Iterator[str]:
    n = problem.A.shape[1]
    blocks = problem.cones.blocks
    scalar = [block for block in blocks if block.kind != "psd"]
    psd = [block for block in blocks if block.kind == "psd"]
    yield from (f"# {line}" for line in (*head, *column_names(problem)))
    yield from ("VER", "3", "")
    alphas = problem.cones.power
    if alphas:
        yield from ("POWCONES", f"{len(alphas)} {2 * len(alphas)}")
        for alpha in alphas:
            yield from ("2", number(alpha), number(1.0 - alpha))
        yield ""
    yield from ("OBJSENSE", "MAX" if problem.sense == "maximize" else "MIN", "")
    yield from ("VAR", f"{n} 1", f"F {n}", "")
    if psd:
        yield from ("PSDCON", str(len(psd)), *(str(block.size) for block in psd), "")
    if scalar:
        yield from ("CON", f"{sum(block.end - block.first for block in scalar)} {len(scalar)}")
        powers = 0
        for block in scalar:
            word = WORDS.get(block.kind) or f"@{powers}:POW"
            powers += block.kind == "power"
            yield f"{word} {block.end - block.first}"
        yield ""
    sign = -1.0 if problem.sense == "maximize" else 1.0
    yield from _part("OBJACOORD", (f"{j} {number(sign * v)}" for j, v in enumerate(problem.c) if v != 0))
    if problem.offset:
        yield from ("OBJBCOORD", number(sign * problem.offset), "")
    coefficients, constants, at = [], [], 0
    for block in scalar:
        for row, column, value in entries(problem, block):
            place = row - block.first
            place = at + (2 - place if block.kind == "exponential" else place)
            if column == n:
                constants.append((place, number(value)))
            else:
                coefficients.append((place, column, number(-value)))
        at += block.end - block.first
    yield from _part("ACOORD", (f"{i} {j} {v}" for i, j, v in sorted(coefficients)))
    yield from _part("BCOORD", (f"{i} {v}" for i, v in sorted(constants)))
    linear, fixed = [], []
    for k, block in enumerate(psd):
        for i, j, column, value in psd_entries(problem, block):
            if column == n:
                fixed.append(f"{k} {i} {j} {number(value)}")
            else:
                linear.append((k, column, i, j, number(-value)))
    yield from _part("HCOORD", (f"{k} {c} {i} {j} {v}" for k, c, i, j, v in sorted(linear)))
    yield from _part("DCOORD", fixed)


def _part(name: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """A section with its number of lines; nothing where there is none."""
    found = list(lines)
    if found:
        yield from (name, str(len(found)), *found, "")
