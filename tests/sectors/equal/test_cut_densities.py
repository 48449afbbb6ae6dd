"""Laws of positive parts of densities are sums over all cells."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mmopt.numerics.arrays import EPS
from mmopt.sectors.equal.count_form import count_form
from mmopt.sectors.equal.cut_densities import CutLaw, law_of_cut
from mmopt.sectors.equal.sampled_values import law_of
from mmopt.sectors.measures import Mixture
from tests.sectors.counted import random_form
from tests.sectors.equal.equal_workloads import all_cells


@pytest.mark.draws(3)
@pytest.mark.parametrize("degree", [2, 3, 4])
def test_a_cut_density_has_the_law_of_its_cells(rng: np.random.Generator, degree: int) -> None:
    size, total = int(rng.integers(2, 5)), int(rng.integers(degree, 6))
    form, measure = random_form(rng, size, degree, total), rng.dirichlet(np.full(size, 3.0))
    cells = all_cells(total, size)
    counts = np.stack([(cells == value).sum(axis=1) for value in range(size)], axis=1)
    weights = np.maximum(form.values(counts), 0.0) * np.prod(measure[cells], axis=1)
    known = law_of(Mixture(weights, tuple(np.eye(size)[own] for own in cells.T)), degree)
    found = law_of_cut(form, measure)
    off = found.roundings * EPS * found.magnitudes
    assert (np.abs(found.law - known) <= 4 * off + 1e-13 * weights.sum()).all()
    assert found.law.sum() == pytest.approx(weights.sum(), rel=1e-12)
    assert (found.magnitudes >= found.law - EPS).all()


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_magnitudes_add_what_is_subtracted(degree: int) -> None:
    """Of a measure of mass 1: rising factorials over falling ones."""
    ones, total = np.ones((3,) * degree), 6
    found = law_of_cut(count_form(ones, ones, 0, total), np.array([0.2, 0.3, 0.5]))
    known = math.perm(total + degree - 1, degree) / math.perm(total, degree)
    assert found.law.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.magnitudes.sum() == pytest.approx(known, rel=1e-12)


def test_the_mass_is_off_by_the_rounding_of_its_sum_and_of_its_terms() -> None:
    law = np.array([1.0, 2.0**-60, 2.0**-61])
    mass = CutLaw(law, law, 0).mass
    assert abs(sum(map(Fraction, law.tolist())) - Fraction(float(mass.mid))) <= Fraction(float(mass.rad))
    far = CutLaw(law, 3.0 * law, 1000).mass
    assert 1500 * EPS <= far.rad <= 4000 * EPS
