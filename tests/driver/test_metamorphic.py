"""Workloads that say the same in another way: the same optimum, up to a known factor."""

from __future__ import annotations

import numpy as np
import pytest
from cases import random_workload
from tolerances import GAP_INTERIOR

from mmopt import Program, Solution, Workload, solve
from mmopt.language import program_names
from mmopt.language.check.procedure_checks import alternates, solved_programs

# Logarithms and inverses of the queries' unit; and what depends on the order of the cells.
APART = ("a_optimal_design", "d_optimal_design", "e_optimal_design", "common_mechanism", "banded_strategy")


def has_one_result(name: str) -> bool:
    """Not a search; and not a formulation: test_formulations.py compares those with their program."""
    program = Program.load(name)
    steps = [Program.load(step) for step in solved_programs(program.steps)]
    searched = alternates(program.steps) or {"rank", "smooth"} & {p.klass for p in (program, *steps)}
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
    assert one.bound is not None and other.bound is not None
    assert factor * one.bound <= other.objective * (1 + 1e-12)
    assert other.bound <= factor * one.objective * (1 + 1e-12)


def simple_spectrum(rng: np.random.Generator) -> Workload:
    """A random workload of full rank whose eigenvalues are apart, so that its eigenvectors are unique."""
    while True:
        rows = rng.integers(-2, 3, size=(8, 6)) + 0.1 * rng.normal(size=(8, 6))
        values = np.linalg.svd(rows, compute_uv=False) ** 2
        if values[-1] > 0.3 and np.min(-np.diff(values)) > 0.05 * values[0] / 6:
            return Workload.from_matrix(rows, targets=rng.uniform(0.5, 5.0, size=8))


@pytest.mark.some(8)
@pytest.mark.parametrize("program", PROGRAMS)
def test_cells_in_another_order(program: str, rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    order = rng.permutation(w.n)
    other = Workload.from_matrix(w.queries[:, order], targets=w.targets)
    consistent(solve(w, program), solve(other, program), 1.0)


@pytest.mark.some(8)
@pytest.mark.parametrize("program", PROGRAMS)
def test_queries_in_another_order(program: str, rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    order = rng.permutation(w.m)
    other = Workload.from_matrix(w.queries[order], targets=w.targets[order])
    consistent(solve(w, program), solve(other, program), 1.0)


@pytest.mark.some(10)
@pytest.mark.parametrize("factor", [1e-4, 0.3, 7.0, 1e5])
@pytest.mark.parametrize("program", PROGRAMS)
def test_queries_times_a_number(program: str, factor: float, rng: np.random.Generator) -> None:
    """Total error gets the square of it, and so does α when the targets stay."""
    w = simple_spectrum(rng)
    other = Workload.from_matrix(factor * w.queries, targets=w.targets)
    degree = DEGREE.get(program, 2)
    consistent(solve(w, program), solve(other, program), factor**degree, error=factor**2)


@pytest.mark.parametrize("factor", [1e-4, 0.3, 7.0, 1e5])
def test_targets_times_a_number(factor: float, rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    other = Workload.from_matrix(w.queries, targets=factor * w.targets)
    one, two = solve(w, "fitness_for_use"), solve(other, "fitness_for_use")
    consistent(one, two, 1 / factor)
    assert one.covariance is not None and two.covariance is not None
    assert two.error == pytest.approx(one.error, rel=1e-2)


def test_a_query_and_its_target_scaled_together(rng: np.random.Generator) -> None:
    """t w with target t² c asks for the same as w with target c."""
    w = simple_spectrum(rng)
    t = rng.uniform(0.5, 2.0, size=w.m)
    other = Workload.from_matrix(t[:, None] * w.queries, targets=t**2 * w.targets)
    consistent(solve(w, "fitness_for_use"), solve(other, "fitness_for_use"), 1.0)


@pytest.mark.some(8)
@pytest.mark.parametrize("program", TOTAL_ERROR)
def test_every_query_twice(program: str, rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    twice = Workload.from_matrix(np.vstack([w.queries, w.queries]))
    consistent(solve(w, program), solve(twice, program), 2.0)


def test_every_query_twice_asks_no_other_fitness(rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    looser = np.concatenate([w.targets, w.targets * rng.uniform(1.0, 3.0, size=w.m)])
    twice = Workload.from_matrix(np.vstack([w.queries, w.queries]), targets=looser)
    consistent(solve(w, "fitness_for_use"), solve(twice, "fitness_for_use"), 1.0)


@pytest.mark.some(5)
@pytest.mark.parametrize("program", TOTAL_ERROR)
def test_a_query_twice_is_a_query_of_weight_two(program: str, rng: np.random.Generator) -> None:
    w = simple_spectrum(rng)
    twice = Workload.from_matrix(np.vstack([w.queries, w.queries[:2]]))
    weighted = Workload.from_matrix(w.queries, weights=[2.0, 2.0, *np.ones(w.m - 2)])
    longer = Workload.from_matrix(np.sqrt([2.0, 2.0, *np.ones(w.m - 2)])[:, None] * w.queries)
    for other in (weighted, longer):
        consistent(solve(twice, program), solve(other, program), 1.0)


@pytest.mark.some(8)
@pytest.mark.parametrize("program", TOTAL_ERROR)
def test_rotated_queries(program: str, rng: np.random.Generator) -> None:
    """Total error depends on WᵀW alone."""
    w = simple_spectrum(rng)
    rotation = np.linalg.qr(rng.normal(size=(w.m, w.m)))[0]
    consistent(solve(w, program), solve(Workload.from_matrix(rotation @ w.queries), program), 1.0)


@pytest.mark.parametrize("program", CONVEX_TOTAL)
def test_rotated_queries_of_low_rank(program: str, rng: np.random.Generator) -> None:
    w = random_workload(rng)
    rotation = np.linalg.qr(rng.normal(size=(w.m, w.m)))[0]
    consistent(solve(w, program), solve(Workload.from_matrix(rotation @ w.queries), program), 1.0)


@pytest.mark.parametrize("program", [*CONVEX_TOTAL, "fitness_for_use"])
def test_cells_that_no_query_tells_apart(program: str, rng: np.random.Generator) -> None:
    """A cell written twice, and one that no query touches, change nothing for the best strategy."""
    w = random_workload(rng)
    columns = np.hstack([w.queries, w.queries[:, :2], np.zeros((w.m, 1))])
    other = Workload.from_matrix(columns, targets=w.targets)
    consistent(solve(w, program), solve(other, program), 1.0)


@pytest.mark.parametrize("program", CONVEX_TOTAL)
def test_weights_scale_the_squared_error(program: str, rng: np.random.Generator) -> None:
    w = random_workload(rng)
    consistent(solve(w, program), solve(Workload.from_matrix(w.queries, weights=5.0), program), 5.0)


def test_weights_change_neither_rmse_nor_fitness(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    weighted = Workload.from_matrix(w.queries, targets=w.targets, weights=3.0)
    one, other = solve(w, "l2_strategy"), solve(weighted, "l2_strategy")
    assert other.rmse == pytest.approx(one.rmse, rel=1e-4)
    consistent(solve(w, "fitness_for_use"), solve(weighted, "fitness_for_use"), 1.0)


@pytest.mark.parametrize("program", CONVEX_TOTAL)
def test_more_queries_cost_more(program: str, rng: np.random.Generator) -> None:
    w = random_workload(rng)
    fewer = Workload.from_matrix(w.queries[:-1])
    assert solve(fewer, program).error_bound <= solve(w, program).error
