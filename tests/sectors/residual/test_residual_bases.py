"""Bases of residual spaces: the derivative against differences, and errors next to certified optima."""

from __future__ import annotations

import numpy as np
import pytest
import tolerances
from few_attributes import up_to

from mmopt.limits import deadline
from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.sectors.residual.residual_bases import best_residual_strategy, slopes_of_error
from mmopt.sectors.residual.residual_spaces import residual_strategy, strategy_at
from mmopt.testing.census_workloads import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f

STEP = 1e-5
"""Of differences in the entries of bases."""


@pytest.mark.quick
@pytest.mark.draws(3)
def test_the_slopes_are_those_of_differences(rng: np.random.Generator) -> None:
    sizes = (3, 4, 5)
    products = products_of_few(
        Workload.from_products(
            domain_of(*sizes),
            [
                Product((f.prefix(3), f.identity(4), f.prefix(5)), weight=2.0),
                Product((f.all_range(3), f.identity(4), f.total(5))),
                Product((f.total(3), f.prefix(4), f.total(5)), weight=0.5),
            ],
        )
    )
    bases = tuple(rng.dirichlet(np.full(n, 5.0)) for n in sizes)
    slopes = slopes_of_error(products, strategy_at(products, bases))
    directions = [rng.normal(size=n) for n in sizes]
    directions = [v - v.mean() for v in directions]
    ends = [
        strategy_at(products, tuple(b + sign * STEP * v for b, v in zip(bases, directions, strict=True)))
        for sign in (1, -1)
    ]
    expected = (ends[0].error - ends[1].error) / (2 * STEP)
    found = sum(float(s @ v) for s, v in zip(slopes, directions, strict=True))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4 * ends[0].error)


@pytest.mark.parametrize(
    ("sizes", "optimum"),
    [((10,) * 2, 719.6994), ((6,) * 3, 916.7078), ((6,) * 4, 2671.078), ((5,) * 5, 3480.233)],
)
def test_prefixes_are_within_half_a_per_cent_of_the_optimum(sizes: tuple[int, ...], optimum: float) -> None:
    """The optima of all strategies are certified by dense solves."""
    strategy = best_residual_strategy(up_to(sizes, 2))
    assert optimum <= strategy.error <= optimum * 1.005
    assert strategy.largest == pytest.approx(1, rel=tolerances.ROUNDING)


@pytest.mark.parametrize(
    ("count", "bound", "error"), [(10, 407_018, 408_245.3), (20, 5_799_839, 5_807_927.9)]
)
def test_prefixes_over_any_number_of_cells(count: int, bound: float, error: float) -> None:
    """The bounds are those of other measures, found by column generation on orbits of cells."""
    strategy = best_residual_strategy(up_to((10,) * count, 2))
    assert bound < strategy.error <= error


def test_of_marginals_uniform_bases_are_the_best() -> None:
    workload = up_to((2, 3, 4), 2, f.identity)
    expected = residual_strategy(workload).error
    assert best_residual_strategy(workload).error == pytest.approx(expected, rel=tolerances.RECOMPUTED)


def test_when_the_time_is_over_the_start_is_kept() -> None:
    """What a search begins with is no worse than uniform bases, and there whatever the limit."""
    workload = up_to((4, 5, 6), 2)
    with deadline(1e-9):
        found = best_residual_strategy(workload)
    design = found.spaces[-1].designs[0]
    assert all((base == base[0]).all() for base in found.bases)
    assert residual_strategy(workload).error < found.error < np.inf
    assert design.measure == pytest.approx(np.full(len(design.measure), 1 / len(design.measure)))
