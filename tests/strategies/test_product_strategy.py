"""Strategies in factors against the matrices that they stand for.

Guards factor_strategies.py.
"""

from functools import reduce

import numpy as np
import pytest
import tolerances
from symmetric_workloads import random_factor

from mmopt.errors import OptionError, SolverError, UnsuitableError
from mmopt.strategies import Strategy
from mmopt.strategies.factor_strategies import (
    MarginalStrategy,
    ProductStrategy,
    UnionStrategy,
    energies,
    subsets,
    supersets,
    volumes,
)
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f


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


def estimated(
    found: ProductStrategy | UnionStrategy | MarginalStrategy, matrix: np.ndarray, rng: np.random.Generator
) -> None:
    """Answers are A x, estimates A⁺ y."""
    x, noisy = rng.normal(size=found.n), rng.normal(size=found.p)
    np.testing.assert_allclose(found.implicit().apply(x), matrix @ x, atol=1e-12)
    size = np.linalg.norm(np.linalg.pinv(matrix), 2)
    np.testing.assert_allclose(found.estimate(noisy), np.linalg.pinv(matrix) @ noisy, atol=1e-8 * size)


def test_figures_are_those_of_the_matrix(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Sizes and queries are drawn; figures of a union are those of means of its parts, and all rows tell
    no less."""
    for sizes, norm in (([3], 1), ([1, 4], 2), ([2, 3, 2], 1), ([3, 2, 4], 2)):
        weights = np.where(rng.random(2 ** len(sizes)) < 0.5, 0.0, rng.uniform(0.1, 1, 2 ** len(sizes)))
        weights[-1] = 0.7  # so that every query is supported
        parts = tuple(factors_of(rng, sizes, norm) for _ in range(2))
        blocks = [reduce(np.kron, [own.matrix for own in part.factors]) for part in parts]
        marginal = [
            weight
            * reduce(np.kron, [np.eye(s) if m >> i & 1 else np.ones((1, s)) for i, s in enumerate(sizes)])
            for m, weight in enumerate(weights)
            if weight > 0
        ]
        cases = {
            "product": (parts[0], [blocks[0]]),
            "marginals": (MarginalStrategy(tuple(sizes), weights, norm), marginal),
            "union": (UnionStrategy(parts, (0.6, 0.8)), [0.6 * blocks[0], 0.8 * blocks[1]]),
        }
        workload = asked(rng, sizes)
        for form, (found, rows) in cases.items():
            with subtests.test(form, sizes=sizes):
                dense = Strategy(np.vstack(rows), norm)
                assert (found.p, found.n, found.norm) == (dense.p, dense.n, dense.norm)
                assert dense.sensitivity * (1 - tolerances.ROUNDING) <= found.sensitivity
                variances = dense.variances(workload)
                if form == "union":
                    least = variances
                    variances = 1 / sum(1 / Strategy(block).variances(workload) for block in rows)
                    assert (least <= variances * (1 + 1e-9)).all()
                else:
                    assert found.sensitivity == pytest.approx(dense.sensitivity, rel=tolerances.ROUNDING)
                np.testing.assert_allclose(found.variances(workload), variances, rtol=tolerances.RECOMPUTED)
                error = found.sensitivity**2 * float(workload.weights @ variances)
                assert found.total_error(workload) == pytest.approx(error, rel=tolerances.RECOMPUTED)
                assert found.mean_variance(workload) == pytest.approx(variances.mean(), rel=1e-9)
                assert found.supports(workload)
                estimated(found, dense.matrix, rng)


def workload_of(sizes: tuple[int, ...], *kinds: str) -> Workload:
    """A product for each: i, the identity of an attribute, or t, its total."""
    block = {"i": f.identity, "t": f.total}
    products = [Product(tuple(block[k](s) for k, s in zip(own, sizes, strict=True))) for own in kinds]
    return Workload.from_products(domain_of(*sizes), products)


def test_what_is_not_measured_is_not_supported() -> None:
    for found in (
        ProductStrategy((Strategy(np.eye(2)), Strategy(np.ones((1, 3))))),
        MarginalStrategy((2, 3), np.array([0.0, 1.0, 0.0, 0.0])),
    ):
        assert found.supports(workload_of((2, 3), "it"))
        asked = workload_of((2, 3), "it", "ti")
        assert not found.supports(asked) and found.total_error(asked) == np.inf
        assert np.isinf(found.variances(asked)).tolist() == [False] * 2 + [True] * 3


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
        with subtests.test(message):
            with pytest.raises((OptionError, UnsuitableError)) as raised:
                make()
            assert message in raised.value.message


def union(shares: tuple[float, ...] = (0.5, 0.5), sizes: tuple[int, ...] = (2, 2)) -> UnionStrategy:
    parts = tuple(ProductStrategy((Strategy(np.eye(s)),)) for s in sizes)
    return UnionStrategy(parts, shares)


def test_least_squares_that_do_not_settle(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr("mmopt.strategies.factor_strategies.LSMR_STEPS", 1)
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


TAIL = 8.0  # standard errors that no normal error of thousands is beyond


def test_errors_are_those_of_the_weights_however_far_apart(rng: np.random.Generator) -> None:
    """Differences of 1 / λ lost all digits: errors were a thousand times the standard error."""
    for _ in range(12):
        weights = np.concatenate([[0.0], 10.0 ** rng.uniform(-15, 0, 3)])
        strategy, workload = MarginalStrategy((3, 5), weights), workload_of((3, 5), "it", "ii")
        x = rng.integers(0, 10**6, 15).astype(float)
        noise = rng.normal(size=strategy.p)
        matrix, queries = strategy.implicit().matrix(), workload.matrix
        # Without noise the truth; with it, errors of the size that is stated.
        size = float(np.abs(queries @ x).max())
        np.testing.assert_allclose(queries @ strategy.estimate(matrix @ x), queries @ x, atol=1e-9 * size)
        errors = np.abs(queries @ strategy.estimate(noise))
        assert (errors <= TAIL * np.sqrt(strategy.variances(workload))).all()
