"""A least value that is not reached: the objective gets better without end, and no line is in the way.

A solver ends somewhere on the way and calls that its optimum; from a forgotten 'subject to', or a constraint
the wrong way round, comes a value near 0 that means nothing. From the point that it found, simple directions
are tried: each variable growing or falling (a matrix by multiples of the identity), or as it is, and all
together. An optimum that is reached cannot be bettered along any of them by more than its tolerance. Along a
direction in which the ranges of the variables end, however far away, nothing is endless.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.diagnosis.conflicts_and_growth import FAR, Growth, ends_of, gets_better, objectives
from mmopt.driver.judge.derived_bound import reader
from mmopt.language.syntax.syntax_tree import Declaration
from mmopt.numerics.matrix_functions import Array

__all__ = ["find_endless", "has_end"]

# How far the program is evaluated: in sizes of the point, and, for exponentials, in units. FAR out it must be
# no worse.
STEPS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
LARGEST = 512  # cells up to which it is looked for: each step evaluates the program


def find_endless(instance: Instance, point: Mapping[str, Any]) -> Growth | None:
    """A direction in which every line holds while the objective gets better at every step, or None."""
    program = instance.program
    if instance.workload.n > LARGEST or program.objective is None:
        return None
    start = {d.name: np.asarray(point[d.name], dtype=float) for d in program.choose}
    for direction in _directions(program.choose, start):
        whole = {d.name: direction.get(d.name, np.zeros(np.shape(start[d.name]))) for d in program.choose}
        size = max(float(np.abs(v).max()) for v in direction.values())
        for unit in (1.0, 1.0 / size):
            found = objectives(instance, start, whole, [unit * step for step in STEPS])
            if found is None or not gets_better(found, program.sense):
                continue
            far = objectives(instance, start, whole, FAR)
            sign = 1.0 if program.sense == "minimize" else -1.0
            goes_on = far is not None and all(sign * value <= sign * found[-1] for value in far)
            if far is not None and goes_on and not has_end(instance, direction):
                return Growth(direction, found[0], found[-1], ends_of(far, start, whole, FAR)[-1])
    return None


def has_end(instance: Instance, direction: Mapping[str, Array]) -> bool:
    """Whether the lines are known to keep an entry from moving so for ever."""
    origin = {d.name: np.zeros(d.shape(instance.sizes())) for d in instance.program.choose}
    ranges = reader(instance, origin, np.inf).ranges
    ends = [
        np.where(moved > 0, ranges[name].high, np.where(moved < 0, -ranges[name].low, np.inf))
        for name, moved in direction.items()
    ]
    return any(bool(np.isfinite(end).any()) for end in ends)


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
        own = np.where(np.abs(value) > 1e-4 * size, value, 0.0)
        if own.any():
            together[d.name] = own
            yield {d.name: own}
    if len(together) > 1:
        yield together
