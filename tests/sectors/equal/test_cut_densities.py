"""Laws of positive parts of densities are sums over all cells."""

from __future__ import annotations

import numpy as np
import pytest
from counted import random_form
from equal_workloads import all_cells

from mmopt.numerics.arrays import EPS
from mmopt.sectors.equal.cut_densities import law_of_cut
from mmopt.sectors.equal.sampled_values import law_of
from mmopt.sectors.measures import Mixture


@pytest.mark.quick
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
