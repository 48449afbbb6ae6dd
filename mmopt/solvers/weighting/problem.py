"""The problem: min Σ cᵢ uᵢ^-a subject to Mᵀ u <= 1, u > 0; and its dual, in prices mu >= 0 of the cells.

a = 1 for norm 2 (u are squared weights, M = Q∘Q), a = 2 for norm 1 (u are weights, M = abs(Q)). With
b = M mu, Hölder gives for every mu >= 0 and every feasible u (PVLDB 2012, Program 1 and section 3.5)

    (Σ cᵢ^(1/(1+a)) bᵢ^(a/(1+a)))^(1+a) / (Σ mu)^a  <=  Σ cᵢ uᵢ^-a,

with equality at the optimum, where uᵢ ∝ (cᵢ/bᵢ)^(1/(1+a)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from mmopt.solvers.weighting.operators import Array, Operator

__all__ = ["Array", "State", "Weighting", "product_state"]


@dataclass(frozen=True)
class State:
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

    operator: Operator
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
        b = self.operator.price(mu)
        return self._value(b)

    def bound(self, mu: Array, b: Array) -> float:
        """The lower bound at prices mu with b = M mu."""
        a = self.power
        return self._value(b) ** (1 + a) / float(self.xp.sum(mu)) ** a

    def _value(self, b: Array) -> float:
        return float(self.xp.sum(self.c * (b / self.c) ** (self.power / (1.0 + self.power))))

    def state(self, u: Array, load: Array, mu: Array, b: Array) -> State:
        """The pair with both sides scaled; ``load`` is Mᵀ u and b is M mu."""
        xp, a = self.xp, self.power
        top = float(xp.max(load))
        bound = self.bound(mu, b)
        return State(
            u / top,
            mu * (a * bound / float(xp.sum(mu))),
            float(xp.sum(self.c * u ** (-float(a)))) * top**a,
            bound,
        )


def better(one: State, other: State) -> State:
    """The better side of each."""
    point = one if one.objective <= other.objective else other
    prices = one if one.bound >= other.bound else other
    return State(point.u, prices.mu, point.objective, prices.bound)


def product_state(states: Sequence[State], power: int) -> State:
    """The solution for M = ⊗ Mᵢ and c = ⊗ cᵢ from those of the factors, the last varying fastest.

    Loads and prices of products are products, and so are both sums: objective and bound multiply.
    """
    found = reduce(_product, states)
    total = float(found.mu.__array_namespace__().sum(found.mu))
    return State(found.u, found.mu * (power * found.bound / total), found.objective, found.bound)


def _product(one: State, other: State) -> State:
    return State(
        _outer(one.u, other.u),
        _outer(one.mu, other.mu),
        one.objective * other.objective,
        one.bound * other.bound,
    )


def _outer(a: Array, b: Array) -> Array:
    xp = a.__array_namespace__()
    return xp.reshape(a[:, None] * b[None, :], (-1,))
