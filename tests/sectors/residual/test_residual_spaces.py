"""Sectors solved one by one: errors of the dense strategy, published figures, sensitivity at every cell."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import tolerances
from few_attributes import dense, up_to

from mmopt.errors import TooLargeError, WorkloadError
from mmopt.sectors.residual.products_of_few import products_of_few
from mmopt.sectors.residual.residual_spaces import ResidualStrategy, residual_strategy, strategy_at
from mmopt.sectors.residual.weighted_fourier import asked_of_characters
from mmopt.testing.census_workloads import domain_of, marginals
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f


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
@pytest.mark.draws(3)
def test_error_and_lengths_are_those_of_the_strategy_over_the_cells(rng: np.random.Generator) -> None:
    sizes = (2, 3, 4)
    workload = mixed(rng, sizes)
    bases = tuple(1.5 * rng.dirichlet(np.ones(n)) - 0.5 / n for n in sizes)
    strategy = strategy_at(products_of_few(workload), bases)
    x, w = dense_strategy(strategy, sizes), dense(workload)
    lengths = x.diagonal()
    assert strategy.lengths(cells_of(sizes)) == pytest.approx(lengths, rel=tolerances.RECOMPUTED)
    assert lengths.max() <= strategy.largest * (1 + tolerances.RECOMPUTED)
    assert strategy.largest == pytest.approx(1, rel=tolerances.RECOMPUTED)
    inverse = np.linalg.pinv(x, hermitian=True, rcond=1e-10)
    assert w @ inverse @ x == pytest.approx(w, abs=tolerances.INTEGERS)
    assert strategy.error == pytest.approx(np.vdot(w.T @ w, inverse), rel=tolerances.FROM_SQUARES)


def weighted_fourier_error(workload: Workload) -> float:
    """Total squared error at squared sensitivity 1."""
    return sum(float(np.sqrt(asked).sum()) for asked in asked_of_characters(workload).values()) ** 2


@pytest.mark.draws(2)
def test_no_error_is_below_the_bound_of_a_measure(rng: np.random.Generator) -> None:
    sizes = (3, 4, 2)
    workload = mixed(rng, sizes)
    measure = rng.dirichlet(np.ones(math.prod(sizes)))
    bound = np.linalg.norm(dense(workload) * np.sqrt(measure), "nuc") ** 2
    strategy = residual_strategy(workload)
    assert bound <= strategy.error <= weighted_fourier_error(workload) * (1 + tolerances.RECOMPUTED)


@pytest.mark.parametrize(
    ("workload", "error"),
    [
        (marginals([2, 5, 16, 20, 75], [2]), 20682.04),
        (marginals([2, 5, 16, 20, 75], [0, 1, 2]), 23560.71),
        (marginals([2, 5, 16, 20, 75], [0, 1, 2, 3]), 311984.60),
        (marginals([10] * 10, [0, 1, 2, 3]), 10888529.55),
    ],
    ids=["2-way", "up to 2-way", "up to 3-way", "3-way of 10"],
)
def test_marginals_are_residual_planner(workload: Workload, error: float) -> None:
    """The figures are the optimum's in closed form (Xiao et al., arXiv 2305.08175, tables 3 to 5)."""
    strategy = residual_strategy(workload)
    assert strategy.error == pytest.approx(error, rel=tolerances.PRINTED)
    assert weighted_fourier_error(workload) == pytest.approx(strategy.error, rel=tolerances.RECOMPUTED)


@pytest.mark.parametrize(
    ("sizes", "theirs", "above"),
    [((10,) * 2, 818.932627, 1e-4), ((6,) * 3, 1015.819263, 1e-4), ((10,) * 10, 440290.185748, 1e-4)],
)
def test_prefixes_are_query_smasher(sizes: tuple[int, ...], theirs: float, above: float) -> None:
    """What QuerySmasher's own program prints is reached by a search and so a little larger."""
    strategy = residual_strategy(up_to(sizes, 2))
    assert strategy.is_optimal
    assert theirs * (1 - above) <= strategy.error <= theirs


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
