"""What a point misses is charged to the worse side of its objective."""

from __future__ import annotations

import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.pipeline.certify import FEASIBLE, charged, scored

MISSED = FEASIBLE / 2
WORKLOAD = Workload.from_matrix(np.tri(3))
LINEAR = """program linear
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    v: vector[n]
{sense}
    sum(v)
subject to
    line: v {op} 1
strategy
    eye(n) norm 2
"""


def test_a_point_just_outside_is_worse_than_its_value() -> None:
    """tr(W inv(X) Wᵀ) of X = (1 + v) I is 6 / (1 + v): the charge makes up for it."""
    found = scored(bind(Program.load("l2_strategy"), WORKLOAD), {"X": (1.0 + MISSED) * np.eye(3)})
    assert found.is_feasible and found.after == pytest.approx(MISSED, rel=1e-3)
    assert 6.0 <= found.objective <= 6.0 * (1 + 4 * MISSED)


@pytest.mark.parametrize(("sense", "op", "worse"), [("minimize", ">=", 1.0), ("maximize", "<=", -1.0)])
def test_what_a_violation_may_be_worth_goes_to_the_worse_side(sense: str, op: str, worse: float) -> None:
    """By weak duality at most the multipliers times it: one of 1000 for each of three cells."""
    instance = bind(Program.parse(LINEAR.format(sense=sense, op=op)), WORKLOAD)
    found = scored(instance, {"v": np.full(3, 1.0 - worse * MISSED)})
    assert found.is_feasible and found.after > 0
    more = charged(instance, found, {"line": np.full(3, 1000.0)})
    assert worse * (more.objective - found.objective) == pytest.approx(3000 * MISSED, rel=1e-3)
