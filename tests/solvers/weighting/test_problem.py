"""Derivatives by central differences: of the dual value, and of the Newton system."""

from __future__ import annotations

import numpy as np
import pytest
from designs import HARD, weighting
from tolerances import DERIVATIVE

from mmopt.solvers.weighting.interior import curvature
from mmopt.solvers.weighting.problem import State, better

STEP = 1e-5


@pytest.mark.parametrize("power", [1, 2])
def test_gradient_of_the_dual_value(power: int, rng: np.random.Generator) -> None:
    problem = weighting(HARD["random predicates"](rng), power)
    mu = rng.uniform(0.5, 1.0, size=problem.operator.shape[1])
    b = problem.operator.price(mu)
    gradient = power / (1 + power) * problem.operator.load(problem.best_response(b))
    for _ in range(5):
        move = rng.normal(size=len(mu))
        measured = (problem.value(mu + STEP * move) - problem.value(mu - STEP * move)) / (2 * STEP)
        assert measured == pytest.approx(
            gradient @ move, rel=DERIVATIVE, abs=DERIVATIVE * abs(gradient).max()
        )


@pytest.mark.parametrize("power", [1, 2])
def test_hessian_of_the_dual_value(power: int, rng: np.random.Generator) -> None:
    """-a/(1+a)² Mᵀ diag(u/b) M, with u the best response: the Newton matrix's other face."""
    problem = weighting(HARD["random predicates"](rng), power)
    M = problem.operator.matrix
    mu = rng.uniform(0.5, 1.0, size=M.shape[1])

    def gradient(mu: np.ndarray) -> np.ndarray:
        return power / (1 + power) * (M.T @ problem.best_response(M @ mu))

    b = M @ mu
    hessian = -power / (1 + power) ** 2 * (M.T * (problem.best_response(b) / b)) @ M
    move = rng.normal(size=len(mu))
    measured = (gradient(mu + STEP * move) - gradient(mu - STEP * move)) / (2 * STEP)
    np.testing.assert_allclose(
        measured, hessian @ move, rtol=DERIVATIVE, atol=DERIVATIVE * abs(measured).max()
    )


@pytest.mark.parametrize("power", [1, 2])
def test_curvature_is_the_second_derivative_where_prices_balance(
    power: int, rng: np.random.Generator
) -> None:
    problem = weighting(HARD["scaled rows"](rng), power)
    u = rng.uniform(0.5, 1.0, size=len(problem.c))

    def slope(u: np.ndarray) -> np.ndarray:
        return -power * problem.c * u ** (-power - 1)

    measured = (slope(u * (1 + STEP)) - slope(u * (1 - STEP))) / (2 * STEP * u)
    np.testing.assert_allclose(curvature(problem, u, -slope(u)), measured, rtol=DERIVATIVE)


def test_the_better_side_of_each() -> None:
    one = State(np.array([1.0]), np.array([1.0]), 5.0, 3.0)
    other = State(np.array([2.0]), np.array([2.0]), 4.0, 2.0)
    for found in (better(one, other), better(other, one)):
        assert (found.objective, found.bound) == (4.0, 3.0)
        assert found.u is other.u and found.mu is one.mu
