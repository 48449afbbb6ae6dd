"""Every shipped formulation has the value of the program of which it is one; a new one is tested as it is.

Guards driver/judge/assemble_solution.py.
"""

from functools import cache

import numpy as np
import pytest
from named_workloads import NAMED, named, random_workload
from tolerances import GAP, ROUNDING

from mmopt import Program, Solution, Workload, solve
from mmopt.compiler import bind
from mmopt.driver.judge.assemble_solution import value_of
from mmopt.language import program_names


def is_convex(name: str) -> bool:
    return Program.load(name).problem_class == "convex"


# Searches (classes rank and smooth) need not end at the same point.
FORMULATIONS = [name for name in program_names() if Program.load(name).formulation_of and is_convex(name)]
# One LMI per query or cell is slow on many of them, and these say no more than the others.
CASES = [name for name in NAMED if name not in ("marginals", "duplicated rows", "single total")]


def interval(s: Solution, w: Workload) -> tuple[float, float]:
    """The optimum lies between these two, on the scale that the formulations share."""
    instance = bind(Program.load(s.program), w)
    ends = [value_of(instance, instance.env, end) for end in (s.objective, s.bound)]
    assert s.value == pytest.approx(ends[0], rel=ROUNDING)
    assert (ends[0] >= ends[1]) is (s.sense == "minimize") or ends[0] == pytest.approx(ends[1], rel=ROUNDING)
    return min(ends), max(ends)


@cache
def base(name: str, case: str) -> Solution:
    return solve(named(case), name)


def agree(one: Solution, other: Solution, w: Workload) -> None:
    (low, high), (below, above) = interval(one, w), interval(other, w)
    assert low <= above * (1 + ROUNDING) and below <= high * (1 + ROUNDING), (one, other)
    for s, (lower, upper) in ((one, (low, high)), (other, (below, above))):
        assert upper / lower - 1 <= 2 * GAP, s
    # What the solutions mean agrees too, not only what they claim: the strategy has the value as its error.
    assert one.strategy.norm == other.strategy.norm
    assert (one.covariance is None) is (other.covariance is None)


def test_formulations_are_of_programs() -> None:
    assert {Program.load(name).formulation_of for name in FORMULATIONS} <= set(program_names())
    for name in FORMULATIONS:
        assert not Program.load(Program.load(name).formulation_of).formulation_of, name


@pytest.mark.some(4)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulations_agree(name: str, case: str) -> None:
    w = named(case)
    agree(base(Program.load(name).formulation_of, case), solve(w, name), w)


@pytest.mark.some(3)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_formulations_agree_on_a_random_workload(name: str, rng: np.random.Generator) -> None:
    """Also in the error (or the privacy cost) of what each returns, recomputed from the matrix alone."""
    w = random_workload(rng)
    one, other = (solve(w, n) for n in (Program.load(name).formulation_of, name))
    agree(one, other, w)
    if one.covariance is None:
        assert other.error == pytest.approx(one.error, rel=5 * GAP)
        return
    for s in (one, other):
        variances = np.square(w.queries @ np.linalg.pinv(s.strategy.matrix, rcond=1e-12)).sum(axis=1)
        cost = np.square(s.strategy.matrix).sum(axis=0).max()
        assert cost * (variances / w.targets).max() == pytest.approx(one.value, rel=5 * GAP)
