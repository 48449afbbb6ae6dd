"""The shipped programs that are this problem: where its data stand, and what they call its solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from mmopt.solvers.weighting.kronecker import Kronecker
from mmopt.solvers.weighting.operators import Array, Dense, Operator, entrywise
from mmopt.solvers.weighting.problem import State, Weighting
from mmopt.solvers.weighting.recognise import factors_of, places_of

__all__ = ["PROGRAMS", "SHIPPED", "Part", "Shipped", "dual_gap"]

# Stands for c where a part has no error, so that its multipliers count for nothing beside the others'.
NOTHING = 1e-100


@dataclass(frozen=True)
class Part:
    """One problem over the program's weights at ``rows`` (k,); ``make`` makes it anew at each call.

    Weights at ``idle`` have c = 0: any value will do, ``least`` (a number) takes the part ``share`` of the
    sensitivity for all of them.
    """

    make: Callable[[], Weighting]
    rows: Array
    idle: Array
    least: float = 0.0
    share: float = 0.0

    @property
    def problem(self) -> Weighting:
        return self.make()


@dataclass(frozen=True)
class Shipped:
    """A shipped program.

    parts : the independent problems in its givens and lets.
    weights, inverses : what it calls u and 1/u; "" where it does not choose them.
    prices : what it calls mu if it chooses that.
    stacked : its multipliers are a matrix with a row per part.
    """

    parts: Callable[[Mapping[str, Any], float], list[Part]]
    weights: str = ""
    inverses: str = ""
    prices: str = ""
    stacked: bool = False


def _part(operator: Callable[[], Operator], c: Array, rows: Array, power: int, share: float) -> Part:
    """The problem of these rows; those with c = 0 need a weight, however small, and no more."""
    xp = c.__array_namespace__()
    used = c > 0
    if not bool(xp.any(used)):  # no error here: any weights and prices will do
        c = xp.full_like(c, NOTHING)
        used = c > 0
    if bool(xp.all(used)):
        return Part(lambda: Weighting(operator(), c, power), rows, rows[:0])
    (idle,), (busy,) = xp.nonzero(~used), xp.nonzero(used)
    least = share / float(xp.max(operator().kept(idle).load(xp.ones_like(xp.take(c, idle)))))

    def make() -> Weighting:
        return Weighting(operator().kept(busy), xp.take(c, busy), power)

    return Part(make, xp.take(rows, busy), xp.take(rows, idle), least, share)


def _whole(power: int, design: str = "D") -> Callable[[Mapping[str, Any], float], list[Part]]:
    def parts(env: Mapping[str, Any], share: float) -> list[Part]:
        operator = Dense(env["S"]) if design == "S" else _operator(env, power)
        rows = env["c"].__array_namespace__().arange(operator.shape[0])
        return [_part(lambda: operator, env["c"], rows, power, share)]

    return parts


def _operator(env: Mapping[str, Any], power: int) -> Operator:
    """Of the design queries D: by factors if they are a Kronecker product, or rows of a Q that is one."""
    design, given = env["D"], env.get("Q")
    factors = factors_of(design, power)
    if factors is not None:
        return Kronecker(factors)
    if given is not None and given.shape[0] > design.shape[0]:
        factors = factors_of(given, power)
        rows = None if factors is None else places_of(design, given)
        if factors is not None and rows is not None:
            return Kronecker(factors, rows)
    return Dense(entrywise(design, power))


def _separate(env: Mapping[str, Any], share: float) -> list[Part]:
    """A problem for each row of the membership M, over its own design queries.

    There are many of them and each is soon solved, so that none holds its matrix while others are.
    """
    design, c, membership = env["Q"], env["c"], env["M"]
    xp = c.__array_namespace__()
    found = []
    for j in range(membership.shape[0]):
        (rows,) = xp.nonzero(membership[j, :] > 0)
        found.append(_part(partial(_rows, design, rows), xp.take(c, rows), rows, 1, share))
    return found


def _rows(design: Array, rows: Array) -> Dense:
    """Some design queries."""
    return Dense(entrywise(design.__array_namespace__().take(design, rows, axis=0), 1))


SHIPPED: Mapping[str, Shipped] = MappingProxyType(
    {
        "query_weighting": Shipped(_whole(1), "u", "v"),
        "query_weighting_inverse": Shipped(_whole(1), "u"),
        "query_weighting_dual": Shipped(_whole(1), prices="mu"),
        "laplace_weighting": Shipped(_whole(2), "w", "v"),
        "laplace_weighting_power": Shipped(_whole(2), "w"),
        "laplace_weighting_dual": Shipped(_whole(2), prices="mu"),
        "group_weighting": Shipped(_whole(1, "S"), "t", "v"),
        "separate_weighting": Shipped(_separate, "u", "v", stacked=True),
    }
)

PROGRAMS = tuple(SHIPPED)


def dual_gap(problem: Weighting, state: State) -> float:
    """The gap of the prices with their own best response, which is what a dual program is judged by."""
    b = problem.operator.price(state.mu)
    u = problem.best_response(b)
    return problem.state(u, problem.operator.load(u), state.mu, b).gap
