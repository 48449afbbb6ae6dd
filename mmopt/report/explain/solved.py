"""A solution line by line: which constraints are tight, and what their multipliers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.driver.judge.violations import plain
from mmopt.language import Checked, evaluate
from mmopt.language.atoms.dims import Dim
from mmopt.language.check.families import vectorised
from mmopt.language.check.names import AXES
from mmopt.language.evaluate.by_component import splits
from mmopt.language.syntax.tree import Constraint
from mmopt.numerics.components import Level, Space, Split
from mmopt.numerics.numpy_forms import Array
from mmopt.report.explain.facts import Solved, SolvedLine
from mmopt.report.orbits import orbit_label
from mmopt.results import Solution
from mmopt.results.shown import levels
from mmopt.symmetry.joint import Cells
from mmopt.workloads import Workload

__all__ = ["solved_facts"]

TIGHT = 1e-5  # relative to the sides of the row
ZERO = 1e-6  # relative to the largest multiplier of the line
LARGEST = 3
MOST_LABELS = 200_000


def solved_facts(checked: Checked, solution: Solution, instance: Instance | None) -> Solved:
    """Figures and constraints; without the instance nothing is known of slack and labels."""
    lines = tuple(_line(checked, c, solution, instance) for c in checked.program.constraints)
    return Solved(tuple(solution.rows()), lines)


def _line(checked: Checked, c: Constraint, solution: Solution, instance: Instance | None) -> SolvedLine:
    count, tight, words = (None, None, "") if instance is None else _slack(c, solution, instance)
    kept = solution.multipliers.get(c.name)
    if kept is None:
        of = "of a matrix inequality" if c.relation.op in (">>", "<<") else "kept"
        return SolvedLine(
            c.name, count, tight, 0, 0, 0.0, (), "; ".join(filter(None, [words, f"no multiplier {of}"]))
        )
    values, sizes = levels(kept)
    flat, often = np.abs(values.ravel()), sizes.ravel()
    is_zero = flat <= ZERO * flat.max(initial=0.0)
    order = np.argsort(-flat, kind="stable")[: min(LARGEST, flat.size - int(is_zero.sum()))]
    names = _labels(checked, c, values.shape, instance)
    if isinstance(kept, Level):
        names = _orbits(kept.space, instance)
    largest = tuple((names(int(i)), float(values.ravel()[i])) for i in order)
    total = float((values.ravel() * often).sum())
    return SolvedLine(
        c.name, count, tight, int(often.sum()), int(often[is_zero].sum()), total, largest, words
    )


def _slack(c: Constraint, solution: Solution, instance: Instance) -> tuple[int | None, int | None, str]:
    """Rows, tight rows, and words on what is not counted by rows."""
    env: dict[str, Any] = {**instance.env, **plain(solution.variables)}
    if splits(env):
        return _slack_by_orbit(c, env)
    each: Sequence[Mapping[str, Any]] = [env]
    if c.family:
        each = [{**env, c.family.index: i} for i in range(c.family.dim.value(instance.sizes()))]
    sides = [(_value(c.relation.left, e), _value(c.relation.right, e)) for e in each]
    if c.relation.op in (">>", "<<"):
        ranks = [_rank(left - right if c.relation.op == ">>" else right - left) for left, right in sides]
        singular = sum(rank < size for rank, size in ranks)
        spread = sorted({f"{rank} of {size}" for rank, size in ranks})
        between = spread[0] if len(spread) == 1 else f"{spread[0]} to {spread[-1]}"
        return len(ranks), singular, f"tight means singular: rank {between}"
    count = tight = 0
    for left, right in sides:
        left, right = np.broadcast_arrays(left, right)
        limit = TIGHT * np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
        count += left.size
        tight += int((np.abs(left - right) <= limit).sum())
    return count, tight, ""


def _slack_by_orbit(c: Constraint, env: Mapping[str, Any]) -> tuple[int | None, int | None, str]:
    """The same of a line by component, which is a number or one vector inequality."""
    sides = [c.relation.left, c.relation.right]
    if c.family is not None:
        sides = [e for e in (vectorised(side, c.family.index) for side in sides) if e is not None]
    found = [evaluate(side, env) for side in sides]
    if any(isinstance(value, Split) for value in found) or len(found) < 2:
        return None, None, "a matrix by component, not counted by rows"
    sizes = next((levels(v)[1] for v in found if isinstance(v, Level)), np.ones(()))
    left, right = np.broadcast_arrays(*(levels(v)[0] for v in found))
    limit = TIGHT * np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
    return int(sizes.sum()), int(sizes[np.abs(left - right) <= limit].sum()), ""


def _value(expr: Any, env: Mapping[str, Any]) -> Array:
    return np.asarray(evaluate(expr, env), dtype=float)


def _rank(matrix: Array) -> tuple[int, int]:
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    return int((values > TIGHT * max(float(values[-1]), 1e-300)).sum()), len(values)


def _labels(checked: Checked, c: Constraint, shape: tuple[int, ...], instance: Instance | None) -> Any:
    """A function from a position in the multiplier to its label."""
    dims = ((c.family.dim,) if c.family else ()) + _dims(checked, c)
    names = [_axis(dim, checked, instance) for dim in dims]

    def label(position: int) -> str:
        at = [int(i) for i in np.unravel_index(position, shape)]
        parts = [
            names[axis][i] if axis < len(names) and i < len(names[axis]) else str(i)
            for axis, i in enumerate(at)
        ]
        return ", ".join(parts) or c.name

    return label


def _orbits(space: Space, instance: Instance | None) -> Callable[[int], str]:
    """A function from the number of an orbit to its label."""
    if isinstance(space, Cells) and instance is not None:
        cells, domain = space, instance.workload.domain
        return lambda orbit: f"orbit {orbit} ({orbit_label(cells, domain, orbit)})"
    return lambda orbit: f"orbit {orbit}"


def _dims(checked: Checked, c: Constraint) -> tuple[Dim, ...]:
    left, right = checked.constraints[c.name]
    return left.dims or right.dims


def _axis(dim: Dim, checked: Checked, instance: Instance | None) -> Sequence[str]:
    """Labels along a dimension that counts cells or queries; none for others."""
    if instance is None:
        return ()
    words = {
        word
        for d in checked.program.givens
        for word, known in zip(AXES.get(d.source, ()), d.dims, strict=False)
        if known == dim and d.name not in instance.own
    }
    workload = instance.workload
    if "cell" in words and workload.n <= MOST_LABELS:
        cells = (", ".join(workload.domain.cell(i)) for i in range(workload.n))
        return [_numbered("cell", i, text) for i, text in enumerate(cells)]
    if workload.m > MOST_LABELS:
        return ()
    if "query" in words:
        return _queries(workload)
    if "query with a target" in words:
        names = _queries(workload)
        return [names[i] for i in np.flatnonzero(np.isfinite(workload.targets))]
    return ()


def _queries(workload: Workload) -> list[str]:
    return [_numbered("query", i, text) for i, text in enumerate(workload.labels())]


def _numbered(noun: str, i: int, text: str) -> str:
    """``cell 3 (F, [18, 65))``; without the label when it says no more than the number."""
    return f"{noun} {i}" if text in (str(i), f"{noun} {i}") else f"{noun} {i} ({text})"
