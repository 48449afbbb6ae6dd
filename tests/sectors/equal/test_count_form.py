"""Forms in counts are means over choices of attributes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tolerances import ROUNDING

from mmopt.numerics.arrays import EPS
from mmopt.sectors.equal.count_form import count_form
from mmopt.sectors.equal.count_halves import compositions
from tests.sectors.counted import random_form


@pytest.mark.draws(5)
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_a_form_is_the_mean_over_all_choices(rng: np.random.Generator, degree: int) -> None:
    size, total = int(rng.integers(2, 5)), int(rng.integers(degree, 7))
    form = random_form(rng, size, degree, total)
    counts = compositions(total, size)
    for n, found in zip(counts, form.values(counts), strict=True):
        cell = np.repeat(np.arange(size), n)
        known = np.mean([form.function[own] for own in itertools.permutations(cell.tolist(), degree)])
        assert abs(found - known) <= form.rounding + 100 * ROUNDING


@pytest.mark.draws(3)
def test_the_largest_of_fewer_attributes_is_no_less(rng: np.random.Generator) -> None:
    form = random_form(rng, 3, 4, 9)
    largest = [form.of_fewer(k).values(compositions(k, 3)).max() for k in range(4, 10)]
    assert (np.diff(largest) <= ROUNDING).all()
    assert largest[0] == pytest.approx(form.function.max(), rel=1e-9)


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_rounding_is_charged_to_magnitudes(degree: int) -> None:
    """Those of a function of any signs are ones: rising factorials over falling ones, of each rounding."""
    ones, total, roundings = np.ones((3,) * degree), 6, 10**6
    whole = math.perm(total + degree - 1, degree) / math.perm(total, degree)
    form = count_form(-0.5 * ones, ones, roundings, total)
    assert roundings * EPS / 2 * whole <= form.rounding <= 1.1 * roundings * EPS / 2 * whole
    counts = compositions(total, 3)
    assert (np.abs(form.values(counts)) <= form.most).all()
    assert form.most == count_form(0.5 * ones, ones, roundings, total).most
