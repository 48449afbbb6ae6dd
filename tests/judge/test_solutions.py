"""Every shipped program on workloads that are hard in one way: each figure is what it is called."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from judge.measured import Asked
from judge.table import RIVALS, RULES
from judge.verdict import attack, judge, refuted
from judge.workloads import DENSE

from mmopt import Program, Solution, SolverError, certify, solve
from mmopt.language import program_names
from mmopt.strategies.baselines import baseline

# Seconds, not milliseconds: with the nightly tests, as are other workloads than QUICK ones.
DEAR = ("low_rank", "low_rank_gaussian", "min_error")
# Eigen-queries of this workload do not support it in doubles, and no solver gets through; mmopt says so.
REFUSED = {
    ("large and small", program)
    for program in (
        *("eigen_design", "query_weighting", "query_weighting_dual", "query_weighting_inverse"),
        *("laplace_weighting", "laplace_weighting_dual", "laplace_weighting_power"),
        *("fitness_refined", "min_sensitivity"),
        *("common_mechanism", "d_optimal_design"),
    )
}
QUICK = ("prefix", "fractions", "rank deficient", "large and small", "repeated rows")
ATTACKED = ("prefix", "fractions", "rank deficient")
# A rival is an attack where it is nearly optimal: at most so far above the bound. Others are held as well.
NEAR = 1e-4
# A logarithm has no relative distance.
FAR = (
    "barrier_step",
    "toeplitz_strategy",
    "d_optimal_design",
    "softmax_step",
    "singular_value_bound",
    "min_sensitivity",
    "min_sensitivity_rotation",
)
LAPLACE = ("l1_strategy", "low_rank", "min_error", "p_identity")


PAIRS = [
    pytest.param(
        *pair, marks=pytest.mark.nightly if pair[0] not in QUICK or pair[1] in DEAR else (), id="-".join(pair)
    )
    for pair in itertools.product(DENSE, sorted(RULES))
    if pair not in REFUSED
]


def test_every_shipped_program_has_its_formulas_here() -> None:
    assert set(RULES) == set(RIVALS) == set(program_names())


@pytest.mark.some(6)
@pytest.mark.parametrize(("case", "program"), PAIRS)
def test_no_figure_is_refuted(case: str, program: str) -> None:
    asked = DENSE[case]()
    workload = asked.workload
    np.testing.assert_array_equal(workload.queries, asked.rows)
    own = Asked(asked.rows, workload.weights, workload.targets)
    try:
        solution = solve(workload, program)
    except SolverError:  # eigenvalues 1e16 apart: some processors lose the small ones, and mmopt says so
        # The roots in the repair of fitness_dual lose them; a margin would cost every other solution as much.
        assert case == "large and small" and program in ("fitness_dual", "singular_value_bound")
        return
    assert refuted(judge(solution, workload, own), estimates=True) == []


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("case", "program"),
    [
        pytest.param(case, program, marks=pytest.mark.nightly if program in DEAR else ())
        for case, program in itertools.product(ATTACKED, sorted(RULES))
        if program not in DEAR or case == "prefix"
    ],
)
def test_no_other_solver_goes_below_a_bound(case: str, program: str) -> None:
    workload = DENSE[case]().workload
    verdict, above = attack(solve(workload, program), workload, RIVALS[program])
    assert verdict.holds, str(verdict)
    if program not in (*FAR, *LAPLACE):
        assert above < NEAR


@pytest.mark.some(2)
@pytest.mark.parametrize("case", ["prefix", "fractions", "repeated columns", "weighted"])
@pytest.mark.parametrize("name", ["identity", "workload", "hierarchical", "wavelet"])
def test_baselines_that_are_certified(case: str, name: str) -> None:
    workload = DENSE[case]().workload
    solution = certify(workload, baseline(name, workload))
    assert refuted(judge(solution, workload)) == []


def test_a_saved_solution_is_judged_as_it_is_read(tmp_path: Path) -> None:
    workload = DENSE["prefix"]().workload
    path = solve(workload, "fitness_for_use").save(tmp_path / "found")
    assert refuted(judge(Solution.load(path), workload)) == []


def test_own_givens() -> None:
    """Design queries of the caller's: a hierarchy, and the rows of a wavelet."""
    workload = DENSE["prefix"]().workload
    design = np.vstack([np.eye(5), [[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 1]]])
    found = solve(workload, "design_weighting", givens={"D": design})
    assert refuted(judge(found, workload)) == []
    found = solve(workload, "query_weighting", givens={"Q": np.tri(5)})
    assert refuted(judge(found, workload)) == []


def test_a_program_of_ones_own_is_held_to_what_is_known_of_all() -> None:
    """Its own formulas are unknown here; strategy, error and the bound over all strategies are judged."""
    text = """\
program total_of_cells
title "The cells themselves"
class closed form
given
    W: matrix[r, n] = workload.root
let
    A = eye(n)
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
bound
    l2_strategy
"""
    workload = DENSE["prefix"]().workload
    verdicts = judge(solve(workload, Program.parse(text)), workload)
    assert refuted(verdicts) == []
    assert {"total error", "bound over all strategies"} <= {v.name for v in verdicts}
