"""A form in the counts of values at all counts, by blocks that are matrix products.

The values are halved. Of counts n = (x, y) the form of degree w is a sum of products of a function of x and
one of y, few of them: of the terms of degree j in x those with 2 j >= w are Σ_β y^β h_β(x) over the monomials
y^β of degree w - j, and the others likewise by monomials of x. For each sum of x all values of the form are
then one matrix product, of 27 columns for ten values and degree four.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import Array, Ints, panels
from mmopt.sectors.equal.count_form import CountForm

__all__ = ["compositions", "monomials", "terms_of_a_value", "tuples", "value_blocks"]

VALUES_AT_A_TIME = 2**16  # of the form: they stay in the cache
COUNTS_AT_A_TIME = 2**10  # counts whose monomials are held
NUMBERS_HELD = 2**24  # of functions of one half


def value_blocks(form: CountForm) -> Iterator[tuple[Ints, Ints, Array]]:
    """Counts x (a, ·) of the first half of the values, y (b, ·) of the others, and the form (a, b) at (x, y).

    All counts stand in one block each. The array is written over by the next block.
    """
    one, other = _halves(form)
    for sum_of_x in range(form.total + 1):
        xs, ys = compositions(sum_of_x, one.size), compositions(form.total - sum_of_x, other.size)
        for ys_here in panels(len(ys), max(1, NUMBERS_HELD // one.columns)):
            y, right = ys[ys_here], other.functions(ys[ys_here])
            step = max(1, VALUES_AT_A_TIME // len(y))
            values = np.empty((step, len(y)))
            for xs_here in panels(len(xs), max(step, COUNTS_AT_A_TIME)):
                x, left = xs[xs_here], one.functions(xs[xs_here])
                for here in panels(len(x), step):
                    found = np.matmul(left[here], right.T, out=values[: len(left[here])])
                    yield x[here], y, found


def terms_of_a_value(form: CountForm) -> int:
    """So many roundings of half an ε, and as many to spare, go into a value: relative to ``form.most``.

    Monomials are exact; each coefficient is rounded thrice, and every sum as often as it has terms.
    """
    return _halves(form)[0].terms + 2 * form.degree + 8


@dataclass(frozen=True, eq=False)
class _Half:
    """Functions of the counts of some values whose products with the other half's sum up to the form.

    ``pieces``: for the monomials of each degree a matrix that they are multiplied by, None where they stand
    for themselves; degrees ascend in one half and descend (``step`` -1) in the other. terms : how many
    numbers go into one value of the form, at most.
    """

    size: int
    pieces: tuple[Array | None, ...]
    step: int
    columns: int
    terms: int

    def functions(self, counts: Ints) -> Array:
        """The functions (c, columns) at counts (c, size)."""
        found = np.empty((len(counts), self.columns))
        for here in panels(len(counts), COUNTS_AT_A_TIME):
            powers = monomials(counts[here].T.astype(np.float64), len(self.pieces) - 1)[:: self.step]
            pairs = zip(self.pieces, powers, strict=True)
            found[here] = np.vstack([own if matrix is None else matrix @ own for matrix, own in pairs]).T
        return found


def _halves(form: CountForm) -> tuple[_Half, _Half]:
    """Of the first values and of the rest, columns in the same order."""
    w, first = form.degree, form.size // 2
    matrices = [_coefficients(form, j, first) for j in range(w + 1)]
    terms = sum(sum(matrix.shape) for matrix in matrices)
    keeps_other = [2 * j >= w for j in range(w + 1)]
    columns = sum(m.shape[1 if keeps else 0] for m, keeps in zip(matrices, keeps_other, strict=True))
    one = tuple(m.T if keeps else None for m, keeps in zip(matrices, keeps_other, strict=True))
    other = tuple(None if keeps else m for m, keeps in zip(matrices, keeps_other, strict=True))
    return _Half(first, one, 1, columns, terms), _Half(form.size - first, other, -1, columns, terms)


def _coefficients(form: CountForm, j: int, first: int) -> Array:
    """Of the monomials of degree j in the first values (rows) times those of the rest in the others."""
    one, other = tuples(first, j), first + tuples(form.size - first, form.degree - j)
    index = [np.repeat(column, len(other)) for column in one.T]
    index += [np.tile(column, len(one)) for column in other.T]
    values = form.tensor[tuple(index)].reshape(len(one), len(other))
    return np.asarray(values * np.outer(_orders(one), _orders(other)) * math.comb(form.degree, j))


def tuples(size: int, degree: int) -> Ints:
    """The ascending tuples (·, degree) of numbers below a size, in order."""
    found = list(itertools.combinations_with_replacement(range(size), degree))
    return np.array(found, dtype=np.int64).reshape(len(found), degree)


def _orders(ascending: Ints) -> Array:
    """Number of different orders of each tuple."""
    repeats = (math.prod(math.factorial(own.count(i)) for i in set(own)) for own in ascending.tolist())
    return np.array([math.factorial(ascending.shape[1]) // often for often in repeats], dtype=np.float64)


def monomials(n: Array, most: int) -> list[Array]:
    """Of each degree, to the highest, all products (·, c) of rows of n (d, c), as ``tuples`` orders them."""
    found = [np.ones((1, n.shape[1]))]
    shorter = {(): 0}
    for degree in range(1, most + 1):
        longer = [tuple(own) for own in tuples(len(n), degree).tolist()]
        found.append(found[-1][[shorter[own[:-1]] for own in longer]])
        found[-1] *= n[[own[-1] for own in longer]]
        shorter = {own: at for at, own in enumerate(longer)}
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
