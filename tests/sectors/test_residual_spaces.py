"""Sectors solved one by one: errors and lengths over the cells, bases near the optimum, shared designs.

Guards residual_strategies.py.
"""

import itertools
import math

import numpy as np
import pytest
import tolerances
from few_attributes import MIXED, dense, few_ways, up_to

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.limits import deadline
from mmopt.sectors.residual_strategies import (
    ResidualStrategy,
    best_residual_strategy,
    products_of_few,
    residual_strategy,
    shared_designs,
    slopes_of_error,
    strategy_at,
)
from mmopt.strategies.baselines.few_attribute_baselines import character_energies
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f
from mmopt.workloads.factors_and_products import all_range, identity, prefix, total


def cells_of(sizes: tuple[int, ...]) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, sizes))))


def dense_strategy(strategy: ResidualStrategy, sizes: tuple[int, ...]) -> np.ndarray:
    """X over the cells: in a sector ⊗ of the designs, of the constant function elsewhere."""
    total = np.zeros((math.prod(sizes),) * 2)
    for space in strategy.spaces:
        own = dict(zip(space.attributes, space.designs, strict=True))
        part = np.eye(1)
        for i, size in enumerate(sizes):
            part = np.kron(part, own[i].strategy if i in own else np.ones((size, size)))
        total += space.share * part
    return total


def mixed(rng: np.random.Generator, sizes: tuple[int, ...]) -> Workload:
    """Prefixes, identities and all ranges with weights, several on the same attributes."""
    blocks = [f.total, f.identity, f.prefix, f.all_range]
    products = [
        Product(tuple(blocks[rng.integers(4)](n) for n in sizes), weight=float(rng.uniform(0.2, 3)))
        for _ in range(5)
    ]
    return Workload.from_products(domain_of(*sizes), products)


@pytest.mark.quick
def test_error_and_lengths_are_those_of_the_strategy_over_the_cells(rng: np.random.Generator) -> None:
    sizes = (2, 3, 4)
    workload = mixed(rng, sizes)
    bases = tuple(1.5 * rng.dirichlet(np.ones(n)) - 0.5 / n for n in sizes)
    strategy = strategy_at(products_of_few(workload), bases)
    x, w = dense_strategy(strategy, sizes), dense(workload)
    assert x.diagonal().max() == pytest.approx(1, rel=tolerances.RECOMPUTED)
    inverse = np.linalg.pinv(x, hermitian=True, rcond=1e-10)
    assert w @ inverse @ x == pytest.approx(w, abs=tolerances.INTEGERS)
    assert strategy.error == pytest.approx(np.vdot(w.T @ w, inverse), rel=tolerances.FROM_SQUARES)


STEP = 1e-5  # of differences in the entries of bases


def test_the_slopes_of_bases_are_those_of_differences(rng: np.random.Generator) -> None:
    sizes = (3, 4, 5)
    asked = [
        Product((f.prefix(3), f.identity(4), f.prefix(5)), weight=2.0),
        Product((f.all_range(3), f.identity(4), f.total(5))),
        Product((f.total(3), f.prefix(4), f.total(5)), weight=0.5),
    ]
    products = products_of_few(Workload.from_products(domain_of(*sizes), asked))
    bases = tuple(rng.dirichlet(np.full(n, 5.0)) for n in sizes)
    slopes = slopes_of_error(products, strategy_at(products, bases))
    directions = [v - v.mean() for v in (rng.normal(size=n) for n in sizes)]
    above, below = (
        strategy_at(
            products, tuple(b + sign * STEP * v for b, v in zip(bases, directions, strict=True))
        ).error
        for sign in (1, -1)
    )
    found = sum(float(s @ v) for s, v in zip(slopes, directions, strict=True))
    assert found == pytest.approx((above - below) / (2 * STEP), rel=1e-4, abs=1e-4 * above)


