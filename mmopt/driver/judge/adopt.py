"""A given strategy as a point of a program, and what the program's repair made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.assemble import meaning
from mmopt.driver.judge.score import FEASIBLE, Array, Candidate
from mmopt.driver.judge.violations import worst_line
from mmopt.errors import OptionError
from mmopt.language import Program, evaluate, program_names
from mmopt.language.atoms.dims import Dim
from mmopt.numerics.outward import rounded
from mmopt.strategies import Strategy, normalise

__all__ = ["SAME", "adopt", "adopters", "changes", "check_adopts", "check_feasible", "kept", "row_parameter"]

# Two points that differ by less than this, relatively, differ by rounding and by the floor of psd matrices.
SAME = 1e-9


def adopters(norm: int | None = None) -> list[str]:
    """The shipped programs with 'from strategy', those first whose strategies answer for total error."""
    loaded = [Program.load(name) for name in program_names()]
    able = [p for p in loaded if p.adoption and norm in (None, p.meaning.norm)]
    return [p.name for p in sorted(able, key=lambda p: (p.bound != "l2_strategy", p.name))]


def check_adopts(program: Program, norm: int | None) -> None:
    """Refuse a program that cannot take a strategy, or takes one of another norm (None: any)."""
    if program.adoption is None:
        raise OptionError(
            f"'{program.name}' has no section 'from strategy', which says how a strategy becomes its point",
            hint=f"these have one: {', '.join(adopters())}",
        )
    if norm not in (None, program.meaning.norm):
        able = ", ".join(adopters(norm)) or "none that is shipped"
        raise OptionError(
            f"'{program.name}' is about strategies of norm {program.meaning.norm}, this one has norm {norm}",
            hint=f"for norm {norm}: {able}",
        )


def row_parameter(program: Program, strategy: Strategy) -> dict[str, int]:
    """The strategy's number of rows, where that is a parameter of the program."""
    assert program.adoption is not None
    rows = program.adoption.strategy.dims[0]
    return {p.name: strategy.p for p in program.parameters if rows == Dim.of(p.name)}


def adopt(instance: Instance, strategy: Strategy) -> dict[str, Array]:
    """The chosen variables, as 'from strategy' says; those that only the repair sets are zero.

    Raises
    ------
    OptionError : the strategy has another number of rows than the program says.
    """
    program, sizes = instance.program, instance.sizes()
    adoption = program.adoption
    assert adoption is not None
    rows = adoption.strategy.dims[0]
    if rows.symbols <= set(sizes) and rows.value(sizes) != strategy.p:
        raise OptionError(
            f"the strategy has {strategy.p} rows; {rows} is {rows.value(sizes)} in '{program.name}'"
        )
    env: dict[str, Any] = {**instance.env, adoption.strategy.name: strategy.matrix}
    if len(rows.symbols) == 1 and rows == Dim.of(next(iter(rows.symbols))):
        env[next(iter(rows.symbols))] = strategy.p
    found: dict[str, Array] = {}
    for assignment in adoption.values:
        env[assignment.name] = evaluate(assignment.expr, env)
        found[assignment.name] = np.asarray(env[assignment.name], dtype=float)
    for d in program.choose:
        found.setdefault(d.name, np.zeros(tuple(dim.value(sizes) for dim in d.dims)))
    return found


def check_feasible(instance: Instance, point: Candidate) -> None:
    """Refuse a point that misses a constraint after its repair, and say which."""
    if point.is_feasible:
        return
    name = instance.program.name
    if point.after <= FEASIBLE:
        raise OptionError(f"the strategy has no finite objective in '{name}'")
    worst = worst_line(instance, point.env)
    line = worst.text(instance) if worst else "a line"
    raise OptionError(
        f"the strategy gives no feasible point of '{name}': after its repair it misses {line} "
        f"by {rounded(point.after, 2, up=True, layout='e')}, relatively",
        hint="give the program a 'repair' that makes any strategy feasible",
    )


def kept(
    strategy: Strategy, instance: Instance, env: Mapping[str, Any], multipliers: Mapping[str, Array]
) -> tuple[Strategy, float] | None:
    """The strategy as given, scaled, and its factor, if that is what the repaired point stands for.

    Up to a rotation of its rows for norm 2. None when the repair changed more than the scale.
    """
    meant, covariance, _ = meaning(instance, env, multipliers)
    if meant.norm == 1:
        one, other, power = strategy.matrix, meant.matrix, 1
    else:
        one, other, power = strategy.matrix.T @ strategy.matrix, meant.matrix.T @ meant.matrix, 2
    if one.shape != other.shape or not _aligned(other, one)[0] <= SAME:
        return None
    factor = float(abs(_aligned(other, one)[1]) ** (1.0 / power))
    if covariance is None:  # the meaning is scaled to sensitivity 1; so is this, with the same rounding
        return normalise(strategy), factor
    return Strategy(factor * strategy.matrix, strategy.norm), factor


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
