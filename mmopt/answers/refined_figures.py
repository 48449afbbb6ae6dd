"""What is proved of refined answers as they are written, computed on the release's own queries.

Counts are chosen on a smaller problem, a QR factorisation of this one, and answers are rounded: here both are
judged by the formulas of the program ``refine_counts``, in balls.

Counts are X = base + x, with ``base`` whole, so that what is near the released answers y is subtracted
without rounding: f(X) = |(W x - (y - W base)) / s|² is the sum of squares, of distances in standard errors s.
For any r, and z = b - a with multipliers a, b >= 0 of the known answers |S X - v| <= e, f(X) is at least

    g @ x - 2 (r / s) @ (y - W base) - z @ (v - S base) - r @ r - e sum(a + b)

with g = 2 W.T @ (r / s) + S.T @ z, and g @ x >= most min(0, min g) - g @ base for X >= 0 with sum(X) <= most:
the certificate of the program. And of any feasible X the answers W X are within the root of f(X) - bound of
the best ones (a projection's obtuse angle), each in its standard errors; so are others, farther by as much as
they are from W X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.answers.nearest_counts import EXACT, Nearest
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import Ball, add, div, exact, matmul, mul, sub, total
from mmopt.results.solution import gap_between

__all__ = ["Figures", "figures_of"]

WHOLE = 2.0**53
"""Whole numbers up to here, and sums of such, are exact."""


@dataclass(frozen=True)
class Figures:
    """Sum of squares of the answers, a lower bound of it over all counts, their gap; how far each answer is
    from its best value at most, in standard errors.
    """

    objective: float
    bound: float
    gap: float
    distance: float


def figures_of(
    matrix: Array,
    estimates: Array,
    errors: Array,
    sums: Array,
    totals: Array,
    near: Nearest,
    answers: Array | None = None,
) -> Figures:
    """Of ``answers`` (m,), or where there are none of those of the counts ``near``.

    ``matrix`` (m, c), ``estimates`` and ``errors`` (m,), ``sums`` (q, c) and ``totals`` (q,) are as for
    ``nearest_counts``.
    """
    queries, x, s = exact(matrix), exact(near.x), exact(errors)
    y, v = _less(estimates, matrix, near.base), _less(totals, sums, near.base)
    of_counts = matmul(queries, x)
    off = div(sub(of_counts, y), s)
    value, added = _squares(off), 0.0
    objective = value
    if answers is not None:
        objective = _squares(div(sub(exact(answers), exact(estimates)), s))
        added = math.sqrt(_squares(div(sub(_less(answers, matrix, near.base), of_counts), s)))
    r, (a, b) = off.mid, near.multipliers
    z, slope = exact(b - a), div(exact(r), s)
    g = add(mul(exact(2.0), matmul(exact(matrix.T), slope)), matmul(exact(sums.T), z))
    bound = math.fsum(
        [
            -math.nextafter(-near.most * min(0.0, float(g.lower.min(initial=0.0))), math.inf),
            -_upper(mul(g, exact(near.base))),
            -2.0 * _upper(mul(slope, y)),
            -_upper(mul(z, v)),
            -_squares(exact(r)),
            -math.nextafter(EXACT * math.fsum([*a, *b]), math.inf),
        ]
    )
    bound = max(0.0, math.nextafter(bound, -math.inf))
    objective = max(objective, bound)  # of answers that are rounded it may be below that of all counts
    distance = added + math.sqrt(max(0.0, value - bound))
    gap = gap_between(objective, bound, "minimize", False)
    return Figures(objective, bound, math.inf if gap is None else gap, distance * (1.0 + 8.0 * EPS))


def _less(values: Array, matrix: Array, base: Array) -> Ball:
    """values - matrix @ base, the product exact where it is one of whole numbers."""
    is_whole = bool((matrix == np.rint(matrix)).all()) and (
        float((np.abs(matrix) @ np.abs(base)).max(initial=0.0)) < WHOLE
    )
    product = exact(matrix @ base) if is_whole else matmul(exact(matrix), exact(base))
    return sub(exact(values), product)


def _upper(terms: Ball) -> float:
    """The sum of the terms, at most."""
    return float(total(terms).upper)


def _squares(terms: Ball) -> float:
    return _upper(mul(terms, terms))
