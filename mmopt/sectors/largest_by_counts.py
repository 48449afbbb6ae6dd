"""The largest value of a form in the counts of values, over all counts, proved.

The values are halved. Of counts n = (x, y) the form of degree w is a sum of products of a function of x and one
of y, few of them: of the terms of degree j in x those with j >= w - j are Σ_β y^β h_β(x) over the monomials y^β of
degree w - j, and the others likewise by monomials of x. For each sum of x all values of the form are then one matrix
product, of 27 columns for ten values and degree four: two billion counts, 40 attributes of ten values, in seconds.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints, panels
from mmopt.sectors.count_form import CountForm
from mmopt.sectors.row_space import Largest

__all__ = ["compositions", "largest_by_counts"]

BLOCK = 2**16  # values that are worked on at a time: they stay in the cache
COUNTS_AT_A_TIME = 2**12  # counts whose monomials are held


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

    ``pieces``: for the monomials of each degree a matrix that they are multiplied by, None where they stand for
    themselves; degrees ascend in one half and descend (``step`` -1) in the other. terms : how many numbers go into
    one value of the form.
    """

    size: int
    pieces: tuple[Array | None, ...]
    step: int
    terms: int

    def of(self, total: int) -> tuple[Ints, Array]:
        """All counts (c, size) with this sum, and the functions there (c, ·)."""
        counts = compositions(total, self.size)
        found = [self._functions(counts[here]) for here in panels(len(counts), COUNTS_AT_A_TIME)]
        return counts, np.vstack(found)

    def _functions(self, counts: Ints) -> Array:
        powers = monomials(counts.T.astype(np.float64), len(self.pieces) - 1)[:: self.step]
        pairs = zip(self.pieces, powers, strict=True)
        return np.vstack([own if matrix is None else matrix @ own for matrix, own in pairs]).T


def _halves(form: CountForm) -> tuple[_Half, _Half]:
    """Of the first values and of the rest, columns in the same order."""
    w, first = form.degree, form.size // 2
    matrices = [_coefficients(form, j, first) for j in range(w + 1)]
    terms = sum(sum(matrix.shape) for matrix in matrices)
    one = tuple(m.T if 2 * j >= w else None for j, m in enumerate(matrices))
    other = tuple(None if 2 * j >= w else m for j, m in enumerate(matrices))
    return _Half(first, one, 1, terms), _Half(form.size - first, other, -1, terms)


def _coefficients(form: CountForm, j: int, first: int) -> Array:
    """Of the monomials of degree j in the first values (rows) times those of the rest in the others."""
    one, other = _tuples(first, j), first + _tuples(form.size - first, form.degree - j)
    index = [np.repeat(column, len(other)) for column in one.T]
    index += [np.tile(column, len(one)) for column in other.T]
    values = form.tensor[tuple(index)].reshape(len(one), len(other))
    return values * np.outer(_orders(one), _orders(other)) * math.comb(form.degree, j)


def _tuples(size: int, degree: int) -> Ints:
    """The ascending tuples (·, degree) of numbers below a size, in order."""
    found = list(itertools.combinations_with_replacement(range(size), degree))
    return np.array(found, dtype=np.int64).reshape(len(found), degree)


def _orders(tuples: Ints) -> Array:
    """Number of different orders of each tuple."""
    repeats = (math.prod(math.factorial(own.count(i)) for i in set(own)) for own in tuples.tolist())
    return np.array([math.factorial(tuples.shape[1]) // often for often in repeats], dtype=np.float64)


def monomials(n: Array, most: int) -> list[Array]:
    """Of each degree, to the highest, all products (·, c) of rows of n (d, c), as ``_tuples`` orders them."""
    found = [np.ones((1, n.shape[1]))]
    shorter = {(): 0}
    for degree in range(1, most + 1):
        tuples = [tuple(own) for own in _tuples(len(n), degree).tolist()]
        found.append(found[-1][[shorter[own[:-1]] for own in tuples]])
        found[-1] *= n[[own[-1] for own in tuples]]
        shorter = {own: at for at, own in enumerate(tuples)}
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
