"""Relative errors by simulation: closed forms, with and without normalised rows, and what is refused.

Guards measured_and_simulated_releases.py.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tolerances import RECOMPUTED, ROUNDING

from mmopt import DataError, Error, OptionError, Privacy, Strategy, Workload, WorkloadError, solve
from mmopt.driver.templates import templates
from mmopt.mechanism import plan
from mmopt.mechanism.measured_and_simulated_releases import Simulated, simulate_errors
from mmopt.privacy.epsilon_delta_rho import continuous_gaussian_scale
from mmopt.workloads import Attribute, Domain, Product, factors_and_products as f

PRIVACY = [Privacy(epsilon=e, delta=1e-4) for e in (0.1, 1.0)]
FAR = 5.0  # standard errors of a mean: missed once in a million runs


def ranges(n: int) -> Workload:
    domain = Domain((Attribute("a", tuple(map(str, range(n)))),))
    products = [Product((f.all_range(n),), name="ranges"), Product((f.identity(n),), name="cells")]
    return Workload.from_products(domain, products)


def skewed(n: int) -> np.ndarray:
    """Counts that fall like 1 / (1 + i), 10,000 rows or so."""
    counts = 1.0 / np.arange(1, n + 1)
    return np.rint(10_000 * counts / counts.sum()).astype(np.int64)


def run(
    w: Workload, s: Strategy, privacies: Sequence[Privacy] = PRIVACY[1:], **options: object
) -> tuple[Simulated, ...]:
    plans = [plan(w, s, privacy) for privacy in privacies]
    return simulate_errors(w, s, skewed(w.n), plans, **{"trials": 400, **options})  # type: ignore[arg-type]


def test_gaussian_errors_against_their_closed_form() -> None:
    """One query a cell: errors are independent normals, mean |z| = √(2/π) σ and relative ones by division."""
    n = 32
    w = Workload.from_matrix(np.eye(n))
    for own in run(w, Strategy(np.eye(n), 2), PRIVACY):
        sigma = own.scale
        continuous = continuous_gaussian_scale(own.privacy.epsilon, own.privacy.delta)
        assert sigma == pytest.approx(continuous, rel=1e-2)  # the exact law of integers, or continuous noise
        assert (own.noise, own.private, own.trials) == ("Gaussian", False, 400)
        assert own.whole.predicted == pytest.approx(sigma, rel=ROUNDING)
        draws = 400 * n
        mean, spread = np.sqrt(2 / np.pi) * sigma, np.sqrt(1 - 2 / np.pi) * sigma
        assert abs(own.whole.absolute - mean) < FAR * spread / np.sqrt(draws)
        assert own.whole.rmse == pytest.approx(sigma, rel=FAR / np.sqrt(2 * draws))
        counts = np.maximum(skewed(n), 1e-3 * skewed(n).sum())
        assert own.whole.expected == pytest.approx(mean * (1 / counts).mean(), rel=RECOMPUTED)
        assert abs(own.whole.relative - own.whole.expected) < FAR * own.whole.spread


def test_laplace_errors() -> None:
    """Scale b = sensitivity / ε: mean |z| = b, variance 2 b²."""
    n = 32
    for own in run(Workload.from_matrix(np.eye(n)), Strategy(np.eye(n), 1), PRIVACY):
        b = 1.0 / own.privacy.epsilon
        assert (own.noise, own.scale, own.whole.expected) == ("Laplace", pytest.approx(b), None)
        drawn = np.sqrt(0.5) / np.sinh(0.5 / b)  # on integers a little less than √2 b
        assert own.whole.predicted == pytest.approx(drawn, rel=ROUNDING)
        assert abs(own.whole.absolute - b) < FAR * b / np.sqrt(400 * n)
        assert own.whole.rmse == pytest.approx(np.sqrt(2) * b, rel=0.1)


def test_normalised_rows_have_less_relative_error() -> None:
    """PVLDB 2012, section 3.4, on skewed data; absolute error is larger, as it must be."""
    w = ranges(64)
    for program, less, trials in (("l2_strategy", 0.95, 400), ("eigen_design", 1.0, 2)):
        strategies = [solve(v, program).strategy for v in (w, w.normalised())]
        (one,), (other,) = (run(w, s, trials=trials, sanity=1.0) for s in strategies)
        margin = FAR * np.hypot(one.whole.spread, other.whole.spread)
        assert trials == 2 or other.whole.relative + margin < one.whole.relative
        assert one.whole.expected is not None and other.whole.expected is not None
        assert other.whole.expected < less * one.whole.expected
        assert other.whole.predicted > one.whole.predicted


def test_all_privacies_see_the_same_draws() -> None:
    w = ranges(8)
    s = solve(w, "l2_strategy").strategy
    one, other = run(w, s, PRIVACY, trials=5, seed=3)
    assert other.whole.relative / one.whole.relative == pytest.approx(other.scale / one.scale, rel=ROUNDING)
    (again,) = run(w, s, PRIVACY[:1], trials=5, seed=3)
    assert again == one
    assert run(w, s, PRIVACY[:1], trials=5, seed=4) != (one,)


def test_groups_and_the_order_of_queries(rng: np.random.Generator) -> None:
    w = ranges(8)
    s = solve(w, "l2_strategy").strategy
    (own,) = run(w, s, trials=7)
    assert [g.name for g in own.groups] == ["ranges", "cells"] and own.whole.name == "all queries"
    assert [g.queries for g in own.groups] == [36, 8] and own.whole.queries == 44
    mean = sum(g.queries * g.relative for g in own.groups) / 44
    assert own.whole.relative == pytest.approx(mean, rel=ROUNDING)
    order = rng.permutation(w.m)
    (moved,) = run(Workload.from_matrix(w.queries[order]), s, trials=7)
    for name in ("relative", "spread", "expected", "absolute", "rmse", "predicted"):
        assert getattr(moved.whole, name) == pytest.approx(getattr(own.whole, name), rel=RECOMPUTED)


def test_chunks_of_trials_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    w = ranges(8)
    s = solve(w, "l2_strategy").strategy
    whole = run(w, s, trials=11)
    monkeypatch.setattr("mmopt.mechanism.measured_and_simulated_releases._ENTRIES", 4 * w.m)
    for one, other in zip(run(w, s, trials=11), whole, strict=True):
        assert one.whole.relative == pytest.approx(other.whole.relative, rel=RECOMPUTED)


def test_strategies_in_factors(rng: np.random.Generator) -> None:
    """They estimate from one vector of answers at a time; each is what its matrix is, trial by trial."""
    sizes = (2, 3)
    products = [Product((f.identity(2), f.prefix(3))), Product((f.total(2), f.identity(3)))]
    w = Workload.from_products(Domain(tuple(Attribute(f"a{n}", tuple("xyz"[:n])) for n in sizes)), products)
    x = rng.integers(0, 100, w.n)
    for name in ("product", "union", "marginals"):
        strategy = templates(w, 1, (name,)).best.strategy
        assert strategy is not None
        planned = [plan(w, strategy, Privacy(epsilon=0.1))]
        (own,) = simulate_errors(w, strategy, x, planned, trials=300)
        dense = Strategy(strategy.implicit().matrix(), 1)
        (other,) = simulate_errors(w, dense, x, planned, trials=300)
        assert own.whole.absolute == pytest.approx(other.whole.absolute, rel=1e-6), name
        assert own.whole.rmse == pytest.approx(own.whole.predicted, rel=0.4)


def test_sanity_bound() -> None:
    """Small counts and negative answers are divided by the bound."""
    w = Workload.from_matrix([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    x = np.array([3, 1003])
    planned = [plan(w, Strategy(np.eye(2), 2), PRIVACY[1])]
    own, *_ = simulate_errors(w, Strategy(np.eye(2), 2), x, planned, trials=2, sanity=100.0)
    assert own.sanity == 100.0
    expected = np.sqrt(2 / np.pi) * own.scale * np.mean([1 / 100, 1 / 1003, np.sqrt(2) / 1000])
    assert own.whole.expected == pytest.approx(expected, rel=ROUNDING)
    own, *_ = simulate_errors(w, Strategy(np.eye(2), 2), x, planned, trials=2)
    assert own.sanity == pytest.approx(1.006)


W = Workload.from_matrix(np.eye(3))
PLANS = [plan(W, Strategy(np.eye(3), 2), privacy) for privacy in PRIVACY]
REFUSED: list[tuple[type[Error], str, Callable[[], object]]] = [
    (
        OptionError,
        "a simulation of 1 trials has no spread, expected 2 or more",
        lambda: simulate_errors(W, Strategy(np.eye(3), 2), [1, 2, 3], PLANS, trials=1),
    ),
    (
        OptionError,
        "a simulation needs planned releases, found none",
        lambda: simulate_errors(W, Strategy(np.eye(3), 2), [1, 2, 3], []),
    ),
    (
        OptionError,
        "the sanity bound is 0, expected a number above 0",
        lambda: simulate_errors(W, Strategy(np.eye(3), 2), [1, 2, 3], PLANS, sanity=0.0),
    ),
    (
        DataError,
        "the data vector has shape (2,), the workload's domain has 3 cells",
        lambda: simulate_errors(W, Strategy(np.eye(3), 2), [1, 2], PLANS),
    ),
    (
        WorkloadError,
        "the strategy does not support the workload: some query is no combination of its rows",
        lambda: simulate_errors(W, Strategy(np.eye(3)[:2], 2), [1, 2, 3], PLANS),
    ),
]


def test_refused(subtests: pytest.Subtests) -> None:
    for kind, text, call in REFUSED:
        with subtests.test(text):
            with pytest.raises(kind) as caught:
                call()
            assert caught.value.message == text
