"""Coordinates of squared lengths, and moments of densities, against sums over all cells."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import SHAPE

from mmopt.sectors.equal.equal_attributes import equal_space
from mmopt.sectors.measures import Mixture
from tests.sectors.equal.equal_workloads import all_cells, random_workload


@pytest.mark.draws(2)
@pytest.mark.parametrize(("attributes", "size"), [(2, 3), (3, 2), (3, 3), (4, 2), (5, 3)])
def test_a_density_has_the_moments_of_its_values(
    rng: np.random.Generator, attributes: int, size: int
) -> None:
    space = equal_space(random_workload(rng, attributes, size))
    halves = [rng.standard_normal((d, d)) for d in space.space.dims]
    parts = [half @ half.T / len(half) for half in halves]
    measure = rng.dirichlet(np.full(size, 3.0))
    cells = all_cells(attributes, size)
    lengths, weights = space.lengths(parts, cells), np.prod(measure[cells], axis=1)
    profiles = space.profiles([measure] * attributes)
    found = profiles.coordinates(parts)
    assert found[0] == pytest.approx(weights @ lengths, rel=SHAPE)
    assert np.linalg.norm(found) ** 2 == pytest.approx(weights @ np.square(lengths), rel=SHAPE)
    again = profiles.coordinates_of(profiles.function(found))
    assert np.allclose(again, found, rtol=0, atol=SHAPE * np.linalg.norm(found))
    on_cells = Mixture(weights * lengths, tuple(np.eye(size)[own] for own in cells.T))
    for own, known in zip(profiles.moments(found), space.moments(on_cells), strict=True):
        assert np.allclose(own, known, rtol=0, atol=SHAPE * np.abs(known).max())
