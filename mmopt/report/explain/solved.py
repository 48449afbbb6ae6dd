"""A solution line by line: which constraints are tight, and what their multipliers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.language import Checked, evaluate
from mmopt.language.dims import Dim
from mmopt.language.numeric import Array
from mmopt.language.sources import AXES
from mmopt.language.tree import Constraint
from mmopt.queries import Workload
from mmopt.report.explain.facts import Solved, SolvedLine
from mmopt.results import Solution

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
    values = np.asarray(kept, dtype=float)
    flat = np.abs(values.ravel())
    zero = int((flat <= ZERO * flat.max(initial=0.0)).sum())
    order = np.argsort(-flat, kind="stable")[: min(LARGEST, flat.size - zero)]
    names = _labels(checked, c, values.shape, instance)
    largest = tuple((names(int(i)), float(values.ravel()[i])) for i in order)
    return SolvedLine(c.name, count, tight, values.size, zero, float(values.sum()), largest, words)


def _slack(c: Constraint, solution: Solution, instance: Instance) -> tuple[int, int, str]:
    """Rows, tight rows, and words on what is not counted by rows."""
    values = {n: v if np.ndim(v) else float(v) for n, v in solution.variables.items()}
    env: dict[str, Any] = {**instance.env, **values}
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
