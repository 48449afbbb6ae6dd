"""An objective that gets better without end, and what grows or falls while no line is in the way.

Where a solver says so, the program is solved within two boxes, and the difference of the points is the
direction that is tried. Where one ends somewhere on the way and calls that its optimum (a forgotten 'subject
to', or a constraint the wrong way round), simple directions from its point are tried: each variable growing
or falling (a matrix by multiples of the identity), or as it is, and all together. An optimum that is reached
cannot be bettered along any of them by more than its tolerance. All is evaluated on the program itself.
Along a direction in which the ranges of the variables end, however far away, nothing is endless.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler import Instance, Scaling
from mmopt.driver.diagnosis.elastic_form import HERE, points
from mmopt.driver.judge.bound_claims import reader
from mmopt.driver.judge.score_point import FEASIBLE
from mmopt.driver.judge.violations import violations
from mmopt.language import evaluate
from mmopt.language.syntax.syntax_tree import Constraint, Declaration, Name, Number, Relation
from mmopt.numerics.arrays import Array
from mmopt.numerics.matrix_functions import eigh
from mmopt.solvers import Clock

CHANGE_THAT_COUNTS = 1e-6  # of the objective, relatively
# The program is solved with all entries below each of these (in the scale of the compiler).
BOXES = (1e2, 1e4)
# How far along the direction the program is evaluated: from a box, and from a solver's point in sizes of that
# or, for exponentials, in units. FAR out, where lines may speak of entries as large, it must be no worse.
STEPS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
FAR = (1e16, 1e32, 1e64, 1e100)
STEPS_FROM_BOX = (*(10.0**k for k in range(3, 9)), *FAR)
LARGEST = 512  # cells up to which directions from a point are tried: each step evaluates the program
NOISE_OF_DIRECTION = 1e-4  # entries and eigenvalues of the direction below this part of the largest are zero


@dataclass(frozen=True)
class Growth:
    """A direction in which every constraint holds while the objective gets better at every step.

    directions : by name, of the variables that have to move; in the program's own units.
    first, last : the objective at the shortest and at the longest step.
    reach : the largest entry FAR out: what lies beyond was not looked at.
    """

    directions: Mapping[str, Array]
    first: float
    last: float
    reach: float


def find_growth(instance: Instance, scaled: Instance, scaling: Scaling, clock: Clock) -> Growth | None:
    """A direction of growth by solutions in two boxes; None when none was found."""
    ends: list[Mapping[str, Array]] = []
    for box in BOXES:
        lines = [*scaled.program.constraints, *_box(scaled.program.choose, box)]
        inside = [p.variables for p in points(scaled, clock, lines) if p.variables]
        if not inside:
            return None
        ends.append(inside[-1])
    names, factor = [d.name for d in instance.program.choose], scaling.variables
    moved = {n: ends[1][n] - ends[0][n] for n in names}
    longest = max(float(np.abs(v).max(initial=0.0)) for v in moved.values())
    if longest == 0.0:
        return None
    start = {n: ends[0][n] * factor[n] for n in names}
    direction = {d.name: _clean(d, moved[d.name] / longest) * factor[d.name] for d in instance.program.choose}
    growth = _followed(instance, start, direction, STEPS_FROM_BOX, ())
    for name in names if growth is not None else ():
        fewer = {n: v for n, v in direction.items() if n != name}
        if fewer and (shorter := _followed(instance, start, fewer, STEPS_FROM_BOX, ())) is not None:
            direction, growth = fewer, shorter
    return growth


def _box(choose: Sequence[Declaration], box: float) -> Iterator[Constraint]:
    for d in choose:
        for op, limit in (("<=", box), (">=", -box)):
            relation = Relation(Name(d.name, HERE), op, Number(limit, HERE), HERE)
            yield Constraint(f"{d.name} {op} box", relation, HERE)


def _clean(d: Declaration, value: Array) -> Array:
    """The direction without what is noise of the solver."""
    if d.kind == "psd":
        values, vectors = eigh(value)
        values = np.where(values < NOISE_OF_DIRECTION * np.abs(values).max(initial=0.0), 0.0, values)
        value = (vectors * values) @ vectors.T
    return np.asarray(np.where(np.abs(value) < NOISE_OF_DIRECTION, 0.0, value))


def find_endless(instance: Instance, point: Mapping[str, Any]) -> Growth | None:
    """A direction of growth from a point that a solver calls its optimum; None when none was found."""
    program = instance.program
    if instance.workload.n > LARGEST or program.objective is None:
        return None
    start = {d.name: np.asarray(point[d.name], dtype=float) for d in program.choose}
    for direction in _directions(program.choose, start):
        size = max(float(np.abs(v).max()) for v in direction.values())
        for unit in (1.0, 1.0 / size):
            growth = _followed(instance, start, direction, [unit * step for step in STEPS])
            if growth is not None:
                return growth
    return None


def _directions(choose: tuple[Declaration, ...], start: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """By name, what moves: of the size of the point."""
    together: dict[str, Array] = {}
    for d in choose:
        value = start[d.name]
        size = max(1.0, float(np.abs(value).max(initial=0.0)))
        is_matrix = d.kind in ("psd", "symmetric")
        plain = np.eye(len(value)) if is_matrix else np.ones(value.shape)
        yield {d.name: size * plain}
        if not (d.sign or d.kind == "psd"):
            yield {d.name: -size * plain}
        large = np.where(np.abs(value) > 1e-4 * size, value, 0.0)
        if large.any():
            together[d.name] = large
            yield {d.name: large}
    if len(together) > 1:
        yield together


def _followed(
    instance: Instance,
    start: Mapping[str, Array],
    direction: Mapping[str, Array],
    steps: Sequence[float],
    beyond: Sequence[float] = FAR,
) -> Growth | None:
    """The growth, when the objective gets better at each step and is no worse ``beyond``; else None."""
    sign = 1.0 if instance.program.sense == "minimize" else -1.0
    whole = {n: direction.get(n, np.zeros(np.shape(v))) for n, v in start.items()}
    near = _objectives(instance, start, whole, steps)
    # A fall that is a rounding error is none.
    if near is None or any(
        sign * (a - b) <= CHANGE_THAT_COUNTS * abs(b) for a, b in itertools.pairwise(near)
    ):
        return None
    far = _objectives(instance, start, whole, beyond)
    if far is None or any(sign * value > sign * near[-1] for value in far) or has_end(instance, direction):
        return None
    moving = {n: v for n, v in direction.items() if v.any()}
    reach = max(float(np.abs(start[n] + FAR[-1] * whole[n]).max(initial=0.0)) for n in start)
    return Growth(moving, near[0], near[-1], reach)


def has_end(instance: Instance, direction: Mapping[str, Array]) -> bool:
    """Whether the lines are known to keep an entry from moving so for ever."""
    origin = {d.name: np.zeros(d.shape(instance.sizes())) for d in instance.program.choose}
    ranges = reader(instance, origin, np.inf).ranges
    ends = [
        np.where(moved > 0, ranges[name].high, np.where(moved < 0, -ranges[name].low, np.inf))
        for name, moved in direction.items()
    ]
    return any(bool(np.isfinite(end).any()) for end in ends)


def _objectives(
    instance: Instance, start: Mapping[str, Array], direction: Mapping[str, Array], steps: Sequence[float]
) -> list[float] | None:
    """The objective at so many steps from a point, where every line holds at each; else None."""
    values: list[float] = []
    for step in steps:
        point: dict[str, Any] = {n: start[n] + step * direction[n] for n in start}
        point = {n: v if np.ndim(v) else float(v) for n, v in point.items()}
        try:
            missed = max([0.0, *(v.amount for v in violations(instance, point))])
            value = float(evaluate(instance.program.objective, {**instance.env, **point}))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(value) or missed > FEASIBLE:
            return None
        values.append(value)
    return values
