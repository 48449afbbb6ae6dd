"""Rays that prove that a conic problem has no feasible point, or no end: checked in exact fractions.

minimize c.T x subject to A x + s = b, s in K. No point is feasible if there is a y in K* with A.T y = 0 and
b.T y < 0. Where some point is feasible, the objective has no end if there is a d with -A d in K and
c.T d < 0. Both are a v in a cone on which some linear functions vanish, M v = 0, and what a solver returns is
near such a v. With H the cone's own scaling at v (v_i^2 of a nonnegative entry, Z -> V Z V of a matrix), the
functions are exactly 0 at v - H M.T w with M H M.T w = M v, which is in the cone where they were small beside
v. It is computed in fractions, and so is whether it is in the cone; of an exponential cone with room for
rounding. Small entries and eigenvalues of v are tried as zeros.

Where that fails, a ray still says something: no feasible x (no feasible y of the dual) has all entries below
``reach``, which is -b.T y / |A.T y|_1 for a y in K*. Of a weakly infeasible problem there are rays of any
reach, and no exact one.

It is for problems of few unknowns whose coefficients are halves, quarters, eighths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from called_solvers import matrix_places
from dimacs_errors import least, matrix_of

from mmopt import ResultError

__all__ = ["Ray", "ray_of"]

Exact = list[Fraction]
DROPPED = (1e-12, 1e-8, 1e-5, 1e-3)  # of the largest entry or eigenvalue: what may be tried as zero
PARTS = 2**20  # coefficients are whole multiples of one over this
ROOM = 1e-10  # of an exponential cone, in logarithms: far more than floats round
LIFT = 1e-14
LEAST_MISS = 1e-14  # of a ray of size 1: what rounding alone gives


@dataclass(frozen=True)
class Ray:
    """Worth of a solver's ray. is_proof : exactly. reach : else for all points with entries below it."""

    is_proof: bool
    reach: float


def ray_of(problem: Any, claim: str, x: Any, y: Any) -> Ray | None:
    """Judge the y (claim "infeasible") or x ("unbounded") of a ``ConicProblem``; None without a ray.

    Raises
    ------
    ResultError : coefficients that are no exact fractions.
    """
    is_dual = claim == "infeasible"
    value = y if is_dual else x
    size = len(problem.b) if is_dual else len(problem.c)
    v = np.zeros(0) if value is None else np.asarray(value, dtype=float)
    if v.shape != (size,) or not np.isfinite(v).all() or not v.any():
        return None
    v = v / np.abs(v).max()
    if is_dual:
        near = _inside(problem.cones, v, True)
        worth, miss = -float(problem.b @ near), float(np.abs(problem.A.T @ near).sum())
    else:
        near = _inside(problem.cones, -(problem.A @ v), False)
        worth, miss = -float(problem.c @ v), float(np.abs(problem.A @ v + near).sum())
    if not worth > 0:
        return None
    exact = _Exact(problem)
    proof = exact.is_infeasible(near) if is_dual else exact.is_endless(near, v)
    return Ray(proof, math.inf if proof else worth / (miss + LEAST_MISS))


def _inside(cones: Any, v: Any, is_dual: bool) -> Any:
    """A point of the cone (of its dual) near v."""
    moved = np.array(v, dtype=float)
    for block in cones.blocks:
        part = moved[block.first : block.end]
        if block.kind == "zero":
            part[:] = part if is_dual else 0.0
        elif block.kind == "nonnegative":
            part[:] = np.maximum(part, 0.0)
        elif block.kind == "second-order":
            part[0] = max(part[0], float(np.linalg.norm(part[1:])) * (1 + LIFT))
        elif block.kind == "psd":
            values, vectors = np.linalg.eigh(matrix_of(part, block.size))
            matrix = (vectors * np.maximum(values, 0.0)) @ vectors.T
            part[:] = [
                matrix[i, j] * (1.0 if i == j else math.sqrt(2.0)) for i, j in matrix_places(block.size)
            ]
        else:
            towards = np.array((-1.0, 1.0, 1.0) if is_dual else (0.0, 1.0, 2.0))
            part[:] += max(0.0, -least(_Single((block,)), moved, is_dual)) * (1 + ROOM) * towards
    return moved


