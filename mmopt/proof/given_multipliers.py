"""A bound read off a program's lines at multipliers that came from anywhere, which are not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.assemble_solution import Ending
from mmopt.driver.judge.derived_bound import Derived, level_above, reader
from mmopt.driver.judge.score_point import Candidate, charged, improves
from mmopt.errors import Error, OptionError, suggest
from mmopt.numerics.arrays import Array

__all__ = ["better_of", "with_given"]


def with_given(
    instance: Instance, point: Candidate, ending: Ending, passed: Mapping[str, Any], is_last: bool
) -> Ending:
    """The ending with what the multipliers prove, and what the point's misses cost by them.

    is_last : no solve follows, so that a warning says where they prove nothing.
    passed : by the names of constraints, of a program without a certificate; of equations in either sign.

    Raises
    ------
    OptionError : multipliers of no constraint, of another shape, or that are no finite numbers.
    """
    try:
        read = reader(instance, point.variables, level_above(instance, point.objective))
    except Error as error:
        return _said(ending, error.message) if is_last else ending
    shapes = read.nodes.shapes_of_multipliers()
    multipliers = _checked(instance, passed, shapes)
    equations = {c.name for c in instance.program.constraints if c.relation.op == "=="}
    turned = {name: -y if name in equations else y for name, y in multipliers.items()}
    objective = charged(instance, point, multipliers).objective
    ending = replace(ending, objective=objective, multipliers=multipliers)
    found = better_of(instance, read.derived(multipliers, {}), read.derived(turned, {}))
    if found is None or found.bound is None:
        return _said(ending, found.why) if is_last and found is not None else ending
    return replace(ending, derived=found)


def better_of(instance: Instance, one: Derived | None, other: Derived | None) -> Derived | None:
    """The better of two bounds, where there are two."""
    if one is None or one.bound is None or other is None or other.bound is None:
        return one if one is not None and (one.bound is not None or other is None) else other
    return other if improves(one.bound, other.bound, instance.program.sense) else one


def _said(ending: Ending, why: str) -> Ending:
    said = (
        f"the multipliers given prove no bound by the lines: {why}; without solve=False a solve may prove one"
    )
    return replace(ending, warnings=(*ending.warnings, said))


def _checked(
    instance: Instance, passed: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Array]:
    """The multipliers as numbers, of the shapes of their lines; those of lines without one are left out."""
    found: dict[str, Array] = {}
    names = [c.name for c in instance.program.constraints]
    for name, value in passed.items():
        if name not in names:
            raise OptionError(f"no constraint has the multiplier '{name}'", hint=suggest(name, names))
        array = np.asarray(value)
        if name not in shapes:
            continue
        fits = array.shape == shapes[name] or array.size == 1 == int(np.prod(shapes[name]))
        if array.dtype.kind not in "biuf" or not fits or not np.isfinite(array).all():
            raise OptionError(
                f"the multiplier '{name}' has shape {array.shape}, expected finite numbers of shape "
                f"{shapes[name]}"
            )
        found[name] = array.astype(np.float64).reshape(shapes[name])
    return found
