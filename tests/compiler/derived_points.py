"""Programs with points that the judge has found feasible, and what solvers say of their duals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from flint import arb, arb_mat, ctx
from judge import balls
from judge.lines import lines_of, objective_of

from mmopt import Program, Workload
from mmopt.compiler import Instance, bind, lower
from mmopt.compiler.duality.problem_for_multipliers import lower_node_by_node
from mmopt.driver.judge.derived_bound import Derived, LineBounds, level_above, line_bounds
from mmopt.errors import ProgramError
from mmopt.language import check

Rng = np.random.Generator
MIXED = (1e-7, 1e-5, 1e-3, 0.03)  # parts of an inner point that a solver's point is mixed with
TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
N = 3


@dataclass(frozen=True)
class Case:
    """A program with a point that the judge has found feasible, and the objective there: minimised."""

    instance: Instance
    point: Mapping[str, Any]
    objective: arb

    @property
    def lines(self) -> LineBounds:
        sign = 1.0 if self.instance.program.sense == "minimize" else -1.0
        return line_bounds(
            self.instance, self.point, level_above(self.instance, sign * float(self.objective))
        )

    def lower(self, found: Derived) -> float:
        assert found.bound is not None
        return found.bound if self.instance.program.sense == "minimize" else -found.bound


def bound_instance(text: str, rng: Rng) -> Instance | None:
    """A bound instance with random queries and givens; None for a text that is no convex program."""
    try:
        checked = check(Program.parse(text))
    except ProgramError:
        return None
    root = rng.normal(size=(N, N))
    givens = {"c": rng.uniform(0.2, 2.0, N), "P": root.T @ root + 0.3 * np.eye(N)}
    workload = Workload.from_matrix(np.tri(N) + 0.3 * rng.normal(size=(N, N)))
    return bind(checked, workload, givens)


def case(text: str, rng: Rng) -> Case | None:
    """The program at nearly its best point; None where there is none, or a solver does not find it."""
    instance = bound_instance(text, rng)
    if instance is None:
        return None
    lowered = lower(instance)
    found: list[dict[str, np.ndarray]] = []
    for problem in (cp.Problem(cp.Minimize(0), lowered.problem.constraints), lowered.problem):
        try:
            problem.solve("CLARABEL", use_quad_obj=False)
        except (cp.SolverError, ArithmeticError):
            return None
        if problem.status not in ("optimal", "optimal_inaccurate"):
            return None
        found.append({name: np.asarray(v.value, dtype=float) for name, v in lowered.variables.items()})
    for part in MIXED:
        point = {name: (1.0 - part) * found[1][name] + part * found[0][name] for name in found[0]}
        objective = judged(instance, point)
        if objective is not None:
            return Case(instance, point, objective)
    return None


def judged(instance: Instance, point: Mapping[str, Any]) -> arb | None:
    """The objective, where the judge proves that the point is feasible."""
    env = {**{k: v for k, v in instance.env.items() if not callable(v)}, **point}
    with ctx.workprec(200):
        for d in instance.program.choose:
            value = np.asarray(point[d.name])
            if not np.isfinite(value).all():
                return None
            if d.sign and value.min() < 0:
                return None
            if d.kind == "psd" and not balls.is_positive_definite(arb_mat(value.tolist())):
                return None
        for _, margin in lines_of(instance.program, env, instance.sizes()):
            if isinstance(margin, arb_mat):
                if not balls.is_positive_definite((margin + margin.transpose()) / 2):
                    return None
            elif not all(m >= 0 for m in margin):
                return None
        return objective_of(instance.program, env)


def derived(read: LineBounds, share: float, size: float | None = None) -> tuple[Derived, Any, Any]:
    lowered, apart = lower_node_by_node(read.nodes, read.ranges, share, size)
    lowered.problem.solve("CLARABEL", use_quad_obj=False, **TIGHT)
    multipliers, slopes = apart.duals()
    return read.derived(multipliers, slopes), multipliers, slopes


def random_multipliers(read: LineBounds, rng: Rng) -> dict[str, np.ndarray]:
    shapes = read.nodes.shapes_of_multipliers()
    found = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    symmetric = {c.name for c in read.nodes.instance.program.constraints if c.relation.op in (">>", "<<")}
    return {name: y + np.swapaxes(y, -1, -2) if name in symmetric else y for name, y in found.items()}


def lagrangian(found: Case, point: Mapping[str, Any], proper: Mapping[str, np.ndarray]) -> arb | None:
    """By the judge; None where it has no value."""
    instance, left = found.instance, {name: np.asarray(y) for name, y in proper.items()}
    env = {**{k: v for k, v in instance.env.items() if not callable(v)}, **point}
    at = dict.fromkeys(left, 0)
    with ctx.workprec(200):
        value = objective_of(instance.program, env)
        for name, margin in lines_of(instance.program, env, instance.sizes()):
            if isinstance(margin, arb_mat):
                side = margin.nrows()
                y = left[name].reshape(-1, side, side)[at[name]]
                value -= sum(arb(float(y[i, j])) * margin[i, j] for i in range(side) for j in range(side))
                at[name] += 1
            else:
                y = left[name].ravel()[at[name] : at[name] + len(margin)]
                value -= sum(arb(float(a)) * m for a, m in zip(y, margin, strict=True))
                at[name] += len(margin)
    return value if value.is_finite() else None


def direction(value: np.ndarray, rng: Rng) -> np.ndarray:
    out = rng.normal(size=value.shape) * (rng.random(value.shape) < 0.5)
    is_symmetric = value.ndim == 2 and len(value) == len(value.T)
    return (out + out.T) / 2 if is_symmetric else out
