"""A solution line by line: which constraints are tight, and what their multipliers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.language import Checked, evaluate
from mmopt.language.atoms.argument_types import Dim
from mmopt.language.check.exact_rewriting import vectorised
from mmopt.language.check.names_and_givens import AXES
from mmopt.language.evaluate.split_values import splits
from mmopt.language.syntax.syntax_tree import Constraint, Expr
from mmopt.numerics.matrix_functions import Array
from mmopt.numerics.spanned_cells import Measure
from mmopt.numerics.split_arrays import Kronecker, Level, Split, Unlisted, plain
from mmopt.proof.verified_components import placed_variables
from mmopt.report.explain.explained_facts import SolvedFacts, SolvedLine
from mmopt.report.solution_tables import orbit_label
from mmopt.results import Solution
from mmopt.results.rows_and_json import levels
from mmopt.symmetry.joint_components import Cells
from mmopt.workloads import Workload

__all__ = ["solved_facts"]

TIGHT_DIFFERENCE = 1e-5  # relative to the sides of the row
ZERO_MULTIPLIER = 1e-6  # relative to the largest multiplier of the line
MULTIPLIERS_SHOWN = 3
MOST_LABELS = 200_000


def solved_facts(checked: Checked, solution: Solution, instance: Instance | None) -> SolvedFacts:
    """Figures and constraints; without the instance nothing is known of slack and labels."""
    lines = tuple(_line(checked, c, solution, instance) for c in checked.program.constraints)
    moves = "falls" if checked.program.sense == "minimize" else "rises"
    return SolvedFacts(tuple(solution.rows()), lines, moves)


def _line(checked: Checked, c: Constraint, solution: Solution, instance: Instance | None) -> SolvedLine:
    count, tight, words = (None, None, "") if instance is None else _slack(c, solution, instance)
    kept = solution.multipliers.get(c.name)
    if kept is None:
        of = "of a matrix inequality" if c.relation.op in (">>", "<<") else "kept"
        words = "; ".join(filter(None, [words, f"no multiplier {of}"]))
        return SolvedLine(c.name, count, tight, 0, 0, 0.0, (), words)
    if isinstance(kept, Kronecker):
        words = "its multipliers are the Kronecker product of those of the factors"
        return SolvedLine(c.name, count, tight, 0, 0, 0.0, (), words)
    values, sizes = levels(kept)
    flat, often = np.abs(values.ravel()), sizes.ravel()
    is_zero = flat <= ZERO_MULTIPLIER * flat.max(initial=0.0)
    order = np.argsort(-flat, kind="stable")[: min(MULTIPLIERS_SHOWN, flat.size - int(is_zero.sum()))]
    names = _labels(checked, c, kept, instance)
    largest = tuple((names(int(i)), float(values.ravel()[i])) for i in order)
    total = float((values.ravel() * often).sum())
    return SolvedLine(
        c.name, count, tight, int(often.sum()), int(often[is_zero].sum()), total, largest, words
    )


def _slack(c: Constraint, solution: Solution, instance: Instance) -> tuple[int | None, int | None, str]:
    """Rows, tight rows, and words on what is not counted by rows."""
    variables = plain(solution.variables)
    # Those of a file say how they split, and not of which cells.
    env: dict[str, Any] = {**instance.env, **(placed_variables(instance, variables) or variables)}
    if splits(env):
        sides = [_by_component(c, env)]
        if any(isinstance(value, Unlisted) for value in sides[0]):
            return None, None, "over cells that are not listed, of which the largest entry alone is known"
        if any(isinstance(value, Split) for value in sides[0]) or len(sides[0]) < 2:
            return None, None, "a matrix by component, not counted by rows"
    else:
        each: list[dict[str, Any]] = [env]
        if c.family:
            each = [{**env, c.family.index: i} for i in range(c.family.dim.value(instance.sizes()))]
        sides = [_values((c.relation.left, c.relation.right), e) for e in each]
        if c.relation.op in (">>", "<<"):
            sign = 1.0 if c.relation.op == ">>" else -1.0
            return _singular([sign * (left - right) for left, right in sides])
    count = tight = 0
    for pair in sides:
        sizes = next((levels(v)[1] for v in pair if isinstance(v, Level)), np.ones(()))
        left, right, often = np.broadcast_arrays(*(levels(v)[0] for v in pair), sizes)
        limit = TIGHT_DIFFERENCE * np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
        count += int(often.sum())
        tight += int(often[np.abs(left - right) <= limit].sum())
    return count, tight, ""


def _values(sides: Sequence[Expr], env: Mapping[str, Any]) -> list[Any]:
    return [evaluate(side, env) for side in sides]


def _by_component(c: Constraint, env: Mapping[str, Any]) -> list[Any]:
    """The sides of a line by component, which is a number or one vector inequality; fewer where it is not."""
    sides = (c.relation.left, c.relation.right)
    if c.family is None:
        return _values(sides, env)
    return _values([e for e in (vectorised(side, c.family.index) for side in sides) if e is not None], env)


def _singular(matrices: Sequence[Array]) -> tuple[int, int, str]:
    """A matrix inequality is tight where the difference of its sides is singular."""
    spectra = [np.linalg.eigvalsh((matrix + matrix.T) / 2) for matrix in matrices]
    ranks = [(int((v > TIGHT_DIFFERENCE * max(float(v[-1]), 1e-300)).sum()), len(v)) for v in spectra]
    spread = sorted({f"{rank} of {size}" for rank, size in ranks})
    between = spread[0] if len(spread) == 1 else f"{spread[0]} to {spread[-1]}"
    return len(ranks), sum(rank < size for rank, size in ranks), f"tight means singular: rank {between}"


def _labels(checked: Checked, c: Constraint, kept: Any, instance: Instance | None) -> Callable[[int], str]:
    """A function from a position in the multiplier, or the number of an orbit, to its label."""
    if isinstance(kept, Level):
        if isinstance(kept.space, Cells) and instance is not None:
            cells, domain = kept.space, instance.workload.domain
            return lambda orbit: f"orbit {orbit} ({orbit_label(cells, domain, orbit)})"
        return lambda orbit: f"orbit {orbit}"
    if isinstance(kept, Measure):
        return lambda product: f"product {product} of measures of the attributes"
    left, right = checked.constraints[c.name]
    dims = ((c.family.dim,) if c.family else ()) + (left.dims or right.dims)
    names = [*(_axis(dim, checked, instance) for dim in dims), *[()] * np.ndim(kept)]

    def label(position: int) -> str:
        at = map(int, np.unravel_index(position, np.shape(kept)))
        parts = (labels[i] if i < len(labels) else str(i) for labels, i in zip(names, at, strict=False))
        return ", ".join(parts) or c.name

    return label


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
