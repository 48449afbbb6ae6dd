"""Workloads that say the same in another way: the same optimum, up to a known factor."""

import numpy as np
import pytest
from named_workloads import random_workload
from tolerances import GAP_INTERIOR

from mmopt import Program, Solution, Workload, solve
from mmopt.language import program_names
from mmopt.language.check.sections_after_constraints import alternates, solved_programs

# Logarithms and inverses of the queries' unit; and what depends on the order of the cells.
APART = (
    *("a_optimal_design", "d_optimal_design", "e_optimal_design", "barrier_step"),
    *("common_mechanism", "banded_strategy"),
)


def has_one_result(name: str) -> bool:
    """Not a search; and not a formulation: test_formulations.py compares those with their program."""
    program = Program.load(name)
    steps = [Program.load(step) for step in solved_programs(program.steps)]
    searched = alternates(program.steps) or {"rank", "smooth"} & {p.problem_class for p in (program, *steps)}
    return not program.formulation_of and not searched and name not in APART


def needs_only_the_gram(name: str) -> bool:
    sources = {d.source for d in Program.load(name).givens}
    known = ("root", "gram", "eigenqueries", "eigenvalues")
    return sources <= {f"workload.{given}" for given in known}


PROGRAMS = [name for name in program_names() if has_one_result(name)]
TOTAL_ERROR = [name for name in PROGRAMS if needs_only_the_gram(name)]
# The best of all strategies, where programs for a set of design queries change with the cells.
CONVEX_TOTAL = ["l2_strategy", "l2_strategy_lmi"]
# The degree of an objective in the queries, where it is not 2: the sum of error and α has the root of both,
# and the sum of the squared variances the square.
DEGREE = {"fitness_hybrid": 1, "lp_strategy": 4}


def consistent(one: Solution, other: Solution, factor: float, error: float | None = None) -> None:
    """``other`` is ``factor`` times ``one``, within the certified intervals; total error ``error`` times."""
    error = factor if error is None else error
    # Each step of a procedure is within its gap, and what follows from it further away.
    within = (50 if one.steps else 5) * GAP_INTERIOR
    assert other.objective == pytest.approx(factor * one.objective, rel=within)
    assert other.error_bound <= error * one.error * (1 + 1e-9) or one.covariance is not None
    assert factor * one.bound <= other.objective * (1 + 1e-12)
    assert other.bound <= factor * one.objective * (1 + 1e-12)


def simple_spectrum(rng: np.random.Generator) -> Workload:
    """A random workload of full rank whose eigenvalues are apart, so that its eigenvectors are unique."""
    while True:
        rows = rng.integers(-2, 3, size=(8, 6)) + 0.1 * rng.normal(size=(8, 6))
        values = np.linalg.svd(rows, compute_uv=False) ** 2
        if values[-1] > 0.3 and np.min(-np.diff(values)) > 0.05 * values[0] / 6:
            return Workload.from_matrix(rows, targets=rng.uniform(0.5, 5.0, size=8))


@pytest.mark.some(4)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_queries_in_another_form(
    program: str, rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    w = simple_spectrum(rng)
    cells, order = rng.permutation(w.n), rng.permutation(w.m)
    factor = rng.choice([1e-4, 0.3, 7.0, 1e5])
    # Total error gets the square of the factor, and so does α when the targets stay.
    changed = {
        "cells in another order": (w.queries[:, cells], w.targets, 1.0, 1.0),
        "queries in another order": (w.queries[order], w.targets[order], 1.0, 1.0),
        "times a number": (factor * w.queries, w.targets, factor ** DEGREE.get(program, 2), factor**2),
    }
    if program in TOTAL_ERROR:  # which depends on WᵀW alone
        rotation = np.linalg.qr(rng.normal(size=(w.m, w.m)))[0]
        changed["every query twice"] = (np.vstack([w.queries, w.queries]), None, 2.0, 2.0)
        changed["rotated"] = (rotation @ w.queries, None, 1.0, 1.0)
    one = solve(w, program)
    for name, (rows, targets, times, error) in changed.items():
        with subtests.test(name):
            consistent(one, solve(Workload.from_matrix(rows, targets=targets), program), times, error)


@pytest.mark.some(2)
@pytest.mark.parametrize("program", TOTAL_ERROR)
def test_a_query_twice_is_a_query_of_weight_two(program: str, rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    twice = Workload.from_matrix(np.vstack([w.queries, w.queries[:2]]))
    weights = np.array([2.0, 2.0, *np.ones(w.m - 2)])
    weighted = Workload.from_matrix(w.queries, weights=weights)
    longer = Workload.from_matrix(np.sqrt(weights)[:, None] * w.queries)
    for other in (weighted, longer):
        consistent(solve(twice, program), solve(other, program), 1.0)


def test_other_targets_of_the_same_fitness(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    w = simple_spectrum(rng)
    t, factor = rng.uniform(0.5, 2.0, size=w.m), rng.choice([1e-4, 0.3, 7.0, 1e5])
    looser = np.concatenate([w.targets, w.targets * rng.uniform(1.0, 3.0, size=w.m)])
    changed = {
        "targets times a number": (Workload.from_matrix(w.queries, targets=factor * w.targets), 1 / factor),
        # t w with target t² c asks for the same as w with target c.
        "both": (Workload.from_matrix(t[:, None] * w.queries, targets=t**2 * w.targets), 1.0),
        "twice": (Workload.from_matrix(np.vstack([w.queries, w.queries]), targets=looser), 1.0),
        "weights": (Workload.from_matrix(w.queries, targets=w.targets, weights=3.0), 1.0),
    }
    one = solve(w, "fitness_for_use")
    for name, (other, times) in changed.items():
        with subtests.test(name):
            two = solve(other, "fitness_for_use")
            consistent(one, two, times)
            assert "number" not in name or two.error == pytest.approx(one.error, rel=1e-2)


def test_the_best_strategy_where_queries_depend_on_each_other(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    w = random_workload(rng)
    rotation = np.linalg.qr(rng.normal(size=(w.m, w.m)))[0]
    columns = np.hstack([w.queries, w.queries[:, :2], np.zeros((w.m, 1))])
    apart = Workload.from_matrix(columns, targets=w.targets)  # a cell written twice, and one of no query
    for program in (*CONVEX_TOTAL, "fitness_for_use"):
        with subtests.test(program):
            one = solve(w, program)
            consistent(one, solve(apart, program), 1.0)
            if program in CONVEX_TOTAL:
                consistent(one, solve(Workload.from_matrix(rotation @ w.queries), program), 1.0)
                weighted = solve(Workload.from_matrix(w.queries, weights=5.0), program)
                consistent(one, weighted, 5.0)
                assert weighted.rmse == pytest.approx(one.rmse, rel=1e-4)
                fewer = solve(Workload.from_matrix(w.queries[:-1]), program)
                assert fewer.error_bound <= one.error
