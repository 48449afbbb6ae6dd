"""Designs reach the optimum that the dense certificate proves, and each bound and value is what it says.

Guards design_search.py and error_bounds_of_measures.py.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from few_attributes import MIXED, few_ways
from tolerances import PUBLISHED, SHAPE

from mmopt.sectors.design_search import Design, Search, designs
from mmopt.sectors.error_bounds_of_measures import (
    PRODUCTS,
    best_on_simplex,
    columns_of,
    columns_of_cells,
    integrals_and_curvature,
    mixtures_of_rising_t,
    negative_log_t,
    spectrum,
)
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import RowSpace, row_space_of
from mmopt.workloads.factors_and_products import prefix

# A thousandth, of a quadrature with nodes a factor e apart.
CURVATURE = 2e-3


def last(space: RowSpace, gap: float, most: int = 400) -> Design:
    """The first design with this gap."""
    found = (design for design in itertools.islice(designs(space), most))
    return next(design for design in found if design.gap <= gap)


def good_design(space: RowSpace, found: Iterator[Design]) -> Design:
    """The first one with a gap of a thousandth: bounds rise, values fall, and the last are what they say."""
    bound, value = 0.0, np.inf
    for design in itertools.islice(found, 80):
        assert bound <= design.bound <= (1 + SHAPE) * design.value
        assert design.value <= value
        bound, value = design.bound, design.value
        if design.gap <= 1e-3:
            break
    assert design.gap <= 1e-3
    assert design.value == pytest.approx(design.total * space.largest(design.parts, 5.0).lower, rel=SHAPE)
    return design


@pytest.mark.some(2)
@pytest.mark.parametrize("name", MIXED)
def test_designs_get_better_and_say_what_they_are(name: str) -> None:
    space = row_space_of(few_ways(*MIXED[name]))
    design = good_design(space, designs(space))
    assert spectrum(space, space.moments(design.measure)).bound == pytest.approx(design.bound, rel=SHAPE)
    assert design.measure.weights.sum() == pytest.approx(1.0)
    pairs = zip(space.space.multiplicities, space.root.parts, design.parts, strict=True)
    total = sum(m * np.trace(r @ np.linalg.pinv(n, rcond=1e-13) @ r.T) for m, r, n in pairs)
    assert total == pytest.approx(design.total, rel=1e-6)


def test_bounds_on_the_total_error_have_no_shares_of_queries() -> None:
    space = row_space_of(few_ways((6,) * 3, (1, 2), prefix, weights=False))
    search, first = Search(space, np.random.default_rng(0)), next(designs(space))
    nowhere = np.zeros((0, len(space.shape)), dtype=np.int64)
    later = list(itertools.islice(search.designs_with_cells(first, first.measure, np.zeros(0), nowhere), 4))
    assert later[-1].bound > first.bound and all(design.shares is None for design in later)


@pytest.mark.slow
def test_the_optimum_of_6_cubed_is_reached() -> None:
    # Proved with the dense matrix: 916.70764.
    design = last(row_space_of(few_ways((6,) * 3, (1, 2), prefix, weights=False)), PUBLISHED)
    assert design.bound == pytest.approx(916.70764, rel=PUBLISHED)


def test_a_flat_profile_leaves_the_gap_to_the_bound_alone() -> None:
    space = row_space_of(few_ways((5,) * 5, (1, 2), prefix, weights=False))
    design = last(space, 2.8e-3)
    assert design.measure.count == 1
    # Of every strategy the total is at least 3480.233.
    assert 3480.232 <= design.value <= 3481.5


def test_slopes_and_curvature_are_derivatives_of_t(rng: np.random.Generator) -> None:
    space = row_space_of(few_ways(*MIXED["predicates"]))
    factors = tuple(rng.dirichlet(np.ones(o), size=2) for o in space.shape)
    cells = np.stack([rng.integers(o, size=4) for o in space.shape], axis=1)
    products = Mixture(np.ones(2), factors)
    columns = columns_of(space, products).joined(columns_of_cells(space, cells))
    weights = np.concatenate([[1.0, 1.0], np.full(4, 0.1)])
    step = 1e-4

    def at(weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        found = spectrum(space, columns.moments(weights))
        slopes, curvature = integrals_and_curvature(columns, found, space.space.multiplicities.tolist())
        return found.total, found.total / 2.0 * slopes, curvature

    _, slopes, curvature = at(weights)
    for j in range(6):
        above, below = (at(weights + sign * step * np.eye(6)[j]) for sign in (1.0, -1.0))
        assert slopes[j] == pytest.approx((above[0] - below[0]) / (2 * step), rel=1e-5)
        expected = (above[1] - below[1]) / (2 * step)
        assert curvature[j] == pytest.approx(expected, abs=CURVATURE * np.abs(expected).max())


def test_no_direction_on_the_simplex_is_better(rng: np.random.Generator) -> None:
    for _ in range(6):
        count = int(rng.integers(2, 12))
        rows = rng.normal(size=(count, count))
        slopes, curvature = rng.normal(size=count), -rows @ rows.T
        found = best_on_simplex(slopes, curvature, 0.7)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(0.7)
        gradient = slopes + curvature @ found
        # Equal where x is positive, no larger elsewhere.
        assert found @ (gradient.max() - gradient) <= 1e-8


def test_a_curvature_that_is_not_definite_is_no_error() -> None:
    """Rounding may make it so: with more of a ridge a point of the simplex is found all the same."""
    x = best_on_simplex(np.zeros(20), 10.0 * np.eye(20), 1.0)
    assert (x >= 0).all() and x.sum() == pytest.approx(1.0)


STEP = 1e-5


@pytest.mark.quick
def test_slopes_are_those_of_t(rng: np.random.Generator) -> None:
    for _ in range(2):
        space = row_space_of(few_ways(*next(iter(MIXED.values()))))
        place, way = rng.normal(size=(2, PRODUCTS * (1 + sum(space.shape))))
        (above, _), (below, _) = (negative_log_t(space, place + sign * STEP * way) for sign in (1, -1))
        assert (above - below) / (2 * STEP) == pytest.approx(
            way @ negative_log_t(space, place)[1], rel=1e-4, abs=1e-7
        )


@pytest.mark.some(2)
@pytest.mark.parametrize("name", MIXED)
def test_t_rises_to_that_of_a_product_at_least(name: str, rng: np.random.Generator) -> None:
    space = row_space_of(few_ways(*MIXED[name]))
    product = Mixture(np.ones(1), tuple(own[None] for own in space.uniform))
    alone, bounds = spectrum(space, space.moments(product)).bound, []
    for mixture, found in itertools.islice(mixtures_of_rising_t(space, product, rng), 3):
        assert mixture.weights.sum() == pytest.approx(1.0)
        assert all(own.sum(axis=1) == pytest.approx(1.0) for own in mixture.factors)
        bounds.append(found.bound)
    assert (np.diff(bounds) >= -SHAPE * np.array(bounds[1:])).all()
    assert bounds[-1] >= (1 - 1e-4) * alone  # the uniform measure is the best for identities
