"""The largest value over counts is proved: by exact arithmetic, and by bounds where time is short.

Guards count_halves.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from mmopt.numerics.arrays import EPS
from mmopt.sectors.equal import count_halves, largest_by_counts as module
from mmopt.sectors.equal.count_form import count_form
from mmopt.sectors.equal.count_halves import compositions
from mmopt.sectors.equal.largest_by_counts import largest_by_counts
from tests.sectors.counted import exact_value, random_form


@pytest.mark.draws(8)
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_upper_is_no_less_than_any_exact_value(rng: np.random.Generator, degree: int) -> None:
    size, total = int(rng.integers(2, 5)), int(rng.integers(degree, 8))
    form = random_form(rng, size, degree, total)
    exact = [exact_value(form, n) for n in compositions(total, size)]
    found = largest_by_counts(form, 60.0)
    assert found.is_closed
    assert found.cell.shape == (total,)
    assert found.upper >= max(exact)
    assert found.upper <= float(max(exact)) + 1e-9
    assert found.lower == pytest.approx(float(max(exact)), abs=1e-9)
    at = exact_value(form, np.bincount(found.cell, minlength=size))
    assert float(at) == pytest.approx(found.lower, abs=1e-9)


@pytest.mark.draws(8)
def test_without_time_for_all_the_bound_is_that_of_fewer_attributes(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = random_form(rng, 4, 4, 12)
    largest = largest_by_counts(form, 60.0)
    monkeypatch.setattr(module, "FEW", 100)
    monkeypatch.setattr(module, "HOPE", 0.0)
    fewer = largest_by_counts(form, 60.0)
    none = largest_by_counts(form, -1.0)
    assert (largest.is_closed, fewer.is_closed, none.is_closed) == (True, False, False)
    assert none.upper == pytest.approx(form.function.max(), rel=1e-9)
    assert largest.lower < fewer.upper < none.upper
    for found in (fewer, none):
        n = np.bincount(found.cell, minlength=4)
        assert n.sum() == 12
        assert found.lower == pytest.approx(float(exact_value(form, n)), abs=1e-9)
        assert found.lower <= largest.upper


def test_blocks_of_any_size_find_the_same(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    form = random_form(rng, 5, 4, 9)
    known = largest_by_counts(form, 60.0)
    for name, number in (("VALUES_AT_A_TIME", 7), ("COUNTS_AT_A_TIME", 3), ("NUMBERS_HELD", 50)):
        monkeypatch.setattr(count_halves, name, number)
    found = largest_by_counts(form, 60.0)
    assert found.upper == pytest.approx(known.upper, rel=1e-12)
    assert (found.cell == known.cell).all()


@pytest.mark.parametrize(("total", "parts"), [(0, 1), (5, 1), (0, 3), (4, 3), (7, 4)])
def test_compositions_are_all_and_different(total: int, parts: int) -> None:
    found = compositions(total, parts)
    assert len(np.unique(found, axis=0)) == len(found) == math.comb(total + parts - 1, parts - 1)
    assert (found >= 0).all()
    assert (found.sum(axis=1) == total).all()


def test_what_a_form_may_be_off_by_is_added(rng: np.random.Generator) -> None:
    """Numbers of a thousand million roundings, as many as change the largest value visibly."""
    form = random_form(rng, 3, 4, 6)
    far = count_form(form.function, form.magnitudes, 10**9, 6)
    value = largest_by_counts(form, 60.0).lower
    assert largest_by_counts(far, 60.0).upper >= value + 10**9 * EPS / 2 * float(np.abs(form.function).max())
