"""Score a point against the program file: repair, feasibility, objective up, bound down.

This is the only place where a solver's point becomes a claim. Nothing that a solver says of its own
point is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.compiler import Instance
from mmopt.language import evaluate, evaluate_ball
from mmopt.language.numeric import FLOOR, psd_floor
from mmopt.language.tree import Apply, Declaration, Expr
from mmopt.pipeline.violations import violations

__all__ = ["FEASIBLE", "Candidate", "bound_of", "candidate", "upper_value"]

Array = NDArray[np.float64]

# A repaired point may miss a constraint by this much, relatively: the rounding of its evaluation. What
# it misses is charged to the objective.
FEASIBLE = 1e-10
# Added to an objective where the error bound of its evaluation does not apply (a singular strategy).
CHARGE = 1e-10


@dataclass(frozen=True)
class Candidate:
    """A repaired point with its objective and what was wrong before and after.

    The objective is rounded to its worse side: up when it is minimized, down when it is maximized.
    """

    variables: Mapping[str, Array]
    env: Mapping[str, Any]
    objective: float
    before: float
    after: float

    @property
    def is_feasible(self) -> bool:
        return self.after <= FEASIBLE and bool(np.isfinite(self.objective))


def _declared(d: Declaration, value: Array) -> Array:
    """What a declaration promises: symmetric and psd, or the sign; clipped when it is not kept.

    Psd matrices and ``> 0`` get a floor relative to their largest eigenvalue or entry, so that they
    can be inverted; what that costs shows in the objective.
    """
    if d.kind == "psd":
        return psd_floor(value)
    if d.kind == "symmetric":
        return np.asarray((value + value.T) / 2)
    if d.sign:
        floor = FLOOR * float(np.max(value, initial=0.0)) if d.sign == ">" else 0.0
        return np.asarray(np.maximum(value, floor))
    return value


def candidate(instance: Instance, values: Mapping[str, Array]) -> Candidate:
    """Repair a point by its declarations and the program's ``repair``, then evaluate the program."""
    program = instance.program
    before = _worst(instance, {**instance.env, **_plain(values)})
    env: dict[str, Any] = dict(instance.env)
    for d in program.choose:
        env.update(_plain({d.name: _declared(d, np.asarray(values[d.name], dtype=float))}))
    with np.errstate(all="ignore"):
        for assignment in program.repair:
            env[assignment.name] = evaluate(assignment.expr, env)
        names = [d.name for d in program.choose]
        variables = {name: np.asarray(env[name], dtype=float) for name in names}
        finite = all(np.isfinite(v).all() for v in variables.values())
        after = _worst(instance, env) if finite else np.inf
        minimized = program.sense == "minimize"
        objective = np.inf if minimized else -np.inf
        if finite and program.objective is not None:
            e = program.objective
            loss = upper_value(e if minimized else Apply("neg", (e,), e.span), env)
            loss += after * abs(loss)
            objective = loss if minimized else -loss
    return Candidate(variables, env, objective, before, after)


def _plain(values: Mapping[str, Array]) -> dict[str, Any]:
    return {n: v if np.ndim(v) else float(v) for n, v in values.items()}


def _worst(instance: Instance, env: Mapping[str, Any]) -> float:
    try:
        return max([0.0, *(v.amount for v in violations(instance, env))])
    except np.linalg.LinAlgError:
        return float("inf")


def upper_value(expr: Expr, env: Mapping[str, Any]) -> float:
    """The value rounded up by its error bound, or by ``CHARGE`` where no bound can be proved."""
    ball = evaluate_ball(expr, env)
    upper = float(ball.upper)
    if np.isfinite(upper):
        return upper
    value = float(evaluate(expr, env))
    return value + CHARGE * abs(value)


def bound_of(instance: Instance, multipliers: Mapping[str, Array]) -> float | None:
    """The certificate at the multipliers (negative entries clipped), rounded down; None without one.

    All multipliers zero, or one that is missing, gives 0.
    """
    certificate = instance.program.certificate
    if certificate is None:
        return None
    env: dict[str, Any] = dict(instance.env)
    sizes = instance.sizes()
    for m in certificate.multipliers:
        shape = tuple(dim.value(sizes) for dim in m.declaration.dims)
        value = np.asarray(multipliers.get(m.dual_of, np.zeros(shape)), dtype=float)
        # One cell: a solver's multiplier is then a number or a 1 x 1 matrix.
        if value.size != int(np.prod(shape)) or not np.isfinite(value).all():
            return 0.0
        value = np.maximum(value.reshape(shape), 0.0)
        if not value.any():
            return 0.0
        env[m.declaration.name] = value if value.ndim else float(value)
    with np.errstate(all="ignore"):
        lower = float(evaluate_ball(certificate.expr, env).lower)
    return max(lower, 0.0) if np.isfinite(lower) else 0.0
