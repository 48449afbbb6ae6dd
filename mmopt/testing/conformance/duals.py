"""The dual functions of our own kernels, as they compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.language import Program
from mmopt.numerics.components import Array
from mmopt.solvers import Claim, claims
from mmopt.solvers.nuclear.curvature import curvature, many_exponentials
from mmopt.solvers.nuclear.forms import FORMS
from mmopt.solvers.nuclear.spectrum import Iterate, iterate
from mmopt.solvers.weighting.programs import SHIPPED
from mmopt.testing.conformance.derivatives import Dual
from mmopt.workloads import Workload

__all__ = ["kernel_duals"]

Duals = Callable[[Workload, Program], Dual | None]

SPREAD = 0.5  # of the logarithms of weights around equal ones


def kernel_duals(solver: object) -> Duals | None:
    """The dual function of what a kernel claims, by its name; None for any other solver."""
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

    size = t + len(problem.cells)
    return Dual(lambda x: 2.0 * at(x).norm, gradient, _logs(size), hessian)


def _weighting(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """The concave sum of the first part, by the prices."""
    problem = SHIPPED[claim.program].parts(givens, SHARE)[0].problem()

    def gradient(mu: Array) -> Array:
        load = problem.operator.load(problem.best_response(problem.operator.price(mu)))
        return np.asarray(problem.power / (1.0 + problem.power) * load)

    return Dual(problem.value, gradient, np.exp(_logs(problem.operator.shape[1])))


def _logs(size: int) -> Array:
    """Logarithms of weights that are all different, of sum near 1."""
    return np.asarray(np.linspace(-SPREAD, SPREAD, size) - np.log(size))


SHARE = 1e-3  # of the sensitivity, for weights without error
DUALS: Mapping[str, Callable[[Claim, Mapping[str, Any]], Dual]] = MappingProxyType(
    {"nuclear": _nuclear, "weighting": _weighting}
)
