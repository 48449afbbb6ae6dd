from __future__ import annotations

import numpy as np
import pytest
from random_workloads import random_workload

from mmopt.errors import OptionError
from mmopt.numerics.arrays import frozen
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.strategies import Neighbours, Strategy, normalise
from mmopt.workloads import Domain, Product, Workload
from mmopt.workloads.blocks import factor_blocks as f

pytestmark = pytest.mark.quick

REPLACED = Neighbours.of("replace-one")


def strategy_for(w: Workload, rng: np.random.Generator, norm: int = 2) -> Strategy:
    """Random rows that span the workload's row space, some more than needed."""
    mix = rng.normal(size=(w.rank + 2, w.rank))
    return Strategy(mix @ w.basis, norm)


def test_error_agrees_with_the_definition(subtests: pytest.Subtests, rng):
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            for _ in range(2):
                w = random_workload(rng)
                s = strategy_for(w, rng, norm)
                A, W = s.matrix, w.matrix
                inverse = np.linalg.pinv(A, rcond=1e-12)
                sensitivity = np.linalg.norm(A, norm, axis=0).max()
                assert s.supports(w)
                np.testing.assert_allclose(s.sensitivity, sensitivity, rtol=1e-13)
                expected = sensitivity**2 * np.linalg.norm(W @ inverse) ** 2
                np.testing.assert_allclose(s.total_error(w), expected, rtol=1e-9)
                variances = np.square(w.queries @ inverse).sum(axis=1)
                np.testing.assert_allclose(s.variances(w), variances, rtol=1e-9)
                np.testing.assert_allclose(
                    s.sensitivity**2 * (w.weights @ s.variances(w)), s.total_error(w), rtol=1e-9
                )
                covariance = s.covariance(w.basis)
                np.testing.assert_allclose(
                    np.einsum("jk,kl,jl->j", w.representation, covariance, w.representation),
                    variances,
                    rtol=1e-8,
                )


def test_error_does_not_depend_on_scale_rotation_or_zero_rows(rng):
    for _ in range(2):
        w = random_workload(rng)
        s = strategy_for(w, rng)
        error = s.total_error(w)
        rotation, _ = np.linalg.qr(rng.normal(size=(s.p, s.p)))
        np.testing.assert_allclose(Strategy(1e6 * s.matrix).total_error(w), error, rtol=1e-9)
        np.testing.assert_allclose(Strategy(rotation @ s.matrix).total_error(w), error, rtol=1e-9)
        padded = np.vstack([s.matrix, np.zeros((2, s.n))])
        np.testing.assert_allclose(Strategy(padded).total_error(w), error, rtol=1e-9)


def test_normalise(rng):
    for _ in range(3):
        n = int(rng.integers(1, 40))
        s = Strategy(rng.normal(size=(n + 3, n)) * 10.0 ** rng.integers(-8, 9), norm=int(rng.integers(1, 3)))
        unit = normalise(s)
        assert unit.sensitivity <= 1.0
        assert unit.sensitivity > 1 - 1e-12
        assert unit.norm == s.norm
        w = Workload.from_matrix(np.tri(n))
        np.testing.assert_allclose(unit.total_error(w), s.total_error(w), rtol=1e-9)


def test_from_covariance_gives_that_covariance(rng):
    for _ in range(2):
        w = random_workload(rng)
        root = rng.normal(size=(w.rank, w.rank + 1))
        sigma = root @ root.T + 0.1 * np.eye(w.rank)
        s = Strategy.from_covariance(sigma, w.basis)
        assert s.norm == 2
        np.testing.assert_allclose(s.covariance(w.basis), sigma, rtol=1e-8, atol=1e-9)
        cost = np.einsum("ki,kl,li->i", w.basis, np.linalg.inv(sigma), w.basis).max()
        np.testing.assert_allclose(s.sensitivity**2, cost, rtol=1e-8)


def test_known_errors():
    w = Workload.from_matrix(np.tri(8))
    assert Strategy(np.eye(8)).total_error(w) == pytest.approx(36, rel=1e-12)
    # Measuring the workload itself: each answer has the variance of the sensitivity squared, 8 × 8.
    assert Strategy(np.tri(8)).total_error(w) == pytest.approx(64, rel=1e-12)
    np.testing.assert_allclose(Strategy(np.eye(8)).variances(w), np.arange(1.0, 9), rtol=1e-12)