@dataclass(frozen=True)
class _Single:
    """Some of a problem's cones."""

    blocks: tuple[Any, ...]


class _Exact:
    """The data in fractions: rows of a psd cone are entries of its matrix, 2 of each off the diagonal."""

    def __init__(self, problem: Any) -> None:
        self.blocks = problem.cones.blocks
        self.roots = np.ones(len(problem.b))
        for block in self.blocks:
            if block.kind == "psd":
                beside = [i != j for i, j in matrix_places(block.size)]
                self.roots[block.first : block.end][beside] = math.sqrt(2.0)
        self.weights = [Fraction(round(root * root)) for root in self.roots]
        self.columns = [
            _fractions(column / self.roots) for column in np.asarray(problem.A.todense(), dtype=float).T
        ]
        self.b, self.c = _fractions(problem.b / self.roots), _fractions(problem.c)

    def is_infeasible(self, y: Any) -> bool:
        """Whether there is a y near this one in K* with A.T y = 0 and b.T y < 0."""
        return any(self._product(self.b, exact) < 0 for exact in self._near(y, self.columns, True))

    def is_endless(self, s: Any, d: Any) -> bool:
        """Whether there is an s near this one in K with A d + s = 0 for a d near this one, and c.T d < 0."""
        weighted = [[w * e for w, e in zip(self.weights, column, strict=True)] for column in self.columns]
        rows = [list(row) for row in zip(*self.columns, strict=True)]
        start = [Fraction(e) for e in d]
        for exact in self._near(s, _kernel(weighted, len(rows)), False):
            left = [-e - _dot(row, start) for row, e in zip(rows, exact, strict=True)]
            step = _solved(rows, left)
            if step is not None and _dot(self.c, start) + _dot(self.c, step) < 0:
                return True
        return False

    def _product(self, a: Exact, v: Exact) -> Fraction:
        return sum((w * p * q for w, p, q in zip(self.weights, a, v, strict=True)), Fraction(0))

    def _near(self, v: Any, functions: Sequence[Exact], is_dual: bool) -> Iterator[Exact]:
        """Points near v, exactly in the cone, on which the functions vanish."""
        for share in DROPPED:
            start: Exact = []
            for block in self.blocks:
                start += _part(v[block.first : block.end], block, share)
            scaled = [self._scaled(start, f, is_dual) for f in functions]
            matrix = [[self._product(f, g) for g in scaled] for f in functions]
            weights = _solved(matrix, [-self._product(f, start) for f in functions])
            if weights is None:
                continue
            moved = [e + _dot(weights, [g[row] for g in scaled]) for row, e in enumerate(start)]
            if any(self._product(f, moved) for f in functions):
                continue
            if all(_holds(moved[b.first : b.end], b, is_dual) for b in self.blocks):
                yield moved

    def _scaled(self, v: Exact, f: Exact, is_dual: bool) -> Exact:
        """H f, for the scaling H of the cones at v."""
        result: Exact = []
        for block in self.blocks:
            at, along = v[block.first : block.end], f[block.first : block.end]
            if block.kind == "zero":
                result += along if is_dual else [Fraction(0)] * len(along)
            elif block.kind == "second-order":
                determinant = at[0] ** 2 - _dot(at[1:], at[1:])
                turned = [along[0], *(-e for e in along[1:])]
                product = 2 * _dot(at, along)
                result += [product * p - determinant * q for p, q in zip(at, turned, strict=True)]
            elif block.kind == "psd":
                whole, matrix = _matrix(at, block.size), _matrix(along, block.size)
                half = [[_dot(row, column) for column in matrix] for row in whole]
                result += [_dot(half[i], whole[j]) for i, j in matrix_places(block.size)]
            else:
                result += [p * p * q for p, q in zip(at, along, strict=True)]
        return result


def _fractions(values: Any) -> Exact:
    result = [Fraction(round(float(v) * PARTS), PARTS) for v in values]
    off = [v for v, e in zip(values, result, strict=True) if abs(float(e) - v) > 1e-12 * max(1.0, abs(v))]
    if off:
        raise ResultError(f"{off[0]} is no fraction of {PARTS}: rays are checked for such coefficients")
    return result


