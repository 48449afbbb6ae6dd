"""The largest value of a form in the counts of values, over all counts, proved.

The values are halved. Of counts n = (x, y) the form of degree w is a sum of products of a function of x and
one of y, few of them: of the terms of degree j in x those with 2 j >= w are Σ_β y^β h_β(x) over the monomials
y^β of degree w - j, and the others likewise by monomials of x. For each sum of x all values of the form are
then one matrix product, of 27 columns for ten values and degree four: the two billion counts of 40 attributes
of ten values take some twenty seconds.

Of more attributes than there is time for, the same function of four attributes is averaged over fewer
(``count_form``), whose largest value is an upper bound; the search from there is for a lower one.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import EPS, Array, Ints, panels
from mmopt.sectors.count_form import CountForm
from mmopt.sectors.row_space import Largest

__all__ = ["compositions", "largest_by_counts"]

VALUES_AT_A_TIME = 2**16  # of the form: they stay in the cache
COUNTS_AT_A_TIME = 2**10  # counts whose monomials are held
NUMBERS_HELD = 2**24  # of functions of one half
FEW = 2**24  # counts that are enumerated first: it takes a fraction of a second
HOPE = 0.8  # of what the pace so far promises to be done in the time left


@dataclass(frozen=True, eq=False)
class _Found:
    """Counts with the largest computed value of a form, and at least the largest value."""

    counts: Ints
    value: float
    upper: float


def largest_by_counts(form: CountForm, seconds: float) -> Largest:
    """The largest value over all counts.

    It is closed where all counts are enumerated within the time, else the upper bound is that of as many
    attributes as there was time for.
    """
    end = time.monotonic() + seconds
    found, total, most = _largest_entry(form), form.degree, float(FEW)
    upper = found.upper
    while total < form.total:
        larger = _most_attributes(form, most)
        started = time.monotonic()
        known = _enumerated(form.of_fewer(larger), end) if larger > total else None
        if known is None:
            break
        found, total = known, larger
        upper = min(upper, found.upper)
        now = time.monotonic()
        most = HOPE * (end - now) * _number(total, form.size) / (now - started)
    if total == form.total:
        return Largest(upper, found.value, np.repeat(np.arange(form.size), found.counts), True)
    counts = _ascended(form, _enlarged(found.counts, form.total))
    lower = float(form.values(counts[None])[0])
    return Largest(upper, lower, np.repeat(np.arange(form.size), counts), False)


def _largest_entry(form: CountForm) -> _Found:
    """Of as many attributes as the function is of: they are all chosen."""
    values = np.unravel_index(int(np.argmax(form.function)), form.function.shape)
    value = float(form.function[values])
    off = form.of_fewer(form.degree).rounding
    return _Found(np.bincount(values, minlength=form.size), value, float(np.nextafter(value + off, np.inf)))


def _number(total: int, size: int) -> int:
    """How many counts there are."""
    return math.comb(total + size - 1, size - 1)


def _most_attributes(form: CountForm, most: float) -> int:
    """Up to all of them, of at most so many counts."""
    total = form.degree
    while total < form.total and _number(total + 1, form.size) <= most:
        total += 1
    return total


def _enumerated(form: CountForm, end: float) -> _Found | None:
    """The largest value over all counts; None where the time is over before."""
    one, other = _halves(form)
    value, best = -math.inf, np.zeros(form.size, dtype=np.int64)
    for sum_of_x in range(form.total + 1):
        xs, ys = compositions(sum_of_x, one.size), compositions(form.total - sum_of_x, other.size)
        for ys_here in panels(len(ys), max(1, NUMBERS_HELD // one.columns)):
            y, right = ys[ys_here], other.functions(ys[ys_here])
            step = max(1, VALUES_AT_A_TIME // len(y))
            values = np.empty((step, len(y)))
            for xs_here in panels(len(xs), max(step, COUNTS_AT_A_TIME)):
                x, left = xs[xs_here], one.functions(xs[xs_here])
                for here in panels(len(x), step):
                    if time.monotonic() > end:
                        return None
                    own = np.matmul(left[here], right.T, out=values[: len(left[here])])
                    at = int(own.argmax())
                    if own.flat[at] > value:
                        value = float(own.flat[at])
                        best = np.concatenate([x[here][at // len(y)], y[at % len(y)]])
    # Monomials are exact; each coefficient is rounded thrice, and every sum as often as it has terms.
    off = (one.terms + 2 * form.degree + 8) * EPS * form.most + form.rounding
    return _Found(best, value, float(np.nextafter(value + off, np.inf)))


def _enlarged(counts: Ints, total: int) -> Ints:
    """Counts in the same proportions, with this sum."""
    exact = counts * (total / counts.sum())
    whole: Ints = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return whole


def _ascended(form: CountForm, start: Ints) -> Ints:
    """Counts from which no other value of one attribute leads higher."""
    unit = np.eye(form.size, dtype=np.int64)
    moves: Ints = (unit[:, None, :] - unit[None, :, :]).reshape(-1, form.size)
    counts, value = start, float(form.values(start[None])[0])
    while True:
        near: Ints = counts + moves
        near = near[(near >= 0).all(axis=1)]
        values = form.values(near)
        at = int(values.argmax())
        if values[at] <= value:
            return counts
        counts, value = np.asarray(near[at]), float(values[at])


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
    one, other = _tuples(first, j), first + _tuples(form.size - first, form.degree - j)
    index = [np.repeat(column, len(other)) for column in one.T]
    index += [np.tile(column, len(one)) for column in other.T]
    values = form.tensor[tuple(index)].reshape(len(one), len(other))
    return np.asarray(values * np.outer(_orders(one), _orders(other)) * math.comb(form.degree, j))


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
