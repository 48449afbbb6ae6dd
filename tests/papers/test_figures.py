"""Numbers of the papers, one a line: a program, a workload, and the value that it has there.

Each is exact, upper (our value is at most it) or lower. The value is on the scale that the formulations of a
program share. What takes more than a solve to compare stands in the other files of this folder.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from named_workloads import EXAMPLE_4, all_ranges
from query_rows import haar
from tolerances import FITNESS, PRINTED, PRINTED_3, PUBLISHED, ROUNDING

from mmopt import Workload, solve
from mmopt.language import program_names
from mmopt.testing.problem_registry import ONE_AND_TWO_WAY, Figure, holds, marginal_rows
from mmopt.workloads.factors_and_products import all_range

slow = pytest.mark.slow
Rows = Callable[[], np.ndarray]

OPTIMUM = "PODS 2010, Program 5.2"
WEIGHTING = "PVLDB 2012, Program 1"
ADAPTIVE = "PVLDB 2012, Program 2"
FIT = "PVLDB 2021, Problem 1"
GAMMA = "arXiv 2509.14334; PVLDB 2021, Table 2"
# Weights (1, 2, 1) / 4 at -1, 0 and 1 for A, (1, 1, 1) / 3 for D, (1, 3, 1) / 5 for E.
DESIGN = "Pukelsheim 1993, quadratic fit"
LOW_RANK = "PVLDB 2012, low-rank mechanism"
MEASURED = 1631.40304, 276929.308  # least total error at n = 256: prefix sums, all ranges


def prefix(n: int) -> Rows:
    return lambda: np.tri(n)


def ranges_root(n: int) -> Rows:
    """The Gram matrix of all ranges, of which there are too many to write out."""
    return lambda: all_range(n).root()


def ranges(n: int) -> Rows:
    return lambda: all_ranges(n)


def identity_and_total(d: int) -> Rows:
    return lambda: np.vstack([np.eye(d), np.ones((1, d))])


def cube(t: int) -> Rows:
    return lambda: marginal_rows((t,) * 3, ONE_AND_TWO_WAY)


def example_4() -> np.ndarray:
    return EXAMPLE_4.matrix


def parabola() -> np.ndarray:
    """1, x and x² at nine points of [-1, 1]."""
    x = np.linspace(-1.0, 1.0, 9)
    return np.stack([x**0, x, x**2])


def wavelet(n: int) -> dict[str, Any]:
    return {"Q": haar(n)}


# Program, rows (every target 1), givens, figure.
FIGURES: list[tuple[str, Rows, dict[str, Any], Figure]] = [
    ("l2_strategy", prefix(4), {}, Figure(OPTIMUM, "exact", 6.874144, PUBLISHED)),
    ("l2_strategy", prefix(8), {}, Figure(OPTIMUM, "exact", 17.866177, PUBLISHED)),
    ("l2_strategy", prefix(16), {}, Figure(OPTIMUM, "exact", 45.665357, PUBLISHED)),
    ("l2_strategy", ranges(16), {}, Figure(OPTIMUM, "exact", 413.14022, PUBLISHED)),
    ("l2_strategy", example_4, {}, Figure("PVLDB 2012, Example 4", "exact", 15.01802, PUBLISHED)),
    ("l2_strategy", cube(2), {}, Figure("PVLDB 2021, Table 10, CA", "exact", 36.0, PUBLISHED)),
    ("l2_strategy_block", prefix(8), {}, Figure(OPTIMUM, "exact", 17.866177, PUBLISHED)),
    ("l2_strategy_dual", prefix(8), {}, Figure(OPTIMUM, "exact", 17.866177, PUBLISHED)),
    ("user_level_strategy", prefix(8), {"k": 3}, Figure(OPTIMUM, "exact", 9 * 17.866177, PUBLISHED)),
    # A row may be dropped: cells and no cell are the corners of a simplex.
    ("replace_one", lambda: np.eye(3), {}, Figure("X = (I + J) / 2", "exact", 4.5, PUBLISHED)),
    ("l2_strategy_lmi", prefix(8), {}, Figure(OPTIMUM, "exact", 17.866177, PUBLISHED)),
    ("singular_value_bound", example_4, {}, Figure("PVLDB 2012, SVDB", "lower", 14.9330, PRINTED)),
    ("singular_value_bound", prefix(8), {}, Figure(OPTIMUM, "lower", 17.866177, PUBLISHED)),
    ("augment", example_4, {}, Figure("Gaussian noise on the queries, then least squares", "upper", 20.0, 0)),
    ("design_weighting", example_4, {}, Figure("as augment, weighted", "upper", 20.0, 0)),
    ("query_weighting", prefix(8), {}, Figure(WEIGHTING, "exact", 22.931, PRINTED_3)),
    ("query_weighting", example_4, {}, Figure("PVLDB 2012, Example 4", "exact", 15.808, PRINTED_3)),
    ("query_weighting", example_4, wavelet(8), Figure("PVLDB 2012, Example 4", "upper", 21.0, ROUNDING)),
    ("query_weighting", prefix(256), {}, Figure("eigenbasis", "exact", 1.588 * MEASURED[0], 5e-4)),
    ("query_weighting", prefix(256), wavelet(256), Figure("Haar", "exact", 1.391 * MEASURED[0], 5e-4)),
    (
        "query_weighting",
        ranges_root(256),
        {},
        Figure("eigenbasis", "exact", 1.059 * MEASURED[1], 5e-4),
    ),
    (
        "query_weighting",
        ranges_root(256),
        wavelet(256),
        Figure("Haar", "exact", 1.403 * MEASURED[1], 5e-4),
    ),
    ("query_weighting_dual", prefix(8), {}, Figure(WEIGHTING, "exact", 22.931, PRINTED_3)),
    ("query_weighting_inverse", prefix(8), {}, Figure(WEIGHTING, "exact", 22.931, PRINTED_3)),
    ("eigen_design", prefix(8), {}, Figure(ADAPTIVE, "exact", 20.888, PRINTED_3)),
    ("eigen_design", example_4, {}, Figure("PVLDB 2012, Example 4", "exact", 15.474, PRINTED_3)),
    ("eigen_separation", example_4, {}, Figure("PVLDB 2012, Example 4", "exact", 15.474, PRINTED_3)),
    ("eigen_separation", prefix(8), {"size": 2}, Figure(OPTIMUM, "lower", 17.866177, PUBLISHED)),
    ("principal_vectors", prefix(8), {"count": 8}, Figure(ADAPTIVE, "exact", 20.888, PRINTED_3)),
    ("group_weighting", prefix(8), {"M": np.eye(8)}, Figure(WEIGHTING, "exact", 22.931, PRINTED_3)),
    ("separate_weighting", prefix(8), {}, Figure(WEIGHTING, "exact", 22.931, PRINTED_3)),
    # The Laplace mechanism on the cells, and with one weight for all rows of the wavelet.
    ("laplace_weighting", prefix(8), {"Q": np.eye(8)}, Figure("ε-DP, cells", "exact", 36.0, PUBLISHED)),
    ("laplace_weighting_dual", prefix(8), {"Q": np.eye(8)}, Figure("ε-DP, cells", "exact", 36.0, PUBLISHED)),
    ("laplace_weighting_power", prefix(8), {"Q": np.eye(8)}, Figure("ε-DP, cells", "exact", 36.0, PUBLISHED)),
    ("laplace_weighting", example_4, wavelet(8), Figure("ε-DP, wavelet", "upper", 84.0, ROUNDING)),
    ("fitness_for_use", prefix(2), {}, Figure("PVLDB 2021, Table 2", "exact", 4 / 3, FITNESS)),
    ("fitness_for_use", prefix(4), {}, Figure("PVLDB 2021, Table 2", "exact", 1.75860, FITNESS)),
    ("fitness_for_use", prefix(8), {}, Figure("PVLDB 2021, Table 2", "exact", 2.28156, FITNESS)),
    ("fitness_for_use", prefix(16), {}, Figure("PVLDB 2021, Table 2", "exact", 2.90525, FITNESS)),
    ("fitness_for_use", cube(2), {}, Figure("PVLDB 2021, Table 10", "exact", 1.47731**2, 2 * PRINTED)),
    ("fitness_for_use", identity_and_total(5), {}, Figure("Theorem 7", "exact", 10 / 6, FITNESS)),
    ("fitness_for_use", identity_and_total(9), {}, Figure("Theorem 7", "exact", 18 / 10, FITNESS)),
    ("fitness_budget", prefix(4), {"budget": 0.3}, Figure("Theorem 5", "exact", 1.75860, FITNESS)),
    ("fitness_penalty", prefix(4), {}, Figure("Theorem 12", "exact", 1.75860, FITNESS)),
    ("fitness_hybrid", prefix(4), {}, Figure("Theorem 12", "exact", 1.75860, FITNESS)),
    ("fitness_dual", prefix(4), {}, Figure(FIT, "exact", 1.75860, FITNESS)),
    ("fitness_lmi", prefix(4), {}, Figure(FIT, "exact", 1.75860, FITNESS)),
    ("fitness_level", prefix(4), {}, Figure(FIT, "exact", 1.75860, FITNESS)),
    ("fitness_refined", prefix(4), {}, Figure(FIT, "exact", 1.75860, FITNESS)),
    # Of the gap of its own, 1e-4, and at t = 1000 with the barrier in it.
    ("fitness_barrier", prefix(4), {}, Figure(FIT, "lower", 1.75860, FITNESS)),
    ("fitness_barrier", prefix(4), {}, Figure(FIT, "upper", 1.75860 * (1 + 1e-4), FITNESS)),
    ("barrier_step", prefix(4), {"t": 1000.0}, Figure(FIT, "lower", 1758.60, FITNESS)),
    ("weighted_l2", prefix(8), {}, Figure("CA, for equal targets", "exact", 17.866177, PUBLISHED)),
    ("minimax_variance", prefix(8), {}, Figure(FIT, "exact", 2.28156, FITNESS)),
    # Between the means of powers one and infinity.
    ("lp_strategy", prefix(8), {}, Figure(OPTIMUM, "lower", 17.866177**2 / 8, PUBLISHED)),
    ("lp_strategy", prefix(8), {}, Figure(FIT, "upper", 8 * 2.28156**2, FITNESS)),
    ("gamma_2", prefix(2), {}, Figure(GAMMA, "exact", 4 / 3, FITNESS)),
    ("gamma_2", prefix(16), {}, Figure(GAMMA, "exact", 2.90525, FITNESS)),
    ("gamma_f", prefix(16), {}, Figure(OPTIMUM, "exact", 45.665357, PUBLISHED)),
    ("a_optimal_design", parabola, {}, Figure(DESIGN, "exact", 8.0, PUBLISHED)),
    ("d_optimal_design", parabola, {}, Figure(DESIGN, "exact", math.log(4 / 27), PUBLISHED)),
    ("e_optimal_design", parabola, {}, Figure(DESIGN, "exact", 0.2, PUBLISHED)),
    # The cells have less information than prefix sums of any precision above theirs.
    (
        "common_mechanism",
        prefix(4),
        {"S1": np.diag([2.0, 3.0, 4.0, 5.0])},
        Figure("S2 << S1", "exact", 4.0, FITNESS),
    ),
    (
        "toeplitz_strategy",
        prefix(8),
        {},
        Figure("the square root of the prefix sums", "upper", 20.11955, ROUNDING),
    ),
    # All steps in one window; and, where a person may be in every step, what is best for the cells alone.
    ("banded_strategy", prefix(8), {"b": 8}, Figure(OPTIMUM, "exact", 17.866177, PUBLISHED)),
    (
        "banded_strategy",
        prefix(8),
        {"b": 1},
        Figure("(Σ √i)²", "exact", float(np.sqrt(np.arange(1, 9)).sum() ** 2), PUBLISHED),
    ),
    # The first count would be -1, and is 0; the second follows.
    (
        "refine_counts",
        prefix(2),
        {"y": np.array([-1.0, 3.0])},
        Figure("Lawson and Hanson, chapter 23", "exact", 1.0, PUBLISHED),
    ),
    # Two counts that have to be the same: both are 1, at (1 + 1)² + (2 - 3)².
    (
        "refine_tables",
        prefix(2),
        {"y": np.array([-1.0, 3.0]), "K": np.array([[1.0, -1.0]]), "v": np.zeros(1)},
        Figure("Lawson and Hanson, chapter 20", "exact", 5.0, PUBLISHED),
    ),
    # Least squares on orthonormal rows at beta = 10; the cells, which R = W takes all the way.
    ("low_rank_reconstruction", prefix(8), {}, Figure(LOW_RANK, "exact", 36 * 10 / 11, ROUNDING)),
    ("low_rank_strategy", prefix(8), {"S": np.eye(8)}, Figure(LOW_RANK, "exact", 36.0, PUBLISHED)),
    ("low_rank_gaussian_strategy", prefix(8), {"S": np.eye(8)}, Figure(LOW_RANK, "exact", 36.0, PUBLISHED)),
    ("low_rank", prefix(5), {}, Figure("Laplace noise on the cells", "upper", 15.0, ROUNDING)),
    ("low_rank", prefix(8), {"S": np.eye(8)}, Figure("Laplace noise on the cells", "upper", 36.0, ROUNDING)),
    ("low_rank_gaussian", prefix(8), {}, Figure(OPTIMUM, "exact", 17.866177, FITNESS)),
]


@pytest.mark.some(14)
@pytest.mark.parametrize(
    ("program", "rows", "givens", "figure"),
    FIGURES,
    ids=[f"{i} {program} {figure.source}" for i, (program, _, _, figure) in enumerate(FIGURES)],
)
def test_figure(program: str, rows: Rows, givens: dict[str, Any], figure: Figure) -> None:
    workload = Workload.from_matrix(rows(), targets=1.0)
    found = solve(workload, program, givens=givens)
    assert found.status.feasible
    assert holds(figure, found.value), (figure, found)


def test_every_program_has_a_figure() -> None:
    """Those of class rank and smooth have theirs in test_searched_figures.py and test_smooth_programs.py."""
    searched = {"min_error", "min_sensitivity", "min_sensitivity_rotation", "softmax_step", "fitness_softmax"}
    searched |= {"p_identity", "l1_strategy"}
    assert {program for program, *_ in FIGURES} == set(program_names()) - searched


@pytest.mark.parametrize("n", [64, pytest.param(128, marks=slow)])
def test_prefix_first_order(n: int) -> None:
    """Where an interior-point method has become slow: 282.20142 lies in the certified interval."""
    found = solve(Workload.from_matrix(np.tri(n)), "l2_strategy", solver="scs")
    assert found.gap is not None and found.gap <= 1e-4
    if n == 64:
        assert found.bound is not None and found.bound <= 282.20142 * (1 + 1e-7)
        assert found.objective >= 282.20142 * (1 - 1e-7)
