"""Weights of design queries: derivatives, and steps that close the gap."""

import itertools

import numpy as np
import pytest
from query_rows import haar
from tolerances import DERIVATIVE, FINE, GAP_INTERIOR, ROUNDING

from mmopt.solvers.weighting_kernel import (
    Weighting,
    WeightsAndPrices,
    better,
    curvature,
    improve,
    solve_scaled,
)
from tests.solvers.designs import HARD, weighting

STEP = 1e-5


def test_derivatives_of_the_dual_value(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """The second is -a/(1+a)² Mᵀ diag(u/b) M, with u the best response: the Newton matrix's other face."""
    for power in (1, 2):
        problem = weighting(HARD["random predicates"](rng), power)
        M = problem.matrix
        mu, move = rng.uniform(0.5, 1.0, size=M.shape[1]), rng.normal(size=M.shape[1])
        b = M @ mu
        u = problem.best_response(b)
        gradient = power / (1 + power) * M.T @ u
        second = -power / (1 + power) ** 2 * (M.T * (u / b)) @ M @ move
        sides = [mu + STEP * move, mu - STEP * move]
        values = [problem.value(M @ side) for side in sides]
        slopes = [power / (1 + power) * (M.T @ problem.best_response(M @ side)) for side in sides]
        for what, (ahead, behind), exact, size in (
            ("first", values, gradient @ move, abs(gradient).max()),
            ("second", slopes, second, abs(second).max()),
        ):
            with subtests.test(what, power=power):
                measured = (ahead - behind) / (2 * STEP)
                np.testing.assert_allclose(measured, exact, rtol=DERIVATIVE, atol=DERIVATIVE * size)


def test_curvature_is_the_second_derivative_where_prices_balance(rng: np.random.Generator) -> None:
    for power in [1, 2]:
        problem = weighting(HARD["scaled rows"](rng), power)
        u = rng.uniform(0.5, 1.0, size=len(problem.c))
        ahead, here, behind = (
            -power * problem.c * (u * s) ** (-power - 1) for s in (1 + STEP, 1.0, 1 - STEP)
        )
        measured = (ahead - behind) / (2 * STEP * u)
        np.testing.assert_allclose(curvature(problem, u, -here), measured, rtol=DERIVATIVE)


def test_the_better_side_of_each() -> None:
    one = WeightsAndPrices(np.array([1.0]), np.array([1.0]), 5.0, 3.0)
    other = WeightsAndPrices(np.array([2.0]), np.array([2.0]), 4.0, 2.0)
    for found in (better(one, other), better(other, one)):
        assert (found.objective, found.bound) == (4.0, 3.0)
        assert found.u is other.u and found.mu is one.mu


def test_a_dense_step_that_is_singular_but_for_rounding() -> None:
    """Two equal rows at a price beyond all measure: elimination answers, Cholesky alone might not."""
    dense = Weighting(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]), np.ones(3), 1)
    right = np.array([[1.0], [1.0], [0.0]])
    found = dense.newton(np.full(3, 1e-30), np.array([1e6, 1e6]), right)
    system = (dense.matrix * 1e6) @ dense.matrix.T
    np.testing.assert_allclose(system @ found, right, rtol=1e-6, atol=1e-6)


def test_a_step_that_rounding_leaves_without_a_solution_is_not_a_number() -> None:
    """Then an interior-point run ends where it is; it never ends with an error of the library below."""
    beyond = 1.0 + 1.1e-15  # what the ridge makes of the unit diagonal
    found = solve_scaled(lambda: np.array([[1.0, beyond], [beyond, 1.0]]), np.zeros(2), np.ones((2, 1)))
    assert np.isnan(found).all()


POWERS = [1, 2]


def solved(problem: Weighting, gap: float = FINE) -> WeightsAndPrices:
    for state in improve(problem):
        if state.gap <= gap:
            return state
    raise AssertionError(f"the gap is {state.gap:.1e}")


