"""The problem: min Σ cᵢ uᵢ^-a subject to Mᵀ u <= 1, u > 0; and its dual, in prices mu >= 0 of the cells.

a = 1 for norm 2 (u are squared weights, M = Q∘Q), a = 2 for norm 1 (u are weights, M = abs(Q)). With
b = M mu, Hölder gives for every mu >= 0 and every feasible u (PVLDB 2012, Program 1 and section 3.5)

    (Σ cᵢ^(1/(1+a)) bᵢ^(a/(1+a)))^(1+a) / (Σ mu)^a  <=  Σ cᵢ uᵢ^-a,

with equality at the optimum, where uᵢ ∝ (cᵢ/bᵢ)^(1/(1+a)).

M (k, n) with entries >= 0 says what a unit of each weight adds to the sensitivity of each cell. Written on
the array-API standard: the namespace is taken from the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

Array = Any
# Added to the unit diagonal of the scaled Newton matrix, far below what matters: no pivot is then zero.
NEWTON_RIDGE = 1e-15
ROWS_AT_A_TIME = 128  # of a matrix that are worked on at a time


def entrywise(design: Array, power: int) -> Array:
    """M of design queries: their entries squared for norm 2 (power 1), absolute for norm 1 (power 2)."""
    return design * design if power == 1 else design.__array_namespace__().abs(design)


@dataclass(frozen=True)
class GivenMatrix:
    """A matrix M (k, n) with entries >= 0, and its products."""

    matrix: Array

    @property
    def shape(self) -> tuple[int, int]:
        k, n = self.matrix.shape
        return k, n

    def load(self, u: Array) -> Array:
        """Mᵀ u (n,): the sensitivity of each cell at weights u (k,)."""
        return self.matrix.T @ u

    def price(self, mu: Array) -> Array:
        """M mu (k,): what a unit of each weight costs at prices mu (n,)."""
        return self.matrix @ mu

    def kept(self, rows: Array) -> GivenMatrix:
        """The matrix with these rows alone, ascending."""
        return GivenMatrix(rows.__array_namespace__().take(self.matrix, rows, axis=0))

    def newton(self, h: Array, d: Array, right: Array) -> Array:
        """The solution X (k, q) of (diag(h) + M diag(d) Mᵀ) X = right, for h > 0, d >= 0; or NaN."""
        return solve_scaled(lambda: self._gram(d), h, right)

    def _gram(self, d: Array) -> Array:
        """M diag(d) Mᵀ, a block of rows up to the diagonal at a time; above stands what mirrors them."""
        k = self.matrix.shape[0]
        system = d.__array_namespace__().empty((k, k), dtype=d.dtype)
        for start in range(0, k, ROWS_AT_A_TIME):
            rows = self.matrix[start : start + ROWS_AT_A_TIME, :]
            end = start + rows.shape[0]
            system[start:end, :end] = (rows * d[None, :]) @ self.matrix[:end, :].T
            system[:start, start:end] = system[start:end, :start].T
        return system


def solve_scaled(gram: Callable[[], Array], h: Array, right: Array) -> Array:
    """The solution of (gram() + diag(h)) X = right, NaN where rounding leaves none.

    The matrix is overwritten, and made again if need be.
    """
    xp = right.__array_namespace__()
    system, size = _scaled(gram(), h)
    right = right / size[:, None]
    if not isinstance(system, np.ndarray):
        return xp.linalg.solve(system, right) / size[:, None]
    try:
        # The transpose is in the order of columns, so that it is factored in place.
        factor = scipy.linalg.cho_factor(system.T, overwrite_a=True, check_finite=False)
        solution = scipy.linalg.cho_solve(factor, right)
    except np.linalg.LinAlgError:  # singular but for rounding: elimination goes on where Cholesky may not
        try:
            solution = np.linalg.solve(_scaled(gram(), h)[0], right)
        except np.linalg.LinAlgError:  # a pivot is zero
            return np.full_like(right, np.nan)
    return solution / size[:, None]


def _scaled(system: Array, h: Array) -> tuple[Array, Array]:
    """system + diag(h) in place, scaled to a unit diagonal; and the roots of that diagonal."""
    xp = h.__array_namespace__()
    size = xp.sqrt(h + xp.linalg.diagonal(system))
    system /= size[:, None]
    system /= size[None, :]
    add_diagonal(system, h / (size * size) + NEWTON_RIDGE)
    return system, size


def add_diagonal(system: Array, values: Array) -> None:
    """system += diag(values), in place and without another matrix."""
    xp = values.__array_namespace__()
    for start in range(0, values.shape[0], ROWS_AT_A_TIME):
        rows = values[start : start + ROWS_AT_A_TIME]
        here = xp.arange(rows.shape[0])
        block = xp.where(here[:, None] == here[None, :], rows[:, None], xp.zeros_like(rows)[:, None])
        system[start : start + ROWS_AT_A_TIME, start : start + ROWS_AT_A_TIME] += block


@dataclass(frozen=True)
class WeightsAndPrices:
    """Weights u (k,), feasible, and prices mu (n,), with Σ mu = a · bound: the scale of the multipliers.

    The scale is that of ``Mᵀ u <= 1`` in the minimisation of Σ cᵢ uᵢ^-a.
    """

    u: Array
    mu: Array
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """objective / bound - 1, by plain arithmetic; certified only by the program file."""
        return self.objective / self.bound - 1.0


@dataclass(frozen=True)
class Weighting:
    """The problem's data: the operator M (k, n), c (k,) > 0, and the power a (1 or 2)."""

    operator: GivenMatrix
    c: Array
    power: int

    @property
    def xp(self) -> Any:
        """The array namespace."""
        return self.c.__array_namespace__()

    def best_response(self, b: Array) -> Array:
        """(cᵢ/bᵢ)^(1/(1+a)) (k,): the best weights at costs b = M mu, up to a common factor."""
        return (self.c / b) ** (1.0 / (1 + self.power))

    def value(self, mu: Array) -> float:
        """Σ cᵢ^(1/(1+a)) bᵢ^(a/(1+a)), concave in mu; its gradient is a/(1+a) Mᵀ ``best_response``."""
        return self._value(self.operator.price(mu))

    def bound(self, mu: Array, b: Array) -> float:
        """The lower bound at prices mu with b = M mu."""
        a = self.power
        return self._value(b) ** (1 + a) / float(self.xp.sum(mu)) ** a

    def _value(self, b: Array) -> float:
        return float(self.xp.sum(self.c * (b / self.c) ** (self.power / (1.0 + self.power))))

    def state(self, u: Array, load: Array, mu: Array, b: Array) -> WeightsAndPrices:
        """The pair with both sides scaled; ``load`` is Mᵀ u and b is M mu."""
        xp, a = self.xp, self.power
        top = float(xp.max(load))
        bound = self.bound(mu, b)
        return WeightsAndPrices(
            u / top,
            mu * (a * bound / float(xp.sum(mu))),
            float(xp.sum(self.c * u ** (-float(a)))) * top**a,
            bound,
        )


def better(one: WeightsAndPrices, other: WeightsAndPrices) -> WeightsAndPrices:
    """The better side of each."""
    point = one if one.objective <= other.objective else other
    prices = one if one.bound >= other.bound else other
    return WeightsAndPrices(point.u, prices.mu, point.objective, prices.bound)
