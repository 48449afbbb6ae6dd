"""The largest value of a form in the counts of values, over all counts, proved.

All counts are enumerated by blocks of matrix products (``count_halves.py``): the two billion counts of 40
attributes of ten values take some twenty seconds.

Of more attributes than there is time for, the same function of four attributes is averaged over fewer
(``count_form``), whose largest value is an upper bound; the search from there is for a lower one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from mmopt.numerics.arrays import EPS, Ints
from mmopt.sectors.equal.count_form import CountForm
from mmopt.sectors.equal.count_halves import terms_of_a_value, value_blocks
from mmopt.sectors.row_space import Largest

__all__ = ["largest_by_counts"]

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
    value, best = -math.inf, np.zeros(form.size, dtype=np.int64)
    for x, y, values in value_blocks(form):
        if time.monotonic() > end:
            return None
        at = int(values.argmax())
        if values.flat[at] > value:
            value = float(values.flat[at])
            best = np.concatenate([x[at // len(y)], y[at % len(y)]])
    off = terms_of_a_value(form) * EPS * form.most + form.rounding
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
