"""Along which variables the objective of a program falls without end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling
from mmopt.driver.diagnosis.elastic import build, everything, points
from mmopt.driver.diagnosis.parts import Ground
from mmopt.driver.judge.violations import violations
from mmopt.language import evaluate
from mmopt.language.syntax.tree import Declaration
from mmopt.numerics.numpy_forms import Array, eigh
from mmopt.solvers import Clock

__all__ = ["Growth", "find_growth"]

# The program is solved with all entries below each of these (in the scale of the compiler), and the
# difference of the two points is the direction that is tried.
BOXES = (1e2, 1e4)
STEPS = tuple(10.0**k for k in range(3, 9))  # how far along the direction the program is evaluated
MISSED = 1e-6  # a relative violation that is none, at points so far out
NOISE = 1e-4  # entries and eigenvalues of the direction below this part of the largest are zero


@dataclass(frozen=True)
class Growth:
    """A direction in which every constraint holds while the objective gets better at every step.

    directions : by name, of the variables that have to move; in the program's own units.
    first, last : the objective at the shortest and at the longest step.
    """

    directions: Mapping[str, Array]
    first: float
    last: float


def find_growth(ground: Ground, instance: Instance, scaling: Scaling, clock: Clock) -> Growth | None:
    """A direction of growth, evaluated on the program itself; None when none was found."""
    ends = []
    for box in BOXES:
        found = None
        boxed = build(ground, everything(ground), {}, objective=ground.base.objective, box=box)
        for point in points(boxed, clock):
            found = point.variables if len(point.variables) >= len(ground.base.choose) else found
        if found is None:
            return None
        ends.append(found)
    first, second = ends
    moved = {d.name: second[d.name] - first[d.name] for d in ground.base.choose}
    longest = max(float(np.abs(v).max(initial=0.0)) for v in moved.values())
    if longest == 0.0:
        return None
    factor = scaling.variables
    start = {d.name: first[d.name] * factor[d.name] for d in ground.base.choose}
    direction = {d.name: _clean(d, moved[d.name] / longest) * factor[d.name] for d in ground.base.choose}
    whole = _along(instance, start, direction)
    if whole is None:
        return None
    for name in list(direction):
        fewer = {**direction, name: np.zeros_like(direction[name])}
        values = _along(instance, start, fewer)
        if values is not None:
            direction, whole = fewer, values
    return Growth({n: v for n, v in direction.items() if v.any()}, whole[0], whole[-1])


def _clean(d: Declaration, value: Array) -> Array:
    """The direction without what is noise of the solver."""
    if d.kind == "psd":
        values, vectors = eigh(value)
        values = np.where(values < NOISE * np.abs(values).max(initial=0.0), 0.0, values)
        value = (vectors * values) @ vectors.T
    return np.asarray(np.where(np.abs(value) < NOISE, 0.0, value))


def _along(
    instance: Instance, start: Mapping[str, Array], direction: Mapping[str, Array]
) -> tuple[float, ...] | None:
    """The objective at every step, when it gets better each time and every line holds; else None."""
    program = instance.program
    sign = 1.0 if program.sense == "minimize" else -1.0
    found: list[float] = []
    for step in STEPS:
        point: dict[str, Any] = {n: start[n] + step * direction[n] for n in start}
        point = {n: v if np.ndim(v) else float(v) for n, v in point.items()}
        try:
            missed = max([0.0, *(v.amount for v in violations(instance, point))])
            value = float(evaluate(program.objective, {**instance.env, **point}))
        except np.linalg.LinAlgError:
            return None
        # A fall that is a rounding error is none.
        is_better = not found or sign * (found[-1] - value) > MISSED * abs(value)
        if not np.isfinite(value) or missed > MISSED or not is_better:
            return None
        found.append(value)
    return tuple(found)