def test_a_strategy_that_does_not_support_the_workload():
    w = Workload.from_matrix(np.eye(3))
    s = Strategy([[1, 0, 0], [0, 1, 0]])
    assert not s.supports(w)
    assert s.total_error(w) == np.inf
    np.testing.assert_array_equal(s.variances(w), [1, 1, np.inf])
    with pytest.raises(OptionError) as caught:
        s.covariance(np.eye(3))
    assert str(caught.value) == "the strategy does not support this basis: B A⁺A differs from B"


def test_support_is_relative(subtests: pytest.Subtests):
    for size, supported in [(1e-6, False), (1e-7, False), (1e-12, True), (0.0, True)]:
        with subtests.test(size=size, supported=supported):
            # The query leans out of the strategy's row space by this much.
            w = Workload.from_matrix([[1, 1, size]])
            s = Strategy([[5.0, 0, 0], [0, 5.0, 0]])
            assert s.supports(w) == supported
            assert bool(np.isfinite(s.variances(w)).all()) == supported


def test_a_query_of_tiny_weight_must_be_supported():
    w = Workload.from_matrix(np.eye(2), weights=[1, 1e-60])
    assert Strategy([[1, 0]]).total_error(w) == np.inf


def test_replace_one():
    # One total: replacing a row changes nothing.
    total = Strategy(np.ones((1, 7)))
    assert (total.sensitivity, total.sensitivity_to(REPLACED)) == (1.0, 0.0)
    assert Strategy(np.eye(3), norm=1).sensitivity_to(REPLACED) == 2.0
    assert Strategy(np.eye(3)).sensitivity_to(REPLACED) == pytest.approx(np.sqrt(2), rel=1e-15)


def test_many_queries_stay_implicit():
    n = 128
    w = Workload.from_products(Domain.anonymous(n), [Product((f.all_range(n),))])
    s = Strategy(np.eye(n))
    i = np.arange(n)
    lengths = [j - a + 1 for a in i for j in range(a, n)]
    np.testing.assert_allclose(s.variances(w), lengths, rtol=1e-10)
    np.testing.assert_allclose(s.total_error(w), sum(lengths), rtol=1e-12)
    assert "queries" not in vars(w)


def test_a_strategy_is_copied_and_read_only():
    matrix = np.eye(2)
    s = Strategy(matrix)
    matrix[0, 0] = 9
    assert s.sensitivity == 1.0
    assert not s.matrix.flags.writeable
    assert repr(s) == "Strategy(2 × 2, norm 2, sensitivity 1)"
    assert (s.p, s.n) == (2, 2)


def test_errors(subtests: pytest.Subtests):
    for make, text in [
        (
            lambda: Strategy(np.eye(2), norm=3),
            "the strategy's norm is 3, expected 1 (Laplace) or 2 (Gaussian)",
        ),
        (
            lambda: Strategy(np.ones(3)),
            "the strategy is an array of shape (3,) and type float64, "
            "expected a real matrix with at least one row and one column",
        ),
        (
            lambda: Strategy([[np.nan]]),
            "the strategy has NaN or infinite entries, expected finite numbers",
        ),
        (
            lambda: normalise(Strategy(np.zeros((2, 2)))),
            "a strategy of sensitivity 0 cannot be scaled to sensitivity 1",
        ),
        (
            lambda: normalise(Strategy(np.full((4, 1), 1.7e308), norm=1)),
            "a strategy of sensitivity inf cannot be scaled to sensitivity 1",
        ),
        (
            lambda: Strategy.from_covariance(np.diag([1.0, -1.0]), np.eye(2)),
            "the covariance is not positive definite: its smallest eigenvalue is -1",
        ),
        (
            lambda: Strategy.from_covariance(np.eye(3), np.eye(2)),
            "the covariance has shape (3, 3) and the basis (2, 2), expected (k, k) and (k, n)",
        ),
        (
            lambda: Strategy.from_covariance([[np.inf]], [[1.0]]),
            "the covariance has NaN or infinite entries, expected finite numbers",
        ),
    ]:
        with subtests.test(make=make, text=text):
            with pytest.raises(OptionError) as caught:
                make()
            assert str(caught.value) == text


