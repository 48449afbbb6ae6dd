"""Dense and Kronecker operators: equal products, equal Newton steps; a product is solved by its factors."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from tolerances import FINE, GAP_INTERIOR, ROUNDING

from mmopt.solvers.weighting import Dense, Kronecker, State, Weighting, entrywise, improve, product_state

SHAPES = [[(2, 3)], [(3, 3), (2, 4)], [(2, 2), (1, 3), (4, 5)]]


def pair(rng: np.random.Generator, shapes: list[tuple[int, int]]) -> tuple[Kronecker, Dense]:
    factors = tuple(rng.uniform(0.0, 1.0, size=shape) for shape in shapes)
    return Kronecker(factors), Dense(reduce(np.kron, factors))


def solved(problem: Weighting, gap: float) -> State:
    return next(state for state in improve(problem) if state.gap <= gap)


@pytest.mark.parametrize("shapes", SHAPES)
def test_products_are_those_of_the_matrix(shapes: list[tuple[int, int]], rng: np.random.Generator) -> None:
    kronecker, dense = pair(rng, shapes)
    k, n = dense.shape
    assert kronecker.shape == (k, n)
    u, mu, d, h = (rng.uniform(0.1, 1.0, size=size) for size in (k, n, n, k))
    np.testing.assert_allclose(kronecker.load(u), dense.load(u), rtol=ROUNDING)
    np.testing.assert_allclose(kronecker.price(mu), dense.price(mu), rtol=ROUNDING)
    right = rng.normal(size=(k, 2))
    exact = np.linalg.solve(np.diag(h) + (dense.matrix * d) @ dense.matrix.T, right)
    for operator in (dense, kronecker):
        np.testing.assert_allclose(operator.newton(h, d, right), exact, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("power", [1, 2])
def test_squares_and_absolute_values_of_products(power: int, rng: np.random.Generator) -> None:
    """Entrywise maps of a product are products: what makes the Kronecker design possible."""
    factors = [rng.normal(size=(3, 4)), rng.normal(size=(2, 5))]
    np.testing.assert_allclose(
        np.kron(*(entrywise(f, power) for f in factors)), entrywise(np.kron(*factors), power), rtol=ROUNDING
    )


@pytest.mark.parametrize("power", [1, 2])
def test_kronecker_finds_what_dense_finds(power: int, rng: np.random.Generator) -> None:
    kronecker, dense = pair(rng, [(4, 4), (5, 6)])
    c = 10 ** rng.uniform(-2, 2, size=20)
    one, other = (solved(Weighting(o, c, power), GAP_INTERIOR) for o in (kronecker, dense))
    assert one.objective == pytest.approx(other.objective, rel=2 * GAP_INTERIOR)


@pytest.mark.parametrize("power", [1, 2])
def test_product_costs_are_solved_factor_by_factor(power: int, rng: np.random.Generator) -> None:
    kronecker, dense = pair(rng, [(4, 4), (3, 5), (2, 2)])
    costs = [rng.uniform(0.1, 1.0, size=f.shape[0]) for f in kronecker.factors]
    parts = [
        solved(Weighting(Dense(f), c, power), FINE) for f, c in zip(kronecker.factors, costs, strict=True)
    ]
    whole = Weighting(dense, reduce(np.kron, costs), power)
    joined = product_state(parts, power)
    checked = whole.state(joined.u, dense.load(joined.u), joined.mu, dense.price(joined.mu))
    for name in ("u", "mu", "objective", "bound"):
        np.testing.assert_allclose(getattr(joined, name), getattr(checked, name), rtol=1e-10)
    assert joined.gap <= 4 * FINE
    assert solved(whole, FINE).objective == pytest.approx(joined.objective, rel=4 * FINE)