def test_rough_designs_are_near_the_best_and_hold(rng: np.random.Generator) -> None:
    """Never below the best error, and what they say is that of the strategy over the cells."""
    sizes = (2, 3, 4)
    workload = mixed(rng, sizes)
    products = products_of_few(workload)
    bases = tuple(rng.dirichlet(np.full(n, 5.0)) for n in sizes)
    best = strategy_at(products, bases)
    rough = strategy_at(products, bases, is_rough=True)
    w, inverse = (
        dense(workload),
        np.linalg.pinv(dense_strategy(rough, sizes), hermitian=True, rcond=1e-10),
    )
    assert rough.error == pytest.approx(np.vdot(w.T @ w, inverse), rel=tolerances.FROM_SQUARES)
    assert dense_strategy(rough, sizes).diagonal().max() == pytest.approx(1, rel=tolerances.RECOMPUTED)
    # where a sector is no Kronecker product neither is the best of all
    assert (1 - tolerances.RECORD["local"]) * best.error <= rough.error <= 1.02 * best.error


def test_two_values_keep_the_uniform_base(subtests: pytest.Subtests) -> None:
    """There the error has a kink; a search that took a step in it would end."""
    for sizes in ((2, 2, 2), (2, 5, 2)):
        with subtests.test(sizes=sizes):
            found = best_residual_strategy(up_to(sizes, 2))
            for size, base in zip(sizes, found.bases, strict=True):
                is_uniform = np.abs(base - 1 / size).max() <= tolerances.ROUNDING
                assert is_uniform == (size == 2)


def weighted_fourier_error(workload: Workload) -> float:
    """Total squared error at squared sensitivity 1."""
    return sum(float(np.sqrt(asked).sum()) for asked in character_energies(workload).values()) ** 2


def test_no_error_is_below_the_bound_of_a_measure(rng: np.random.Generator) -> None:
    sizes = (3, 4, 2)
    workload = mixed(rng, sizes)
    measure = rng.dirichlet(np.ones(math.prod(sizes)))
    bound = np.linalg.norm(dense(workload) * np.sqrt(measure), "nuc") ** 2
    strategy = residual_strategy(workload)
    assert bound <= strategy.error <= weighted_fourier_error(workload) * (1 + tolerances.RECOMPUTED)


def test_a_sector_of_no_kronecker_product_says_so() -> None:
    both = [Product((f.identity(3), f.prefix(4))), Product((f.prefix(3), f.identity(4)))]
    strategy = residual_strategy(Workload.from_products(domain_of(3, 4), both))
    assert not strategy.is_optimal
    assert [space.is_optimal for space in strategy.spaces if len(space.attributes) < 2] == [True] * 3


def test_queries_of_a_matrix_are_refused() -> None:
    workload = Workload(domain_of(2, 2), np.eye(4))
    with pytest.raises(WorkloadError) as caught:
        residual_strategy(workload)
    assert str(caught.value) == (
        "some queries are given as a matrix, expected products alone\n"
        "  queries are taken apart by the attributes that they look at; write them as products"
    )


def test_products_of_many_attributes_are_refused() -> None:
    with pytest.raises(TooLargeError) as caught:
        residual_strategy(up_to((2,) * 9, 9, f.identity, least=9))
    assert str(caught.value) == (
        "product 'a0, a1, a2, a3, a4, a5, a6, a7, a8' looks at 9 attributes, expected 8 at most\n"
        "  queries are taken apart by the sets of their attributes; ask for fewer at a time"
    )


