"""From a certified point to a :class:`Solution`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.errors import SolverError
from mmopt.language import evaluate
from mmopt.pipeline.bounds import error_bound
from mmopt.pipeline.certify import Array
from mmopt.queries import Strategy, normalise
from mmopt.results import Solution, Status

__all__ = ["assemble", "meaning"]

# Added to total error, relatively, for the rounding of its evaluation: more than what it loses against
# rational arithmetic for strategies of condition up to 1e6 (tests/pipeline/test_assemble.py).
ROUNDING = 1e-10


def meaning(instance: Instance, env: Mapping[str, Any]) -> tuple[Strategy, Array | None, Array | None]:
    """The strategy that a point stands for, and covariance and basis where it says those."""
    m = instance.program.meaning
    assert m is not None
    matrix = np.asarray(evaluate(m.expr, env), dtype=float)
    if m.kind == "strategy":
        return normalise(Strategy(matrix, m.norm)), None, None
    basis = np.asarray(env[m.basis], dtype=float)
    return Strategy.from_covariance(matrix, basis), (matrix + matrix.T) / 2, basis


def assemble(
    instance: Instance,
    env: Mapping[str, Any],
    *,
    objective: float,
    bound: float | None,
    status: Status,
    solver: tuple[str, str],
    options: Mapping[str, float | int | bool | None],
    iterations: int,
    seconds: Mapping[str, float],
    multipliers: Mapping[str, Array],
    scaling: Mapping[str, float],
    warnings: tuple[str, ...] = (),
    steps: Mapping[str, Solution] | None = None,
) -> Solution:
    """Put a solution together; total error and its bound are computed here, for every program."""
    program, workload = instance.program, instance.workload
    strategy, covariance, basis = meaning(instance, env)
    error = strategy.total_error(workload)
    if not np.isfinite(error):
        raise SolverError(
            f"the point of '{program.name}' does not support the workload: W A⁺ A differs from W",
            hint="ask for a smaller tolerance, or use another solver",
        )
    error *= 1.0 + ROUNDING
    starts = [d for d in (np.asarray(m) for m in multipliers.values()) if d.shape == (workload.n,)]
    lower, best = error_bound(workload, strategy, starts)
    if program.bound == "l2_strategy":
        bound = lower
        status = Status(status.stop, status.feasible, status.violation, True, status.raw)
    value = objective
    if program.value is not None:
        value = float(evaluate(program.value, {**env, "objective": objective}))
    variances = strategy.sensitivity**2 * strategy.variances(workload)
    return Solution(
        program=program.name,
        title=program.title,
        cite=program.cite,
        solver=solver[0],
        solver_version=solver[1],
        status=status,
        objective=objective,
        bound=bound,
        error=error,
        error_bound=lower,
        sensitivity=strategy.sensitivity,
        rmse=float(np.sqrt(variances.mean())),
        strategy=strategy,
        variables={d.name: np.asarray(env[d.name], dtype=float) for d in program.choose},
        multipliers={name: np.asarray(value, dtype=float) for name, value in multipliers.items()},
        error_multipliers=best,
        value=value,
        iterations=iterations,
        seconds=dict(seconds),
        options=dict(options),
        scaling=dict(scaling),
        workload_hash=workload.hash,
        program_text=program.text,
        covariance=covariance,
        basis=basis,
        givens={name: np.asarray(instance.env[name], dtype=float) for name in sorted(instance.own)},
        warnings=warnings,
        steps=steps or {},
    )
