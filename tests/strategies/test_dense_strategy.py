"""Errors, sensitivities and privacy costs of a strategy matrix are what their definitions say.

Guards protocol_and_dense_strategy.py.
"""

import math

import numpy as np
import pytest
from random_workloads import random_workload
from tolerances import FINE, GAP_INTERIOR

from mmopt import solve
from mmopt.errors import OptionError
from mmopt.numerics.arrays import frozen
from mmopt.strategies import Neighbours, Strategy, largest_ratio, normalise, privacy_cost
from mmopt.workloads import Domain, Product, Workload, factors_and_products as f
from tests.strategies.asked import random_asked, with_targets

REPLACED = Neighbours.of("replace-one")


def strategy_for(w: Workload, rng: np.random.Generator, norm: int = 2) -> Strategy:
    """Random rows that span the workload's row space, some more than needed."""
    mix = rng.normal(size=(w.rank + 2, w.rank))
    return Strategy(mix @ w.basis, norm)


@pytest.mark.quick
def test_figures_are_those_of_the_definition(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm in [1, 2, 2]:
        with subtests.test(norm=norm):
            w = random_workload(rng)
            s = strategy_for(w, rng, norm)
            inverse = np.linalg.pinv(s.matrix, rcond=1e-12)
            sensitivity = np.linalg.norm(s.matrix, norm, axis=0).max()
            assert s.supports(w)
            np.testing.assert_allclose(s.sensitivity, sensitivity, rtol=1e-13)
            error = sensitivity**2 * np.linalg.norm(w.matrix @ inverse) ** 2
            np.testing.assert_allclose(s.total_error(w), error, rtol=1e-9)
            variances = np.square(w.queries @ inverse).sum(axis=1)
            np.testing.assert_allclose(s.variances(w), variances, rtol=1e-9)
            np.testing.assert_allclose(s.mean_variance(w), variances.mean(), rtol=1e-9)
            assert 1 - 1e-9 <= s.condition(w) <= s.largest_condition * (1 + 1e-9)
            rows, covariance = w.representation, s.covariance(w.basis)
            np.testing.assert_allclose(np.einsum("jk,kl,jl->j", rows, covariance, rows), variances, rtol=1e-8)
            rotation, _ = np.linalg.qr(rng.normal(size=(s.p, s.p)))
            padded = np.vstack([s.matrix, np.zeros((2, s.n))])
            for same in (
                1e6 * s.matrix,
                1e-8 * s.matrix,
                padded,
                *([rotation @ s.matrix] if norm == 2 else []),
            ):
                unit = normalise(Strategy(same, norm))
                assert 1 - 1e-12 < unit.sensitivity <= 1.0 and unit.norm == norm
                for own in (unit, Strategy(same, norm)):
                    np.testing.assert_allclose(own.total_error(w), error, rtol=1e-9)


def test_from_covariance_gives_that_covariance(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    root = rng.normal(size=(w.rank, w.rank + 1))
    sigma = root @ root.T + 0.1 * np.eye(w.rank)
    s = Strategy.from_covariance(sigma, w.basis)
    assert s.norm == 2
    np.testing.assert_allclose(s.covariance(w.basis), sigma, rtol=1e-8, atol=1e-9)
    cost = np.einsum("ki,kl,li->i", w.basis, np.linalg.inv(sigma), w.basis).max()
    np.testing.assert_allclose(s.sensitivity**2, cost, rtol=1e-8)


def test_known_figures() -> None:
    w = Workload.from_matrix(np.tri(8))
    assert Strategy(np.eye(8)).total_error(w) == pytest.approx(36, rel=1e-12)
    # Measuring the workload itself: each answer has the variance of the sensitivity squared, 8 × 8.
    assert Strategy(np.tri(8)).total_error(w) == pytest.approx(64, rel=1e-12)
    np.testing.assert_allclose(Strategy(np.eye(8)).variances(w), np.arange(1.0, 9), rtol=1e-12)
    total = Strategy(np.ones((1, 7)))  # replacing a row changes nothing
    assert (total.sensitivity, total.sensitivity_to(REPLACED)) == (1.0, 0.0)
    assert Strategy(np.eye(3), norm=1).sensitivity_to(REPLACED) == 2.0
    assert Strategy(np.eye(3)).sensitivity_to(REPLACED) == pytest.approx(np.sqrt(2), rel=1e-15)


@pytest.mark.quick
def test_what_is_not_supported_has_no_error() -> None:
    """Queries of tiny weight too: next to their size they lean out of the row space by so much."""
    for size, supported in [(1e-6, False), (1e-7, False), (1e-12, True), (0.0, True)]:
        w, s = Workload.from_matrix([[1, 1, size]]), Strategy([[5.0, 0, 0], [0, 5.0, 0]])
        assert s.supports(w) == np.isfinite(s.variances(w)).all() == supported
    tiny = Workload.from_matrix(np.eye(2), weights=[1, 1e-60])
    assert Strategy([[1, 0]]).total_error(tiny) == np.inf
    w = Workload.from_matrix([[1, 0, 0], [1, 1, 0]], weights=[4, 1])
    assert Strategy([[1, 0, 0], [0, 1, 0]]).mean_variance(w) == pytest.approx(1.5, rel=1e-12)
    assert Strategy([[1, 0, 0]]).mean_variance(w) == np.inf
    w = Workload.from_matrix(np.eye(3))
    s = Strategy([[1, 0, 0], [0, 1, 0]])
    assert not s.supports(w)
    assert s.total_error(w) == np.inf
    np.testing.assert_array_equal(s.variances(w), [1, 1, np.inf])
    with pytest.raises(OptionError) as caught:
        s.covariance(np.eye(3))
    assert str(caught.value) == "the strategy does not support this basis: B A⁺A differs from B"


def test_many_queries_stay_implicit() -> None:
    n = 128
    w = Workload.from_products(Domain.anonymous(n), [Product((f.all_range(n),))])
    s = Strategy(np.eye(n))
    i = np.arange(n)
    lengths = [j - a + 1 for a in i for j in range(a, n)]
    np.testing.assert_allclose(s.variances(w), lengths, rtol=1e-10)
    np.testing.assert_allclose(s.total_error(w), sum(lengths), rtol=1e-12)
    assert "queries" not in vars(w)


def test_a_strategy_is_copied_and_read_only() -> None:
    matrix = np.eye(2)
    s = Strategy(matrix)
    matrix[0, 0] = 9
    assert s.sensitivity == 1.0
    assert not s.matrix.flags.writeable
    assert repr(s) == "Strategy(2 × 2, norm 2, sensitivity 1)"
    assert (s.p, s.n) == (2, 2)
    assert Strategy(frozen(own := np.eye(3))).matrix is own
    view = np.eye(3)[:2]
    view.setflags(write=False)
    assert Strategy(view).matrix is not view


def test_refusals(subtests: pytest.Subtests) -> None:
    two, other = Strategy(np.eye(2)), Workload.from_matrix(np.eye(3))
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
        (lambda: Strategy([[np.nan]]), "the strategy has NaN or infinite entries, expected finite numbers"),
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
        *(
            (lambda call=call: call(other), "the strategy has 2 cells, the queries have 3")
            for call in (two.total_error, two.supports, two.variances, lambda w: two.covariance(w.queries))
        ),
    ]:
        with subtests.test(text):
            with pytest.raises(OptionError) as caught:
                make()
            assert str(caught.value) == text


def test_condition_counts_what_the_workload_asks_for() -> None:
    strategy = Strategy(np.diag([1.0, 1e-3, 1e-8]))
    first_two = Workload.from_matrix(np.eye(3)[:2])
    assert strategy.condition(first_two) == pytest.approx(1e3, rel=1e-5)
    assert strategy.condition(Workload.from_matrix(np.eye(3))) == pytest.approx(1e8, rel=1e-5)
    assert Strategy(7.0 * np.eye(3)).condition(first_two) == pytest.approx(1.0)


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


def test_a_privacy_cost_is_that_of_the_largest_variance_next_to_its_target() -> None:
    """Noise on two cells answers them with variance 1 and the total with 2: targets 4, none and 1."""
    w = Workload.from_matrix([[1, 0], [0, 1], [1, 1]], targets=[4.0, math.inf, 1.0])
    assert privacy_cost(Strategy(np.eye(2)), w) == pytest.approx(math.sqrt(2.0), rel=FINE)
    assert privacy_cost(Strategy(3 * np.eye(2), norm=1), w) == pytest.approx(math.sqrt(2.0), rel=FINE)
    assert largest_ratio(np.array([8.0, 1e9, 1.0]), w) == 2.0
    assert privacy_cost(Strategy([[1.0, 0.0]]), w) == math.inf
    w = Workload.from_matrix(np.eye(2))
    assert not w.has_targets
    assert privacy_cost(Strategy(np.eye(2)), w) is None and largest_ratio(np.ones(2), w) is None


@pytest.mark.draws(2)
def test_a_privacy_cost_is_the_objective_of_fitness_for_use(rng: np.random.Generator) -> None:
    w = with_targets(random_asked(rng), rng)
    assert w.has_targets
    s = solve(w, "fitness_for_use")
    cost = privacy_cost(s.strategy, w)
    assert cost is not None and cost**2 == pytest.approx(s.objective, rel=GAP_INTERIOR)
    other = privacy_cost(solve(w, "l2_strategy").strategy, w)
    assert s.bound is not None and other is not None and other**2 >= s.bound * (1 - FINE)