def _part(v: Any, block: Any, share: float) -> Exact:
    """The entries of a block, exactly in its cone where that has a flat side: what is small is dropped."""
    if block.kind == "psd":
        values, vectors = np.linalg.eigh(matrix_of(v, block.size))
        kept = values > share * max(float(values[-1]), 0.0)
        factor = vectors[:, kept] * np.sqrt(values[kept])
        rows = [[Fraction(e) for e in row] for row in factor]
        return [_dot(rows[i], rows[j]) for i, j in matrix_places(block.size)]
    largest = float(np.abs(v).max(initial=0.0))
    if block.kind == "nonnegative":
        return [Fraction(e) if e > share * largest else Fraction(0) for e in v]
    entries = [Fraction(e) if abs(e) > share * largest or block.kind == "zero" else Fraction(0) for e in v]
    return entries


def _holds(v: Exact, block: Any, is_dual: bool) -> bool:
    """Whether v is in the cone of a block, or in its dual; of an exponential cone with ``ROOM``."""
    if block.kind == "zero":
        return is_dual or not any(v)
    if block.kind == "nonnegative":
        return min(v) >= 0
    if block.kind == "second-order":
        return v[0] >= 0 and v[0] ** 2 >= _dot(v[1:], v[1:])
    if block.kind == "psd":
        return _is_psd(_matrix(v, block.size))
    if block.kind != "exponential":
        raise ResultError(f"rays of a {block.kind} cone are not checked")
    first, second, third = v
    if is_dual:
        if first >= 0:
            return first == 0 and second >= 0 and third >= 0
        # w >= -u exp(v / u - 1)
        return third > 0 and math.log(-first / third) + float(second / first) - 1 <= -_room(second, first)
    if second <= 0:
        return second == 0 and first <= 0 and third >= 0
    return third > 0 and math.log(third / second) >= float(first / second) + _room(first, second)


def _room(p: Fraction, q: Fraction) -> float:
    return ROOM * (2.0 + abs(float(p / q)))


def _is_psd(matrix: list[Exact]) -> bool:
    """Whether a symmetric matrix of fractions is psd, by elimination."""
    while matrix:
        pivot = matrix[0][0]
        if pivot < 0 or (pivot == 0 and any(matrix[0])):
            return False
        rest = [row[1:] for row in matrix[1:]]
        if pivot > 0:
            head = matrix[0][1:]
            rest = [
                [e - p * q / pivot for e, q in zip(row, head, strict=True)]
                for row, p in zip(rest, head, strict=True)
            ]
        matrix = rest
    return True


def _matrix(entries: Exact, side: int) -> list[Exact]:
    """The symmetric matrix of a lower triangle."""
    result = [[Fraction(0)] * side for _ in range(side)]
    for value, (i, j) in zip(entries, matrix_places(side), strict=True):
        result[i][j] = result[j][i] = value
    return result


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def _reduced(rows: list[Exact], width: int) -> tuple[list[Exact], list[int]]:
    """Rows in reduced echelon form in their first columns, and the columns of the pivots."""
    rows, pivots = [list(row) for row in rows], list[int]()
    for column in range(width):
        at = len(pivots)
        pivot = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [e / rows[at][column] for e in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[column]:
                factor = row[column]
                rows[i] = [e - factor * q for e, q in zip(row, rows[at], strict=True)]
        pivots.append(column)
    return rows, pivots


def _solved(matrix: list[Exact], right: Exact) -> Exact | None:
    """A solution of ``matrix @ x == right``, or None."""
    width = len(matrix[0]) if matrix else 0
    rows, pivots = _reduced([[*row, e] for row, e in zip(matrix, right, strict=True)], width)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    result = [Fraction(0)] * width
    for row, column in zip(rows, pivots, strict=False):
        result[column] = row[-1]
    return result


def _kernel(matrix: list[Exact], width: int) -> list[Exact]:
    """Vectors that span all x with ``matrix @ x == 0``."""
    rows, pivots = _reduced(matrix, width)
    result = []
    for free in sorted(set(range(width)) - set(pivots)):
        vector = [Fraction(0)] * width
        vector[free] = Fraction(1)
        for row, column in zip(rows, pivots, strict=False):
            vector[column] = -row[free]
        result.append(vector)
    return result
