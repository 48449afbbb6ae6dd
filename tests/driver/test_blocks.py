"""Blocks of steps as they run: how often, until when, and what the solution keeps of them."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import OptionError, Program, Solution, Workload, solve

TEXT = """program blocks
class procedure
given
    W: matrix[r, n] = workload.root
    Q: matrix[h, n] = workload.eigenqueries
steps
    count = 0
    total = 64
    fit = solve(query_weighting, Q=Q)
    BLOCK
    A = fit.strategy
minimize
    count
strategy
    A norm 2
"""
WORKLOAD = Workload.from_matrix(np.tri(5))


def run(block: str, **options: object) -> Solution:
    return solve(WORKLOAD, Program.parse(TEXT.replace("BLOCK", block)), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("block", "count"),
    [
        ("repeat 3:\n        count = count + 1", 3),
        ("repeat 3 until count >= 2:\n        count = count + 1", 2),
        # The end is looked at before a round, so a block may not run at all.
        ("repeat 3 until count <= 0:\n        count = count + 1", 0),
        ("repeat 2:\n        repeat 3:\n            count = count + 1", 6),
        ("repeat n until total <= 10:\n        total = total / 2\n        count = count + 1", 3),
        ("repeat 2: count = count + 1", 2),
    ],
)
def test_how_often_a_block_runs(block: str, count: int) -> None:
    assert run(block).objective == pytest.approx(count, abs=ROUNDING)


def test_alternate_ends_when_nothing_falls_any_more() -> None:
    found = run("alternate 10:\n        again = solve(query_weighting, Q=Q)\n        count = count + 1")
    assert found.objective == pytest.approx(2, abs=ROUNDING)
    assert list(found.steps) == ["fit", "again 1", "again 2"]


def test_steps_are_kept_in_order_with_numbers() -> None:
    found = run("repeat 2:\n        fit = solve(query_weighting, Q=Q)")
    assert list(found.steps) == ["fit 1", "fit 2", "fit 3"]
    assert Solution.from_fields(found.fields()) == found
    assert found.iterations == sum(step.iterations for step in found.steps.values())


def test_a_count_that_is_no_whole_number() -> None:
    with pytest.raises(OptionError, match=r"repeated a whole number of times, at most 2\*\*53, not 2\.5"):
        run("repeat 2.5:\n        count = count + 1")


def test_the_bound_of_a_step() -> None:
    text = TEXT.replace("BLOCK", "count = fit.objective") + "bound\n    query_weighting\n"
    found = solve(WORKLOAD, Program.parse(text))
    assert found.bound == found.steps["fit"].bound
    assert (found.steps["fit"].bound_grade, found.bound_grade) == ("proved", "claimed")
    assert found.gap is not None and found.gap <= GAP_INTERIOR
