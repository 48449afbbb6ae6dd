"""The iteration on hard designs: both sides hold, the gap closes, and what must not matter does not."""

import itertools

import numpy as np
import pytest
from constructed import haar
from solvers.designs import HARD, weighting
from tolerances import FINE, GAP_INTERIOR, ROUNDING

from mmopt.solvers.weighting import Weighting, WeightsAndPrices, improve

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
            M, c = problem.operator.matrix, problem.c
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


def test_weak_duality_at_random(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Any prices bound any feasible weights, so also the optimum."""
    for name, power in itertools.product(HARD, POWERS):
        with subtests.test(name, power=power):
            problem = weighting(HARD[name](rng), power)
            best = solved(problem)
            M = problem.operator.matrix
            for _ in range(20):
                mu = 10 ** rng.uniform(-3, 3, size=M.shape[1])
                u = 10 ** rng.uniform(-3, 3, size=M.shape[0])
                found = problem.state(u, M.T @ u, mu, M @ mu)
                assert found.bound <= best.objective * (1 + ROUNDING)
                assert found.objective >= best.bound * (1 - ROUNDING)


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
