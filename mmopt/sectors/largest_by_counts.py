"""The largest value of a form in the counts of values, over all counts, proved.

The values are halved. Of counts n = (x, y) the form of degree w is a sum of products of a function of x and one
of y, few of them: of the terms of degree j in x those with j >= w - j are Σ_β y^β h_β(x) over the monomials y^β of
degree w - j, and the others likewise by monomials of x. For each sum of x all values of the form are then one matrix
product, of 27 columns for ten values and degree four: two billion counts, 40 attributes of ten values, in seconds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints
from mmopt.sectors.count_form import CountForm
from mmopt.sectors.row_space import Largest

__all__ = ["compositions", "largest_by_counts"]

BLOCK = 2**19  # values that are worked on at a time: they stay in the cache


def largest_by_counts(form: CountForm, seconds: float) -> Largest:
    """The largest value over all counts, by enumeration."""
    halves = _halves(form)
    best, best_counts = -math.inf, np.zeros(form.size, dtype=np.int64)
    for sum_of_x in range(form.total + 1):
        x, left = halves[0].of(sum_of_x)
        y, right = halves[1].of(form.total - sum_of_x)
        step = max(1, BLOCK // len(y))
        values = np.empty((step, len(y)))
        for start in range(0, len(x), step):
            rows = left[start : start + step]
            own = np.matmul(rows, right.T, out=values[: len(rows)])
            at = int(own.argmax())
            if own.flat[at] > best:
                best = float(own.flat[at])
                i, j = divmod(at, len(y))
                best_counts = np.concatenate([x[start + i], y[j]])
    terms = halves[0].terms + 2 * form.degree + 8
    off = terms * EPS * form.most + form.rounding
    cell = np.repeat(np.arange(form.size), best_counts)
    return Largest(float(np.nextafter(best + off, np.inf)), best, cell, True)


@dataclass(frozen=True, eq=False)
class _Half:
    """Functions of the counts of some values whose products with the other half's sum up to the form.

    ``pieces``: of each column block the degree of its monomials, and the matrix that they are multiplied by, None
    where they stand for themselves.
    """

    size: int
    pieces: tuple[tuple[int, Array | None], ...]
    terms: int

    def of(self, total: int) -> tuple[Ints, Array]:
        """All counts (c, size) with this sum, and the functions there (c, ·)."""
        counts = compositions(total, self.size)
        n = counts.astype(np.float64)
        columns = (
            monomials(n, degree) if matrix is None else monomials(n, degree) @ matrix
            for degree, matrix in self.pieces
        )
        return counts, np.hstack(list(columns))


def _halves(form: CountForm) -> tuple[_Half, _Half]:
    w, first = form.degree, form.size // 2
    second = form.size - first
    pieces: tuple[list[tuple[int, Array | None]], ...] = ([], [])
    terms = 0
    for j in range(w + 1):
        matrix = _coefficients(form, j, first)
        terms += sum(matrix.shape)
        keeps_second = j >= w - j
        pieces[0].append((j, matrix if keeps_second else None))
        pieces[1].append((w - j, None if keeps_second else matrix.T))
    return _Half(first, tuple(pieces[0]), terms), _Half(second, tuple(pieces[1]), terms)


def _coefficients(form: CountForm, j: int, first: int) -> Array:
    """Of the monomials of degree j in the first values (rows) times those of the rest in the others."""
    one = list(itertools.combinations_with_replacement(range(first), j))
    other = list(itertools.combinations_with_replacement(range(first, form.size), form.degree - j))
    found = np.empty((len(one), len(other)))
    for row, a in enumerate(one):
        index = np.array([(*a, *b) for b in other], dtype=np.int64).reshape(len(other), form.degree)
        found[row] = form.tensor[tuple(index.T)]
    many = [np.array([_orders(own) for own in side], dtype=float) for side in (one, other)]
    return found * np.outer(*many) * math.comb(form.degree, j)


def _orders(indices: tuple[int, ...]) -> int:
    """Number of different orders of them."""
    return math.factorial(len(indices)) // math.prod(math.factorial(indices.count(i)) for i in set(indices))


def monomials(n: Array, degree: int) -> Array:
    """(c, ·) all products of so many columns of n (c, d), as ``combinations_with_replacement`` orders them."""
    index = list(itertools.combinations_with_replacement(range(n.shape[1]), degree))
    found = np.ones((len(n), len(index)))
    for column in np.array(index, dtype=np.int64).reshape(len(index), degree).T:
        found *= n[:, column]
    return found


def compositions(total: int, parts: int) -> Ints:
    """All whole numbers >= 0 (·, parts) with this sum."""
    columns: list[Ints] = []
    rest = np.array([total], dtype=np.int64)
    for _ in range(parts - 1):
        which = np.repeat(np.arange(len(rest)), rest + 1)
        ends = np.cumsum(rest + 1)
        own = np.arange(len(which)) - (ends - rest - 1)[which]
        columns = [*(column[which] for column in columns), own]
        rest = rest[which] - own
    return np.stack([*columns, rest], axis=1)
