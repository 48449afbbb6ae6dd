"""Mixtures of products: slopes are those of t, and t rises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from few_ways import MIXED, few_ways
from tolerances import SHAPE

from mmopt.sectors.measures import Mixture
from mmopt.sectors.plain.plain_space import plain_space
from mmopt.sectors.search.mixtures import COUNT, logit_slopes, mixtures_of_rising_t
from mmopt.sectors.search.spectrum import spectrum

STEP = 1e-5


@pytest.mark.quick
@pytest.mark.draws(3)
def test_slopes_are_those_of_t(rng: np.random.Generator) -> None:
    space = plain_space(few_ways(*next(iter(MIXED.values()))))
    place, way = rng.normal(size=(2, COUNT * (1 + sum(space.shape))))
    (above, _), (below, _) = (logit_slopes(space, place + sign * STEP * way) for sign in (1, -1))
    assert (above - below) / (2 * STEP) == pytest.approx(
        way @ logit_slopes(space, place)[1], rel=1e-4, abs=1e-7
    )


@pytest.mark.parametrize("name", MIXED)
def test_t_rises_to_that_of_a_product_at_least(name: str, rng: np.random.Generator) -> None:
    space = plain_space(few_ways(*MIXED[name]))
    product = Mixture(np.ones(1), tuple(own[None] for own in space.uniform))
    alone, bounds = spectrum(space, space.moments(product)).bound, []
    for mixture, found in itertools.islice(mixtures_of_rising_t(space, product, rng), 3):
        assert mixture.weights.sum() == pytest.approx(1.0)
        assert all(own.sum(axis=1) == pytest.approx(1.0) for own in mixture.factors)
        bounds.append(found.bound)
    assert (np.diff(bounds) >= -SHAPE * np.array(bounds[1:])).all()
    assert bounds[-1] >= (1 - 1e-4) * alone  # the uniform measure is the best for identities
