"""Strategies in factors against the matrices that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest
import tolerances
from symmetric import random_factor

from mmopt.errors import OptionError, SolverError, UnsuitableError
from mmopt.strategies import Strategy
from mmopt.strategies.marginals_strategy import MarginalStrategy, energies, subsets, supersets, volumes
from mmopt.strategies.product_strategy import ProductStrategy
from mmopt.strategies.union_strategy import UnionStrategy
from mmopt.testing.census_workloads import domain_of, marginals
from mmopt.workloads import Product, Workload
from mmopt.workloads.blocks import factor_blocks as f

Matrix = np.ndarray


def sizes_of(rng: np.random.Generator) -> list[int]:
    return [int(s) for s in rng.integers(1, 5, size=int(rng.integers(1, 4)))]


def asked(rng: np.random.Generator, sizes: list[int]) -> Workload:
    products = [
        Product(tuple(random_factor(rng, s) for s in sizes), weight=float(rng.uniform(0.5, 2)))
        for _ in range(3)
    ]
    return Workload.from_products(domain_of(*sizes), products)


def factors_of(rng: np.random.Generator, sizes: list[int], norm: int) -> ProductStrategy:
    return ProductStrategy(
        tuple(Strategy(np.vstack([np.eye(s), rng.normal(size=(2, s))]), norm) for s in sizes)
    )


def same_as_dense(
    found: ProductStrategy | UnionStrategy | MarginalStrategy, dense: Strategy, workload: Workload
) -> None:
    assert (found.p, found.n, found.norm) == (dense.p, dense.n, dense.norm)
    assert dense.sensitivity * (1 - tolerances.ROUNDING) <= found.sensitivity
    assert found.sensitivity == pytest.approx(dense.sensitivity, rel=tolerances.ROUNDING)
    np.testing.assert_allclose(
        found.variances(workload), dense.variances(workload), rtol=tolerances.RECOMPUTED
    )
    assert found.total_error(workload) == pytest.approx(
        dense.total_error(workload), rel=tolerances.RECOMPUTED
    )
    assert found.mean_variance(workload) == pytest.approx(
        dense.mean_variance(workload), rel=tolerances.RECOMPUTED
    )
    assert found.supports(workload)


def estimated(
    found: ProductStrategy | UnionStrategy | MarginalStrategy, matrix: Matrix, rng: np.random.Generator
) -> None:
    """Answers are A x, estimates A⁺ y."""
    x, noisy = rng.normal(size=found.n), rng.normal(size=found.p)
    np.testing.assert_allclose(found.implicit().apply(x), matrix @ x, atol=1e-12)
    size = np.linalg.norm(np.linalg.pinv(matrix), 2)
    np.testing.assert_allclose(found.estimate(noisy), np.linalg.pinv(matrix) @ noisy, atol=1e-8 * size)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.draws(4)
def test_a_product_is_its_kronecker_matrix(rng: np.random.Generator, norm: int) -> None:
    sizes = sizes_of(rng)
    found = factors_of(rng, sizes, norm)
    matrix = reduce(np.kron, [own.matrix for own in found.factors])
    workload = asked(rng, sizes)
    same_as_dense(found, Strategy(matrix, norm), workload)
    estimated(found, matrix, rng)


def test_a_product_that_does_not_support_a_query() -> None:
    workload = Workload.from_products(
        domain_of(2, 3), [Product((f.total(2), f.identity(3))), Product((f.identity(2), f.total(3)))]
    )
    found = ProductStrategy((Strategy(np.ones((1, 2))), Strategy(np.eye(3))))
    assert not found.supports(workload)
    assert np.isinf(found.variances(workload)).tolist() == [False] * 3 + [True] * 2
    assert found.total_error(workload) == np.inf


def test_a_union_is_its_parts_one_below_the_other(rng: np.random.Generator) -> None:
    """Its errors are those of means of the parts; all rows together tell no less."""
    workload = asked(rng, [3, 4])
    parts = tuple(factors_of(rng, [3, 4], 2) for _ in range(2))
    found = UnionStrategy(parts, (0.6, 0.8))
    blocks = [reduce(np.kron, [own.matrix for own in part.factors]) for part in parts]
    whole = Strategy(np.vstack([0.6 * blocks[0], 0.8 * blocks[1]]))
    assert (found.p, found.n) == (whole.p, whole.n)
    estimated(found, whole.matrix, rng)
    assert found.sensitivity >= whole.sensitivity * (1 - tolerances.ROUNDING)
    expected = [
        Strategy(block).variances(workload) / share**2
        for block, share in zip(blocks, (0.6, 0.8), strict=True)
    ]
    found_variances = found.variances(workload)
    np.testing.assert_allclose(found_variances, 1.0 / sum(1.0 / part for part in expected), rtol=1e-9)
    assert (whole.variances(workload) <= found_variances * (1 + 1e-9)).all()
    weighted = float(workload.weights @ found_variances)
    assert found.total_error(workload) == pytest.approx(found.sensitivity**2 * weighted, rel=1e-9)
    assert found.mean_variance(workload) == pytest.approx(found_variances.mean(), rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.draws(4)
def test_marginals_are_their_matrix(rng: np.random.Generator, norm: int) -> None:
    sizes = sizes_of(rng)
    weights = np.where(rng.random(2 ** len(sizes)) < 0.5, 0.0, rng.uniform(0.1, 1, 2 ** len(sizes)))
    weights[-1] = 0.7  # so that every query is supported
    found = MarginalStrategy(tuple(sizes), weights, norm)
    rows = []
    for mask, weight in enumerate(weights):
        own = [np.eye(s) if mask >> i & 1 else np.ones((1, s)) for i, s in enumerate(sizes)]
        if weight > 0:
            rows.append(weight * reduce(np.kron, own))
    workload = asked(rng, sizes)
    same_as_dense(found, Strategy(np.vstack(rows), norm), workload)
    estimated(found, np.vstack(rows), rng)


def test_marginals_that_tell_nothing_of_a_query() -> None:
    only_first = MarginalStrategy((2, 3), np.array([0.0, 1.0, 0.0, 0.0]))
    assert only_first.supports(marginals((2, 3), (0,)))
    assert not only_first.supports(marginals((2, 3), (1,)))
    assert np.isinf(only_first.variances(marginals((2, 3), (1,)))).tolist() == [False] * 2 + [True] * 3
    assert only_first.total_error(marginals((2, 3), (1,))) == np.inf


def test_sums_over_sets(rng: np.random.Generator) -> None:
    values = rng.normal(size=8)
    up = [sum(values[s] for s in range(8) if s & t == t) for t in range(8)]
    down = [sum(values[s] for s in range(8) if s & t == s) for t in range(8)]
    np.testing.assert_allclose(supersets(values, 3), up)
    np.testing.assert_allclose(subsets(values, 3), down)
    assert volumes([2, 3, 5]).tolist() == [30, 15, 10, 5, 6, 3, 2, 1]
    workload = asked(rng, [2, 3])
    assert energies(workload).sum() == pytest.approx(np.trace(workload.gram))


def test_messages(subtests: pytest.Subtests) -> None:
    for make, message in [
        (lambda: ProductStrategy((Strategy(np.eye(2), 1), Strategy(np.eye(2), 2))), "have the norms [1, 2]"),
        (lambda: ProductStrategy(()), "have the norms []"),
        (
            lambda: MarginalStrategy((2, 3), np.ones(3)),
            "shape (3,), expected one for each of the 4 sets",
        ),
        (lambda: MarginalStrategy((2,), np.array([0.0, -1.0])), "finite, nonnegative, and not all zero"),
        (lambda: MarginalStrategy((2,), np.zeros(2)), "nonnegative, and not all zero"),
        (lambda: MarginalStrategy((2,), np.ones(2), 3), "norm is 3, expected 1 (Laplace) or 2 (Gaussian)"),
        (lambda: UnionStrategy((), ()), "of 0 parts has 0 shares, expected one each"),
        (lambda: union(shares=(1.0, 0.0)), "must be positive and finite"),
        (lambda: union(sizes=(2, 3)), "differ in norm or in the number of cells"),
        (lambda: union().variances(Workload.from_matrix(np.eye(2))), "the workload is a matrix"),
    ]:
        with subtests.test(make=make, message=message):
            with pytest.raises((OptionError, UnsuitableError)) as raised:
                make()
            assert message in raised.value.message


def union(shares: tuple[float, ...] = (0.5, 0.5), sizes: tuple[int, ...] = (2, 2)) -> UnionStrategy:
    parts = tuple(ProductStrategy((Strategy(np.eye(s)),)) for s in sizes)
    return UnionStrategy(parts, shares)


def test_least_squares_that_do_not_settle(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("mmopt.strategies.union_strategy.LSMR_STEPS", 1)
    found = union(sizes=(5, 5))
    found = UnionStrategy(tuple(factors_of(rng, [5, 2], 2) for _ in range(2)), found.shares)
    with pytest.raises(SolverError, match=r"^least squares over 56 × 10 did not settle in 1 steps"):
        found.estimate(rng.normal(size=found.p))


def test_estimates_answer_what_is_supported_only(rng: np.random.Generator) -> None:
    """Marginals without the finest: the estimate is the shortest that fits."""
    found = MarginalStrategy((3, 4), np.array([0.2, 0.5, 0.7, 0.0]))
    matrix = found.implicit().matrix()
    estimated(found, matrix, rng)
    assert np.linalg.matrix_rank(matrix) == 6
