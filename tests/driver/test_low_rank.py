"""The low-rank mechanism: never below its bound, W = R A, no worse than its start, near the optimum."""

import numpy as np
import pytest
from named_workloads import named, random_workload
from query_rows import haar
from tolerances import RECOMPUTED, SHAPE

from mmopt import Strategy, Workload, solve
from mmopt.results import Solution

NORMS = {"low_rank": 1, "low_rank_gaussian": 2}
GAUSSIAN_FIRST = ["low_rank_gaussian", pytest.param("low_rank", marks=pytest.mark.nightly)]


def check(w: Workload, program: str, s: Solution) -> None:
    """Feasible, above its bound, and W = R A with R = W A⁺ has the error that is stated."""
    A = s.strategy.matrix
    norm = NORMS[program]
    assert np.linalg.norm(A, ord=norm, axis=0).max() <= 1 + 1e-12
    assert s.strategy.norm == norm
    R = w.matrix @ np.linalg.pinv(A, rcond=1e-10)  # a row may be spare
    assert np.abs(R @ A - w.matrix).max() <= 10 * SHAPE * np.abs(w.matrix).max()
    least = float(np.square(R).sum())
    assert s.objective >= least * (1 - 1e-6)
    # Where queries depend on each other a row of A may be rounding, and its R cost what W A⁺ does not.
    assert w.rank < min(w.m, w.n) or s.objective == pytest.approx(least, rel=1e-6)
    assert s.bound <= s.objective


@pytest.mark.nightly
@pytest.mark.parametrize("program", NORMS)
def test_on_workloads_of_all_kinds(program: str, rng: np.random.Generator) -> None:
    for w in (named("prefix"), named("signed"), random_workload(rng)):
        check(w, program, solve(w, program))


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["low_rank_gaussian", pytest.param("low_rank", marks=pytest.mark.nightly)]
)
def test_no_worse_than_its_start(program: str, rng: np.random.Generator) -> None:
    w = Workload.from_matrix(rng.integers(0, 3, size=(5, 4)) + np.eye(5, 4))
    for start in (haar(4), rng.normal(size=(6, 4))):
        s = solve(w, program, givens={"S": start})
        check(w, program, s)
        assert s.error <= Strategy(start, norm=NORMS[program]).total_error(w) * (1 + RECOMPUTED)
        kept_cells = np.array_equal(s.strategy.matrix, np.eye(4))
        assert kept_cells or s.strategy.p <= len(start)  # rows of zeros are left out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all ranges", "rank deficient"])
def test_near_the_optimum_for_gaussian_noise(name: str) -> None:
    w = named(name)
    s = solve(w, "low_rank_gaussian")
    assert s.error_bound <= s.error <= (1 + 1e-4) * solve(w, "l2_strategy").error


QUICK = {"precision": 1e-3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["low_rank_gaussian", pytest.param("low_rank", marks=pytest.mark.nightly)]
)
def test_never_worse_than_the_cells(program: str, rng: np.random.Generator) -> None:
    w = random_workload(rng)
    s = solve(w, program, tolerance=1e-3, givens=QUICK)
    identity = np.square(w.matrix).sum()
    assert s.bound <= s.objective
    assert s.error_bound <= s.error <= identity * (1 + RECOMPUTED)
    found = solve(w, program, tolerance=1e-3, givens={**QUICK, "cells": 0})
    if found.error < identity * (1 - RECOMPUTED):
        assert np.array_equal(s.strategy.matrix, found.strategy.matrix)
    elif found.error > identity * (1 + RECOMPUTED):
        assert np.array_equal(s.strategy.matrix, np.eye(w.n))


@pytest.mark.slow
def test_the_cells_are_kept_where_the_search_ends_above_them() -> None:
    """Eight dense queries over eight cells, of the kind of CIKM 2013."""
    rng = np.random.default_rng(1)
    w = Workload.from_matrix(rng.random((8, 8)) * (rng.random((8, 8)) < 0.8))
    identity = np.square(w.matrix).sum()
    s = solve(w, "low_rank", tolerance=1e-3, givens=QUICK)
    found = solve(w, "low_rank", tolerance=1e-3, givens={**QUICK, "cells": 0})
    assert np.array_equal(s.strategy.matrix, np.eye(8)) and s.error == pytest.approx(identity, rel=1e-9)
    assert found.error > identity * 1.01


@pytest.mark.nightly
def test_few_queries_of_low_rank_gain_much_on_the_cells() -> None:
    """Its purpose: three queries over 12 cells, 60 of their combinations asked."""
    rng = np.random.default_rng(7)
    w = Workload.from_matrix(rng.normal(size=(60, 3)) @ rng.normal(size=(3, 12)))
    s = solve(w, "low_rank", tolerance=1e-3, givens=QUICK)
    check(w, "low_rank", s)
    assert s.strategy.p == 4  # a fifth more rows than the rank, rounded up
    assert s.error < 0.8 * Strategy(np.eye(12), norm=1).total_error(w)


@pytest.fixture(scope="module")
def alternated() -> Solution:
    return solve(Workload.from_matrix(np.tri(5)), "low_rank_gaussian")


def test_a_half_never_raises_the_objective_of_the_other(alternated: Solution) -> None:
    """Within 'alternate' both have one objective, but for the price of the way from the strategy before."""
    s = alternated
    back = [step.objective for name, step in s.steps.items() if name.startswith("back")]
    forth = [step.objective for name, step in s.steps.items() if name.startswith("forth")]
    assert len(back) == len(forth) > 5
    assert all(b <= a * (1 + 1e-4) for a, b in zip(back[:5], forth[:5], strict=True))
    assert all(b <= a * (1 + 1e-4) for a, b in zip(forth[:4], back[1:5], strict=True))


def test_only_the_last_of_many_repeats_is_shown(alternated: Solution) -> None:
    s = alternated
    count = len(s.steps) // 2
    lines = [line for line in str(s).splitlines() if line.startswith("step ")]
    assert [line.split()[1:3] for line in lines] == [["back", str(count)], ["forth", str(count)]]
