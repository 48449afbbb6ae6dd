"""The functions that kernels climb, mostly dual ones: our own, and derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.language import Program
from mmopt.numerics.split_arrays import Array
from mmopt.solvers import Claim, claims
from mmopt.solvers.banded_strategy import Banded
from mmopt.solvers.nuclear.second_order import curvature, many_exponentials
from mmopt.solvers.nuclear.shipped_programs import FORMS
from mmopt.solvers.nuclear.weighted_spectrum import Iterate, iterate
from mmopt.solvers.weighting.shipped_programs import SHIPPED
from mmopt.workloads import Workload

__all__ = ["Dual", "Duals", "check_dual", "kernel_duals"]

DIFFERENCE_STEP = 1e-3  # of each entry of the point, so that no entry changes its sign
DIRECTIONS = 4
SAME_DERIVATIVE = (
    1e-6  # of the derivative along a direction, relative to the lengths of derivative and direction
)


@dataclass(frozen=True)
class Dual:
    """A function that a kernel maximizes or minimizes, as it computes it, and a point inside its domain.

    value : from a point (k,) to a number.
    gradient : from a point to the derivative (k,).
    at : (k,) where it is tried, in the coordinates that the kernel uses.
    hessian : from a point to the second derivative (k, k); None when the kernel has none.
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    at: Array
    hessian: Callable[[Array], Array] | None = None


def check_dual(dual: Dual, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """The derivatives along random directions that finite differences contradict: what, expected, found.

    Central differences with two steps, extrapolated (Richardson), so right to about 1e-9 where the function
    is smooth within a thousandth of the point.
    """
    gradient = np.asarray(dual.gradient(dual.at))
    wrong = list(_contradicted("derivative", dual.value, gradient, dual.at, rng))
    if dual.hessian is not None:
        hessian = np.asarray(dual.hessian(dual.at))
        uneven = float(np.abs(hessian - hessian.T).max())
        if not uneven <= SAME_DERIVATIVE * float(np.abs(hessian).max()):
            wrong.append(("largest difference between the second derivative and its transpose", 0.0, uneven))
        wrong += _contradicted("second derivative", dual.gradient, hessian, dual.at, rng)
    return wrong


def _contradicted(
    what: str, function: Callable[[Array], Any], derivative: Array, at: Array, rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    # A difference of two values cannot be better than the rounding of the values.
    rounding = 1e-6 * float(np.linalg.norm(function(at)))
    for number, direction in enumerate(_directions(at, rng)):
        expected = np.atleast_1d(_difference(function, at, direction))
        found = np.atleast_1d(derivative @ direction)
        size = float(np.linalg.norm(derivative) * np.linalg.norm(direction))
        if not float(np.linalg.norm(found - expected)) <= SAME_DERIVATIVE * (size + rounding):
            worst = int(np.argmax(np.abs(found - expected)))
            entry = f", entry {worst}" if derivative.ndim == 2 else ""
            yield f"{what} along direction {number}{entry}", float(expected[worst]), float(found[worst])


def _directions(at: Array, rng: np.random.Generator) -> Iterator[Array]:
    for _ in range(DIRECTIONS):
        direction = rng.normal(size=at.shape)
        yield np.where(at == 0, 1.0, np.abs(at)) * direction / np.abs(direction).max()


def _difference(function: Callable[[Array], Any], at: Array, direction: Array) -> Array:
    def central(h: float) -> Any:
        return (np.asarray(function(at + h * direction)) - np.asarray(function(at - h * direction))) / (2 * h)

    return np.asarray((4.0 * central(DIFFERENCE_STEP / 2) - central(DIFFERENCE_STEP)) / 3.0)


# -- those of our own kernels, as they compute them

Duals = Callable[[Workload, Program], Dual | None]

WEIGHT_SPREAD = 0.5  # of the logarithms of weights around equal ones


def kernel_duals(solver: object) -> Duals | None:
    """The function that a kernel climbs or descends for its claims, by its name; None for other solvers."""
    if not isinstance(solver, str) or solver not in DUALS:
        return None

    def duals(workload: Workload, program: Program) -> Dual | None:
        instance = bind(program, workload)
        claim = next((c for c in claims(instance) if c.name == solver), None)
        return None if claim is None else DUALS[solver](claim, claim.givens(instance))

    return duals


def _nuclear(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """2 N by the logarithms of the shares, of queries before cells."""
    problem = FORMS[claim.program].problem(givens)
    ranks = [problem.parts[number].rank for number in problem.others]
    t = 0 if problem.targets is None else len(problem.targets)

    def at(x: Array) -> Iterate:
        return iterate(problem, ranks, np.exp(x[t:]), np.exp(x[:t]) if t else None)

    def gradient(x: Array) -> Array:
        found = at(x)
        parts = [found.cost] if found.variance is None else [found.variance, found.cost]
        return found.norm * np.concatenate(parts)

    def hessian(x: Array) -> Array:
        found = at(x)
        q = curvature(problem, found, np.arange(len(x)), many_exponentials).dense()
        return np.asarray(np.diag(gradient(x)) - found.norm * q)

    return Dual(lambda x: 2.0 * at(x).norm, gradient, _logs(t + len(problem.cells)), hessian)


def _weighting(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """The concave sum of the first part, by the prices."""
    problem = SHIPPED[claim.program].parts(givens, FREE_SHARE)[0].problem()

    def gradient(mu: Array) -> Array:
        load = problem.operator.load(problem.best_response(problem.operator.price(mu)))
        return np.asarray(problem.power / (1.0 + problem.power) * load)

    return Dual(problem.value, gradient, np.exp(_logs(problem.operator.shape[1])))


def _banded(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """No dual: the error itself, by the entries of a factor below its diagonal and the shares."""
    near, queries, cover = (np.asarray(givens[name], dtype=float) for name in ("near", "W", "C"))
    problem = Banded(queries, cover, int(near[0].sum()))
    below = int(problem.places.sum())
    at = np.concatenate([np.linspace(-0.5, 0.5, below), np.exp(_logs(len(problem.cover)))])
    return Dual(lambda x: problem.value(x)[0], lambda x: problem.value(x)[1], at)


def _logs(size: int) -> Array:
    """Logarithms of weights that are all different, of sum near 1."""
    return np.asarray(np.linspace(-WEIGHT_SPREAD, WEIGHT_SPREAD, size) - np.log(size))


FREE_SHARE = 1e-3  # of the sensitivity, for weights without error
DUALS: Mapping[str, Callable[[Claim, Mapping[str, Any]], Dual]] = MappingProxyType(
    {"nuclear": _nuclear, "weighting": _weighting, "banded": _banded}
)
