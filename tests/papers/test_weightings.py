"""Weights of design queries (PVLDB 2012) and completed columns: closed forms, and how the programs relate."""

import itertools

import numpy as np
import pytest
from named_workloads import NAMED, all_ranges, named, random_workload
from query_rows import haar, hierarchy
from tolerances import GAP, GAP_INTERIOR, PUBLISHED, RECOMPUTED, SHAPE

from mmopt import Strategy, Workload, solve

Matrix = np.ndarray


def lean(w: Workload, design: Matrix) -> Matrix:
    """How much the workload leans on each of the independent design queries: cᵢ."""
    return np.asarray(np.square(w.matrix @ np.linalg.pinv(design)).sum(axis=0))


def test_laplace_weights_of_the_wavelet_have_a_closed_form(subtests: pytest.Subtests) -> None:
    """λᵢ ∝ (cᵢ / bᵢ)^⅓ with b the row sums of |Q|: every cell is then equally sensitive."""
    for rows in (np.tri, all_ranges):
        for n in (2, 4, 8, 32):
            with subtests.test(str((rows.__name__, n))):
                w, Q = Workload.from_matrix(rows(n)), haar(n)
                found = solve(w, "laplace_weighting", givens={"Q": Q}, solver="clarabel")
                c, b = lean(w, Q), np.abs(Q).sum(axis=1)
                weights = (c / b) ** (1 / 3)
                sensitivity = np.abs(Q).T @ weights
                np.testing.assert_allclose(sensitivity, sensitivity[0], rtol=RECOMPUTED)
                assert found.objective == pytest.approx(
                    (c / weights**2).sum() * sensitivity[0] ** 2, rel=PUBLISHED
                )
                np.testing.assert_allclose(found.variables["w"], weights / sensitivity[0], rtol=2e-3)
                assert found.strategy.norm == 1 and found.error == pytest.approx(
                    found.objective, rel=RECOMPUTED
                )


def test_laplace_weights_of_other_workloads_do_not(rng: np.random.Generator) -> None:
    w, Q = Workload.from_matrix(rng.normal(size=(6, 4)) * [1, 2, 4, 8]), haar(4)
    found = solve(w, "laplace_weighting", givens={"Q": Q}, solver="clarabel")
    closed = np.abs(Q).T @ (lean(w, Q) / np.abs(Q).sum(axis=1)) ** (1 / 3)
    assert np.ptp(closed) > 1e-3 * closed.max()
    b = np.abs(Q).sum(axis=1)
    equal_prices = (lean(w, Q) ** (1 / 3) * b ** (2 / 3)).sum() ** 3 / 16
    assert equal_prices < found.objective * (1 - 1e-6)


# -- the quick ways to nearly the eigen-design


def cases(rng: np.random.Generator) -> list[Workload]:
    return [named("prefix"), named("all ranges"), Workload.from_matrix(rng.normal(size=(9, 6)))]


def test_groups_and_principal_vectors_come_near_the_eigen_design(rng: np.random.Generator) -> None:
    """One group and groups of one are the eigen-design, as all principal vectors are."""
    for w in cases(rng)[1:]:
        whole = solve(w, "eigen_design", solver="clarabel")
        weighting = whole.steps["weighting"]
        one, two, each = (
            solve(w, "eigen_separation", givens={"size": size}, solver="clarabel") for size in (w.n, 2, 1)
        )
        assert one.objective == pytest.approx(whole.objective, rel=GAP)
        # What completing the columns adds depends on the square root of the gap.
        assert each.objective == pytest.approx(whole.objective, rel=2e-3)
        for s in (one, each):
            assert s.steps["between"].objective == pytest.approx(weighting.objective, rel=5 * GAP_INTERIOR)
        # Each group alone is as if it had the whole sensitivity.
        assert each.steps["inside"].objective <= one.steps["inside"].objective * (1 + GAP_INTERIOR)
        assert two.steps["inside"].objective <= weighting.objective
        assert two.steps["between"].objective >= weighting.objective * (1 - GAP_INTERIOR)
        assert two.objective <= two.steps["between"].objective * (1 + RECOMPUTED)
        vectors = [
            solve(w, "principal_vectors", givens={"count": k}, solver="clarabel") for k in (1, w.n // 2, w.n)
        ]
        # More of them never weigh worse, before the columns are completed.
        weights = [s.steps["weights"].objective for s in vectors]
        assert all(b <= a * (1 + 2 * GAP_INTERIOR) for a, b in itertools.pairwise(weights))
        assert vectors[-1].objective == pytest.approx(whole.objective, rel=GAP)


def test_completing_may_turn_the_order_of_principal_vectors() -> None:
    w = Workload.from_matrix(np.tri(16))
    few, all_ = (solve(w, "principal_vectors", givens={"count": k}).objective for k in (6, 16))
    assert few < 0.95 * all_


# -- designs in any number


def test_weights_of_a_hierarchy(subtests: pytest.Subtests) -> None:
    """Between the hierarchy as it is and the best strategy; Σ c/u over dependent queries over-estimates."""
    for rows in (np.tri, all_ranges):
        with subtests.test(rows.__name__):
            w, D = Workload.from_matrix(rows(8)), hierarchy(8)
            found, best = solve(w, "design_weighting", givens={"D": D}), solve(w, "l2_strategy")
            assert best.bound is not None and best.bound <= found.objective
            assert found.objective <= Strategy(D).total_error(w) * (1 - 0.1)
            u = found.variables["u"]
            assert found.objective == pytest.approx(
                Strategy(np.sqrt(u)[:, None] * D).total_error(w), rel=RECOMPUTED
            )
            assert (lean(w, D)[u > 0] / u[u > 0]).sum() > found.objective * (1 + GAP)


def test_weights_of_independent_queries_are_those_of_query_weighting(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.normal(size=(7, 5)))
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0] * rng.uniform(0.5, 2.0, size=5)
    one = solve(w, "design_weighting", givens={"D": Q}, solver="clarabel")
    other = solve(w, "query_weighting", givens={"Q": Q}, solver="clarabel")
    assert one.objective == pytest.approx(other.objective, rel=2 * GAP_INTERIOR)


