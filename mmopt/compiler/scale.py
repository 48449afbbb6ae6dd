"""Scaling: the same program with numbers near one, and the way back, exactly.

First-order solvers need it (`all ranges` over 32 cells: 16,550 iterations as given, 75 scaled). The
compiler owns it, so that no program file has to speak of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler.bind import Instance, with_lets
from mmopt.compiler.units import Units, first_disagreement, infer_units
from mmopt.language.syntax.tree import Assignment
from mmopt.numerics.numpy_forms import Array, nuclear

__all__ = ["Scaling", "disagreement", "scale", "units_of"]


@dataclass(frozen=True)
class Scaling:
    """Factors: original variable = factor * scaled variable, and so for multipliers and objective."""

    variables: Mapping[str, float]
    multipliers: Mapping[str, float]
    objective: float
    scales: Mapping[str, float]

    def undone(
        self, variables: Mapping[str, Array], multipliers: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Variables and multipliers of the scaled program as those of the original one."""
        known = self.multipliers
        point = {name: value * self.variables[name] for name, value in variables.items()}
        return point, {name: value * known[name] for name, value in multipliers.items() if name in known}


def _scales(instance: Instance) -> dict[str, float]:
    """The queries' scale makes columns of length one; the targets', a privacy cost near one.

    The cost is estimated by its lower bound at uniform multipliers (the certificate of
    ``fitness_for_use``): the covariance and its inverse are then of the same size.
    """
    w = instance.workload
    queries = float(np.sqrt(np.sum(w.root**2) / w.n))
    finite = np.isfinite(w.targets)
    if not finite.any() or not any(d.source == "workload.targets" for d in instance.program.givens):
        return {"queries": queries, "targets": 1.0}
    rows = w.representation[finite] / np.sqrt(w.targets[finite] * finite.sum())[:, None]
    cost = nuclear(rows @ w.basis) ** 2 / w.n
    return {"queries": queries, "targets": queries**2 / cost}


def _is_number(parameter: Assignment) -> bool:
    return parameter.declared is None or not parameter.declared.dims


def _open(instance: Instance) -> tuple[frozenset[str], dict[str, float]]:
    """What has no source, by name; and the parameters that are numbers, with their values."""
    numbers = {p.name: float(instance.env[p.name]) for p in instance.program.parameters if _is_number(p)}
    arrays = {p.name for p in instance.program.parameters if not _is_number(p)}
    return instance.own | arrays, numbers


def units_of(instance: Instance) -> Units | None:
    """The units of a program at an instance; None when its lines disagree.

    What has no source is a number as it is, or else (limits of a cost, say) has units of its own.
    """
    own, numbers = _open(instance)
    found = infer_units(instance.program, {name: {} for name in own}, numbers)
    if found is None:
        found = infer_units(instance.program, {name: {f"@{name}": 1.0} for name in own}, numbers)
    return found


def disagreement(instance: Instance) -> str:
    """The line (its name, or "objective") that leaves a program without units; "" when all agree."""
    if units_of(instance) is not None:
        return ""
    own, numbers = _open(instance)
    return first_disagreement(instance.program, {name: {f"@{name}": 1.0} for name in own}, numbers)


def scale(instance: Instance) -> tuple[Instance, Scaling]:
    """The scaled instance and the way back; factors of one when the units of the program disagree."""
    program = instance.program
    units = units_of(instance)
    if units is None:
        one = {d.name: 1.0 for d in program.choose}
        return instance, Scaling(one, {c.name: 1.0 for c in program.constraints}, 1.0, {})
    scales = _scales(instance)
    env: dict[str, Any] = dict(instance.env)
    for name, degree in units.givens.items():
        if degree:
            env[name] = env[name] / units.factor(degree, scales)
    kept = {name: env[name] for name in env if name not in {let.name for let in program.lets}}
    scaled = Instance(
        instance.checked, instance.workload, MappingProxyType(with_lets(instance.checked, kept)), instance.own
    )
    return scaled, _scaling(units, scales)


def _scaling(units: Units, scales: Mapping[str, float]) -> Scaling:
    objective = units.factor(units.objective, scales)
    return Scaling(
        {name: units.factor(degree, scales) for name, degree in units.variables.items()},
        {name: objective / units.factor(degree, scales) for name, degree in units.constraints.items()},
        objective,
        dict(scales),
    )
