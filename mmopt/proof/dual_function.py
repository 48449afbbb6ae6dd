"""``mmopt.dual_function``: the optimum of the Lagrangian without constraints, as a solver computes it.

Lines become terms of the objective: those of ``a <= b`` are sum(y * (a - b)), added to what is minimized,
taken from what is maximized; those of ``A >> B`` are sum(Y * (B - A)). What is left are the variables with
their declared signs and cones, and the domains of functions. Where the Lagrangian falls without end the dual
function is infinite. Where it is linear in a free variable, rounding of the multipliers is enough for that.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import bind, lower
from mmopt.driver.accepted_options_and_inputs import as_program, named_givens, within_range, workload_for
from mmopt.errors import OptionError, SolverError, UnsuitableError
from mmopt.language import (
    Apply,
    Curvature,
    Name,
    Program,
    infer,
)
from mmopt.limits import time_not_counted
from mmopt.request import WorkloadLike

FAR = 1e8


@within_range()
def dual_function(
    program: str | Path | Program,
    workload: "WorkloadLike | None" = None,
    multipliers: Mapping[str, Any] | None = None,
    *,
    givens: Mapping[str, Any] | None = None,
) -> float:
    """The dual function of a convex program at these multipliers, computed by Clarabel; nothing is proved.

    ``bound_of`` proves a bound at the same multipliers: it may be better, as it uses ranges of the variables,
    or worse, as it uses tangents of curved functions.

    Parameters
    ----------
    program, workload, givens : as for ``solve``.
    multipliers : by the names of constraints, in their cones; others are 0. Signs as for ``bound_of``.

    Returns
    -------
    In the units of the objective; -inf (+inf of what is maximized) where Clarabel finds that the Lagrangian
    has no optimum.

    Raises
    ------
    OptionError : a multiplier of another shape.
    UnsuitableError : the program is not convex; a multiplier is of no constraint, or of a family.
    SolverError : Clarabel gives no answer, or stops at a point far out: then it may be infinite.
    """
    workload, parsed = workload_for(workload, program), as_program(program)
    if parsed.problem_class != "convex":
        raise UnsuitableError(f"'{parsed.name}' is not convex, so its Lagrangian is not minimized by solvers")
    instance = bind(parsed, workload, named_givens(givens, parsed, workload))
    program, objective, types, values = instance.program, instance.program.objective, {}, {}
    lines = {line.name: line for line in program.constraints}
    given = dict(multipliers or {})
    for key in {**given, **{name: None for name, line in lines.items() if not line.family}}:
        if key not in lines or lines[key].family:
            raise UnsuitableError(f"'{key}' is not a single constraint of '{program.name}'")
        relation = lines[key].relation
        sides = (relation.left, relation.right)
        low, high = sides if relation.op in ("<=", "<<", "==") else sides[::-1]
        off = Apply("sub", (low, high), relation.span)
        kind = infer(off, instance.checked.lines)
        shape = tuple(d.value(instance.sizes()) for d in kind.dims)
        y = np.asarray(given.get(key, np.zeros(shape)), dtype=float)
        if y.shape not in (shape, shape or (1,)):
            raise OptionError(f"the multiplier of '{key}' has shape {y.shape}, its line {shape}")
        y = y.reshape(shape)
        if not np.isfinite(y).all():
            raise OptionError(f"the multiplier of '{key}' is not finite")
        name = Name(f"?{key}", relation.span)
        is_order = relation.op in ("<<", ">>")
        sign = 0 if is_order or relation.op == "==" else 1
        constant = replace(kind, curvature=Curvature.CONSTANT, loewner=False, why="")
        types[name.id] = replace(constant, sign=sign, psd=is_order, symmetric=is_order)
        values[name.id] = (y + y.T) / 2 if is_order else y
        outer, inner = ("trace", "matmul") if is_order else ("sum", "mul")
        term = Apply(outer, (Apply(inner, (name, off), relation.span),), relation.span)
        objective = Apply("add" if program.sense == "minimize" else "sub", (objective, term), relation.span)
    changed = replace(program, objective=objective, constraints=(), repair=(), certificate=None)
    lagrangian = replace(
        instance,
        checked=replace(instance.checked, program=changed, lines=instance.checked.lines.with_types(**types)),
        env={**instance.env, **values},
    )
    problem = lower(lagrangian).problem
    with time_not_counted("cvxpy"):
        import cvxpy
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the status says it
            problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.error.SolverError as error:
        raise SolverError(f"clarabel does not compute the dual function: {error}") from None
    if problem.status not in (cvxpy.OPTIMAL, cvxpy.UNBOUNDED):
        raise SolverError(f"clarabel does not compute the dual function: {problem.status}")
    # A solver stops far out where an infimum is not attained, or is infinite and approached slowly.
    if any(np.abs(v.value).max(initial=0.0) > FAR for v in problem.variables() if v.value is not None):
        raise SolverError(f"the dual function is not decided: the solver's point has entries beyond {FAR:g}")
    return float(problem.value)