def test_every_step_is_feasible_and_bounded_and_the_gap_closes(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for name, power in itertools.product(HARD, POWERS):
        with subtests.test(name, power=power):
            problem = weighting(HARD[name](rng), power)
            M, c = problem.matrix, problem.c
            gaps = []
            for state in improve(problem):
                assert (state.u > 0).all() and (state.mu >= 0).all()
                assert (M.T @ state.u).max() <= 1 + ROUNDING
                assert state.objective == pytest.approx((c / state.u**power).sum(), rel=ROUNDING)
                b = M @ state.mu
                bound = (c ** (1 / (1 + power)) * b ** (power / (1 + power))).sum() ** (1 + power)
                assert state.bound == pytest.approx(bound / state.mu.sum() ** power, rel=1e-10)
                assert state.mu.sum() == pytest.approx(power * state.bound, rel=ROUNDING)
                assert state.bound <= state.objective * (1 + ROUNDING)
                gaps.append(state.gap)
                if state.gap <= FINE:
                    break
            assert gaps[-1] <= FINE
            assert all(
                after <= before * (1 + ROUNDING) + ROUNDING for before, after in itertools.pairwise(gaps)
            )


def test_it_goes_on_from_a_state(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Nothing but the state is needed, and no step is worse than it."""
    for name, power in itertools.product(HARD, POWERS):
        with subtests.test(name, power=power):
            problem = weighting(HARD[name](rng), power)
            start = solved(problem, 1e-3)
            found = list(itertools.islice(improve(problem, start), 40))
            assert all(state.gap <= start.gap * (1 + ROUNDING) + ROUNDING for state in found)
            assert found[-1].gap <= FINE


def test_order_scale_and_repetition_do_not_matter(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for power in POWERS:
        with subtests.test(power=power):
            for name in ("random predicates", "scaled rows", "sparse rows"):
                Q, c = HARD[name](rng)
                base = solved(weighting((Q, c), power)).objective
                rows, cells = rng.permutation(len(Q)), rng.permutation(Q.shape[1])
                sizes = 10 ** rng.uniform(-2, 2, size=len(Q))
                changed = {
                    "permuted": ((Q[rows][:, cells], c[rows]), 1.0),
                    # A design query of twice the size needs half the weight.
                    "rescaled rows": ((Q * sizes[:, None], c / sizes**2), 1.0),
                    "larger c": ((Q, 1e5 * c), 1e5),
                    "larger rows": ((1e3 * Q, c), 1e6),
                    "repeated cells": ((Q[:, np.repeat(np.arange(Q.shape[1]), 3)], c), 1.0),
                    "cells that nothing touches": ((np.hstack([Q, np.zeros((len(Q), 5))]), c), 1.0),
                }
                for what, (design, factor) in changed.items():
                    found = solved(weighting(design, power))
                    assert found.objective == pytest.approx(factor * base, rel=3 * FINE), (name, what)


def test_wavelet_under_laplace_noise_needs_no_step(subtests: pytest.Subtests) -> None:
    """Every cell is equally loaded at uniform prices: the closed form (c / (abs(Q) 1))^(1/3)."""
    for n in [1, 2, 8, 64]:
        with subtests.test(n=n):
            Q = haar(n)
            c = np.square(np.tri(n) @ np.linalg.pinv(Q)).sum(axis=0)
            first = next(improve(weighting((Q, c), 2)))
            weights = (c / np.abs(Q).sum(axis=1)) ** (1 / 3)
            np.testing.assert_allclose(first.u, weights / (np.abs(Q).T @ weights)[0], rtol=ROUNDING)
            assert first.gap <= ROUNDING


def test_one_cell_a_row_is_solved_by_the_first_steps(rng: np.random.Generator) -> None:
    """The least of Σ c/u with every u <= 1 is Σ c."""
    Q, c = HARD["one cell a row"](rng)
    assert solved(weighting((Q, c), 1), GAP_INTERIOR).objective == pytest.approx(c.sum(), rel=GAP_INTERIOR)
