"""Conic Benchmark Format, read exactly: every decimal becomes a ball that holds it.

The format: https://cblib.zib.de/format.html.
Read are free variables, or variables in linear and second-order cones; CON and PSDCON; the cones F, L+, L-,
L=, Q and EXP. What else a file may have is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from exact_problem import ExactCone, ExactProblem
from flint import arb, ctx, fmpq
from proved_optimum import BITS

from mmopt import ResultError

__all__ = ["exact_problem"]

WORDS = {"L+": "nonnegative", "L-": "nonnegative", "L=": "zero", "Q": "second-order", "EXP": "exponential"}
TABLES = ("OBJACOORD", "ACOORD", "BCOORD", "HCOORD", "DCOORD")
Columns = dict[int, dict[int, arb]]


def exact_problem(text: str) -> ExactProblem:
    """The problem of a CBF file.

    Raises
    ------
    ResultError : a section or a cone that is not read here.
    """
    before, ctx.prec = ctx.prec, BITS
    try:
        return _problem(_sections(text))
    finally:
        ctx.prec = before


def _sections(text: str) -> dict[str, list[list[str]]]:
    """The rows of each section, in words. A table's count is left out."""
    lines = iter([line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")])
    found: dict[str, list[list[str]]] = {}
    for name, *_ in lines:
        first = next(lines)
        if name in ("VER", "OBJSENSE", "OBJBCOORD"):
            found[name] = [first]
        elif name in ("VAR", "CON"):
            found[name] = [next(lines) for _ in range(int(first[1]))]
        elif name == "PSDCON" or name in TABLES:
            found[name] = [next(lines) for _ in range(int(first[0]))]
        else:
            raise ResultError(f"the section {name} of a CBF file is not read here")
    return found


def _problem(sections: dict[str, list[list[str]]]) -> ExactProblem:
    variables = sections["VAR"]
    cost = [arb(0)] * sum(int(count) for _, count in variables)
    for column, value in sections.get("OBJACOORD", []):
        cost[int(column)] = _number(value)
    cones = [*_of_variables(variables), *_of_rows(sections), *_of_matrices(sections)]
    offset = sections.get("OBJBCOORD", [["0"]])[0][0]
    sense = "maximize" if sections["OBJSENSE"][0][0] == "MAX" else "minimize"
    return ExactProblem(sense, tuple(cost), _number(offset), tuple(cones))


def _number(text: str) -> arb:
    """A decimal as an exact fraction, then as a ball around it."""
    digits, _, exponent = text.lower().partition("e")
    whole, _, part = digits.partition(".")
    power = int(exponent or 0) - len(part)
    return arb(fmpq(int(f"{whole}{part}") * 10 ** max(power, 0), 10 ** max(-power, 0)))


def _of_variables(variables: list[list[str]]) -> Iterator[ExactCone]:
    """Variables that are not free are rows of their own."""
    at = 0
    for word, count in variables:
        size = int(count)
        yield from _cones(word, size, {at + i: {i: arb(1)} for i in range(size)}, {})
        at += size


def _of_rows(sections: dict[str, list[list[str]]]) -> Iterator[ExactCone]:
    rows: list[tuple[str, int, Columns, dict[int, arb]]] = []
    owner: list[tuple[int, int]] = []  # the cone of a row, and its number there
    for word, size in sections.get("CON", []):
        owner += [(len(rows), i) for i in range(int(size))]
        rows.append((word, int(size), {}, {}))
    for row, column, value in sections.get("ACOORD", []):
        cone, at = owner[int(row)]
        rows[cone][2].setdefault(int(column), {})[at] = _number(value)
    for row, value in sections.get("BCOORD", []):
        cone, at = owner[int(row)]
        rows[cone][3][at] = _number(value)
    for each in rows:
        yield from _cones(*each)


def _cones(word: str, size: int, columns: Columns, b: dict[int, arb]) -> Iterator[ExactCone]:
    """The cone, or one for each row of linear inequalities; none for the word F."""
    if word == "F":
        return
    if word not in WORDS:
        raise ResultError(f"the cone {word} of a CBF file is not read here")
    if word not in ("L+", "L-"):
        yield ExactCone(WORDS[word], size, columns, b)
        return
    sign = 1 if word == "L+" else -1
    for row in range(size):
        own = {j: {0: sign * entries[row]} for j, entries in columns.items() if row in entries}
        yield ExactCone("nonnegative", 1, own, {0: sign * b[row]} if row in b else {})


def _of_matrices(sections: dict[str, list[list[str]]]) -> Iterator[ExactCone]:
    sides = [int(side) for (side,) in sections.get("PSDCON", [])]
    columns: list[Columns] = [{} for _ in sides]
    b: list[dict[int, arb]] = [{} for _ in sides]
    for block, column, i, j, value in sections.get("HCOORD", []):
        place = _lower(int(i), int(j), sides[int(block)])
        columns[int(block)].setdefault(int(column), {})[place] = _number(value)
    for block, i, j, value in sections.get("DCOORD", []):
        b[int(block)][_lower(int(i), int(j), sides[int(block)])] = _number(value)
    yield from (ExactCone("psd", *parts) for parts in zip(sides, columns, b, strict=True))


def _lower(i: int, j: int, side: int) -> int:
    return max(i, j) * side + min(i, j)