# Optima of all strategies certified by dense solves; over more cells, bounds by column generation on orbits.
OPTIMA = {
    "10^2": ((10,) * 2, 719.6994, 1.005),
    "6^3": ((6,) * 3, 916.7078, 1.005),
    "6^4": ((6,) * 4, 2671.078, 1.005),
    "5^5": ((5,) * 5, 3480.233, 1.005),
    "10^10": ((10,) * 10, 407_018, 408_246.0 / 407_018),
    "10^20": ((10,) * 20, 5_799_839, 5_807_940.0 / 5_799_839),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("cells", OPTIMA)
def test_prefixes_come_near_the_optimum_over_any_number_of_cells(cells: str) -> None:
    sizes, optimum, most = OPTIMA[cells]
    strategy = best_residual_strategy(up_to(sizes, 2))
    assert optimum <= strategy.error <= optimum * most
    largest = (
        space.share * math.prod(design.strategy.diagonal().max() for design in space.designs)
        for space in strategy.spaces
    )
    assert math.fsum(largest) == pytest.approx(1, rel=tolerances.ROUNDING)


def test_of_marginals_uniform_bases_are_the_best() -> None:
    workload = up_to((2, 3, 4), 2, f.identity)
    expected = residual_strategy(workload).error
    assert best_residual_strategy(workload).error == pytest.approx(expected, rel=tolerances.RECOMPUTED)


def test_when_the_time_is_over_the_start_is_kept() -> None:
    """A search begins with something no worse than uniform bases, whatever the limit."""
    workload = up_to((4, 5, 6), 2)
    with deadline(1e-9):
        found = best_residual_strategy(workload)
    design = found.spaces[-1].designs[0]
    assert all((base == base[0]).all() for base in found.bases)
    assert residual_strategy(workload).error < found.error < np.inf
    assert design.measure == pytest.approx(np.full(len(design.measure), 1 / len(design.measure)))


def bases_of(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(1.2 * rng.dirichlet(np.ones(n)) - 0.2 / n for n in sizes)


def test_as_sectors_alone_where_queries_of_an_attribute_are_the_same(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for name in ["prefixes", "prefix and identity, all ways", "identities"]:
        with subtests.test(name=name):
            sizes, orders, kinds = MIXED[name]
            products = products_of_few(few_ways(sizes, orders, kinds))
            bases = bases_of(rng, sizes)
            found, alone = shared_designs(products, bases), strategy_at(products, bases)
            assert found.error == pytest.approx(alone.error, rel=tolerances.RECOMPUTED)
            assert sum(found.shares.values()) == pytest.approx(1, rel=tolerances.ROUNDING)


def test_no_other_strategy_of_an_attribute_is_better_where_they_differ(rng: np.random.Generator) -> None:
    """Prefixes alone, values with others: neither of their own strategies does as well for both."""
    sizes = (5, 4)
    asked = [
        Product((prefix(5), total(4))),
        Product((identity(5), all_range(4)), weight=float(rng.uniform(0.5, 3))),
    ]
    products = products_of_few(Workload.from_products(domain_of(*sizes), asked))
    bases = bases_of(rng, sizes)
    found = shared_designs(products, bases)
    assert found.error >= strategy_at(products, bases).error * (1 - tolerances.RECOMPUTED)
    for product in products:
        only = shared_designs([product], bases).designs[0]
        costs = {
            (len(p.attributes), i): float(np.vdot(_contrast(g, bases[i]), own.inverse))
            for p in products
            for i, g, own in zip(p.attributes, p.grams, (only, found.designs.get(1)), strict=False)
        }
        assert found.error <= _error(products, bases, costs) * (1 + 1e-5)


def _contrast(gram: np.ndarray, base: np.ndarray) -> np.ndarray:
    p = np.eye(len(base)) - np.outer(base, np.ones(len(base)))
    return p.T @ gram @ p


def _error(products, bases, costs) -> float:
    """(Σ √E)² over the sectors, spelled out for two attributes."""
    found: dict[tuple[int, ...], float] = {}
    for p in products:
        size = len(p.attributes)
        for mask in range(2**size):
            one = tuple(i for at, i in enumerate(p.attributes) if mask >> at & 1)
            value = p.weight
            for i, gram in zip(p.attributes, p.grams, strict=True):
                value *= costs[size, i] if i in one else float(bases[i] @ gram @ bases[i])
            found[one] = found.get(one, 0.0) + value
    return sum(np.sqrt(value) for value in found.values()) ** 2
