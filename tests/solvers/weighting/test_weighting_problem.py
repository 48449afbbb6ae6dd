"""Weights of design queries: derivatives, products by factors as dense ones, and steps that close the gap.

Guards ``weighting_problem.py``, ``weight_steps.py`` and ``weight_steps.py``.
"""

import itertools
from functools import reduce

import numpy as np
import pytest
from query_rows import haar
from tolerances import DERIVATIVE, FINE, GAP_INTERIOR, ROUNDING

from mmopt.solvers.weighting import (
    GivenMatrix,
    Kronecker,
    Operator,
    Weighting,
    WeightsAndPrices,
    improve,
    product_state,
    weight_steps as module,
)
from mmopt.solvers.weighting.weight_steps import curvature
from mmopt.solvers.weighting.weighting_problem import better, solve_scaled
from tests.solvers.designs import HARD, weighting

STEP = 1e-5


def test_derivatives_of_the_dual_value(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """The second is -a/(1+a)² Mᵀ diag(u/b) M, with u the best response: the Newton matrix's other face."""
    for power in (1, 2):
        problem = weighting(HARD["random predicates"](rng), power)
        M = problem.operator.matrix
        mu, move = rng.uniform(0.5, 1.0, size=M.shape[1]), rng.normal(size=M.shape[1])
        b = M @ mu
        u = problem.best_response(b)
        gradient = power / (1 + power) * problem.operator.load(u)
        second = -power / (1 + power) ** 2 * (M.T * (u / b)) @ M @ move
        sides = [mu + STEP * move, mu - STEP * move]
        values = [problem.value(side) for side in sides]
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


SHAPES = [[(2, 3)], [(3, 3), (2, 4)], [(2, 2), (1, 3), (4, 5)], [(5, 1), (3, 7)]]


def pair(rng: np.random.Generator, shapes: list[tuple[int, int]], part: float = 1.0) -> list[Operator]:
    """Rows of a product, by factors and dense."""
    factors = tuple(rng.uniform(0.0, 1.0, size=shape) for shape in shapes)
    matrix = reduce(np.kron, factors)
    if part == 1.0:
        return [Kronecker(factors), GivenMatrix(matrix)]
    rows = np.sort(rng.permutation(len(matrix))[: max(1, int(part * len(matrix)))])
    return [Kronecker(factors, rows), GivenMatrix(matrix[rows])]


def solved_to(problem: Weighting, gap: float) -> WeightsAndPrices:
    return next(state for state in improve(problem) if state.gap <= gap)


def test_products_are_those_of_the_matrix(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for shapes, part in itertools.product(SHAPES, [1.0, 0.6]):
        with subtests.test(shapes=shapes, part=part):
            kronecker, dense = pair(rng, shapes, part)
            k, n = dense.shape
            assert kronecker.shape == (k, n)
            kept = np.arange(0, k, 2)
            for one, other in ((kronecker, dense), (kronecker.kept(kept), dense.kept(kept))):
                assert one.shape == other.shape
                u, mu = rng.uniform(0.1, 1.0, size=one.shape[0]), rng.uniform(0.1, 1.0, size=n)
                np.testing.assert_allclose(one.load(u), other.load(u), rtol=ROUNDING, atol=ROUNDING)
                np.testing.assert_allclose(one.price(mu), other.price(mu), rtol=ROUNDING)


def test_newton_steps_are_those_of_the_matrix(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Whether no cell counts, or some, or so many that the matrix is formed."""
    for shapes, part, counting in itertools.product(SHAPES, [1.0, 0.6], [0, 1, 6, 24]):
        with subtests.test(shapes=shapes, part=part, counting=counting):
            operators = pair(rng, shapes, part)
            k, n = operators[0].shape
            h = 10 ** rng.uniform(-1, 1, size=k)
            d = 10 ** rng.uniform(-4, -2, size=n)
            d[rng.permutation(n)[:counting]] *= 1e8
            right = rng.normal(size=(k, 2))
            exact = np.linalg.solve(np.diag(h) + (operators[1].matrix * d) @ operators[1].matrix.T, right)
            for operator in operators:
                found = operator.newton(h, d, right)
                np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6 * abs(exact).max())


def test_more_cells_that_count_than_are_formed(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is left to the conjugate gradients."""
    monkeypatch.setattr(module, "COUNTED", 5)
    monkeypatch.setattr(module, "FORMED", 4)
    monkeypatch.setattr(module, "ENTRIES_OF_BLOCK", 50)
    kronecker, dense = pair(rng, [(4, 4), (3, 6)])
    k, n = dense.shape
    d = 10 ** rng.uniform(1, 3, size=n)
    h, right = np.ones(k), rng.normal(size=(k, 1))
    exact = dense.newton(h, d, right)
    np.testing.assert_allclose(kronecker.newton(h, d, right), exact, rtol=1e-4, atol=1e-5 * abs(exact).max())


def test_inverse_roots_where_the_matrix_is_singular(rng: np.random.Generator) -> None:
    """Equal cells that all count: within their range the inverse is exact, with Cholesky's help or not."""
    for error in [0.0, -1e-10]:
        groups = np.kron(np.eye(3), np.ones((1, 4)))
        inner = rng.uniform(1, 2, size=(3, 3))
        matrix = groups.T @ (inner @ inner.T + np.eye(3)) @ groups + (error + 1e-13) * np.eye(12)
        root = module._inverse_root(matrix)
        right = matrix @ rng.normal(size=12)
        np.testing.assert_allclose(matrix @ (root.T @ (root @ right)), right, rtol=1e-6, atol=1e-6)


def test_a_dense_step_that_is_singular_but_for_rounding() -> None:
    """Two equal rows at a price beyond all measure: elimination answers, Cholesky alone might not."""
    dense = GivenMatrix(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]]))
    right = np.array([[1.0], [1.0], [0.0]])
    found = dense.newton(np.full(3, 1e-30), np.array([1e6, 1e6]), right)
    system = (dense.matrix * 1e6) @ dense.matrix.T
    np.testing.assert_allclose(system @ found, right, rtol=1e-6, atol=1e-6)


