"""GreedyH: shares, the queries that a block leaves to those above it, columns of norm 1."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.asked import line
from symmetric import random_factor
from tolerances import FINE

from mmopt.strategies import Strategy
from mmopt.strategies.baselines import baseline, evaluate
from mmopt.strategies.baselines.tree_baselines import best_share, same_throughout
from mmopt.testing.census_workloads import domain_of
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f


def cost_of(z: np.ndarray, a: float, b: float, s: float, norm: int) -> np.ndarray:
    return (1 + z) ** (3 - norm) * (a + b / (1 + s * z ** (3 - norm)))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.draws(6)
def test_a_share_is_the_best(norm: int, rng: np.random.Generator) -> None:
    a, b, s = (float(x) for x in 10.0 ** rng.uniform(-2, 3, size=3))
    z = best_share(a, b, s, norm)
    grid = np.concatenate([[0.0], np.logspace(-6, 4, 4001)])
    assert cost_of(np.array(z), a, b, s, norm) <= cost_of(grid, a, b, s, norm).min() * (1 + FINE)


@pytest.mark.parametrize("norm", [1, 2])
def test_two_cells_have_the_best_tree(norm: int, rng: np.random.Generator) -> None:
    workload = Workload.from_matrix(rng.normal(size=(4, 2)) + 0.5)
    found = evaluate("greedy_h", workload, (norm,)).costs[0].error
    shares = np.linspace(0, 0.999, 2000)
    trees = [np.vstack([x ** (1 / norm) * np.ones(2), (1 - x) ** (1 / norm) * np.eye(2)]) for x in shares]
    assert found <= min(Strategy(tree, norm).total_error(workload) for tree in trees) * (1 + FINE)


def one_attribute(rng: np.random.Generator) -> Workload:
    """Two blocks of any kinds over the same cells, or a matrix."""
    n = int(rng.integers(1, 9))
    if rng.random() < 0.3:
        return Workload.from_matrix(rng.integers(1, 3, size=(5, n)), weights=rng.uniform(0.5, 2.0, size=5))
    products = [Product((random_factor(rng, n),), weight=float(rng.uniform(0.5, 2.0))) for _ in range(2)]
    return Workload.from_products(domain_of(n), products)


@pytest.mark.draws(6)
def test_queries_that_are_constant_on_a_block(rng: np.random.Generator) -> None:
    workload = one_attribute(rng)
    rows, weights = workload.queries, workload.weights
    found = same_throughout(workload)
    assert len(found) == 2 * workload.n - 1
    for (start, stop), value in found.items():
        part = rows[:, start:stop]
        same = (part == part[:, :1]).all(axis=1)
        assert value == pytest.approx(weights[same] @ part[same, 0] ** 2, rel=FINE)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16])
def test_columns_have_norm_1(n: int, norm: int) -> None:
    strategy = baseline("greedy_h", line(f.all_range(n)), norm)
    powers = (np.abs(strategy.matrix) ** norm).sum(axis=0)
    np.testing.assert_allclose(powers, 1.0, rtol=FINE)


def test_extremes() -> None:
    """Cells alone: the identity. The total alone: the total, but for weights that keep the cells measured."""
    np.testing.assert_array_equal(baseline("greedy_h", line(f.identity(8)), 1).matrix, np.eye(8))
    for norm in (1, 2):
        (cost,) = evaluate("greedy_h", line(f.total(8)), (norm,)).costs
        assert 1.0 <= cost.error < 1.001


@pytest.mark.parametrize("block", [f.prefix, f.all_range])
def test_better_than_equal_weights_on_ranges(block) -> None:
    workload = line(block(64))
    for norm in (1, 2):
        weighted, equal = (evaluate(name, workload, (norm,)).costs[0] for name in ("greedy_h", "hierarchy"))
        assert weighted.error < equal.error
