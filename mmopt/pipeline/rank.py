"""Programs with a rank constraint, by the trace heuristic.

The constraint rank(Z) == p is left out and <Z, D> added to the objective, with D the projector on the
eigenvectors of Z's smallest eigenvalues: zero exactly when the rank is reached. Solving and taking D anew
takes turns (Dattorro, Convex Optimization and Euclidean Distance Geometry, chapter 4, "convex
iteration"). It is a heuristic: the status says whether the rank was reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.compiler import Instance
from mmopt.errors import SolverError
from mmopt.language.infer import infer
from mmopt.language.tree import Apply, Expr, Name, Span
from mmopt.language.types import Curvature, matrix
from mmopt.pipeline.certify import Array, Candidate
from mmopt.pipeline.convex import Report
from mmopt.results import Solution

__all__ = ["solve_rank"]

STARTS = 5
ROUNDS = 30
PENALTY = 10.0  # relative to the size of the scaled objective; measured on prefix sums, n <= 6
REACHED = 1e-6  # a rank residual below this is the solver's rounding
STALLED = 1e-3  # a residual that falls by less than this part in a round falls no more
DIRECTION = "?direction"


@dataclass(frozen=True)
class _Round:
    """One solve: where it stands in the search, and what came out."""

    start: int
    number: int
    point: Candidate | None
    residual: float
    iterations: int
    raw: str


def _penalised(instance: Instance, z: Expr) -> Instance:
    """The program with <Z, D> added to its objective; D stands in the environment."""
    program = instance.program
    objective = program.objective
    assert objective is not None
    span = Span(1, 1)
    penalty = Apply("trace", (Apply("matmul", (z, Name(DIRECTION, span)), span),), span)
    changed = replace(program, objective=Apply("add", (objective, penalty), span))
    side = infer(z, instance.checked.scope).dims[0]
    known = matrix(side, side, psd=True, symmetric=True, curvature=Curvature.CONSTANT)
    types = {**instance.checked.types, DIRECTION: known}
    checked = replace(instance.checked, program=changed, types=types)
    return replace(instance, checked=checked)


def _projector(values: Array, rank: int) -> Array:
    """The projector on the eigenvectors of all but the ``rank`` largest eigenvalues."""
    _, vectors = np.linalg.eigh((values + values.T) / 2)
    small = vectors[:, : len(values) - rank]
    return np.asarray(small @ small.T)


def solve_rank(
    instance: Instance, solver: str | None, overrides: Mapping[str, Any], report: Report | None
) -> Solution:
    """Search a point of the rank asked for, from several starts."""
    raise SolverError("the rank heuristic is not there yet")
