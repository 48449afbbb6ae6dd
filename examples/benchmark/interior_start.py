"""Where the central path starts: a point inside of all cones, by Clarabel in doubles.

Nothing of it is trusted.
"""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from exact_cones import KINDS
from exact_problem import ExactCone, ExactProblem

from mmopt import ResultError

__all__ = ["interior_start"]

# Of the objective beside t, in turn: it keeps the point from running away where the cones allow it.
TILTS = (1e-6, 1e-8, 0.0)


def interior_start(problem: ExactProblem) -> list[float]:
    """A point with ``a @ x + b`` in the interior of the cones, nearly on the equations.

    It makes t largest, up to 1, with a @ x + b - t p in the cones for points p inside of them.

    Raises
    ------
    ResultError : there seems to be none.
    """
    n = len(problem.c)
    blocks, right, cones = [], [], []
    for cone in problem.cones:
        a, b, middle = _arrays(cone, n)
        blocks.append(np.hstack([-a, middle[:, None]]))
        right.append(b)
        cones.append(_clarabel_cone(cone))
    blocks.append(np.eye(1, n + 1, n))
    right.append(np.ones(1))
    cones.append(clarabel.NonnegativeConeT(1))
    cost = np.array([float(v) for v in problem.c]) * (1.0 if problem.sense == "minimize" else -1.0)
    a, b = sp.csc_array(np.vstack(blocks)), np.concatenate(right)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for tilt in TILTS:
        tilted = np.append(tilt * cost, -1.0)
        found = clarabel.DefaultSolver(sp.csc_array((n + 1, n + 1)), tilted, a, b, cones, settings).solve()
        if found.x and found.x[n] > 0:
            return list(found.x[:n])
    raise ResultError("no point in the interior of the cones was found")


def _arrays(cone: ExactCone, n: int) -> tuple[Any, Any, Any]:
    """a, b and a point inside, rows as Clarabel has them: upper triangles by columns, and (x, y, t)."""
    places, weights = list(range(cone.size)), np.ones(cone.size)
    middle = [0.0] * cone.size if cone.kind == "zero" else KINDS[cone.kind].middle(cone.size)
    if cone.kind == "psd":
        places = [i * cone.size + j for i in range(cone.size) for j in range(i + 1)]
        weights = np.array([1.0 if i == j else np.sqrt(2.0) for i in range(cone.size) for j in range(i + 1)])
    elif cone.kind == "exponential":
        places = places[::-1]
    a, b = np.zeros((len(places), n)), np.zeros(len(places))
    rows = {place: number for number, place in enumerate(places)}
    for column, entries in cone.columns.items():
        for row, value in entries.items():
            a[rows[row], column] = float(value)
    for row, value in cone.b.items():
        b[rows[row]] = float(value)
    return a * weights[:, None], b * weights, np.array(middle)[places] * weights


def _clarabel_cone(cone: ExactCone) -> object:
    return {
        "zero": clarabel.ZeroConeT,
        "nonnegative": clarabel.NonnegativeConeT,
        "second-order": clarabel.SecondOrderConeT,
        "psd": clarabel.PSDTriangleConeT,
        "exponential": lambda _: clarabel.ExponentialConeT(),
    }[cone.kind](cone.size)
