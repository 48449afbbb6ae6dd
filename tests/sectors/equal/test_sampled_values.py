"""Laws of values drawn without replacement are those of all orders of the attributes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tolerances import ROUNDING

from mmopt.numerics.arrays import EPS
from mmopt.sectors.equal.sampled_values import law_of, law_of_product, products_of
from mmopt.sectors.measures import Mixture
from tests.sectors.equal.equal_workloads import random_mixture


@pytest.mark.draws(3)
@pytest.mark.parametrize("attributes", [1, 2, 3, 4, 5, 6])
def test_law_is_the_mean_over_orders(rng: np.random.Generator, attributes: int) -> None:
    size = int(rng.integers(2, 5))
    mixture = random_mixture(rng, attributes, size)
    for places in range(1, min(4, attributes) + 1):
        orders = list(itertools.permutations(range(attributes), places))
        known = np.zeros((size,) * places)
        for weight, factors in zip(mixture.weights, products_of(mixture), strict=True):
            for order in orders:
                term = np.ones(())
                for i in order:
                    term = np.multiply.outer(term, factors[i])
                known += weight / len(orders) * term
        found = law_of(mixture, places)
        assert np.allclose(found, known, rtol=0, atol=30 * ROUNDING)
        assert (law_of(mixture, places, absolute=True) >= np.abs(found) - ROUNDING).all()


@pytest.mark.draws(3)
def test_a_cell_by_counts_is_the_cell_by_measures(rng: np.random.Generator) -> None:
    cell = rng.integers(3, size=7)
    factors = np.eye(3)[cell]
    mixture = Mixture(np.ones(1), tuple(row[None] for row in factors))
    for places in range(1, 5):
        assert np.allclose(law_of(mixture, places), law_of_product(factors, places), rtol=0, atol=ROUNDING)


def test_marginals_are_laws_of_fewer(rng: np.random.Generator) -> None:
    mixture = random_mixture(rng, 5, 4)
    for places in range(2, 5):
        fewer = law_of(mixture, places).sum(axis=0)
        assert np.allclose(fewer, law_of(mixture, places - 1), rtol=0, atol=30 * ROUNDING)


@pytest.mark.draws(3)
def test_rounding_is_that_of_the_absolute_law(rng: np.random.Generator) -> None:
    mixture = random_mixture(rng, 5, 2)
    product = [[Fraction(p) for p in own] for own in products_of(mixture)[1].tolist()]
    found = law_of_product(products_of(mixture)[1], 4)
    sizes = law_of_product(products_of(mixture)[1], 4, absolute=True)
    assert (sizes > found).all()  # terms of both signs
    orders = list(itertools.permutations(range(5), 4))
    for at in np.ndindex(found.shape):
        terms = (math.prod(product[i][v] for i, v in zip(order, at, strict=True)) for order in orders)
        exact = sum(terms, Fraction(0)) / len(orders)
        assert abs(Fraction(float(found[at])) - exact) <= 60 * EPS * float(sizes[at])