def test_more_design_queries_never_weigh_worse(rng: np.random.Generator) -> None:
    w, D = Workload.from_matrix(rng.normal(size=(7, 5))), rng.normal(size=(6, 5))
    one, more = (
        solve(w, "design_weighting", givens={"D": d}, solver="clarabel")
        for d in (D, np.vstack([D, rng.normal(size=(2, 5))]))
    )
    assert more.bound is not None and more.bound <= one.objective


# -- completed columns


def test_augment_is_never_worse_for_any_query(subtests: pytest.Subtests) -> None:
    """PODS 2010, Theorem 5.27; and there is nothing left to complete."""
    for name in NAMED:
        with subtests.test(name):
            w = named(name)
            found = solve(w, "augment")
            before = Strategy(w.matrix)
            scaled = Strategy(w.matrix / before.sensitivity)
            assert np.all(found.strategy.variances(w) <= scaled.variances(w) * (1 + SHAPE))
            assert found.sensitivity <= 1 and found.objective <= before.total_error(w) * (1 + RECOMPUTED)
            columns = np.square(found.strategy.matrix).sum(axis=0)
            np.testing.assert_allclose(columns, 1.0, rtol=SHAPE)
            again = solve(w, "augment", givens={"A": found.strategy.matrix})
            assert again.objective == pytest.approx(found.objective, rel=SHAPE)


def test_augment_of_a_strategy_of_ones_own(rng: np.random.Generator) -> None:
    w, A = Workload.from_matrix(rng.normal(size=(5, 8))), hierarchy(8)
    uneven = A * rng.uniform(0.2, 1.0, size=(len(A), 1))
    found = solve(w, "augment", givens={"A": 7.0 * uneven})
    assert found.error < Strategy(uneven).total_error(w)
    assert found.error_bound <= found.error


# -- the strategy of the singular values


def test_singular_value_bound_brackets_the_optimum(rng: np.random.Generator) -> None:
    """(Σs)²/n ≤ best ≤ error of diag(√s)Vᵀ ≤ (Σs)², and under pure privacy at most n times the best."""
    for w in (*cases(rng), random_workload(rng)):
        found, best = solve(w, "singular_value_bound"), solve(w, "l2_strategy")
        total = np.linalg.svd(w.matrix, compute_uv=False).sum() ** 2
        assert found.bound == pytest.approx(total / w.n, rel=RECOMPUTED)
        assert found.bound is not None and best.bound is not None
        assert found.bound <= best.objective and best.bound <= found.objective
        assert found.objective <= total * (1 + RECOMPUTED)


def test_singular_value_bound_is_reached_when_cells_are_alike() -> None:
    """Theorem 5.25's strategy has equal columns then: for identity and total, say, and for all predicates."""
    predicates = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=float)[1:]
    for rows in (np.vstack([np.eye(5), np.ones((1, 5))]), predicates):
        w = Workload.from_matrix(rows)
        found = solve(w, "singular_value_bound")
        assert found.gap is not None and found.gap <= RECOMPUTED
        assert found.objective == pytest.approx(solve(w, "l2_strategy").objective, rel=PUBLISHED)