def test_a_workload_of_another_size(subtests: pytest.Subtests):
    for method in ["total_error", "supports", "variances"]:
        with subtests.test(method=method):
            with pytest.raises(OptionError) as caught:
                getattr(Strategy(np.eye(2)), method)(Workload.from_matrix(np.eye(3)))
            assert str(caught.value) == "the strategy has 2 cells, the queries have 3"


def test_a_basis_of_another_size():
    with pytest.raises(OptionError) as caught:
        Strategy(np.eye(2)).covariance(np.eye(3))
    assert str(caught.value) == "the strategy has 2 cells, the queries have 3"


def test_condition_counts_what_the_workload_asks_for() -> None:
    strategy = Strategy(np.diag([1.0, 1e-3, 1e-8]))
    first_two = Workload.from_matrix(np.eye(3)[:2])
    assert strategy.condition(first_two) == pytest.approx(1e3, rel=1e-5)
    assert strategy.condition(Workload.from_matrix(np.eye(3))) == pytest.approx(1e8, rel=1e-5)
    assert Strategy(7.0 * np.eye(3)).condition(first_two) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("rows", "cells", "rank"), [(5, 5, 5), (8, 5, 5), (3, 7, 3), (9, 6, 4), (4, 6, 2), (1, 4, 1)]
)
@pytest.mark.parametrize("condition", [1e0, 1e5, 1e9])
def test_both_factorisations_give_the_pseudo_inverse(rows, cells, rank, condition):
    """By QR where the rank is full beyond doubt, else by singular values."""
    rng = np.random.default_rng(rows)
    left, right = (np.linalg.qr(rng.normal(size=(k, k)))[0][:, :rank] for k in (rows, cells))
    s = np.geomspace(1.0, 1.0 / condition, rank)
    inverse, null = pseudo_factors((left * s) @ right.T)
    expected = (right / s**2) @ right.T
    assert inverse.shape == (cells, rank) and null.shape == (cells, cells - rank)
    np.testing.assert_allclose(inverse @ inverse.T, expected, rtol=0, atol=1e-5 * expected.max())
    np.testing.assert_allclose(null.T @ null, np.eye(cells - rank), atol=1e-13)
    np.testing.assert_allclose(right.T @ null, 0, atol=1e-15 * condition + 1e-13)


def test_mean_variance_and_condition(rng):
    for _ in range(3):
        w = random_workload(rng)
        s = strategy_for(w, rng)
        np.testing.assert_allclose(s.mean_variance(w), s.variances(w).mean(), rtol=1e-9)
        assert 1 - 1e-9 <= s.condition(w) <= s.largest_condition * (1 + 1e-9)


def test_mean_variance_where_something_is_not_measured():
    w = Workload.from_matrix([[1, 0, 0], [1, 1, 0]], weights=[4, 1])
    assert Strategy([[1, 0, 0], [0, 1, 0]]).mean_variance(w) == pytest.approx(1.5, rel=1e-12)
    assert Strategy([[1, 0, 0]]).mean_variance(w) == np.inf


def test_prices_are_what_longer_columns_would_save():
    rng = np.random.default_rng(5)
    w = Workload.from_matrix(rng.normal(size=(6, 4)))
    s = Strategy(rng.normal(size=(5, 4)))

    def error(gram):
        return np.trace(w.gram @ np.linalg.inv(gram))

    step, gram = 1e-6, s.matrix.T @ s.matrix
    for i, price in enumerate(s.prices(w)):
        moved = np.diag(np.eye(4)[i]) * step
        assert (error(gram - moved) - error(gram + moved)) / (2 * step) == pytest.approx(price, rel=1e-6)


def test_a_frozen_array_is_not_copied():
    matrix = np.eye(3)
    assert Strategy(frozen(matrix)).matrix is matrix
    view = np.eye(3)[:2]
    view.setflags(write=False)
    assert Strategy(view).matrix is not view