def test_kronecker_finds_what_dense_finds(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for power, gap, part in itertools.product([1, 2], [GAP_INTERIOR, FINE], [1.0, 0.6]):
        with subtests.test(power=power, gap=gap, part=part):
            kronecker, dense = pair(rng, [(6, 6), (7, 8)], part)
            c = 10 ** rng.uniform(-2, 2, size=dense.shape[0])
            one, other = (solved_to(Weighting(o, c, power), gap) for o in (kronecker, dense))
            assert one.objective == pytest.approx(other.objective, rel=2 * gap)
            assert dense.load(one.u).max() <= 1 + ROUNDING
            # The objective is strictly convex: weights agree to the root of the gap.
            np.testing.assert_allclose(one.u, other.u, rtol=10 * gap**0.5, atol=10 * gap**0.5 * other.u.max())


def test_product_costs_are_solved_factor_by_factor(rng: np.random.Generator) -> None:
    for power in [1, 2]:
        kronecker, dense = pair(rng, [(4, 4), (3, 5), (2, 2)])
        costs = [rng.uniform(0.1, 1.0, size=f.shape[0]) for f in kronecker.factors]
        parts = [
            solved_to(Weighting(GivenMatrix(f), c, power), FINE)
            for f, c in zip(kronecker.factors, costs, strict=True)
        ]
        whole = Weighting(dense, reduce(np.kron, costs), power)
        joined = product_state(parts, power)
        checked = whole.state(joined.u, dense.load(joined.u), joined.mu, dense.price(joined.mu))
        for name in ("u", "mu", "objective", "bound"):
            np.testing.assert_allclose(getattr(joined, name), getattr(checked, name), rtol=1e-10)
        assert joined.gap <= 4 * FINE
        assert solved_to(whole, FINE).objective == pytest.approx(joined.objective, rel=4 * FINE)
        by_factors = solved_to(Weighting(kronecker, whole.c, power), FINE)
        assert by_factors.objective == pytest.approx(joined.objective, rel=4 * FINE)


def test_costs_that_are_nearly_a_product(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """Where the factors' solutions are not enough, the iteration goes on from them."""
    for power, error in itertools.product([1, 2], [0.0, 1e-8, 1e-4]):
        with subtests.test(power=power, error=error):
            kronecker, dense = pair(rng, [(6, 6), (5, 5)])
            c = np.kron(rng.uniform(0.1, 1.0, size=6), rng.uniform(0.1, 1.0, size=5))
            c = c * (1 + error * rng.normal(size=len(c)))
            one, other = (solved_to(Weighting(o, c, power), FINE) for o in (kronecker, dense))
            assert one.objective == pytest.approx(other.objective, rel=2 * FINE)
            assert one.bound == pytest.approx(other.bound, rel=2 * FINE)


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
