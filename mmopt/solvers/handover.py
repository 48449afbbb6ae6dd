"""A cvxpy problem as plain data for a solver, and a solver's vectors back as named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler import Lowered
from mmopt.numerics.components import Array

__all__ = ["Handover", "hand_over"]


@dataclass(frozen=True)
class Handover:
    """Solver data of a lowered problem, as cvxpy's reductions give them."""

    lowered: Lowered
    solver: str  # cvxpy's name
    data: Mapping[str, Any]
    chain: Any
    inverse: Any

    @property
    def cones(self) -> Any:
        return self.data["dims"]

    def named(self, raw: Any) -> tuple[dict[str, Array], dict[str, Array]]:
        """Variables and multipliers by the program's names, from a solver's raw solution."""
        solution = self.chain.invert(raw, self.inverse)
        # It stores the values, then evaluates its objective, which may not exist there; ours is evaluated
        # elsewhere.
        with suppress(np.linalg.LinAlgError):
            self.lowered.problem.unpack(solution)
        return current(self.lowered)


def current(lowered: Lowered) -> tuple[dict[str, Array], dict[str, Array]]:
    """The values that the cvxpy problem holds now."""
    variables = {
        n: np.array(v.value, dtype=float) for n, v in lowered.variables.items() if v.value is not None
    }
    multipliers: dict[str, Array] = {}
    for name, group in lowered.constraints.items():
        duals = [c.dual_value for c in group]
        # Cone constraints have several parts; certificates start from multipliers of inequalities.
        if not duals or any(d is None or isinstance(d, list) for d in duals):
            continue
        values = [np.asarray(d, dtype=float) for d in duals]
        together = values[0] if len(values) == 1 else np.array(values)
        multipliers[name] = together * lowered.rows.get(name, 1.0)
    for key, (name, first, end) in lowered.corners.items():
        duals = [c.dual_value for c in lowered.constraints[name]]
        if all(isinstance(d, np.ndarray) and d.ndim == 2 for d in duals):
            blocks = np.array([d[first:end, first:end] for d in duals])
            multipliers[key] = blocks[0] if len(duals) == 1 else blocks[:, 0, 0]
    return variables, multipliers


def hand_over(lowered: Lowered, solver: str) -> Handover:
    """Let cvxpy reduce the problem to the standard form of the solver."""
    # solver_opts has to be passed: without it cvxpy 1.9.3 leaves out what invert needs. A quadratic
    # objective goes into cones like everything else; otherwise it would stand in data["P"].
    data, chain, inverse = lowered.problem.get_problem_data(solver, solver_opts={"use_quad_obj": False})
    return Handover(lowered, solver, data, chain, inverse)
