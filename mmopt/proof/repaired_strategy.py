"""What a program's repair made of a strategy from elsewhere: refused, kept but for its scale, or changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.point_meaning import meaning
from mmopt.driver.judge.score_point import FEASIBLE, Candidate
from mmopt.driver.judge.violations import undefined_objective, worst_line
from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.strategies import Strategy, as_dense, normalise

__all__ = ["SAME", "changes", "check_feasible", "kept"]


# Two points that differ by less than this, relatively, differ by rounding and by the floor of psd matrices.
SAME = 1e-9


def check_feasible(instance: Instance, point: Candidate, what: str = "strategy") -> None:
    """Refuse a point that misses a constraint after its repair, and say which; ``what`` it came as."""
    if point.is_feasible:
        return
    name = instance.program.name
    if point.after <= FEASIBLE:
        part = undefined_objective(instance, point.env)
        raise OptionError(f"the {what} has no finite objective in '{name}'" + (part and f": {part}"))
    worst = worst_line(instance, point.env)
    off = rounded(point.after, 2, up=True, layout="e")
    misses = worst.missed(instance, off) if worst else f"misses a line by {off}, relatively"
    raise OptionError(
        f"the {what} gives no feasible point of '{name}': after its repair it {misses}",
        hint=f"give the program a 'repair' that makes any {what} feasible",
    )


def kept(
    strategy: Strategy, instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Array]
) -> tuple[Strategy, float] | None:
    """The strategy as given, scaled, and its factor, if that is what the repaired point stands for.

    Up to a rotation of its rows for norm 2. None when the repair changed more than the scale.
    """
    found, covariance, _ = meaning(instance, env, multipliers)
    meant = as_dense(found)
    if meant.norm == 1:
        one, other, power = strategy.matrix, meant.matrix, 1
    else:
        one, other, power = strategy.matrix.T @ strategy.matrix, meant.matrix.T @ meant.matrix, 2
    if one.shape != other.shape or not _aligned(other, one)[0] <= SAME:
        return None
    factor = float(abs(_aligned(other, one)[1]) ** (1.0 / power))
    if covariance is None:  # the meaning is scaled to sensitivity 1; so is this, with the same rounding
        return normalise(strategy), factor
    return replace(strategy, matrix=factor * strategy.matrix), factor


def _aligned(new: Array, old: Array) -> tuple[float, float]:
    """How far ``new`` is from the nearest multiple of ``old``, relatively, and the factor."""
    norm = float(np.vdot(old, old))
    factor = float(np.vdot(new, old)) / norm if norm > 0 else 0.0
    size = float(np.linalg.norm(new))
    return (float(np.linalg.norm(new - factor * old)) / size if size > 0 else 0.0), factor


def changes(
    instance: Instance,
    strategy: Strategy,
    values: Mapping[str, Array],
    point: Candidate,
    factor: float | None,
) -> list[str]:
    """What the repair did to a strategy, in words; ``factor`` when it only scaled it."""
    if factor is None:
        moved = {n: _aligned(v, np.asarray(values[n], dtype=float))[0] for n, v in point.variables.items()}
        parts = ", ".join(f"{n} by {off:.1e}" for n, off in moved.items() if off > SAME)
        error = strategy.total_error(instance.workload)
        return [
            f"the repair changed more than the strategy's scale (relatively: {parts or 'its null space'}); "
            f"as given its total error is {rounded(error, 10, up=True)}"
        ]
    if abs(factor - 1.0) <= SAME:
        return []
    if instance.program.meaning.kind == "covariance":
        return [f"the noise was scaled: variances by {factor**-2:.6g}"]
    return [f"the strategy was scaled by {factor:.6g}; its sensitivity was {strategy.sensitivity:.6g}"]
